package tvmffi_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/internal/values"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

// managed makes a struct in C++ whose deleter counts.
func managed(t testing.TB, shape, strides []int64, offset, floats, major, flags int64) *tvmffi.DLPack {
	t.Helper()
	p := runtimetest.Get[tvmffi.Pointer](t, "tensors.managed", tvmffi.Of(shape...), optional(strides), offset, floats, major, flags)
	return runtimetest.Must[*tvmffi.DLPack](t)(tvmffi.OwnDLPackVersioned(p))
}

// taken takes a struct for C++.
func taken(t testing.TB, p *tvmffi.DLPack) tvmffi.Pointer {
	t.Helper()
	return runtimetest.Must[tvmffi.Pointer](t)(p.Take())
}

func optional(strides []int64) any {
	if strides == nil {
		return nil
	}
	return tvmffi.Of(strides...)
}

func deletedStructs(t testing.TB) int64 {
	t.Helper()
	return runtimetest.Get[int64](t, "tensors.deleted")
}

// deleters checks how many deleters of structs run in f.
func deleters(t *testing.T, want int64, f func()) {
	t.Helper()
	before := deletedStructs(t)
	f()
	if n := deletedStructs(t) - before; n != want {
		t.Errorf("%d deleters ran, want %d", n, want)
	}
}

func TestFromDLPack(t *testing.T) {
	runtimetest.LoadTensors(t)
	for _, versioned := range []bool{true, false} {
		for _, c := range []struct {
			shape, strides []int64
			offset         int64
			want           []float32
		}{
			{[]int64{2, 3}, nil, 0, []float32{0, 1, 2, 3, 4, 5}},
			{[]int64{2, 3}, []int64{1, 2}, 0, []float32{0, 2, 4, 1, 3, 5}},
			{[]int64{2, 2}, nil, 8, []float32{2, 3, 4, 5}},
			{[]int64{2, 0}, []int64{9, 9}, 0, []float32{}},
			{[]int64{}, nil, 20, []float32{5}},
		} {
			before := deletedStructs(t)
			var x *tvmffi.Tensor
			var err error
			if versioned {
				x, err = tvmffi.FromDLPack(managed(t, c.shape, c.strides, c.offset, 6, 1, 0))
			} else {
				old := runtimetest.Get[tvmffi.Pointer](t, "tensors.managed_old", tvmffi.Of(c.shape...), optional(c.strides), c.offset, int64(6))
				x, err = tvmffi.FromDLPack(runtimetest.Must[*tvmffi.DLPack](t)(tvmffi.OwnDLPack(old)))
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := runtimetest.FloatsOf(t, x); !slices.Equal(got, c.want) || !slices.Equal(x.Shape(), c.shape) || x.ByteOffset() != 0 || x.ReadOnly() {
				t.Errorf("the tensor of %+v is %+v", c, x)
			}
			if len(c.shape) > 0 && c.strides == nil && x.Strides()[len(c.shape)-1] != 1 {
				t.Errorf("strides %v", x.Strides())
			}
			again := tvmffi.Retain(x)
			x.Release()
			if n := deletedStructs(t); n != before {
				t.Error("the deleter ran too early")
			}
			again.Release()
			if n := deletedStructs(t) - before; n != 1 {
				t.Errorf("%d deleters ran, want 1", n)
			}
		}
	}
}

// A refused struct still belongs to the caller: its deleter has not run.
func TestFromDLPack_refuses(t *testing.T) {
	runtimetest.LoadTensors(t)
	for _, c := range []struct {
		text    string
		make    func() *tvmffi.DLPack
		options []tvmffi.DLPackOption
	}{
		{"the struct has version 2.0, this module reads major version 1 only", func() *tvmffi.DLPack { return managed(t, []int64{2}, nil, 0, 2, 2, 0) }, nil},
		{"the struct has version 0.0", func() *tvmffi.DLPack { return managed(t, []int64{2}, nil, 0, 2, 0, 0) }, nil},
		{"are padded to whole bytes", func() *tvmffi.DLPack { return managed(t, []int64{2}, nil, 0, 2, 1, 4) }, nil},
		{"is not aligned to 64 bytes: copy it", func() *tvmffi.DLPack { return managed(t, []int64{1}, nil, 4, 64, 1, 0) }, []tvmffi.DLPackOption{tvmffi.RequireAligned(64), tvmffi.RequireContiguous()}},
		{"the alignment of 3 bytes is not a power of two", func() *tvmffi.DLPack { return managed(t, []int64{1}, nil, 0, 2, 1, 0) }, []tvmffi.DLPackOption{tvmffi.RequireAligned(3)}},
		{"with shape [2 3] and strides [1 2] is not contiguous", func() *tvmffi.DLPack { return managed(t, []int64{2, 3}, []int64{1, 2}, 0, 6, 1, 0) }, []tvmffi.DLPackOption{tvmffi.RequireContiguous()}},
		{"dimension 0 of shape [-1] is negative", func() *tvmffi.DLPack { return managed(t, []int64{-1}, nil, 0, 2, 1, 0) }, nil},
		{"has too many elements", func() *tvmffi.DLPack { return managed(t, []int64{1 << 62, 1 << 62}, nil, 0, 2, 1, 0) }, nil},
		{"reaches too far", func() *tvmffi.DLPack { return managed(t, []int64{2, 2}, []int64{1 << 62, 1}, 0, 2, 1, 0) }, nil},
		{"the tensor has -1 dimensions, expected 0 to 1024", func() *tvmffi.DLPack { return spoiled(t, func(d *abi.DLTensor) { d.NDim = -1 }) }, nil},
		{"the tensor has 5000 dimensions, expected 0 to 1024", func() *tvmffi.DLPack { return spoiled(t, func(d *abi.DLTensor) { d.NDim = 5000 }) }, nil},
		{"the tensor has 1 dimensions, but the address of its shape is null", func() *tvmffi.DLPack { return spoiled(t, func(d *abi.DLTensor) { d.Shape = 0 }) }, nil},
		{"the data begins 9223372036854775808 bytes behind its address, which no memory reaches", func() *tvmffi.DLPack { return spoiled(t, func(d *abi.DLTensor) { d.ByteOffset = 1 << 63 }) }, nil},
		{"the data begins 9223372036854775807 bytes behind its address", func() *tvmffi.DLPack {
			return spoiled(t, func(d *abi.DLTensor) { d.Data, d.ByteOffset = 1<<63+64, 1<<63-1 })
		}, nil},
		{"the address of the data of float32[2] is null", func() *tvmffi.DLPack { return spoiled(t, func(d *abi.DLTensor) { d.Data = 0 }) }, nil},
		{"a data type of 0 bits", func() *tvmffi.DLPack { return spoiled(t, func(d *abi.DLTensor) { d.DType.Bits = 0 }) }, nil},
		{"the size of a scalable vector", func() *tvmffi.DLPack { return spoiled(t, func(d *abi.DLTensor) { d.DType.Lanes = 65535 }) }, nil},
	} {
		deleters(t, 0, func() {
			p := c.make()
			x, err := tvmffi.FromDLPack(p, c.options...)
			if x != nil {
				t.Errorf("%q: got %v", c.text, x)
			}
			runtimetest.WantError(t, err, nil, "DLPack", c.text)
			t.Cleanup(func() { deleters(t, 1, func() { p.Release() }) })
		})
	}
	for p, text := range map[uintptr]string{0: "the address of the struct is null", 12345: "address 0x3039 is not the address of a struct"} {
		_, err := tvmffi.OwnDLPackVersioned(tvmffi.Pointer{Address: p})
		runtimetest.WantError(t, err, tvmffi.ErrValue, text)
		_, err = tvmffi.OwnDLPack(tvmffi.Pointer{Address: p})
		runtimetest.WantError(t, err, tvmffi.ErrValue, text)
	}
}

func spoiled(t *testing.T, spoil func(*abi.DLTensor)) *tvmffi.DLPack {
	p := taken(t, managed(t, []int64{2}, nil, 0, 2, 1, 0))
	spoil(&capi.PointerTo[abi.DLManagedTensorVersioned](p.Address).Tensor)
	return runtimetest.Must[*tvmffi.DLPack](t)(tvmffi.OwnDLPackVersioned(p))
}

// A tensor of another library may have more elements than int64 holds, all in one place. None of them is copied by chance.
func TestForeignShape(t *testing.T) {
	runtimetest.LoadTensors(t)
	for _, shape := range [][]int64{{1 << 32, 1 << 32}, {1 << 62, 4}, {1 << 40, 1 << 40, 1}, {3 << 61, 3}} {
		p := taken(t, managed(t, shape, make([]int64, len(shape)), 0, 1, 1, 0))
		handle, err := values.ImportDLPack(p.Address, true, 0, false)
		if err != nil {
			t.Fatal(err)
		}
		x := codec.Wrap[*tvmffi.Tensor](objects.Own(handle))
		if n := x.Len(); n != math.MaxInt64 {
			t.Errorf("%v has %d elements", shape, n)
		}
		for _, err := range []error{
			tvmffi.CopyTo(x, []float32{}), runtimetest.ErrorOf(x.Clone()), runtimetest.ErrorOf(tvmffi.ToFloat32(x)), runtimetest.ErrorOf(tvmffi.ReadSlice[float32](x)), runtimetest.ErrorOf(x.Bytes()),
		} {
			runtimetest.WantError(t, err, tvmffi.ErrValue)
		}
		runtimetest.WantPanic(t, tvmffi.ErrValue, "does not fit int64", func() { x.NBytes() })
		x.Release()
	}
}

func TestReadOnlyTensor(t *testing.T) {
	runtimetest.LoadTensors(t)
	deleters(t, 1, func() {
		x := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromDLPack(managed(t, []int64{2, 3}, nil, 4, 7, 1, abi.DLFlagReadOnly)))
		view := runtimetest.Must[*tvmffi.Tensor](t)(x.Select(0, 1))
		kept := tvmffi.Retain(view)
		for _, r := range []*tvmffi.Tensor{x, view, kept} {
			if !r.ReadOnly() {
				t.Errorf("%v is not read-only", r)
			}
			for _, err := range []error{
				runtimetest.ErrorOf(tvmffi.Slice[float32](r)), runtimetest.ErrorOf(r.Bytes()), runtimetest.ErrorOf(r.WriteAt([]byte{1}, 0)), runtimetest.ErrorOf(r.ToDLPack()),
				tvmffi.CopyFrom(r, make([]float32, r.Len())), tvmffi.Copy(r, runtimetest.Must[*tvmffi.Tensor](t)(r.Clone())),
			} {
				runtimetest.WantError(t, err, tvmffi.ErrValue, "is read-only")
			}
			e := runtimetest.Must[*tvmffi.Elements[float32]](t)(tvmffi.ElementsOf[float32](r))
			runtimetest.WantPanic(t, tvmffi.ErrValue, "is read-only", func() { e.Set(1, make([]int64, r.NDim())...) })
		}
		if s := runtimetest.Must[[]float32](t)(tvmffi.ReadSlice[float32](view)); !slices.Equal(s, []float32{4, 5, 6}) {
			t.Errorf("the view has %v, want [4 5 6]", s)
		}
		b := make([]byte, 4)
		if n, err := view.ReadAt(b, 8); n != 4 || err != nil {
			t.Errorf("ReadAt returned %d, %v, want 4", n, err)
		}
		p := taken(t, runtimetest.Must[*tvmffi.DLPack](t)(view.ToDLPackVersioned()))
		if sum := runtimetest.Get[float64](t, "tensors.consume", p); sum != 15+1000*abi.DLFlagReadOnly {
			t.Errorf("the consumer saw %v", sum)
		}
		clone := runtimetest.Must[*tvmffi.Tensor](t)(x.Clone())
		if clone.ReadOnly() {
			t.Error("a clone may be written")
		}
		for _, r := range []*tvmffi.Tensor{x, view, kept, clone} {
			r.Release()
		}
	})
	runtimetest.DropGarbage(t)
}

func TestToDLPack(t *testing.T) {
	runtimetest.LoadTensors(t)
	runtimetest.Balanced(t)
	x := runtimetest.CountingTensor(t, 2, 3)
	p := taken(t, runtimetest.Must[*tvmffi.DLPack](t)(x.ToDLPackVersioned()))
	if n := memstat.UseCount(x); n != 2 {
		t.Errorf("%d references, want 2", n)
	}
	m := capi.PointerTo[abi.DLManagedTensorVersioned](p.Address)
	if m.Version.Major != 1 || m.Flags != 0 || m.Tensor.NDim != 2 || m.Tensor.Data != x.DataPointer().Address {
		t.Errorf("the DLPack struct is %+v, want version 1 without flags and the memory of the tensor", m)
	}
	runtimetest.Must[*tvmffi.DLPack](t)(tvmffi.OwnDLPackVersioned(p)).Release()
	old := runtimetest.Must[*tvmffi.DLPack](t)(x.ToDLPack())
	old.Release()
	if n := memstat.UseCount(x); n != 1 {
		t.Errorf("%d references, want 1", n)
	}
	if sum := runtimetest.Get[float64](t, "tensors.consume", taken(t, runtimetest.Must[*tvmffi.DLPack](t)(x.ToDLPackVersioned()))); sum != 15 {
		t.Errorf("tensors.consume returned %v, want 15", sum)
	}
	// The struct keeps the Go memory alive by itself; a round trip shares it.
	old = runtimetest.Must[*tvmffi.DLPack](t)(x.ToDLPack())
	x.Release()
	back := runtimetest.Must[*tvmffi.Tensor](t)(tvmffi.FromDLPack(old, tvmffi.RequireContiguous(), tvmffi.RequireAligned(4)))
	if got := runtimetest.FloatsOf(t, back); !slices.Equal(got, []float32{0, 1, 2, 3, 4, 5}) {
		t.Errorf("the tensor came back with %v, want 0 to 5", got)
	}
	back.Release()
	runtimetest.DropGarbage(t)
}

// TestDLPack_usedOnce uses each struct a second time, in all ways, and from many goroutines. The
// collector deletes what nobody used.
func TestDLPack_usedOnce(t *testing.T) {
	runtimetest.LoadTensors(t)
	runtimetest.Balanced(t)
	for _, versioned := range []bool{true, false} {
		for name, use := range map[string]func(p *tvmffi.DLPack) error{
			"FromDLPack": func(p *tvmffi.DLPack) error {
				x, err := tvmffi.FromDLPack(p)
				x.Release()
				return err
			},
			"Take": func(p *tvmffi.DLPack) error {
				consumer := map[bool]string{true: "tensors.consume", false: "tensors.consume_old"}[versioned]
				return runtimetest.ErrorOf(runtimetest.Call(consumer, taken(t, p)))
			},
			"Release": func(p *tvmffi.DLPack) error { p.Release(); return nil },
		} {
			x := runtimetest.CountingTensor(t, 4)
			export := x.ToDLPack
			if versioned {
				export = x.ToDLPackVersioned
			}
			p, err := export()
			if err = errors.Join(err, use(p)); err != nil {
				t.Fatal(name, err)
			}
			for _, err := range []error{runtimetest.ErrorOf(tvmffi.FromDLPack(p)), runtimetest.ErrorOf(p.Take())} {
				runtimetest.WantError(t, err, tvmffi.ErrRuntime, "DLPack: the struct was used before", "call ToDLPack for each consumer")
			}
			p.Release()
			if n := memstat.UseCount(x); n != 1 {
				t.Errorf("after %s the tensor has %d references, want 1", name, n)
			}
			x.Release()
		}
	}
	var none *tvmffi.DLPack
	none.Release()
	for _, err := range []error{runtimetest.ErrorOf(tvmffi.FromDLPack(none)), runtimetest.ErrorOf(none.Take())} {
		runtimetest.WantError(t, err, tvmffi.ErrType, "DLPack: the struct is nil")
	}
	deleters(t, 1, func() {
		p := managed(t, []int64{4}, nil, 0, 4, 1, 0)
		won := make(chan *tvmffi.Tensor)
		for range 8 {
			go func() {
				x, _ := tvmffi.FromDLPack(p)
				won <- x
			}()
		}
		winners := 0
		for range 8 {
			if x := <-won; x != nil {
				winners++
				x.Release()
			}
		}
		if winners != 1 {
			t.Errorf("%d goroutines have a tensor of one struct", winners)
		}
	})
	deleters(t, 1, func() {
		before := deletedStructs(t)
		managed(t, []int64{4}, nil, 0, 4, 1, 0)
		runtimetest.Collect(t, "structs of DLPack", func() bool { return deletedStructs(t) > before })
	})
}

// A C++ function that calls a callback with a DLTensor* lends its memory.
func TestLentTensor(t *testing.T) {
	runtimetest.LoadTensors(t)
	runtimetest.Balanced(t)
	var kept *tvmffi.Tensor
	f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(x *tvmffi.Tensor) (float64, error) {
		kept = x
		if s := x.String(); s != "float32[2, 3]@cpu:0" {
			return 0, fmt.Errorf("it is %s", s)
		}
		s, err := tvmffi.Slice[float32](x)
		if err != nil {
			return 0, err
		}
		s[0] = 7
		for _, err := range []error{runtimetest.ErrorOf(x.Slice(0, 0, 1)), runtimetest.ErrorOf(x.ToDLPackVersioned())} {
			runtimetest.WantError(t, err, tvmffi.ErrRuntime, "is borrowed until the callback returns")
		}
		runtimetest.WantPanic(t, tvmffi.ErrRuntime, "is borrowed until the callback returns", func() { tvmffi.Retain(x) })
		sum, err := runtimetest.Call("tensors.sum", x)
		if err != nil || sum.Value() != 27.0 {
			return 0, fmt.Errorf("an argument: %v, %v", sum, err)
		}
		// Code that could keep the tensor gets no object of it.
		runtimetest.WantError(t, runtimetest.ErrorOf(runtimetest.Call("calls.echo_tensor", x)), tvmffi.ErrType, "DLTensor*")
		for what, err := range keepers(t, x) {
			runtimetest.WantError(t, err, tvmffi.ErrRuntime, "is borrowed until the callback returns: keep a Clone")
			if !strings.Contains(fmt.Sprint(err), what) {
				t.Errorf("the error of %s: %v", what, err)
			}
		}
		clone, err := x.Clone()
		if err != nil {
			return 0, err
		}
		defer clone.Release()
		return runtimetest.Get[float64](t, "tensors.sum", clone), nil
	}))
	for range 3 {
		if got := runtimetest.Get[float64](t, "tensors.with_view", f); got != 27+700 {
			t.Errorf("tensors.with_view returned %v, want %d", got, 27+700)
		}
	}
	runtimetest.WantPanic(t, tvmffi.ErrRuntime, "was borrowed for a callback", func() { kept.Shape() })
	f.Release()
	runtimetest.DropGarbage(t)
}
