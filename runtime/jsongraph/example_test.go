package jsongraph_test

import (
	"errors"
	"fmt"
	"log"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/jsongraph"
)

// The text keeps that both elements are the same list.
func Example() {
	l, err := tvmffi.NewList[any](1, "two")
	if err != nil {
		log.Fatal(err)
	}
	defer l.Release()
	text, err := jsongraph.Marshal([]any{l, l}, nil)
	if err != nil {
		log.Fatal(err)
	}

	back, err := jsongraph.Unmarshal[[]*tvmffi.List[any]](text)
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range back {
		defer l.Release()
	}
	fmt.Println(back[0], tvmffi.Same(back[0], back[1]))
	// Output: [1, "two"] true
}

func ExampleMarshal() {
	text, err := jsongraph.Marshal([]any{7, true}, map[string]any{"author": "ada"})
	if err != nil {
		log.Fatal(err)
	}
	metadata, err := jsongraph.Metadata(text)
	fmt.Println(string(metadata), err)
	// Output: {"author":"ada"} <nil>
}

// Text from outside the program is checked before an object is made of it.
func ExampleUnmarshal() {
	v, err := jsongraph.Unmarshal[[]any]([]byte(`{"root_index":1,"nodes":[{"type":"int","data":7},{"type":"ffi.Array","data":[0,0]}]}`))
	fmt.Println(v, err)

	_, err = jsongraph.Unmarshal[tvmffi.Any]([]byte(`{"root_index":0,"nodes":[{"type":"ffi.Array","data":[0]}]}`))
	fmt.Println(errors.Is(err, tvmffi.ErrValue), err)
	// Output:
	// [7 7] <nil>
	// true ValueError: Invalid JSON Object Graph: node 0 contains itself
}
