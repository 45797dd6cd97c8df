package tvmffi_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

func TestTensorViews(t *testing.T) {
	runtimetest.LoadTensors(t)
	runtimetest.Balanced(t)
	x := runtimetest.CountingTensor(t, 2, 3, 4)
	for _, c := range []struct {
		name    string
		view    func() (*tvmffi.Tensor, error)
		shape   []int64
		strides []int64
		values  []float32
	}{
		{"slice", func() (*tvmffi.Tensor, error) { return x.Slice(1, 1, 3) }, []int64{2, 2, 4}, []int64{12, 4, 1},
			[]float32{4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 20, 21, 22, 23}},
		{"slice from the end", func() (*tvmffi.Tensor, error) { return x.Slice(-1, -2, 4) }, []int64{2, 3, 2}, []int64{12, 4, 1},
			[]float32{2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23}},
		{"empty slice", func() (*tvmffi.Tensor, error) { return x.Slice(0, 2, 2) }, []int64{0, 3, 4}, []int64{12, 4, 1}, []float32{}},
		{"select", func() (*tvmffi.Tensor, error) { return x.Select(1, -1) }, []int64{2, 4}, []int64{12, 1}, []float32{8, 9, 10, 11, 20, 21, 22, 23}},
		{"transpose", func() (*tvmffi.Tensor, error) { return x.Transpose() }, []int64{4, 3, 2}, []int64{1, 4, 12},
			[]float32{0, 12, 4, 16, 8, 20, 1, 13, 5, 17, 9, 21, 2, 14, 6, 18, 10, 22, 3, 15, 7, 19, 11, 23}},
		{"permute", func() (*tvmffi.Tensor, error) { return x.Transpose(1, 0, -1) }, []int64{3, 2, 4}, []int64{4, 12, 1},
			[]float32{0, 1, 2, 3, 12, 13, 14, 15, 4, 5, 6, 7, 16, 17, 18, 19, 8, 9, 10, 11, 20, 21, 22, 23}},
		{"reshape", func() (*tvmffi.Tensor, error) { return x.Reshape(4, -1) }, []int64{4, 6}, []int64{6, 1}, nil},
		{"flat", func() (*tvmffi.Tensor, error) { return x.Reshape(-1) }, []int64{24}, []int64{1}, nil},
		{"unsqueeze", func() (*tvmffi.Tensor, error) { return x.Unsqueeze(1) }, []int64{2, 1, 3, 4}, []int64{12, 12, 4, 1}, nil},
		{"unsqueeze at the end", func() (*tvmffi.Tensor, error) { return x.Unsqueeze(-1) }, []int64{2, 3, 4, 1}, []int64{12, 4, 1, 1}, nil},
		{"strided", func() (*tvmffi.Tensor, error) { return x.AsStrided([]int64{3, 2}, []int64{5, 1}, 7) }, []int64{3, 2}, []int64{5, 1},
			[]float32{7, 8, 12, 13, 17, 18}},
		{"broadcast", func() (*tvmffi.Tensor, error) { return x.AsStrided([]int64{2, 2}, []int64{0, 1}, 22) }, []int64{2, 2}, []int64{0, 1},
			[]float32{22, 23, 22, 23}},
		{"backwards", func() (*tvmffi.Tensor, error) { return x.AsStrided([]int64{3}, []int64{-1}, 23) }, []int64{3}, []int64{-1}, []float32{23, 22, 21}},
		{"many dimensions", func() (*tvmffi.Tensor, error) { return x.Reshape(1, 2, 1, 3, 1, 4) }, []int64{1, 2, 1, 3, 1, 4}, []int64{24, 12, 12, 4, 4, 1}, nil},
	} {
		v, err := c.view()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		want := c.values
		if want == nil {
			want = runtimetest.FloatsOf(t, x)
		}
		if !slices.Equal(v.Shape(), c.shape) || !slices.Equal(v.Strides(), c.strides) || v.ByteOffset() != 0 || v.NDim() != len(c.shape) {
			t.Errorf("%s: shape %v, strides %v, offset %d", c.name, v.Shape(), v.Strides(), v.ByteOffset())
		}
		if got := runtimetest.FloatsOf(t, v); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", c.name, got, want)
		}
		sum := float64(0)
		for _, f := range want {
			sum += float64(f)
		}
		if got := runtimetest.Get[float64](t, "tensors.sum", v); got != sum {
			t.Errorf("%s: C++ sums %v, want %v", c.name, got, sum)
		}
		if n := memstat.UseCount(x); n != 2 {
			t.Errorf("%s: the source has %d references, want 2", c.name, n)
		}
		v.Release()
	}
	squeezed := runtimetest.Must[*tvmffi.Tensor](t)(runtimetest.Must[*tvmffi.Tensor](t)(x.Reshape(2, 1, 12, 1)).Squeeze())
	if s := squeezed.String(); s != "float32[2, 12]@cpu:0" {
		t.Errorf("the squeezed tensor is %s, want float32[2, 12]@cpu:0", s)
	}
	x.Release()
	if got := runtimetest.FloatsOf(t, squeezed); got[23] != 23 {
		t.Errorf("a view outlives its source: %v", got)
	}
	squeezed.Release()
	runtimetest.DropGarbage(t)
}

// A write through a view of a view reaches the slice.
func TestTensorViews_shareMemory(t *testing.T) {
	runtimetest.LoadTensors(t)
	data := make([]int16, 12)
	x := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromSlice(data, 3, 4))
	row := runtimetest.Must[*tvmffi.Tensor](t)(x.Select(0, 2))
	part := runtimetest.Must[*tvmffi.Tensor](t)(row.Slice(0, 1, 3))
	if err := tvmffi.CopyFrom(part, []int16{7, 8}); err != nil {
		t.Fatal(err)
	}
	if want := []int16{0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 8, 0}; !slices.Equal(data, want) {
		t.Errorf("the data is %v, want %v", data, want)
	}
	if part.DataPointer().Address != x.DataPointer().Address+18 {
		t.Error("the address of the view is not the address of its first element")
	}
}

func TestTensorViews_refuse(t *testing.T) {
	runtimetest.LoadTensors(t)
	x := runtimetest.CountingTensor(t, 2, 3)
	turned := runtimetest.Must[*tvmffi.Tensor](t)(x.Transpose())
	nibbles := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.NewTensor(tvmffi.Float4E2M1FN, 8))
	for _, c := range []struct {
		text string
		view func() (*tvmffi.Tensor, error)
	}{
		{"IndexError: tensor: dimension 2 is out of range with 2 dimensions", func() (*tvmffi.Tensor, error) { return x.Slice(2, 0, 1) }},
		{"IndexError: tensor: dimension -3 is out of range with 2 dimensions", func() (*tvmffi.Tensor, error) { return x.Select(-3, 0) }},
		{"IndexError: slice of float32[2, 3]@cpu:0: from 2 to 1 is out of range in dimension 1", func() (*tvmffi.Tensor, error) { return x.Slice(1, 2, 1) }},
		{"from 0 to 4 is out of range", func() (*tvmffi.Tensor, error) { return x.Slice(1, 0, 4) }},
		{"from -4 to 3 is out of range", func() (*tvmffi.Tensor, error) { return x.Slice(1, -4, 3) }},
		{"index 3 is out of range in dimension 1", func() (*tvmffi.Tensor, error) { return x.Select(1, 3) }},
		{"shape [4 2] has 8 elements, expected 6", func() (*tvmffi.Tensor, error) { return x.Reshape(4, 2) }},
		{"6 elements do not fill shape [4 -1]", func() (*tvmffi.Tensor, error) { return x.Reshape(4, -1) }},
		{"6 elements do not fill shape [0 -1]", func() (*tvmffi.Tensor, error) { return x.Reshape(0, -1) }},
		{"dimension 1 of shape [-1 -1] is negative", func() (*tvmffi.Tensor, error) { return x.Reshape(-1, -1) }},
		{"has too many elements", func() (*tvmffi.Tensor, error) { return x.Reshape(1<<40, 1<<40) }},
		{"it has strides [1 3] and is not contiguous: reshape a Clone", func() (*tvmffi.Tensor, error) { return turned.Reshape(6) }},
		{"got 1 dimensions, expected 2", func() (*tvmffi.Tensor, error) { return x.Transpose(0) }},
		{"dimension -2 is given twice", func() (*tvmffi.Tensor, error) { return x.Transpose(0, -2) }},
		{"dimension 0 has size 2", func() (*tvmffi.Tensor, error) { return x.Squeeze(0) }},
		{"dimension 3 is out of range with 3 dimensions", func() (*tvmffi.Tensor, error) { return x.Unsqueeze(3) }},
		{"reaches from element 5 to 6, but the tensor reaches from 0 to 5", func() (*tvmffi.Tensor, error) { return x.AsStrided([]int64{2}, []int64{1}, 5) }},
		{"reaches from element -1 to 0", func() (*tvmffi.Tensor, error) { return x.AsStrided([]int64{2}, []int64{-1}, 0) }},
		{"1 dimensions, but 2 strides", func() (*tvmffi.Tensor, error) { return x.AsStrided([]int64{2}, []int64{1, 1}, 0) }},
		{"reaches too far", func() (*tvmffi.Tensor, error) { return x.AsStrided([]int64{1 << 31}, []int64{1 << 31}, 0) }},
		{"reaches too far", func() (*tvmffi.Tensor, error) { return x.AsStrided([]int64{2}, []int64{-1 << 63}, 0) }},
		{"reaches too far", func() (*tvmffi.Tensor, error) { return x.AsStrided([]int64{3, 3}, []int64{1 << 60, 1 << 60}, 0) }},
		{"reaches too far", func() (*tvmffi.Tensor, error) { return x.AsStrided([]int64{3, 3}, []int64{-1 << 60, -1 << 60}, 0) }},
		{"dimension 0 of shape [-1] is negative", func() (*tvmffi.Tensor, error) { return x.AsStrided([]int64{-1}, []int64{1}, 0) }},
		{"element 3 does not begin at a whole byte", func() (*tvmffi.Tensor, error) { return nibbles.Slice(0, 3, 5) }},
		{"TypeError: Tensor.Slice: the receiver is nil", func() (*tvmffi.Tensor, error) { return (*tvmffi.Tensor)(nil).Slice(0, 0, 1) }},
	} {
		v, err := c.view()
		if v != nil {
			t.Errorf("%q: got %v", c.text, v)
		}
		runtimetest.WantError(t, err, nil, c.text)
	}
	released := runtimetest.CountingTensor(t, 2)
	released.Release()
	_, err := released.Reshape(2)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "Tensor.Reshape: the receiver was released")
	if got := runtimetest.Must[*tvmffi.Tensor](t)(nibbles.Slice(0, 4, 8)).DataPointer().Address - nibbles.DataPointer().Address; got != 2 {
		t.Errorf("four elements of 4 bits are %d bytes", got)
	}
	runtimetest.WantPanic(t, tvmffi.ErrIndex, "dimension 2", func() { x.Size(2) })
	if x.Size(-1) != 3 || x.Size(0) != 2 {
		t.Errorf("the last and first sizes are %d and %d, want 3 and 2", x.Size(-1), x.Size(0))
	}
}

// The rows of a matrix with a stride, a column, the planes of an image.
func TestFromStrided(t *testing.T) {
	runtimetest.LoadTensors(t)
	data := make([]float32, 20)
	for i := range data {
		data[i] = float32(i)
	}
	rows := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromStrided(data, []int64{4, 3}, []int64{5, 1}))
	if got := runtimetest.FloatsOf(t, rows); !slices.Equal(got, []float32{0, 1, 2, 5, 6, 7, 10, 11, 12, 15, 16, 17}) || rows.Contiguous() {
		t.Errorf("the rows have %v, want three of each five elements", got)
	}
	if sum := runtimetest.Get[float64](t, "tensors.sum", rows); sum != 102 {
		t.Errorf("tensors.sum of the rows is %v, want 102", sum)
	}
	column := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromStrided(data[1:], []int64{4}, []int64{5}))
	if got := runtimetest.FloatsOf(t, column); !slices.Equal(got, []float32{1, 6, 11, 16}) {
		t.Errorf("the column has %v, want [1 6 11 16]", got)
	}
	_, err := tvmffi.FromStrided(data, []int64{4, 3}, []int64{6, 1})
	runtimetest.WantError(t, err, tvmffi.ErrValue, "reaches from element 0 to 20, but the slice has 20 elements")
	_, err = tvmffi.FromStrided(data, []int64{2}, []int64{-1})
	runtimetest.WantError(t, err, tvmffi.ErrValue, "from element -1")
	_, err = tvmffi.FromStrided(data, []int64{4}, nil)
	runtimetest.WantError(t, err, tvmffi.ErrValue, "1 dimensions, but 0 strides")
	same := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromStrided([]float32{5, 6}, []int64{3, 2}, []int64{0, 1}))
	for _, err := range []error{tvmffi.CopyFrom(same, make([]float32, 6)), tvmffi.Copy(same, runtimetest.Must[*tvmffi.Tensor](t)(same.Clone()))} {
		runtimetest.WantError(t, err, tvmffi.ErrValue, "copy: float32[3, 2]@cpu:0 has one element in all 3 places of dimension 0: copy to a Clone of it")
	}
	if got := runtimetest.FloatsOf(t, same); !slices.Equal(got, []float32{5, 6, 5, 6, 5, 6}) {
		t.Errorf("after errors the tensor has %v", got)
	}
	empty := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromStrided([]float32{}, []int64{0, 9}, []int64{9, 1}))
	if empty.Len() != 0 || fmt.Sprint(empty) != "float32[0, 9]@cpu:0" {
		t.Errorf("the empty tensor is %v, want float32[0, 9]@cpu:0", empty)
	}
}

// A copy that shares memory with its source has what the source had before, and one that would lose an element is an error.
func TestCopies_overlap(t *testing.T) {
	runtimetest.Balanced(t)
	numbers := func() []int64 { return []int64{1, 2, 3, 4, 5, 6, 7, 8, 9} }
	of := func(x *tvmffi.Tensor, err error) *tvmffi.Tensor {
		t.Helper()
		x = runtimetest.Must[*tvmffi.Tensor](t)(x, err)
		t.Cleanup(x.Release)
		return x
	}
	transposed := []int64{1, 4, 7, 2, 5, 8, 3, 6, 9}
	for _, c := range []struct {
		what string
		copy func(square *tvmffi.Tensor, all []int64) error
		want []int64 // nil for an error
	}{
		{"to a slice", func(x *tvmffi.Tensor, all []int64) error { return tvmffi.CopyTo(of(x.Transpose()), all) }, transposed},
		{"from a slice", func(x *tvmffi.Tensor, all []int64) error { return tvmffi.CopyFrom(of(x.Transpose()), all) }, transposed},
		{"to a tensor", func(x *tvmffi.Tensor, all []int64) error { return tvmffi.Copy(x, of(x.Transpose())) }, transposed},
		{"to a view", func(x *tvmffi.Tensor, all []int64) error { return tvmffi.Copy(of(x.Transpose()), x) }, transposed},
		{"of columns", func(x *tvmffi.Tensor, all []int64) error {
			return tvmffi.Copy(of(x.Slice(1, 1, 3)), of(x.Slice(1, 0, 2)))
		}, []int64{1, 1, 2, 4, 4, 5, 7, 7, 8}},
		{"of rows", func(x *tvmffi.Tensor, all []int64) error {
			return tvmffi.Copy(of(x.Slice(0, 1, 3)), of(x.Slice(0, 0, 2)))
		}, []int64{1, 2, 3, 1, 2, 3, 4, 5, 6}},
		{"to itself", func(x *tvmffi.Tensor, all []int64) error { return tvmffi.Copy(x, x) }, numbers()},
		{"to windows", func(x *tvmffi.Tensor, all []int64) error {
			return tvmffi.CopyFrom(of(x.AsStrided([]int64{8, 2}, []int64{1, 1}, 0)), make([]int64, 16))
		}, nil},
		{"of a tensor to windows", func(x *tvmffi.Tensor, all []int64) error {
			return tvmffi.Copy(of(x.AsStrided([]int64{3, 2}, []int64{2, 2}, 0)), of(tvmffi.NewTensor(tvmffi.Int64, 3, 2)))
		}, nil},
		{"to steps of 3 and 2", func(x *tvmffi.Tensor, all []int64) error {
			return tvmffi.CopyFrom(of(x.AsStrided([]int64{2, 3}, []int64{3, 2}, 0)), []int64{11, 12, 13, 14, 15, 16})
		}, []int64{11, 2, 12, 14, 13, 15, 7, 16, 9}},
	} {
		all := numbers()
		err := c.copy(of(tvmffi.FromSlice(all, 3, 3)), all)
		if c.want == nil {
			runtimetest.WantError(t, err, tvmffi.ErrValue, "has one element in several places: copy to a Clone of it")
			c.want = numbers()
		} else if err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		if !slices.Equal(all, c.want) {
			t.Errorf("%s: %v, want %v", c.what, all, c.want)
		}
	}
}

// A view of elements that are not whole bytes ends within one. The element behind it stays.
func TestCopies_bits(t *testing.T) {
	runtimetest.Balanced(t)
	for _, bits := range []uint8{1, 2, 3, 4, 6, 12} {
		dtype := tvmffi.DataType{Code: tvmffi.Int8.Code, Bits: bits, Lanes: 1}
		minus := func(n int) []float32 { return slices.Repeat([]float32{-1}, n) }
		for n := range 8 {
			all := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromFloat32(dtype, minus(8)))
			view := runtimetest.Must[*tvmffi.Tensor](t)(all.Slice(0, 0, int64(n)))
			zeros := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.NewTensor(dtype, int64(n)))
			if err := tvmffi.Copy(view, zeros); err != nil {
				t.Fatal(err)
			}
			got, err := tvmffi.ToFloat32(all)
			if want := append(make([]float32, n), minus(8-n)...); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: a copy of %d elements left %v (%v), want %v", dtype, n, got, err, want)
			}
			view.Release()
			zeros.Release()
			all.Release()
		}
	}
}
