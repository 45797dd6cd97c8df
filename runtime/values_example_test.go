package tvmffi_test

import (
	"encoding/json"
	"fmt"

	"github.com/tvmffi-go/tvmffi/internal/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

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
