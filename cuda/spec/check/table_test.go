package check_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda/internal/checktest"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// cuteSpecs describe the functions of testdata/cute_kernels.py.
var cuteSpecs = map[string]string{
	"add":     "add(a: Tensor([n0], float32, strides=[1], align=4), b: Tensor([n0], float32, strides=[1], align=4), c: Tensor([n0], float32, strides=[1], align=4), k: int32, stream: Stream)",
	"env":     "env(a: Tensor([n0], float32, strides=[1], align=4), k: int32, stream: EnvStream)",
	"mat":     "mat(a: Tensor([n0, n1 % 8], float16, strides=[_: int64 % 8, 1], align=2), b: Tensor([4, 3], float32, strides=[3, 1], align=16), alpha: float32, flag: bool)",
	"strided": "strided(a: Tensor([n0: int64, n1], bfloat16, strides=[s0: int64 % 4, 1], align=2), b: Tensor([n0, n1, 2], bfloat16, strides=[s0, _: int32, 1], align=128))",
	"ints":    "ints(i8: int8, u8: uint8, i16: int16, u16: uint16, u32: uint32, i64: int64, u64: uint64, f64: float64, f16: float16, bf: bfloat16)",
	"sizes":   "sizes(s: Shape([n0, 4, n1: int64]), a: Tensor([n2], float32, strides=[1], align=4))",
	"pointer": "pointer(p: DataPointer(space=1), stream: Stream)",
	"tuples":  "tuples(p: Tuple[Tensor([n0], float32, strides=[1], align=4), int32], a: Tensor([n0], float32, strides=[1], align=4), t: Tuple[int32, Tuple[float32, Tensor([n0, 2], float32, strides=[2, 1], align=4)]])",
	"none":    "none(a: Tensor([n0], float32, strides=[1], align=4), b: None)",
	"consts":  "consts(c: Tuple[Int(5), Bool(True), Float(1.5), None, int32])",
	"bytes":   "bytes_(a: Tensor([n0], int8, strides=[1], align=1), b: Tensor([n0], uint8, strides=[1], align=1), c: Tensor([n0, 16], float4_e2m1fnx2, strides=[16, 1], align=1))",
	"host":    "host(a: Tensor([n0], float32, strides=[1], align=4, device=cpu), b: Tensor([n0], float32, strides=[1], align=4))",
}

// maker makes tensors and other values that live until the test ends.
type maker struct{ t testing.TB }

type change func(*abi.DLTensor, *[]int64)

func on(device tvmffi.Device) change {
	return func(d *abi.DLTensor, _ *[]int64) { d.Device = abi.DLDevice(device) }
}

func shifted(bytes uintptr) change {
	return func(d *abi.DLTensor, _ *[]int64) { d.Data += bytes }
}

func strides(n ...int64) change { return func(_ *abi.DLTensor, s *[]int64) { *s = n } }

// tensor makes a tensor on cuda:0, whose memory is not touched.
func (m maker) tensor(dtype tvmffi.DataType, shape []int64, changes ...change) *tvmffi.Tensor {
	m.t.Helper()
	if err := tvmffi.Load(); err != nil {
		m.t.Fatal(err)
	}
	d := abi.DLTensor{Data: checktest.Base(), DType: abi.DLDataType(dtype), Device: abi.DLDevice(tvmffi.CUDA(0))}
	var strides []int64
	for _, c := range changes {
		c(&d, &strides)
	}
	t := checktest.Tensor(d, shape, strides)
	m.t.Cleanup(t.Release)
	return t
}

func (m maker) f32(n int64, changes ...change) *tvmffi.Tensor {
	m.t.Helper()
	return m.tensor(tvmffi.Float32, []int64{n}, changes...)
}

func (m maker) array(items ...any) *tvmffi.Array[any] {
	m.t.Helper()
	a, err := tvmffi.NewArray(items...)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(a.Release)
	return a
}

func (m maker) shape(dims ...int64) *tvmffi.Shape {
	m.t.Helper()
	s, err := tvmffi.NewShape(dims...)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(s.Release)
	return s
}

// row is one call.
type row struct {
	fn, what string
	args     []any
}

// rows are calls with mistakes, and some that are right: those have no message.
func rows(t testing.TB) []row {
	m := maker{t}
	f32 := m.f32
	null := tvmffi.Pointer{}
	const f16, bf16, i8, u8 = 0, 1, 2, 3
	types := []tvmffi.DataType{tvmffi.Float16, tvmffi.BFloat16, tvmffi.Int8, tvmffi.Uint8}
	of := func(k int, shape []int64, changes ...change) *tvmffi.Tensor {
		t.Helper()
		return m.tensor(types[k], shape, changes...)
	}
	g := f32(8)
	var list []row
	add := func(fn, what string, args ...any) { list = append(list, row{fn, what, args}) }

	add("add", "right", g, g, g, 1, null)
	add("add", "no arguments")
	add("add", "too few arguments", g, g, g, 1)
	add("add", "too many arguments", g, g, g, 1, null, 1)
	add("add", "int for a tensor", 1, g, g, 1, null)
	add("add", "None for a tensor", nil, g, g, 1, null)
	add("add", "text for a tensor", g, g, "tensor", 1, null)
	add("add", "shape for a tensor", g, m.shape(8), g, 1, null)
	add("add", "array for a tensor", g, m.array(8), g, 1, null)
	add("add", "host tensor", f32(8, on(tvmffi.CPU)), g, g, 1, null)
	add("add", "second tensor on the host", g, f32(8, on(tvmffi.CPU)), g, 1, null)
	add("add", "pinned tensor", f32(8, on(tvmffi.Device{Type: tvmffi.DeviceCUDAHost})), g, g, 1, null)
	add("add", "all on another device", f32(8, on(tvmffi.CUDA(1))), f32(8, on(tvmffi.CUDA(1))), f32(8, on(tvmffi.CUDA(1))), 1, null)
	add("add", "two devices", g, f32(8, on(tvmffi.CUDA(1))), g, 1, null)
	add("add", "two devices, the third", g, g, f32(8, on(tvmffi.CUDA(3))), 1, null)
	add("add", "device before type of device", g, f32(8, on(tvmffi.Device{Type: tvmffi.DeviceROCM, ID: 2})), g, 1, null)
	add("add", "float16", g, of(f16, []int64{8}), g, 1, null)
	add("add", "float64", m.tensor(tvmffi.Float64, []int64{8}), g, g, 1, null)
	add("add", "int32 elements", g, g, m.tensor(tvmffi.Int32, []int64{8}), 1, null)
	add("add", "lanes", g, m.tensor(tvmffi.Float32.WithLanes(4), []int64{8}), g, 1, null)
	add("add", "no dimensions", m.tensor(tvmffi.Float32, nil), g, g, 1, null)
	add("add", "two dimensions", g, m.tensor(tvmffi.Float32, []int64{2, 4}), g, 1, null)
	add("add", "rank before type of elements", g, m.tensor(tvmffi.Float64, []int64{2, 4}), g, 1, null)
	add("add", "type of elements before shape", g, m.tensor(tvmffi.Float64, []int64{9}), g, 1, null)
	add("add", "other size", g, f32(9), g, 1, null)
	add("add", "other size, the third", g, g, f32(0), 1, null)
	add("add", "size beyond int32", f32(1<<31), g, g, 1, null)
	add("add", "largest size", f32(1<<31-1), f32(1<<31-1), f32(1<<31-1), 1, null)
	add("add", "no elements", f32(0), f32(0), f32(0), 1, null)
	add("add", "stride", g, f32(8, strides(2)), g, 1, null)
	add("add", "stride of one element", f32(1), f32(1, strides(7)), f32(1), 1, null)
	add("add", "negative stride", f32(8, strides(-1)), g, g, 1, null)
	add("add", "misaligned", g, f32(8, shifted(1)), g, 1, null)
	add("add", "alignment before device", g, f32(8, shifted(2), on(tvmffi.CPU)), g, 1, null)
	add("add", "text for an int", g, g, g, "x", null)
	add("add", "float for an int", g, g, g, 1.5, null)
	add("add", "None for an int", g, g, g, nil, null)
	add("add", "tensor for an int", g, g, g, g, null)
	add("add", "bool for an int", g, g, g, true, null)
	add("add", "int32 overflow", g, g, g, int64(1)<<40, null)
	add("add", "int32 underflow", g, g, g, int64(-1)<<31-1, null)
	add("add", "least int32", g, g, g, int64(-1)<<31, null)
	add("add", "None for a stream", g, g, g, 1, nil)
	add("add", "int for a stream", g, g, g, 1, 0)
	add("add", "text for a stream", g, g, g, 1, "s")
	add("add", "float for a stream", g, g, g, 1, 1.0)
	add("add", "bool for a stream", g, g, g, 1, true)

	add("env", "right", g, 1)
	add("env", "stream given", g, 1, null)
	add("env", "host tensor", f32(8, on(tvmffi.CPU)), 1)

	a, b := of(f16, []int64{4, 16}), m.tensor(tvmffi.Float32, []int64{4, 3})
	add("mat", "right", a, b, 1.0, true)
	add("mat", "not divisible", of(f16, []int64{4, 12}), b, 1.0, true)
	add("mat", "zero is divisible", of(f16, []int64{4, 0}), b, 1.0, true)
	add("mat", "column-major", of(f16, []int64{4, 16}, strides(1, 4)), b, 1.0, true)
	add("mat", "padded rows", of(f16, []int64{4, 16}, strides(32, 1)), b, 1.0, true)
	add("mat", "rows beyond int32 apart", of(f16, []int64{4, 16}, strides(1<<40, 1)), b, 1.0, true)
	add("mat", "one padded row", of(f16, []int64{1, 16}, strides(32, 1)), b, 1.0, true)
	add("mat", "constant size", a, m.tensor(tvmffi.Float32, []int64{5, 3}), 1.0, true)
	add("mat", "second constant size", a, m.tensor(tvmffi.Float32, []int64{4, 2}), 1.0, true)
	add("mat", "constant stride", a, m.tensor(tvmffi.Float32, []int64{4, 3}, strides(1, 4)), 1.0, true)
	add("mat", "aligned to 8, not 16", a, m.tensor(tvmffi.Float32, []int64{4, 3}, shifted(8)), 1.0, true)
	add("mat", "misaligned float16", of(f16, []int64{4, 16}, shifted(1)), b, 1.0, true)
	add("mat", "int for a float", a, b, 1, true)
	add("mat", "bool for a float", a, b, false, true)
	add("mat", "text for a float", a, b, "x", true)
	add("mat", "None for a float", a, b, nil, true)
	add("mat", "int for a bool", a, b, 1.0, 7)
	add("mat", "large int for a bool", a, b, 1.0, 1000)
	add("mat", "text for a bool", a, b, 1.0, "x")

	sa := of(bf16, []int64{4, 6}, strides(8, 1))
	sb := func(shape []int64, changes ...change) *tvmffi.Tensor { return of(bf16, shape, changes...) }
	add("strided", "right", sa, sb([]int64{4, 6, 2}, strides(8, 5, 1)))
	add("strided", "stride not divisible", of(bf16, []int64{4, 6}, strides(6, 1)), sb([]int64{4, 6, 2}, strides(8, 5, 1)))
	add("strided", "first stride of one row", of(bf16, []int64{1, 6}, strides(6, 1)), sb([]int64{1, 6, 2}, strides(8, 5, 1)))
	add("strided", "last stride", of(bf16, []int64{4, 6}, strides(8, 2)), sb([]int64{4, 6, 2}, strides(8, 5, 1)))
	add("strided", "stride of another tensor", sa, sb([]int64{4, 6, 2}, strides(12, 5, 1)))
	add("strided", "shape before strides", sa, sb([]int64{4, 7, 2}, strides(12, 5, 1)))
	add("strided", "stride beyond int32", sa, sb([]int64{4, 6, 2}, strides(8, 1<<40, 1)))
	add("strided", "stride beyond int32 of one row", of(bf16, []int64{4, 1}, strides(8, 1)), sb([]int64{4, 1, 2}, strides(8, 1<<40, 1)))
	add("strided", "not aligned to 128", sa, sb([]int64{4, 6, 2}, strides(8, 5, 1), shifted(64)))

	ok := []any{1, 1, 1, 1, 1, 1, 1, 1.0, 1.0, 1.0}
	with := func(i int, v any) []any {
		args := append([]any(nil), ok...)
		args[i] = v
		return args
	}
	add("ints", "right", ok...)
	for i, bounds := range [][2]int64{{-1 << 7, 1<<7 - 1}, {0, 1<<8 - 1}, {-1 << 15, 1<<15 - 1}, {0, 1<<16 - 1}, {0, 1<<32 - 1}} {
		name := []string{"int8", "uint8", "int16", "uint16", "uint32"}[i]
		add("ints", "least "+name, with(i, bounds[0])...)
		add("ints", "too small for "+name, with(i, bounds[0]-1)...)
		add("ints", "largest "+name, with(i, bounds[1])...)
		add("ints", "too large for "+name, with(i, bounds[1]+1)...)
	}
	add("ints", "least int64", with(5, int64(-1<<63))...)
	add("ints", "negative uint64", with(6, -1)...)
	add("ints", "text for float64", with(7, "x")...)
	add("ints", "pointer for float16", with(8, null)...)
	add("ints", "tensor for bfloat16", with(9, g)...)

	add("sizes", "right", m.shape(7, 4, 9), g)
	add("sizes", "right, as an array", m.array(7, 4, 9), g)
	add("sizes", "tensor for a shape", g, g)
	add("sizes", "None for a shape", nil, g)
	add("sizes", "too few", m.shape(7, 4), g)
	add("sizes", "too few, as an array", m.array(7, 4), g)
	add("sizes", "constant", m.shape(7, 5, 9), g)
	add("sizes", "constant, as an array", m.array(7, 5, 9), g)
	add("sizes", "float element", m.array(7, 4, 9.5), g)
	add("sizes", "bool element", m.array(true, 4, 9), g)
	add("sizes", "type before values", m.array(7, 5, "x"), g)
	add("sizes", "beyond int32", m.shape(1<<40, 4, 9), g)
	add("sizes", "beyond int32, int64", m.shape(7, 4, 1<<40), g)

	add("pointer", "right", tvmffi.Pointer{Address: 64}, null)
	add("pointer", "None", nil, null)
	add("pointer", "int", 64, null)
	add("pointer", "tensor", g, null)
	add("pointer", "text", "p", null)

	pair := m.array(g, 1)
	deep := func(x any) *tvmffi.Array[any] { return m.array(1, m.array(1.0, x)) }
	g2 := m.tensor(tvmffi.Float32, []int64{8, 2})
	add("tuples", "right", pair, g, deep(g2))
	add("tuples", "no tuple", g, g, deep(g2))
	add("tuples", "None", nil, g, deep(g2))
	add("tuples", "shape for a tuple", m.shape(1, 2), g, deep(g2))
	add("tuples", "size", m.array(g), g, deep(g2))
	add("tuples", "element", m.array(1, 1), g, deep(g2))
	add("tuples", "second element", m.array(g, "x"), g, deep(g2))
	add("tuples", "overflow in it", m.array(g, 1<<31), g, deep(g2))
	add("tuples", "size of another argument", pair, f32(9), deep(g2))
	add("tuples", "size deep inside", pair, g, deep(m.tensor(tvmffi.Float32, []int64{9, 2})))
	add("tuples", "constant deep inside", pair, g, deep(m.tensor(tvmffi.Float32, []int64{8, 3})))
	add("tuples", "inner tuple", pair, g, m.array(1, g))
	add("tuples", "size of the inner tuple", pair, g, m.array(1, m.array(1.0)))
	add("tuples", "device in it", pair, g, deep(m.tensor(tvmffi.Float32, []int64{8, 2}, on(tvmffi.CUDA(1)))))
	add("tuples", "misaligned in it", m.array(f32(8, shifted(2)), 1), g, deep(g2))

	add("none", "right", g, nil)
	add("none", "tensor for None", g, g)
	add("none", "int for None", g, 0)

	add("consts", "right", m.array(5, true, 1.5, nil, 3))
	add("consts", "other int", m.array(6, true, 1.5, nil, 3))
	add("consts", "float for an int", m.array(5.0, true, 1.5, nil, 3))
	add("consts", "other bool", m.array(5, false, 1.5, nil, 3))
	add("consts", "int for a bool", m.array(5, 1, 1.5, nil, 3))
	add("consts", "other float", m.array(5, true, 2.5, nil, 3))
	add("consts", "int for a float", m.array(5, true, 1, nil, 3))
	add("consts", "something for None", m.array(5, true, 1.5, 1, 3))
	add("consts", "too few", m.array(5, true, 1.5, nil))

	f4 := func(n, k int64) *tvmffi.Tensor {
		return m.tensor(tvmffi.Float4E2M1FN.WithLanes(2), []int64{n, k})
	}
	add("bytes", "right", of(i8, []int64{8}), of(u8, []int64{8}), f4(8, 16))
	add("bytes", "signs exchanged", of(u8, []int64{8}), of(i8, []int64{8}), f4(8, 16))
	add("bytes", "bool for int8", m.tensor(tvmffi.Bool, []int64{8}), of(u8, []int64{8}), f4(8, 16))
	add("bytes", "float8 for uint8", of(i8, []int64{8}), m.tensor(tvmffi.Float8E5M2, []int64{8}), f4(8, 16))
	add("bytes", "one float4", of(i8, []int64{8}), of(u8, []int64{8}), m.tensor(tvmffi.Float4E2M1FN, []int64{8, 32}))
	add("bytes", "float4 columns", of(i8, []int64{8}), of(u8, []int64{8}), f4(8, 32))

	h := f32(8, on(tvmffi.CPU))
	add("host", "right", h, g)
	add("host", "number of the host", f32(8, on(tvmffi.Device{Type: tvmffi.DeviceCPU, ID: 3})), g)
	add("host", "device tensor for the host", g, g)
	add("host", "host tensor for the device", h, h)
	return list
}
