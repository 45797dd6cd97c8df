package tvmffi

import (
	"fmt"
	"reflect"
	"strconv"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/core"
)

// heap makes the compiler put the elements of s on the heap, which does not
// move.
func heap[T any](s []T) { core.Escape(unsafe.Pointer(unsafe.SliceData(s))) }

func itoa(i int) string { return strconv.Itoa(i) }

// quote shows a key in an error.
func quote(key any) string { return fmt.Sprintf("%q", fmt.Sprint(key)) }

// catch turns a panic with an *Error into the error of the function.
func catch(err *error) {
	switch p := recover().(type) {
	case nil:
	case *Error:
		*err = p
	default:
		panic(p)
	}
}

func codecFor[T any]() *codec { return codecOf(reflect.TypeFor[T]()) }

// classFor returns the object type of T, nil if T is no pointer to one.
func classFor[T any]() *core.Type { return classOf(reflect.TypeFor[T]()) }
