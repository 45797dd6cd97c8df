package tvmffi

import (
	"math"
	"math/bits"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// DataType is the type of the elements of a tensor (DLDataType). Code is the kind of
// number, Bits the width of one lane in bits, and Lanes the number of lanes, which is 1
// for scalars. A number of lanes above 32767 denotes a scalable vector; see
// [DataType.IsScalable].
type DataType struct {
	Code, Bits uint8
	Lanes      uint16
}

// The data types of Go's numbers and of narrow floats.
var (
	Bool       = DataType{abi.DLBool, 8, 1}
	Int8       = DataType{abi.DLInt, 8, 1}
	Int16      = DataType{abi.DLInt, 16, 1}
	Int32      = DataType{abi.DLInt, 32, 1}
	Int64      = DataType{abi.DLInt, 64, 1}
	Uint8      = DataType{abi.DLUInt, 8, 1}
	Uint16     = DataType{abi.DLUInt, 16, 1}
	Uint32     = DataType{abi.DLUInt, 32, 1}
	Uint64     = DataType{abi.DLUInt, 64, 1}
	Float32    = DataType{abi.DLFloat, 32, 1}
	Float64    = DataType{abi.DLFloat, 64, 1}
	Complex64  = DataType{abi.DLComplex, 64, 1}
	Complex128 = DataType{abi.DLComplex, 128, 1}
	// Float16 is the data type of slices of [F16] and uint16.
	Float16 = DataType{abi.DLFloat, 16, 1}
	// BFloat16 is the data type of slices of [BF16] and uint16.
	BFloat16 = DataType{abi.DLBfloat, 16, 1}

	// The floats of 8 bits. Their elements are uint8 in Go; [DataType.Float64]
	// converts them.
	Float8E3M4        = DataType{abi.DLFloat8E3M4, 8, 1}
	Float8E4M3        = DataType{abi.DLFloat8E4M3, 8, 1}
	Float8E4M3B11FNUZ = DataType{abi.DLFloat8E4M3B11FNUZ, 8, 1}
	Float8E4M3FN      = DataType{abi.DLFloat8E4M3FN, 8, 1}
	Float8E4M3FNUZ    = DataType{abi.DLFloat8E4M3FNUZ, 8, 1}
	Float8E5M2        = DataType{abi.DLFloat8E5M2, 8, 1}
	Float8E5M2FNUZ    = DataType{abi.DLFloat8E5M2FNUZ, 8, 1}
	Float8E8M0FNU     = DataType{abi.DLFloat8E8M0FNU, 8, 1}

	// The floats of 6 and 4 bits. Their elements are packed without padding.
	Float6E2M3FN = DataType{abi.DLFloat6E2M3FN, 6, 1}
	Float6E3M2FN = DataType{abi.DLFloat6E3M2FN, 6, 1}
	Float4E2M1FN = DataType{abi.DLFloat4E2M1FN, 4, 1}

	// OpaqueHandle is the data type of addresses (void*).
	OpaqueHandle = DataType{abi.DLOpaqueHandle, 64, 1}
	// Void is the data type without values; its name is "".
	Void = DataType{abi.DLOpaqueHandle, 0, 0}
)

// String returns the name that the library uses for the data type, such as "float32" or
// "int8x4". The library has no names for complex numbers and unknown codes, and one name for
// several odd types, such as "int32" for 65535 lanes and "handle" for each width; String forms
// theirs in the same way, so that no two types have one name. Void, without bits and lanes, is "".
func (t DataType) String() string {
	if abi.DLDataType(t).IsCustom() && capi.Attached() {
		if name, err := values.DataTypeToString(abi.DLDataType(t)); err == nil {
			return name
		}
	}
	return abi.DLDataType(t).String()
}

// IsFloat reports whether the elements are floating-point numbers, of any width.
func (t DataType) IsFloat() bool {
	return t.Code == abi.DLFloat || t.Code == abi.DLBfloat || t.Code >= abi.DLFloat8E3M4 && t.Code <= abi.DLFloat4E2M1FN
}

// IsInteger reports whether the elements are integers, signed or not.
func (t DataType) IsInteger() bool { return t.Code == abi.DLInt || t.Code == abi.DLUInt }

// IsUnsigned reports whether the elements are unsigned integers.
func (t DataType) IsUnsigned() bool { return t.Code == abi.DLUInt }

// IsBool reports whether the elements are bools.
func (t DataType) IsBool() bool { return t.Code == abi.DLBool }

// IsComplex reports whether the elements are complex numbers.
func (t DataType) IsComplex() bool { return t.Code == abi.DLComplex }

// IsHandle reports whether the elements are addresses.
func (t DataType) IsHandle() bool { return t.Code == abi.DLOpaqueHandle && t != Void }

// IsScalable reports whether t is a vector whose length depends on the hardware.
func (t DataType) IsScalable() bool { return int16(t.Lanes) < 0 }

// WithLanes returns the vector type of n lanes of t. It panics with an *Error if
// n is not between 1 and 65535.
func (t DataType) WithLanes(n int) DataType {
	if n < 1 || n > math.MaxUint16 {
		panic(failure.Errorf(failure.KindValue, "data type %s: the number of lanes is %d, expected 1 to 65535", t, n))
	}
	t.Lanes = uint16(n)
	return t
}

// Scalar returns the type of one lane.
func (t DataType) Scalar() DataType {
	t.Lanes = 1
	return t
}

// elementBits returns the number of bits of one element; t must not be scalable.
func (t DataType) elementBits() int64 { return int64(t.Bits) * int64(t.Lanes) }

// ItemSize returns the size of one element in bytes, rounded up. It panics with an *Error
// if t is scalable.
func (t DataType) ItemSize() int { return int(t.Size(1)) }

// Size returns the size of n elements in bytes, rounded up. Elements that are not whole
// bytes are packed: nine elements of the type uint1 need two bytes. Size panics with an
// *Error if t is scalable, n is negative, or the result does not fit int64.
func (t DataType) Size(n int64) int64 {
	size, err := t.size(n)
	if err != nil {
		panic(err)
	}
	return size
}

func (t DataType) size(n int64) (int64, error) {
	width := t.elementBits()
	high, low := bits.Mul64(uint64(n), uint64(width))
	switch {
	case t.IsScalable():
		return 0, failure.Errorf(failure.KindValue, "data type %s: only the hardware knows the size of a scalable vector", t)
	case n < 0:
		return 0, failure.Errorf(failure.KindValue, "data type %s: the number of elements is %d, expected 0 or more", t, n)
	case width == 0:
		return 0, nil
	case high != 0 || low > math.MaxInt64-7:
		return 0, failure.Errorf(failure.KindValue, "data type %s: the size of %d elements does not fit int64", t, n)
	}
	return int64(low+7) / 8, nil
}

// bits returns t as the payload of an abi.Any.
func (t DataType) bits() uint64 {
	return uint64(t.Code) | uint64(t.Bits)<<8 | uint64(t.Lanes)<<16
}

func dataTypeOf(bits uint64) DataType {
	return DataType{uint8(bits), uint8(bits >> 8), uint16(bits >> 16)}
}

// ParseDataType parses the name of a data type. It accepts the names and the short forms
// that the library accepts: "float32", "f32", "bf16x4", "int8xvscalex2", "fp8_e4m3fn",
// "float4_e2m1fn_x2", "handle", "void", "". As there, a width of 0 is the default one: int0 is int32. The library itself parses a name such as
// "custom[mine]16"; the type must be registered there. "complex64", "complex128x2" and so on are
// accepted too, which no version of the library reads. The error is of kind ErrValue, also for a number beyond 64 bits,
// which wraps in the library, and for "xvscale" without a number.
func ParseDataType(name string) (DataType, error) {
	if width, ok := strings.CutPrefix(name, "complex"); ok && width != "" && width[0] > '0' && width[0] <= '9' {
		t, err := abi.ParseDLDataType("uint" + width)
		if t.Code = abi.DLComplex; err == nil {
			return DataType(t), nil
		}
	}
	if strings.HasPrefix(name, "custom") {
		if err := Load(); err != nil {
			return DataType{}, err
		}
		v, err := values.DataTypeFromString(name)
		return DataType(v), err
	}
	t, err := abi.ParseDLDataType(name)
	if err != nil {
		return DataType{}, failure.Errorf(failure.KindValue, "%s", err.Error())
	}
	return DataType(t), nil
}
