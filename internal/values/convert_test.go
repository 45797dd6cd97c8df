package values

import (
	"math"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// TestConvert: what a parameter of a C++ function takes of a value of each type.
func TestConvert(t *testing.T) {
	bits := math.Float64bits
	integer := func(n int64) abi.Any { return abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(n)} }
	float := func(x float64) abi.Any { return abi.Any{TypeIndex: abi.TypeFloat, Bits: bits(x)} }
	truth := abi.Any{TypeIndex: abi.TypeBool, Bits: 1}
	for _, c := range []struct {
		v    abi.Any
		want abi.TypeIndex
		out  abi.Any
		ok   bool
	}{
		{integer(7), abi.TypeInt, integer(7), true},
		{integer(7), abi.TypeFloat, float(7), true},
		{integer(-7), abi.TypeFloat, float(-7), true},
		{integer(7), abi.TypeBool, truth, true},
		{integer(0), abi.TypeBool, abi.Any{TypeIndex: abi.TypeBool}, true},
		{truth, abi.TypeInt, integer(1), true},
		{truth, abi.TypeFloat, float(1), true},
		{truth, abi.TypeBool, truth, true},
		{float(2), abi.TypeFloat, float(2), true},
		{float(2), abi.TypeInt, float(2), false},
		{float(2), abi.TypeBool, float(2), false},
		{abi.Any{}, abi.TypeInt, abi.Any{}, false},
		{abi.Any{}, abi.TypeBool, abi.Any{}, false},
		{integer(7), abi.TypeStr, integer(7), false},
		{integer(7), abi.TypeNone, integer(7), false},
		{abi.Any{TypeIndex: abi.TypeOpaquePtr, Bits: 8}, abi.TypeInt, abi.Any{TypeIndex: abi.TypeOpaquePtr, Bits: 8}, false},
	} {
		if out, ok := Convert(c.v, c.want); out != c.out || ok != c.ok {
			t.Errorf("%v as type %d: %v, %t, want %v, %t", c.v, c.want, out, ok, c.out, c.ok)
		}
	}
}
