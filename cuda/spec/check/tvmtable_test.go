package check_test

import (
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda/internal/checktest"
	"github.com/tvmffi-go/tvmffi/cuda/spec/check"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// tvmSpecs describe the functions of testdata/tvm_kernels.py: the signatures that they
// report, and the strides, alignments and types that they do not.
var tvmSpecs = map[string]string{
	"add":     "tvm: add(A: Tensor([n: int32, 4], float32), B: Tensor([n, 4], float32), C: Tensor([n, 4], float32))",
	"long":    "tvm: long(A: Tensor([n, m, T.int64(2)], int8), B: Tensor([m, n, n], uint8))",
	"numbers": "tvm: numbers(i: int32, s: int8, u: uint8, l: int64, f: float32, d: float64, b: bool, h: T.handle, A: Tensor([i, 2], float64))",
	"strided": "tvm: strided(A: Tensor([n, n], float32, strides=[s, T.int64(1)], align=16), B: Tensor([n, n, n], float32, strides=[s, n, T.int64(4)], align=1))",
	"scalar":  "tvm: scalar(A: Tensor([], bool), B: Tensor([1, 3], int32, align=8))",
	"apart":   "tvm: apart(A: Tensor([n: int32], float32, offset=_), B: Tensor([n], float32, offset=16))",
	"nothing": "tvm: nothing()",
}

func address(a uintptr) change { return func(d *abi.DLTensor, _ *[]int64) { d.Data = a } }

// tvmRows are calls, right and wrong ones. Right ones run: they touch no memory but
// that of the test.
func tvmRows(t testing.TB) []row {
	m := maker{t}
	cpu := on(tvmffi.CPU)
	of := func(dtype tvmffi.DataType, shape []int64, changes ...change) *tvmffi.Tensor {
		t.Helper()
		return m.tensor(dtype, shape, append([]change{cpu}, changes...)...)
	}
	f32 := func(shape []int64, changes ...change) *tvmffi.Tensor {
		t.Helper()
		return of(tvmffi.Float32, shape, changes...)
	}
	second := on(tvmffi.Device{Type: tvmffi.DeviceCPU, ID: 1})
	null := tvmffi.Pointer{}
	var list []row
	add := func(fn, what string, args ...any) { list = append(list, row{fn, what, args}) }

	g := f32([]int64{8, 4})
	add("add", "right", g, g, g)
	add("add", "no arguments")
	add("add", "too few arguments", g, g)
	add("add", "too many arguments", g, g, g, 1)
	add("add", "int for a tensor", 1, g, g)
	add("add", "float for a tensor", g, 1.5, g)
	add("add", "bool for a tensor", g, g, true)
	add("add", "short text for a tensor", g, g, "x")
	add("add", "None for a tensor", nil, g, g)
	add("add", "None for the third tensor", g, g, nil)
	add("add", "types of all arguments before None", nil, g, 1)
	add("add", "None after what the first tensor is", f32([]int64{8}), nil, g)
	add("add", "one dimension", g, f32([]int64{32}), g)
	add("add", "three dimensions", g, g, f32([]int64{8, 4, 1}))
	add("add", "float64", g, of(tvmffi.Float64, []int64{8, 4}), g)
	add("add", "float16", of(tvmffi.Float16, []int64{8, 4}), g, g)
	add("add", "lanes", g, g, of(tvmffi.Float32.WithLanes(4), []int64{8, 4}))
	add("add", "int32 elements", g, g, of(tvmffi.Int32, []int64{8, 4}))
	add("add", "rank before type of elements", g, of(tvmffi.Float64, []int64{32}), g)
	add("add", "type of elements before sizes", of(tvmffi.Float64, []int64{9, 5}), g, g)
	add("add", "other rows", g, f32([]int64{9, 4}), g)
	add("add", "other rows, the third", g, g, f32([]int64{7, 4}))
	add("add", "other columns of the third", g, g, f32([]int64{8, 5}, strides(4, 1)))
	add("add", "other columns, whose strides differ", g, g, f32([]int64{8, 5}))
	add("add", "other columns of all", f32([]int64{8, 5}, strides(4, 1)), f32([]int64{8, 5}, strides(4, 1)), f32([]int64{8, 5}, strides(4, 1)))
	add("add", "other rows before other columns", f32([]int64{8, 5}, strides(4, 1)), f32([]int64{9, 4}), g)
	add("add", "column-major", g, f32([]int64{8, 4}, strides(1, 8)), g)
	add("add", "padded rows", f32([]int64{8, 4}, strides(5, 1)), g, g)
	add("add", "one padded row", f32([]int64{1, 4}, strides(5, 1)), f32([]int64{1, 4}), f32([]int64{1, 4}))
	add("add", "no rows", f32([]int64{0, 4}), f32([]int64{0, 4}), f32([]int64{0, 4}))
	add("add", "no rows without memory", f32([]int64{0, 4}, address(0)), f32([]int64{0, 4}), f32([]int64{0, 4}))
	add("add", "no memory", g, f32([]int64{8, 4}, address(0)), g)
	add("add", "no memory before other columns", f32([]int64{8, 5}, strides(4, 1)), f32([]int64{8, 4}, address(0)), g)
	add("add", "other device", on1(t, m, tvmffi.CUDA(0)), g, g)
	add("add", "other device of the second", g, on1(t, m, tvmffi.Device{Type: tvmffi.DeviceCUDAHost}), g)
	add("add", "cpu:0 with cpu:1", g, f32([]int64{8, 4}, second), g)
	add("add", "cpu:1 with cpu:0", f32([]int64{8, 4}, second), g, g)
	add("add", "all on cpu:1", f32([]int64{8, 4}, second), f32([]int64{8, 4}, second), f32([]int64{8, 4}, second))
	add("add", "rows before device number", g, f32([]int64{9, 4}, second), g)
	add("add", "device number before columns", g, f32([]int64{8, 5}, strides(4, 1), second), g)
	add("add", "rows beyond int32 that are cut", f32([]int64{1<<32 + 8, 4}), g, g)
	add("add", "byte offset", g, offset(f32([]int64{8, 4}), 64), g)
	add("add", "columns before byte offset", g, offset(f32([]int64{8, 5}, strides(4, 1)), 64), g)

	a, b := of(tvmffi.Int8, []int64{3, 5, 2}), of(tvmffi.Uint8, []int64{5, 3, 3})
	add("long", "right", a, b)
	add("long", "uint8 for int8", of(tvmffi.Uint8, []int64{3, 5, 2}), b)
	add("long", "int8 for uint8", a, of(tvmffi.Int8, []int64{5, 3, 3}))
	add("long", "bool for uint8", a, of(tvmffi.Bool, []int64{5, 3, 3}))
	add("long", "size of the other tensor", a, of(tvmffi.Uint8, []int64{4, 3, 3}))
	add("long", "size in the same tensor", a, of(tvmffi.Uint8, []int64{5, 3, 4}))
	add("long", "constant size", of(tvmffi.Int8, []int64{3, 5, 4}, strides(10, 2, 1)), b)
	add("long", "all sizes beyond int32", of(tvmffi.Int8, []int64{1 << 32, 0, 2}), of(tvmffi.Uint8, []int64{0, 1 << 32, 1<<32 + 1}))

	d := of(tvmffi.Float64, []int64{3, 2})
	right := []any{3, 1, 2, 3, 1.5, 2.5, true, null, d}
	add("numbers", "right", right...)
	for what, c := range map[string]struct {
		i int
		v any
	}{
		"text for an int": {0, "x"}, "float for an int": {0, 3.0}, "None for an int": {1, nil}, "tensor for an int": {2, d},
		"other size than the number": {0, 4}, "a number beyond int32 that is cut": {0, int64(1)<<32 + 3},
		"int8 overflow": {1, 1000}, "uint8 underflow": {2, -1}, "largest int64": {3, int64(1<<63 - 1)}, "bool for an int64": {3, true},
		"text for a float": {4, "x"}, "None for a float": {4, nil}, "int for a float": {4, 7}, "bool for a double": {5, false}, "pointer for a double": {5, null},
		"int for a bool": {6, 7}, "float for a bool": {6, 1.0}, "text for a bool": {6, "x"}, "None for a bool": {6, nil},
		"None for a pointer": {7, nil}, "tensor for a pointer": {7, d}, "shape for a pointer": {7, m.shape(1)}, "int for a pointer": {7, 5},
		"float for a pointer": {7, 1.5}, "other columns": {8, of(tvmffi.Float64, []int64{3, 3}, strides(2, 1))}, "other rows": {8, of(tvmffi.Float64, []int64{4, 2})},
	} {
		args := append([]any(nil), right...)
		args[c.i] = c.v
		add("numbers", what, args...)
	}

	sa := func(changes ...change) *tvmffi.Tensor { t.Helper(); return f32([]int64{3, 3}, changes...) }
	sb := func(changes ...change) *tvmffi.Tensor { t.Helper(); return f32([]int64{3, 3, 3}, changes...) }
	add("strided", "right", sa(strides(7, 1)), sb(strides(7, 3, 4)))
	add("strided", "two sizes of one tensor", f32([]int64{3, 4}, strides(7, 1)), sb(strides(7, 3, 4)))
	add("strided", "stride of another tensor", sa(strides(7, 1)), sb(strides(8, 3, 4)))
	add("strided", "stride that is a size", sa(strides(7, 1)), sb(strides(7, 2, 4)))
	add("strided", "the last strides first", sa(strides(7, 1)), sb(strides(8, 2, 4)))
	add("strided", "constant stride", sa(strides(7, 2)), sb(strides(7, 3, 4)))
	add("strided", "constant stride of the second", sa(strides(7, 1)), sb(strides(7, 3, 1)))
	add("strided", "constant stride of one column", f32([]int64{1, 1}, strides(7, 2)), f32([]int64{1, 1, 1}, strides(7, 1, 4)))
	add("strided", "row-major", sa(), sb())

	z, o := of(tvmffi.Bool, nil), of(tvmffi.Int32, []int64{1, 3})
	add("scalar", "right", z, o)
	add("scalar", "a dimension", of(tvmffi.Bool, []int64{1}), o)
	add("scalar", "uint8 for bool", of(tvmffi.Uint8, nil), o)
	add("scalar", "no memory", of(tvmffi.Bool, nil, address(0)), o)
	add("scalar", "first constant size", z, of(tvmffi.Int32, []int64{2, 3}))
	add("scalar", "second constant size", z, of(tvmffi.Int32, []int64{1, 2}))
	add("scalar", "first stride of one row", z, of(tvmffi.Int32, []int64{1, 3}, strides(9, 1)))
	add("scalar", "second stride", z, of(tvmffi.Int32, []int64{1, 3}, strides(3, 2)))
	add("scalar", "aligned to 8, not 64", z, of(tvmffi.Int32, []int64{1, 3}, shifted(8)))

	// Without rows nothing is read where the offsets point to.
	apart := func(rows int64, bytes uint64) *tvmffi.Tensor { t.Helper(); return offset(f32([]int64{rows}), bytes) }
	add("apart", "right", apart(0, 0), apart(0, 16))
	add("apart", "any offset", apart(0, 8), apart(0, 16))
	add("apart", "an offset in an element", apart(0, 6), apart(0, 16))
	add("apart", "no offset", apart(0, 0), apart(0, 0))
	add("apart", "another offset", apart(0, 0), apart(0, 32))
	add("apart", "offset in elements", apart(0, 4), apart(0, 4))
	add("apart", "rows before offset", apart(3, 0), apart(2, 0))
	add("apart", "other memory before offset", apart(0, 0), offset(f32([]int64{0}, shifted(4)), 0))

	add("nothing", "right")
	add("nothing", "an argument", 1)
	return list
}

// offset sets the byte offset of a tensor.
func offset(x *tvmffi.Tensor, bytes uint64) *tvmffi.Tensor {
	capi.PointerTo[abi.DLTensor](objects.StateOf(x).Handle() + abi.ObjectSize).ByteOffset = bytes
	return x
}

// on1 makes a tensor of 8 rows on another device.
func on1(t testing.TB, m maker, d tvmffi.Device) *tvmffi.Tensor {
	t.Helper()
	return m.tensor(tvmffi.Float32, []int64{8, 4}, on(d))
}

// recordedTVM has what the functions said; tvm_test.go writes it and compares it with what
// they say now.
const recordedTVM = "testdata/tvm_messages.txt"

// TestTVMAlign refuses what functions of TVM do not check: memory that is not aligned as they
// assume, unless a tensor is empty. It comes after all that they check.
func TestTVMAlign(t *testing.T) {
	use(t)
	m := maker{t}
	cpu := func(shape []int64, changes ...change) *tvmffi.Tensor {
		t.Helper()
		return m.tensor(tvmffi.Float32, shape, append([]change{on(tvmffi.CPU)}, changes...)...)
	}
	const refused = "ValueError: Misaligned Tensor data on argument #0 when calling:\n  `f(a: Tensor([n, 2], float32))`,\n  expected data alignment="
	for _, c := range []struct {
		text string
		a    *tvmffi.Tensor
		want string
	}{
		{"tvm: f(a: Tensor([n, 2], float32))", cpu([]int64{1, 2}), "accepted"},
		{"tvm: f(a: Tensor([n, 2], float32))", cpu([]int64{1, 2}, shifted(64)), "accepted"},
		{"tvm: f(a: Tensor([n, 2], float32))", cpu([]int64{1, 2}, shifted(32)), refused + "64 bytes"},
		{"tvm: f(a: Tensor([n, 2], float32))", cpu([]int64{0, 2}, shifted(32)), "accepted"},
		{"tvm: f(a: Tensor([n, 2], float32))", cpu([]int64{1, 3}, shifted(32), strides(2, 1)), "ValueError: Invalid a.shape[1] on argument #0 when calling:\n  `f(a: Tensor([n, 2], float32))`,\n  expected 2"},
		{"tvm: f(a: Tensor([n, 2], float32, align=16))", cpu([]int64{1, 2}, shifted(32)), "accepted"},
		{"tvm: f(a: Tensor([n, 2], float32, align=16))", cpu([]int64{1, 2}, shifted(8)), refused + "16 bytes"},
		{"tvm: f(a: Tensor([n, 2], float32, align=1))", cpu([]int64{1, 2}, shifted(1)), "accepted"},
	} {
		if got := text(check.MustCompile(c.text).Check(c.a)); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.text, got, c.want)
		}
	}
	// Values that functions of TVM read as tensors, although they are not.
	c := check.MustCompile("tvm: f(a: Tensor([n, 2], float32))")
	for _, v := range []any{tvmffi.Pointer{Address: checktest.Base()}, m.shape(1, 2), m.array(1), "a text that is an object"} {
		if got := text(c.Check(v)); !strings.HasPrefix(got, "TypeError: Mismatched type on argument #0") {
			t.Errorf("%T: %s", v, got)
		}
	}
}
