package spec

import (
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// Func describes a function: its name, which is a part of messages, and its
// parameters.
type Func struct {
	Name   string
	Params []Param
	// Dialect says whose checks and messages those of the function are.
	Dialect Dialect
}

// Dialect is the compiler whose kernels a function follows: in what is checked, in which
// order, and with which messages.
type Dialect uint8

const (
	// CuTe is the CuTe DSL.
	CuTe Dialect = iota
	// TVM is TVM 0.27. Its functions have parameters of the types Tensor and Var alone, and
	// a text that begins with "tvm:". A tensor without a device is on the CPU, and without
	// Align its memory must be aligned to 64 bytes: TVM assumes that and does not check it.
	// A dimension without a type is an int64, because TVM refuses no size.
	TVM
)

// New describes a function, of the dialect CuTe.
func New(name string, params ...Param) *Func { return &Func{Name: name, Params: params} }

// Param is a parameter, or an element of a [Tuple]: a [Tensor], [Shape], [Var],
// [Stream], [EnvStream], [DataPointer], [Const], [Tuple] or [Optional]. Parameters
// of a function have names; elements of a tuple need none.
type Param interface{ name() string }

// Dim is one size of a shape or one stride: a [Var], a [Size] or a [Size64].
type Dim interface{ dim() }

// Size is a dimension that is known.
type Size int64

func (Size) dim() {}

// Size64 is a Size whose type in TVM is int64, which TVM's messages contain: they have
// T.int64(4) in place of 4. Other dialects do not have it.
type Size64 int64

func (Size64) dim() {}

// Var is a number: a parameter of its own, or a symbolic dimension. All places of
// a function that use one name have one value; a name that is used once only
// names the value. The name "_" is for a value that nothing refers to.
//
// A range or divisor that one place gives a name holds for all places of that name, so the others
// may leave it out: Var{Name: "n"}. Places that contradict each other are refused.
type Var struct {
	Name string
	// DType is the type in which the kernel takes the value: an integer for
	// dimensions, for parameters also a float, Bool or Handle. The zero DType of a
	// dimension is Int32, as in the CuTe DSL; values that do not fit are refused.
	DType DType
	// Divisibility is a number that divides the value; 0 says nothing.
	Divisibility int64
}

func (Var) dim()           {}
func (v Var) name() string { return v.Name }

// constrained reports whether v asks for more than a value of the type that dimensions have
// without a word about it.
func (v Var) constrained() bool { return v.DType != (DType{}) || v.Divisibility != 0 }

// Any is a dimension that may have any value. With a type or a divisor it is one that
// nothing refers to: each Var{Name: "_", Divisibility: 8} has a value of its own.
var Any = Var{Name: "_"}

// Sym names a dimension, of type int32 if no other place says more.
func Sym(name string) Var { return Var{Name: name} }

// Tensor is a tensor on a device.
type Tensor struct {
	Name  string
	DType DType
	Shape []Dim
	// Strides count elements. The stride of a dimension of size 1 is not compared.
	// Without strides the tensor must be contiguous in row-major order.
	Strides []Dim
	// Align is what the address of the first element must be divisible by, in
	// bytes; 0 says nothing, except in the dialect TVM.
	Align int64
	// Offset is the byte offset that a tensor must have in the dialect TVM, a Size, or Any if
	// it may have any. If it is nil, the tensor must have none.
	Offset Dim
	// Device is the type of the device; "" is "cuda", in the dialect TVM "cpu".
	Device string
	// DeviceID is the number of the device. If it is nil, all tensors of one device
	// type are on one device, and the number of a "cpu" is not compared.
	DeviceID Dim
}

func (t Tensor) name() string { return t.Name }

// Shape is a sequence of integers: an ffi.Shape, or an ffi.Array of int.
type Shape struct {
	Name string
	Dims []Dim
}

func (s Shape) name() string { return s.Name }

// Stream is the handle of a stream: a pointer, an int, or None for the default.
type Stream struct{ Name string }

func (s Stream) name() string { return s.Name }

// EnvStream is a stream that is not an argument: it is the current stream of the device of the
// first tensor that is neither optional nor on the CPU.
type EnvStream struct{ Name string }

func (s EnvStream) name() string { return s.Name }

// DataPointer is the address of data: a pointer, an int, or None for null.
type DataPointer struct {
	Name string
	// Space is the address space; 0 is the generic one, 1 is the memory of the
	// device.
	Space int
}

func (p DataPointer) name() string { return p.Name }

// Const is a value that was fixed when the kernel was compiled.
type Const struct {
	Name string
	// Value is nil, a bool, an int64 or a float64.
	Value any
}

func (c Const) name() string { return c.Name }

// Tuple is an ffi.Array with elements of known types.
type Tuple struct {
	Name  string
	Elems []Param
}

func (t Tuple) name() string { return t.Name }

// Optional is a parameter that may be None. Symbolic dimensions inside have no
// value then.
type Optional struct{ Param }

// DType is the type of elements and numbers, with the fields of DLDataType: a
// tvmffi.DataType converts to it and back.
type DType struct {
	Code, Bits uint8
	Lanes      uint16
}

// The types of elements and numbers; [ParseDType] knows them all.
var (
	Bool     = DType{abi.DLBool, 8, 1}
	Int8     = DType{abi.DLInt, 8, 1}
	Int16    = DType{abi.DLInt, 16, 1}
	Int32    = DType{abi.DLInt, 32, 1}
	Int64    = DType{abi.DLInt, 64, 1}
	Uint8    = DType{abi.DLUInt, 8, 1}
	Uint16   = DType{abi.DLUInt, 16, 1}
	Uint32   = DType{abi.DLUInt, 32, 1}
	Uint64   = DType{abi.DLUInt, 64, 1}
	Float16  = DType{abi.DLFloat, 16, 1}
	BFloat16 = DType{abi.DLBfloat, 16, 1}
	Float32  = DType{abi.DLFloat, 32, 1}
	Float64  = DType{abi.DLFloat, 64, 1}
	// Complex64 and Complex128 are two floats: the real and the imaginary part. They are
	// types of elements; a number of this type cannot be an argument.
	Complex64    = DType{abi.DLComplex, 64, 1}
	Complex128   = DType{abi.DLComplex, 128, 1}
	Float8E4M3FN = DType{abi.DLFloat8E4M3FN, 8, 1}
	Float8E5M2   = DType{abi.DLFloat8E5M2, 8, 1}
	// Float4E2M1FNx2 are two floats in one byte.
	Float4E2M1FNx2 = DType{abi.DLFloat4E2M1FN, 4, 2}
	// Handle is the type of a parameter that is an address, or None for null.
	Handle = DType{abi.DLOpaqueHandle, 64, 1}
)

// String returns the name of the type, such as "float32"; "void" for the zero
// DType, which is not a type.
func (t DType) String() string {
	if t == (DType{}) {
		return "void"
	}
	return abi.DLDataType(t).String()
}

// ParseDType reads the name of a type, such as "float32", "bf16" or "int8x4". Unlike the
// library it knows the names of complex numbers, such as "complex64".
func ParseDType(name string) (DType, error) {
	if rest, ok := strings.CutPrefix(name, "complex"); ok && rest != "" {
		// The rest is read as the rest of a float: a width, and perhaps lanes.
		if t, err := abi.ParseDLDataType("float" + rest); err == nil && t.Code == abi.DLFloat {
			t.Code = abi.DLComplex
			return DType(t), nil
		}
	}
	t, err := abi.ParseDLDataType(name)
	return DType(t), err
}
