package tvmffi_test

import (
	"fmt"

	"github.com/tvmffi-go/tvmffi/internal/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

// A callback gives an array that it made to its caller, which then has the only reference.
func ExampleMove() {
	runtimetest.LoadForExample()
	pair, err := tvmffi.FuncOf(tvmffi.Packed(func(args []tvmffi.Any) (any, error) {
		n, err := tvmffi.As[int64](args[0])
		if err != nil {
			return nil, err
		}
		a, err := tvmffi.NewArray(n, n+1)
		if err != nil {
			return nil, err
		}
		return tvmffi.Move(a), nil
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pair.Release()
	v, err := pair.Call(3)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer v.Release()
	a, err := tvmffi.As[*tvmffi.Array[int64]](v)
	fmt.Println(a, err, memstat.UseCount(a))
	// Output: (3, 4) <nil> 1
}
