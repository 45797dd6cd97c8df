package ffi_test

import (
	"fmt"
	"log"

	"github.com/tvmffi-go/tvmffi/generated/ffi"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Functions of the library take Go values where a parameter is any.
func ExampleStructuralEqual() {
	same, err := ffi.StructuralEqual([]any{1, "a"}, []any{1, "a"}, false, false)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(same)
	// Output: true
}

// The function packs its arguments into an array of the library.
func ExampleArray() {
	v, err := ffi.Array(1, "two", 3.5)
	if err != nil {
		log.Fatal(err)
	}
	defer v.Release()
	items, err := tvmffi.As[*tvmffi.Array[tvmffi.Any]](v)
	if err != nil {
		log.Fatal(err)
	}
	defer items.Release()
	fmt.Println(items.Len(), items)
	// Output: 3 (1, "two", 3.5)
}
