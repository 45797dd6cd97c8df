package testing_test

import (
	"errors"
	"fmt"
	"log"

	lib "github.com/tvmffi-go/tvmffi/generated/testing"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// An object of the library has fields and methods, and functions take it.
func Example() {
	pair, err := lib.NewTestIntPair(40, 2)
	if err != nil {
		log.Fatal(err)
	}
	defer pair.Release()
	fmt.Println(pair.A(), pair.B())
	fmt.Println(pair.Sum())
	fmt.Println(lib.TestIntPairSum(pair))
	// Output:
	// 40 2
	// 42 <nil>
	// 42 <nil>
}

// An exception of C++ is a Go error, with its kind and its message.
func ExampleTestRaiseError() {
	err := lib.TestRaiseError("ValueError", "the bed is full")
	fmt.Println(errors.Is(err, tvmffi.ErrValue), err)
	// Output: true ValueError: the bed is full
}

// A parameter of C++ that has a default is an option in Go.
func ExampleTestCxxAutoInitKwOnlyDefaultsOption() {
	o, err := lib.NewTestCxxAutoInitKwOnlyDefaults(1, 2, lib.TestCxxAutoInitKwOnlyDefaultsKDefault(7))
	if err != nil {
		log.Fatal(err)
	}
	defer o.Release()
	fmt.Println(o.PRequired(), o.KRequired(), o.KDefault())
	// Output: 1 2 7
}
