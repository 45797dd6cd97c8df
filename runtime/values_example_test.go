package tvmffi_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tvmffi-go/tvmffi/internal/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// useLibrary loads the libtvm_ffi of the tests; a program needs no such call.
func useLibrary() {
	var t nativetest.Example
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))); err != nil {
		t.Fatal(err)
	}
}

// exampleList stands for a value of a library.
func exampleList(items ...any) *tvmffi.List[any] {
	l, err := tvmffi.NewList(items...)
	if err != nil {
		panic(err)
	}
	return l
}

func ExampleStructuralMismatch() {
	useLibrary()
	m, err := tvmffi.StructuralMismatch([]any{1, []any{2}}, []any{1, []any{3}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Release()
	fmt.Println(m)
	// Output: <root>[1][0] != <root>[1][0]
}

func ExampleStructuralKeyOf() {
	useLibrary()
	counts := map[tvmffi.StructuralKey]int{}
	for _, x := range []any{[]any{1, "a"}, []any{1, "a"}, []any{2, "b"}} {
		key, err := tvmffi.StructuralKeyOf(x)
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
	err := tvmffi.Walk([]any{1, []any{2, 40}, 5}, tvmffi.PreOrder,
		tvmffi.On(func(x int64) error {
			if sum += x; sum > 42 {
				return tvmffi.SkipAll
			}
			return nil
		}))
	if errors.Is(err, errors.ErrUnsupported) {
		sum = 43 // libtvm_ffi is older than 0.1.14
	}
	fmt.Println(sum)
	// Output: 43
}

func ExampleFromJSONGraph() {
	useLibrary()
	l := exampleList(1, "two")
	defer l.Release()
	text, err := tvmffi.ToJSONGraph([]any{l, l}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	back, err := tvmffi.FromJSONGraph[[]*tvmffi.List[any]](text)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(back[0], tvmffi.Same(back[0], back[1]))
	_, err = tvmffi.FromJSONGraph[tvmffi.Any]([]byte(`{"root_index":0,"nodes":[{"type":"ffi.Array","data":[0]}]}`))
	fmt.Println(err)
	// Output:
	// [1, "two"] true
	// ValueError: Invalid JSON Object Graph: node 0 contains itself
}

func ExampleAny_UnmarshalJSON() {
	useLibrary()
	var v struct{ Sizes tvmffi.Any }
	if err := json.Unmarshal([]byte(`{"Sizes":[1,2,{"k":null}]}`), &v); err != nil {
		fmt.Println(err)
		return
	}
	defer v.Sizes.Release()
	text, err := json.Marshal(v)
	fmt.Println(string(text), err)
	// Output: {"Sizes":[1,2,{"k":null}]} <nil>
}
