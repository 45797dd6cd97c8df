package check_test

import (
	"math"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda/spec/check"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// packed makes the packed form of arguments.
func packed(t testing.TB, args []any) []abi.Any {
	t.Helper()
	out := make([]abi.Any, len(args))
	for i, arg := range args {
		switch x := arg.(type) {
		case nil:
		case int:
			out[i] = abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(x)}
		case int64:
			out[i] = abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(x)}
		case float64:
			out[i] = abi.Any{TypeIndex: abi.TypeFloat, Bits: math.Float64bits(x)}
		case bool:
			out[i] = abi.Any{TypeIndex: abi.TypeBool}
			if x {
				out[i].Bits = 1
			}
		case string:
			out[i] = abi.Any{TypeIndex: abi.TypeSmallStr}
		case tvmffi.Pointer:
			out[i] = abi.Any{TypeIndex: abi.TypeOpaquePtr, Bits: uint64(x.Address)}
		case tvmffi.ObjectRef:
			o := objects.StateOf(x)
			out[i] = abi.Any{TypeIndex: o.TypeIndex(), Bits: uint64(o.Handle())}
		default:
			t.Fatalf("%T", arg)
		}
	}
	return out
}

// checkPacked does the checks on packed arguments, with tensors as objects and as
// DLTensor pointers.
func checkPacked(t *testing.T, name string, c *check.Checker, args []any, want string) {
	t.Helper()
	var v check.Values
	p := packed(t, args)
	if got := text(c.BindPacked(&v, p)); got != want {
		t.Errorf("%s, packed:\ngot  %s\nwant %s", name, got, want)
	}
	for i := range p {
		if p[i].TypeIndex == abi.TypeTensor {
			p[i].TypeIndex, p[i].Bits = abi.TypeDLTensorPtr, p[i].Bits+abi.ObjectSize
		}
	}
	if got := text(c.BindPacked(&v, p)); got != want {
		t.Errorf("%s, DLTensor:\ngot  %s\nwant %s", name, got, want)
	}
}
