package tvmffi

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/core"
)

var (
	never bool
	sink  unsafe.Pointer
)

// heap makes the compiler put the elements of s on the heap, which does not
// move. It costs nothing: the store never runs.
func heap[T any](s []T) {
	if never {
		sink = unsafe.Pointer(unsafe.SliceData(s))
	}
}

func itoa(i int) string { return strconv.Itoa(i) }

// quote shows a key in an error.
func quote(key any) string { return fmt.Sprintf("%q", fmt.Sprint(key)) }

// baseOf returns the value of a named string, integer or bool as a basic type.
func baseOf(x any) any {
	switch v := reflect.ValueOf(x); v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int()
	case reflect.Bool:
		return v.Bool()
	}
	return x
}

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

// sortPairs orders the entries of a Go map by key, where keys have an order.
func sortPairs(items []Pair[reflect.Value, reflect.Value]) {
	slices.SortFunc(items, func(a, b Pair[reflect.Value, reflect.Value]) int {
		return compareKeys(baseOf(a.Key.Interface()), baseOf(b.Key.Interface()))
	})
}
