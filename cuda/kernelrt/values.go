package kernelrt

import (
	"math"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/internal/packed"
	"github.com/tvmffi-go/tvmffi/cuda/spec/run"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Value is an argument in the form in which FFI functions get it. Objects are
// borrowed.
type Value = abi.Any

// Tensor is a DLTensor.
type Tensor = abi.DLTensor

// FromTensor packs a tensor, nil as None. It must be kept alive while the value is
// used.
func FromTensor(t *tvmffi.Tensor) Value {
	if t == nil {
		return Value{}
	}
	// Every object type has the layout of objects.Object.
	h := (*objects.Object)(unsafe.Pointer(t)).Handle()
	if h == 0 {
		return Value{TypeIndex: run.Released}
	}
	return Value{TypeIndex: abi.TypeTensor, Bits: uint64(h)}
}

// FromInt packs an integer.
func FromInt(n int64) Value { return Value{TypeIndex: abi.TypeInt, Bits: uint64(n)} }

// FromUint packs an integer that may be too large for the library.
func FromUint(n uint64) Value {
	if n > math.MaxInt64 {
		return Value{TypeIndex: run.TooBig}
	}
	return FromInt(int64(n))
}

// FromBool packs a bool.
func FromBool(b bool) Value {
	v := Value{TypeIndex: abi.TypeBool}
	if b {
		v.Bits = 1
	}
	return v
}

// FromFloat packs a float.
func FromFloat(f float64) Value {
	return Value{TypeIndex: abi.TypeFloat, Bits: math.Float64bits(f)}
}

// FromPointer packs an address.
func FromPointer(p tvmffi.Pointer) Value {
	return Value{TypeIndex: abi.TypeOpaquePtr, Bits: uint64(p.Address)}
}

// Stream is where a kernel runs: On, or the environment stream if On is nil.
type Stream struct {
	On *cuda.Stream

	raw     bool
	address uintptr
}

// StreamAt reads the stream that is argument i, if there is one: an address, an
// int, or None for the default stream. The check of the type refuses other values.
func StreamAt(args []Value, i int) Stream {
	if i >= len(args) {
		return Stream{}
	}
	return Stream{raw: true, address: uintptr(args[i].Bits)}
}

// TensorAt reads the tensor that is argument i. It is nil if the argument is not a tensor,
// or if there is no such argument, and valid as long as the argument.
func TensorAt(args []Value, i int) *Tensor {
	if i >= len(args) {
		return nil
	}
	return run.TensorOf(args[i])
}

// The checks of a type.

// IsNone reports whether v is None.
func IsNone(v Value) bool { return v.TypeIndex == abi.TypeNone }

// IsInt reports whether v is an int or a bool.
func IsInt(v Value) bool { return v.TypeIndex == abi.TypeInt || v.TypeIndex == abi.TypeBool }

// IsBool reports whether v is a bool.
func IsBool(v Value) bool { return v.TypeIndex == abi.TypeBool }

// IsFloatOnly reports whether v is a float.
func IsFloatOnly(v Value) bool { return v.TypeIndex == abi.TypeFloat }

// EqualFloat reports whether v, a float, equals the float of these bits.
func EqualFloat(v Value, bits uint64) bool {
	return math.Float64frombits(v.Bits) == math.Float64frombits(bits)
}

// IsFloat reports whether v is a float, an int or a bool.
func IsFloat(v Value) bool { return v.TypeIndex == abi.TypeFloat || IsInt(v) }

// IsHandle reports whether v is a pointer or None.
func IsHandle(v Value) bool { return v.TypeIndex == abi.TypeOpaquePtr || v.TypeIndex == abi.TypeNone }

// IsAddress reports whether v is a pointer, an int or None.
func IsAddress(v Value) bool { return v.TypeIndex == abi.TypeInt || IsHandle(v) }

// Float reads a float, an int or a bool.
func Float(v Value) float64 {
	if v.TypeIndex == abi.TypeFloat {
		return math.Float64frombits(v.Bits)
	}
	return float64(int64(v.Bits))
}

// Truth is 1 for a bool that is true, otherwise 0.
func Truth(v int64) int64 {
	if v != 0 {
		return 1
	}
	return 0
}

// The checks of a tensor, and its fields.

// DType is the type of the elements.
type DType = abi.DLDataType

// IsTensor reports whether t is a tensor of a rank, on a type of device, with elements of
// a type. Its sizes and strides may be read then.
func IsTensor(t *Tensor, ndim, device int32, dtype DType) bool {
	return t != nil && t.NDim == ndim && t.Device.Type == device && t.DType == dtype && (t.Shape != 0 || ndim == 0)
}

// IsIntTensor is IsTensor for integers: kernels take signed and unsigned ones as the same.
func IsIntTensor(t *Tensor, ndim, device int32, bits uint8, lanes uint16) bool {
	return t != nil && t.NDim == ndim && t.Device.Type == device && (t.Shape != 0 || ndim == 0) &&
		t.DType.Code <= abi.DLUInt && t.DType.Bits == bits && t.DType.Lanes == lanes
}

// Reaches reports whether kernels on a device may use the memory of a tensor that is on
// another one, which the program has allowed by EnablePeerAccess or AllowAccess.
func Reaches(device int64, t *Tensor) bool { return reaches(device, int64(t.Device.ID)) }

func reaches(device, memory int64) bool { return packed.Reaches(int32(device), int32(memory)) }

// Within reports whether a number is in a range.
func Within(n, least, most int64) bool { return n >= least && n <= most }

// Address returns the address of the first element, 0 for a nil tensor.
func Address(t *Tensor) uintptr {
	if t == nil {
		return 0
	}
	return run.Address(t)
}

// Size returns the size of a dimension that exists.
func Size(t *Tensor, i int) int64 { return run.Size(t, i) }

// Stride returns the stride of a dimension that exists, in elements.
func Stride(t *Tensor, i int) int64 { return run.Stride(t, i) }

// Contiguous reports whether a tensor is in row-major order without gaps. The stride of
// a dimension of size 1 is not compared.
func Contiguous(t *Tensor) bool { return run.Contiguous(t) }

// Launch is a launch that waits for its parameters.
type Launch packed.Launch

func put[T any](l *Launch, i int, v T) { *(*T)(unsafe.Pointer(&l.Params[i])) = v }

// Word8 sets a parameter of one byte, which is what a bool is too.
func (l *Launch) Word8(i int, v int64) { put(l, i, uint8(v)) }

// Word16 sets a parameter of two bytes.
func (l *Launch) Word16(i int, v int64) { put(l, i, uint16(v)) }

// Word32 sets a parameter of four bytes.
func (l *Launch) Word32(i int, v int64) { put(l, i, uint32(v)) }

// Word64 sets a parameter of eight bytes.
func (l *Launch) Word64(i int, v int64) { put(l, i, uint64(v)) }

// Float16 sets a parameter of type half.
func (l *Launch) Float16(i int, v float64) { put(l, i, half(float32(v))) }

// BFloat16 sets a parameter of type bfloat16.
func (l *Launch) BFloat16(i int, v float64) { put(l, i, tvmffi.ToBF16(float32(v))) }

// Float32 sets a parameter of type float.
func (l *Launch) Float32(i int, v float64) { put(l, i, float32(v)) }

// Float64 sets a parameter of type double.
func (l *Launch) Float64(i int, v float64) { put(l, i, v) }

// Pointer sets a parameter that is a pointer.
func (l *Launch) Pointer(i int, v uintptr) { put(l, i, v) }

// Run launches, once.
func (l *Launch) Run(s Stream) error {
	p := (*packed.Launch)(l)
	defer p.End()
	if s.raw {
		p.Raw, p.Address = true, s.address
	} else if s.On != nil {
		p.Stream = s.On
	}
	return packed.Run(p)
}

// half rounds to the nearest half, to the even one of two.
func half(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b>>16) & 0x8000
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | 0x7e00 // NaN
	case b >= 0x477ff000:
		return sign | 0x7c00 // infinity, and what rounds to it
	case b < 0x38800000:
		// The last bit of 0.5 has the weight of that of a subnormal half.
		return sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-0x3f000000)
	}
	b += 0xfff + b>>13&1
	return sign | uint16((b-0x38000000)>>13)
}
