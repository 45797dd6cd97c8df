package leaktest_test

import (
	"testing"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
)

// A test fails if it leaves a handle to the garbage collector.
func ExampleCheck() {
	_ = func(t *testing.T) { // a test of the program, such as TestSum
		leaktest.Check(t)
		a, err := tvmffi.NewArray(1, 2)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Release() // without it, the test fails
	}
}
