package tvmffi_test

import (
	"encoding/json"
	"fmt"

	"github.com/tvmffi-go/tvmffi/internal/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// exampleList stands for a value of a library.
func exampleList(items ...any) *tvmffi.List[any] {
	l, err := tvmffi.NewList(items...)
	if err != nil {
		panic(err)
	}
	return l
}

func ExampleAny_UnmarshalJSON() {
	runtimetest.LoadForExample()
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
