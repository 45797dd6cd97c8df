package codec

import (
	"fmt"
	"strconv"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
)

// Itoa is [strconv.Itoa].
func Itoa(i int) string { return strconv.Itoa(i) }

// Quote shows a key in an error.
func Quote(key any) string { return fmt.Sprintf("%q", fmt.Sprint(key)) }

// Catch turns a panic with an *Error into the error of the function.
func Catch(err *error) {
	switch p := recover().(type) {
	case nil:
	case error:
		if failure.FailureOf(p) == nil {
			panic(p)
		}
		*err = p
	default:
		panic(p)
	}
}

// WrongType returns the error for a value of another type than expected.
func WrongType(want string, got abi.Any) error {
	return failure.Errorf(failure.KindType, "expected %s, got %s", want, capi.KeyOf(got.TypeIndex))
}
