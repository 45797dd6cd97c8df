package jsongraph_test

import (
	"fmt"

	"github.com/tvmffi-go/tvmffi/internal/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/jsongraph"
)

// exampleList stands for a value of a library.
func exampleList(items ...any) *tvmffi.List[any] {
	l, err := tvmffi.NewList(items...)
	if err != nil {
		panic(err)
	}
	return l
}

func ExampleUnmarshal() {
	runtimetest.LoadForExample()
	l := exampleList(1, "two")
	defer l.Release()
	text, err := jsongraph.Marshal([]any{l, l}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	back, err := jsongraph.Unmarshal[[]*tvmffi.List[any]](text)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(back[0], tvmffi.Same(back[0], back[1]))
	_, err = jsongraph.Unmarshal[tvmffi.Any]([]byte(`{"root_index":0,"nodes":[{"type":"ffi.Array","data":[0]}]}`))
	fmt.Println(err)
	// Output:
	// [1, "two"] true
	// ValueError: Invalid JSON Object Graph: node 0 contains itself
}
