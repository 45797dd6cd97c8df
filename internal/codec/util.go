package codec

import (
	"fmt"
	"reflect"
	"strconv"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/internal/failure"
)

// heap makes the compiler put the elements of s on the heap, which does not
// move.
func Heap[T any](s []T) { capi.Escape(unsafe.Pointer(unsafe.SliceData(s))) }

func Itoa(i int) string { return strconv.Itoa(i) }

// quote shows a key in an error.
func Quote(key any) string { return fmt.Sprintf("%q", fmt.Sprint(key)) }

// catch turns a panic with an *Error into the error of the function.
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

func For[T any]() *Codec { return Of(reflect.TypeFor[T]()) }

// classFor returns the object type of T, nil if T is no pointer to one.
func ClassFor[T any]() *core.Type { return ClassOf(reflect.TypeFor[T]()) }
