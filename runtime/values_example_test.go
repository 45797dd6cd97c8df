package tvmffi_test

import (
	"encoding/json"
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
