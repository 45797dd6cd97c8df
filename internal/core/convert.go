package core

import (
	"math"

	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// Convert converts a value to a type in the same way as a parameter of a C++ function:
// a bool to an int, an int and a bool to a float, and an int to a bool. A value that has
// the type stays as it is. ok is false for all other pairs. (Strings become data types
// and devices in the codecs of these types, which parse them.)
func Convert(v abi.Any, want abi.TypeIndex) (_ abi.Any, ok bool) {
	if v.TypeIndex == want {
		return v, true
	}
	if v.TypeIndex != abi.TypeInt && v.TypeIndex != abi.TypeBool {
		return v, false
	}
	switch want {
	case abi.TypeInt:
		return abi.Any{TypeIndex: want, Bits: v.Bits}, true
	case abi.TypeBool:
		return abi.Any{TypeIndex: want, Bits: min(v.Bits, 1)}, true
	case abi.TypeFloat:
		return abi.Any{TypeIndex: want, Bits: math.Float64bits(float64(int64(v.Bits)))}, true
	}
	return v, false
}
