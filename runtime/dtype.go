package tvmffi

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/core"
)

// DataType is the type of the elements of a tensor (DLDataType): a code, the
// width of one lane in bits, and the number of lanes.
type DataType struct {
	Code, Bits uint8
	Lanes      uint16
}

// The data types of Go's numbers.
var (
	Bool    = DataType{abi.DLBool, 8, 1}
	Int8    = DataType{abi.DLInt, 8, 1}
	Int16   = DataType{abi.DLInt, 16, 1}
	Int32   = DataType{abi.DLInt, 32, 1}
	Int64   = DataType{abi.DLInt, 64, 1}
	Uint8   = DataType{abi.DLUInt, 8, 1}
	Uint16  = DataType{abi.DLUInt, 16, 1}
	Uint32  = DataType{abi.DLUInt, 32, 1}
	Uint64  = DataType{abi.DLUInt, 64, 1}
	Float16 = DataType{abi.DLFloat, 16, 1}
	Float32 = DataType{abi.DLFloat, 32, 1}
	Float64 = DataType{abi.DLFloat, 64, 1}
	// BFloat16 has no Go type; its elements are uint16.
	BFloat16 = DataType{abi.DLBfloat, 16, 1}
)

// codeNames are the names of the codes; the ones with a width in the name are
// written without it.
var codeNames = []string{"int", "uint", "float", "handle", "bfloat", "complex", "bool",
	"float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
	"float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"}

// String returns the name of the data type, such as "float32" or "int8x4"; "" for
// the type of nothing.
func (t DataType) String() string {
	if t == (DataType{Code: abi.DLOpaqueHandle}) {
		return ""
	}
	if int(t.Code) >= len(codeNames) {
		return fmt.Sprintf("code%d_%d", t.Code, t.Bits) + t.lanes()
	}
	name := codeNames[t.Code]
	switch {
	case t.Code == abi.DLBool && t.Bits == 8, strings.Contains(name, "_"), t.Code == abi.DLOpaqueHandle && t.Bits == 64:
	default:
		name += strconv.Itoa(int(t.Bits))
	}
	return name + t.lanes()
}

func (t DataType) lanes() string {
	switch n := int16(t.Lanes); {
	case n == 1:
		return ""
	case n < 0:
		return "xvscalex" + strconv.Itoa(-int(n))
	}
	return "x" + strconv.Itoa(int(t.Lanes))
}

// ParseDataType reads the name of a data type as the library does.
func ParseDataType(name string) (DataType, error) {
	if err := Load(); err != nil {
		return DataType{}, err
	}
	v, err := core.DataTypeFromString(name)
	return DataType{v.Code, v.Bits, v.Lanes}, err
}

// Size returns the number of bytes of n elements.
func (t DataType) Size(n int64) int64 { return (n*int64(t.Bits)*int64(t.Lanes) + 7) / 8 }

// bits returns the payload of a value that holds t.
func (t DataType) bits() uint64 {
	return uint64(t.Code) | uint64(t.Bits)<<8 | uint64(t.Lanes)<<16
}

func dataTypeOf(bits uint64) DataType {
	return DataType{uint8(bits), uint8(bits >> 8), uint16(bits >> 16)}
}
