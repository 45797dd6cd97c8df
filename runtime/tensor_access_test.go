package tvmffi_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/x448/float16"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func TestElements(t *testing.T) {
	runtimetest.LoadTensors(t)
	x := runtimetest.CountingTensor(t, 3, 4)
	turned := runtimetest.Must[*tvmffi.Tensor](t)(x.Transpose())
	e := runtimetest.Must[*tvmffi.Elements[float32]](t)(tvmffi.ElementsOf[float32](turned))
	if e.At(3, 1) != 7 || e.At(0, 2) != 8 {
		t.Errorf("the elements are %v and %v, want 7 and 8", e.At(3, 1), e.At(0, 2))
	}
	e.Set(-1, 3, 1)
	if got := runtimetest.FloatsOf(t, x)[7]; got != -1 {
		t.Errorf("after Set the element is %v, want -1", got)
	}
	var got []float32
	for i, v := range e.All() {
		if int(i) != len(got) {
			t.Fatalf("All yields the index %d, want %d", i, len(got))
		}
		if got = append(got, v); len(got) == 4 {
			break
		}
	}
	if !slices.Equal(got, []float32{0, 4, 8, 1}) {
		t.Errorf("All yields %v, want [0 4 8 1]", got)
	}
	runtimetest.WantPanic(t, tvmffi.ErrIndex, "got 1 indices, expected 2, one for each dimension", func() { e.At(0) })
	runtimetest.WantPanic(t, tvmffi.ErrIndex, "index 3 is out of range in dimension 1", func() { e.At(0, 3) })
	runtimetest.WantPanic(t, tvmffi.ErrIndex, "index -1 is out of range in dimension 0", func() { e.Set(0, -1, 0) })
	turned.Release()
	runtimetest.WantPanic(t, tvmffi.ErrRuntime, "was released", func() { e.At(0, 0) })
	runtimetest.WantPanic(t, tvmffi.ErrRuntime, "was released", func() {
		for range e.All() {
			break
		}
	})
	scalar := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.NewTensor(tvmffi.Float64))
	s := runtimetest.Must[*tvmffi.Elements[float64]](t)(tvmffi.ElementsOf[float64](scalar))
	s.Set(2.5)
	if s.At() != 2.5 {
		t.Errorf("the scalar is %v, want 2.5", s.At())
	}
	if n := testing.AllocsPerRun(100, func() { s.Set(s.At() + 1) }); n > 2 { // two with checkptr, else none
		t.Errorf("%v allocations", n)
	}
}

func TestElementTypes(t *testing.T) {
	runtimetest.LoadTensors(t)
	for _, c := range []struct {
		make func() (*tvmffi.Tensor, error)
		want tvmffi.DataType
	}{
		{func() (*tvmffi.Tensor, error) { return tvmffi.FromSlice([]float16.Float16{1}) }, tvmffi.Float16},
		{func() (*tvmffi.Tensor, error) { return tvmffi.FromSlice([]tvmffi.F16{1}) }, tvmffi.Float16},
		{func() (*tvmffi.Tensor, error) { return tvmffi.FromSlice([]tvmffi.BF16{1}) }, tvmffi.BFloat16},
		{func() (*tvmffi.Tensor, error) { return tvmffi.FromSlice([]int{1}) }, tvmffi.Int64},
		{func() (*tvmffi.Tensor, error) { return tvmffi.FromSlice([]uint{1}) }, tvmffi.Uint64},
		{func() (*tvmffi.Tensor, error) { return tvmffi.FromSlice([]complex64{1}) }, tvmffi.Complex64},
		{func() (*tvmffi.Tensor, error) { return tvmffi.FromSlice([]complex128{1}) }, tvmffi.Complex128},
		{func() (*tvmffi.Tensor, error) { return tvmffi.TensorOf(tvmffi.Float8E5M2, []uint8{1}) }, tvmffi.Float8E5M2},
		{func() (*tvmffi.Tensor, error) { return tvmffi.TensorOf(tvmffi.Float32.WithLanes(2), []uint64{1}) }, tvmffi.Float32.WithLanes(2)},
	} {
		if x := runtimetest.Must[*tvmffi.Tensor](t)(c.make()); x.DataType() != c.want {
			t.Errorf("%v, want %v", x, c.want)
		}
	}
	half := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]tvmffi.BF16{0x3f80}))
	if s := runtimetest.Must[[]tvmffi.BF16](t)(tvmffi.Slice[tvmffi.BF16](half)); s[0].Float32() != 1 {
		t.Errorf("Slice[BF16] returned %v, want [1]", s)
	}
	if s := runtimetest.Must[[]uint16](t)(tvmffi.Slice[uint16](half)); s[0] != 0x3f80 {
		t.Errorf("Slice[uint16] returned %#x, want 0x3f80", s)
	}
	_, err := tvmffi.Slice[tvmffi.F16](half)
	runtimetest.WantError(t, err, tvmffi.ErrType, "tensor of bfloat16: the element type is tvmffi.BF16 or uint16, not float16.Float16")
	_, err = tvmffi.Slice[float32](half)
	runtimetest.WantError(t, err, tvmffi.ErrType, "tvmffi.BF16 or uint16, not float32")
	_, err = tvmffi.Slice[int8](runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.NewTensor(tvmffi.Float8E4M3FN, 3)))
	runtimetest.WantError(t, err, tvmffi.ErrType, "tensor of float8_e4m3fn: the element type is not int8: convert the elements with ToFloat32")
	_, err = tvmffi.Slice[uint8](runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.NewTensor(tvmffi.Float4E2M1FN, 4)))
	runtimetest.WantError(t, err, tvmffi.ErrType, "float4_e2m1fn")
	_, err = tvmffi.Slice[int64](runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.NewTensor(tvmffi.Int32.WithLanes(2), 4)))
	runtimetest.WantError(t, err, tvmffi.ErrType, "int32x2")
}

func TestNewTensor(t *testing.T) {
	runtimetest.LoadTensors(t)
	for _, shape := range [][]int64{{}, {0}, {3}, {5, 7}, {1000, 1000}} {
		x := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.NewTensor(tvmffi.Float32, shape...))
		if x.DataPointer().Address%64 != 0 || !x.Contiguous() || !slices.Equal(x.Shape(), shape) || x.NBytes() != 4*x.Len() {
			t.Errorf("%v at %#x", x, x.DataPointer().Address)
		}
		if runtimetest.Get[float64](t, "tensors.sum", x) != 0 {
			t.Errorf("%v is not zero", x)
		}
	}
	packed := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.NewTensor(tvmffi.DataType{Code: abi.DLUInt, Bits: 1, Lanes: 1}, 9))
	if b := runtimetest.Must[[]byte](t)(packed.Bytes()); len(b) != 2 {
		t.Errorf("9 bits have the bytes %v, want 2", b)
	}
	for text, make := range map[string]func() (*tvmffi.Tensor, error){
		"dimension 0 of shape [-1] is negative":                 func() (*tvmffi.Tensor, error) { return tvmffi.NewTensor(tvmffi.Int8, -1) },
		"has too many elements":                                 func() (*tvmffi.Tensor, error) { return tvmffi.NewTensor(tvmffi.Int8, math.MaxInt64, 2) },
		"does not fit int64":                                    func() (*tvmffi.Tensor, error) { return tvmffi.NewTensor(tvmffi.Float64, 1<<61) },
		"more than any memory":                                  func() (*tvmffi.Tensor, error) { return tvmffi.NewTensor(tvmffi.Float64, 1<<56) },
		"a data type of 0 bits and 0 lanes":                     func() (*tvmffi.Tensor, error) { return tvmffi.NewTensor(tvmffi.Void, 1) },
		"only the hardware knows the size of a scalable vector": func() (*tvmffi.Tensor, error) { return tvmffi.NewTensor(tvmffi.DataType{Bits: 8, Lanes: 65534}, 1) },
		"the address of 4 bytes is null": func() (*tvmffi.Tensor, error) {
			return tvmffi.FromPointer(tvmffi.Pointer{}, tvmffi.Float32, tvmffi.CPU, nil)
		},
		"address 0x3 is not aligned to the 4": func() (*tvmffi.Tensor, error) {
			return tvmffi.FromPointer(tvmffi.Pointer{Address: 3}, tvmffi.Float32, tvmffi.CPU, nil)
		},
		"elements of int8 have 8 bits, but elements of int16 have 16": func() (*tvmffi.Tensor, error) { return tvmffi.TensorOf(tvmffi.Int8, []int16{1}) },
		"elements of int8xvscalex2 have": func() (*tvmffi.Tensor, error) {
			return tvmffi.TensorOf(tvmffi.DataType{Bits: 8, Lanes: 65534}, []int16{1})
		},
		"has no fixed number of la": func() (*tvmffi.Tensor, error) { return tvmffi.FromFloat32(tvmffi.DataType{Bits: 8, Lanes: 65534}, nil) },
	} {
		_, err := make()
		runtimetest.WantError(t, err, nil, text)
	}
}

func TestCopies(t *testing.T) {
	runtimetest.LoadTensors(t)
	x := runtimetest.CountingTensor(t, 2, 3)
	turned := runtimetest.Must[*tvmffi.Tensor](t)(x.Transpose())
	clone := runtimetest.Must[*tvmffi.Tensor](t)(turned.Clone())
	if !clone.Contiguous() || !slices.Equal(clone.Shape(), []int64{3, 2}) || !slices.Equal(runtimetest.Must[[]float32](t)(tvmffi.Slice[float32](clone)), []float32{0, 3, 1, 4, 2, 5}) {
		t.Errorf("the clone is %v with %v, want the transposed elements one after the other", clone, runtimetest.FloatsOf(t, clone))
	}
	if err := tvmffi.CopyFrom(turned, []float32{10, 11, 12, 13, 14, 15}); err != nil {
		t.Fatal(err)
	}
	if got := runtimetest.FloatsOf(t, x); !slices.Equal(got, []float32{10, 12, 14, 11, 13, 15}) {
		t.Errorf("after CopyFrom the tensor has %v", got)
	}
	if err := tvmffi.Copy(turned, clone); err != nil || !slices.Equal(runtimetest.FloatsOf(t, x), []float32{0, 1, 2, 3, 4, 5}) {
		t.Errorf("after Copy the tensor has %v, want 0 to 5; error %v", runtimetest.FloatsOf(t, x), err)
	}
	runtimetest.WantError(t, tvmffi.Copy(x, clone), tvmffi.ErrValue, "source float32[3, 2]@cpu:0 and target float32[2, 3]@cpu:0 differ in shape or data type")
	runtimetest.WantError(t, tvmffi.Copy(x, nil), tvmffi.ErrType, "source: the object is nil")
	runtimetest.WantError(t, tvmffi.CopyTo(x, make([]float32, 5)), tvmffi.ErrValue, "float32[2, 3]@cpu:0 has 6 elements, but the slice has 5")
	runtimetest.WantError(t, tvmffi.CopyFrom(x, make([]int32, 6)), tvmffi.ErrType, "the element type is float32, not int32")
	// Elements that are not aligned can be copied, though not viewed.
	memory := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.NewTensor(tvmffi.Uint8, 9))
	odd := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromDLPack(oddStruct(t, memory)))
	if err := tvmffi.CopyFrom(odd, []float32{1.5, 2.5}); err != nil || !slices.Equal(runtimetest.FloatsOf(t, odd), []float32{1.5, 2.5}) {
		t.Error(err)
	}
	_, err := tvmffi.Slice[float32](odd)
	runtimetest.WantError(t, err, tvmffi.ErrValue, "is not aligned to the 4 bytes that float32 needs: use CopyTo or Clone")
	_, err = tvmffi.ElementsOf[float32](odd)
	runtimetest.WantError(t, err, tvmffi.ErrValue, "is not aligned")
	if got := runtimetest.Must[[]float32](t)(tvmffi.Slice[float32](runtimetest.Must[*tvmffi.Tensor](t)(odd.Clone()))); got[1] != 2.5 {
		t.Errorf("the clone of a tensor that is not aligned has %v, want 2.5 at 1", got)
	}
}

// oddStruct makes a DLPack struct of two float32 at an odd address of memory.
func oddStruct(t *testing.T, memory *tvmffi.Tensor) *tvmffi.DLPack {
	t.Helper()
	p := taken(t, runtimetest.Must[*tvmffi.DLPack](t)(memory.ToDLPackVersioned())).Address
	m := capi.PointerTo[abi.DLManagedTensorVersioned](p)
	m.Tensor.Data++
	m.Tensor.DType = abi.DLDataType(tvmffi.Float32)
	*capi.PointerTo[int64](m.Tensor.Shape) = 2
	return runtimetest.Must[*tvmffi.DLPack](t)(tvmffi.OwnDLPackVersioned(tvmffi.Pointer{Address: p}))
}

func TestBytes(t *testing.T) {
	runtimetest.LoadTensors(t)
	data := []uint32{1, 2, 3}
	x := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice(data))
	b := runtimetest.Must[[]byte](t)(x.Bytes())
	if len(b) != 12 || binary.NativeEndian.Uint32(b[8:]) != 3 {
		t.Errorf("Bytes returned %v, want 12 bytes that end with 3", b)
	}
	all, err := io.ReadAll(io.NewSectionReader(x, 0, x.NBytes()))
	if err != nil || !bytes.Equal(all, b) {
		t.Errorf("ReadAt gives %v, %v, want the same bytes as Bytes", all, err)
	}
	if err := binary.Write(io.NewOffsetWriter(x, 4), binary.NativeEndian, []uint32{7, 8}); err != nil || !slices.Equal(data, []uint32{1, 7, 8}) {
		t.Errorf("after WriteAt the data is %v, %v, want [1 7 8]", data, err)
	}
	small := make([]byte, 4)
	if n, err := x.ReadAt(small, 10); n != 2 || err != io.EOF {
		t.Errorf("ReadAt near the end returned %d, %v, want 2, io.EOF", n, err)
	}
	if n, err := x.ReadAt(small, 12); n != 0 || err != io.EOF {
		t.Errorf("ReadAt at the end returned %d, %v, want 0, io.EOF", n, err)
	}
	_, err = x.ReadAt(small, -1)
	runtimetest.WantError(t, err, tvmffi.ErrIndex, "offset -1 is negative")
	n, err := x.WriteAt(small, 10)
	runtimetest.WantError(t, err, tvmffi.ErrIndex, "4 bytes at offset 10 do not fit")
	if n != 2 || !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("WriteAt near the end returned %d, %v, want 2, io.ErrShortWrite", n, err)
	}
	_, err = x.WriteAt(small, 13)
	runtimetest.WantError(t, err, tvmffi.ErrIndex, "offset 13 is out of range with 12 bytes")
	turned := runtimetest.Must[*tvmffi.Tensor](t)(runtimetest.CountingTensor(t, 2, 2).Transpose())
	_, err = turned.Bytes()
	runtimetest.WantError(t, err, tvmffi.ErrValue, "it has strides [1 2] and is not contiguous: use Clone")
	_, err = turned.ReadAt(small, 0)
	runtimetest.WantError(t, err, tvmffi.ErrValue, "not contiguous")
	device := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromPointer(tvmffi.Pointer{Address: 4096}, tvmffi.Float32, tvmffi.CUDA(1), nil, 3))
	for _, err := range []error{
		runtimetest.ErrorOf(device.Bytes()), runtimetest.ErrorOf(tvmffi.Slice[float32](device)), runtimetest.ErrorOf(tvmffi.ElementsOf[float32](device)), runtimetest.ErrorOf(device.Clone()),
		runtimetest.ErrorOf(tvmffi.ToFloat32(device)), tvmffi.CopyTo(device, make([]float32, 3)), runtimetest.ErrorOf(device.ReadAt(small, 0)), runtimetest.ErrorOf(device.WriteAt(small, 0)),
	} {
		runtimetest.WantError(t, err, tvmffi.ErrValue, "tensor on cuda:1: its memory is not on the host: copy it there first")
	}
	x.Release()
	for _, err := range []error{runtimetest.ErrorOf(x.Bytes()), runtimetest.ErrorOf(x.ReadAt(small, 0)), runtimetest.ErrorOf(x.WriteAt(small, 0)), runtimetest.ErrorOf(x.Clone()), runtimetest.ErrorOf(x.ToDLPack())} {
		runtimetest.WantError(t, err, tvmffi.ErrRuntime, "was released")
	}
}

func TestFloat32Tensors(t *testing.T) {
	runtimetest.LoadTensors(t)
	in := []float32{0, 1, -2, 0.5, 3, -0.5, 6, 4}
	for name, want := range map[string][]float32{
		"float32": in, "float64": in, "float16": in, "bfloat16": in, "float8_e4m3fn": in, "float8_e5m2": in, "float8_e4m3fnuz": in,
		"float6_e3m2fn": in, "float4_e2m1fn": in, "float4_e2m1fnx2": in, "float32x4": in, "int8": {0, 1, -2, 0, 3, 0, 6, 4},
		"uint3": {0, 1, 0, 0, 3, 0, 6, 4}, "int4": {0, 1, -2, 0, 3, 0, 6, 4}, "bool": {0, 1, 1, 1, 1, 1, 1, 1}, "bool1": {0, 1, 1, 1, 1, 1, 1, 1},
	} {
		dtype := runtimetest.Must[tvmffi.DataType](t)(tvmffi.ParseDataType(name))
		x := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromFloat32(dtype, in))
		if got := runtimetest.Must[[]float32](t)(tvmffi.ToFloat32(x)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		if dtype.Lanes == 1 {
			square := runtimetest.Must[*tvmffi.Tensor](t)(x.Reshape(2, 4))
			turned := runtimetest.Must[*tvmffi.Tensor](t)(square.Transpose())
			if got := runtimetest.Must[[]float32](t)(tvmffi.ToFloat32(turned)); got[1] != want[4] || got[2] != want[1] {
				t.Errorf("%s turned: %v", name, got)
			}
		}
	}
	_, err := tvmffi.FromFloat32(tvmffi.Float32, in, 3)
	runtimetest.WantError(t, err, tvmffi.ErrValue, "float32 of shape [3] has 3 numbers, but the slice has 8")
	_, err = tvmffi.ToFloat32(runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.NewTensor(tvmffi.Complex64, 2)))
	runtimetest.WantError(t, err, tvmffi.ErrType, "data type complex64 is not a real number type")
	if got := runtimetest.Must[[]float32](t)(tvmffi.ToFloat32(runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.NewTensor(tvmffi.Int8, 0, 3)))); len(got) != 0 {
		t.Errorf("an empty tensor has the elements %v", got)
	}
}

func TestTensorFormat(t *testing.T) {
	runtimetest.LoadTensors(t)
	x := runtimetest.CountingTensor(t, 2, 2, 3)
	for format, want := range map[string]string{
		"%v": "float32[2, 2, 3]@cpu:0", "%s": "float32[2, 2, 3]@cpu:0", "%q": `"float32[2, 2, 3]@cpu:0"`,
		"%+v": "float32[2, 2, 3]@cpu:0\n[[[ 0,  1,  2],\n  [ 3,  4,  5]],\n\n [[ 6,  7,  8],\n  [ 9, 10, 11]]]",
	} {
		if got := fmt.Sprintf(format, x); got != want {
			t.Errorf("%s: %q, want %q", format, got, want)
		}
	}
	large := fmt.Sprintf("%+v", runtimetest.CountingTensor(t, 40, 50))
	if want := "[[   0,    1,    2, ...,   47,   48,   49],\n [  50,"; !strings.Contains(large, want) || strings.Count(large, "...") != 7 || strings.Count(large, "\n") != 7 {
		t.Errorf("%%+v of a large tensor prints %s, want its corners", large)
	}
	thirds := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice([]float64{1.0 / 3, 2}))
	if got := fmt.Sprintf("%+.3v", thirds); got != "float64[2]@cpu:0\n[0.333,     2]" {
		t.Errorf("%%+.3v prints %s", got)
	}
	for _, c := range []struct {
		make func() (*tvmffi.Tensor, error)
		want string
	}{
		{func() (*tvmffi.Tensor, error) { return tvmffi.FromSlice([]bool{true, false}) }, "bool[2]@cpu:0\n[ true, false]"},
		{func() (*tvmffi.Tensor, error) { return tvmffi.FromSlice([]int64{-1, math.MaxInt64}) }, "int64[2]@cpu:0\n[                 -1, 9223372036854775807]"},
		{func() (*tvmffi.Tensor, error) { return tvmffi.FromSlice([]uint64{math.MaxUint64}) }, "uint64[1]@cpu:0\n[18446744073709551615]"},
		{func() (*tvmffi.Tensor, error) { return tvmffi.FromSlice([]complex64{1 + 2i, -1i}) }, "complex64[2]@cpu:0\n[1+2i, 0-1i]"},
		{func() (*tvmffi.Tensor, error) { return tvmffi.FromSlice([]float32{float32(math.NaN()), 0.1}) }, "float32[2]@cpu:0\n[NaN, 0.1]"},
		{func() (*tvmffi.Tensor, error) { return tvmffi.FromFloat32(tvmffi.Float4E2M1FN, []float32{1.5, -6}) }, "float4_e2m1fn[2]@cpu:0\n[1.5,  -6]"},
		{func() (*tvmffi.Tensor, error) {
			return tvmffi.FromFloat32(tvmffi.Int8.WithLanes(2), []float32{1, 2, 3, 4})
		}, "int8x2[2]@cpu:0\n[(1, 2), (3, 4)]"},
		{func() (*tvmffi.Tensor, error) { return tvmffi.TensorOf(tvmffi.OpaqueHandle, []uint64{255}) }, "handle[1]@cpu:0\n[0xff]"},
		{func() (*tvmffi.Tensor, error) { return tvmffi.NewTensor(tvmffi.Float32) }, "float32[]@cpu:0\n0"},
		{func() (*tvmffi.Tensor, error) { return tvmffi.NewTensor(tvmffi.Float32, 2, 0) }, "float32[2, 0]@cpu:0\n[[],\n []]"},
		{func() (*tvmffi.Tensor, error) {
			return tvmffi.FromPointer(tvmffi.Pointer{Address: 64}, tvmffi.Float32, tvmffi.CUDA(0), nil, 3)
		}, "float32[3]@cuda:0\n(tensor on cuda:0: its memory is not on the host: copy it there first)"},
	} {
		if got := fmt.Sprintf("%+v", runtimetest.Must[*tvmffi.Tensor](t)(c.make())); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	x.Release()
	if got := fmt.Sprintf("%+v %v", x, (*tvmffi.Tensor)(nil)); got != "<object that was released> None" {
		t.Errorf("a released tensor and a nil one print %s", got)
	}
}

// TestBools: a byte that is neither 0 nor 1 never becomes a bool of Go. Where the elements are copied, it is true.
func TestBools(t *testing.T) {
	bytes := []uint8{0, 1, 2, 255, 0, 128}
	x, err := tvmffi.TensorOf(tvmffi.Bool, bytes, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Release()
	for name, slice := range map[string]func(*tvmffi.Tensor) ([]bool, error){"Slice": tvmffi.Slice[bool], "ReadSlice": tvmffi.ReadSlice[bool]} {
		if got, err := slice(x); !errors.Is(err, tvmffi.ErrValue) || !strings.Contains(err.Error(), "element 2 is the byte 2, expected 0 or 1 in a slice of bools: use CopyTo") {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	type flag bool
	want := []byte{0, 1, 1, 1, 0, 1}
	check := func(name string, got []flag) {
		t.Helper()
		if raw := unsafe.Slice((*byte)(unsafe.Pointer(&got[0])), len(got)); !slices.Equal(raw, want) {
			t.Errorf("%s: bytes %v, want %v", name, raw, want)
		}
	}
	copied := make([]flag, 6)
	if err := tvmffi.CopyTo(x, copied); err != nil {
		t.Fatal(err)
	}
	check("CopyTo", copied)
	e, err := tvmffi.ElementsOf[flag](x)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range e.All() {
		copied[i] = v
	}
	check("All", copied)
	for i := range 6 {
		copied[i] = e.At(int64(i/3), int64(i%3))
	}
	check("At", copied)
	if numbers, err := tvmffi.ToFloat32(x); err != nil || !slices.Equal(numbers, []float32{0, 1, 1, 1, 0, 1}) || tvmffi.Bool.Float64(0xff00) != 0 {
		t.Errorf("as numbers: %v, %v", numbers, err)
	}
	if text := fmt.Sprintf("%+v", x); strings.Contains(text, "255") {
		t.Errorf("printed: %s", text)
	}
	for i := range bytes {
		bytes[i] &= 1
	}
	if got, err := tvmffi.Slice[flag](x); err != nil || !slices.Equal(got, []flag{false, true, false, true, false, false}) {
		t.Errorf("Slice of bools: %v, %v", got, err)
	}
}
