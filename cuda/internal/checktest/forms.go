package checktest

import (
	"math"
	"reflect"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/spec/run"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Handle stands for a *cuda.Stream, Wrapped for an object whose type is of another package.
type (
	Handle  struct{ address uintptr }
	Wrapped struct{ *tvmffi.Tensor }
)

// Pointer makes a Handle a stream.
func (h *Handle) Pointer() tvmffi.Pointer { return tvmffi.Pointer{Address: h.address} }

// Go gives arguments forms that they may have in Go; ok is false if one has none. plain says that all are numbers, and
// tensors of their own type. Release releases what it made.
func (m *Maker) Go(args []abi.Any) (forms []any, plain, ok bool) {
	plain = true
	for _, v := range args {
		form, usual := m.form(v)
		if form == unknown {
			return nil, false, false
		}
		forms, plain = append(forms, form), plain && usual
	}
	return forms, plain, true
}

// Release releases the objects that Go made.
func (m *Maker) Release() {
	for _, o := range m.objects {
		o.Release()
	}
	m.objects = nil
}

// unknown is the form of what Go cannot pass.
var unknown any = new(int)

func (m *Maker) form(v abi.Any) (form any, plain bool) {
	memory := uintptr(v.Bits)
	switch v.TypeIndex {
	case abi.TypeNone:
		forms := []any{(*Handle)(nil), (*tvmffi.Tensor)(nil), nil, nil}
		i := m.choose(len(forms))
		return forms[i], forms[i] == nil
	case abi.TypeInt:
		return m.integer(int64(v.Bits)), true
	case abi.TypeBool:
		if v.Bits > 1 {
			return unknown, false
		}
		return v.Bits == 1, true
	case abi.TypeFloat:
		f := math.Float64frombits(v.Bits)
		if single := float32(f); float64(single) == f && m.Next(2) == 0 {
			return single, true
		}
		return f, true
	case abi.TypeOpaquePtr:
		forms := []any{&Handle{memory}, memory, tvmffi.Pointer{Address: memory}}
		i := m.choose(len(forms))
		return forms[i], i > 0
	case abi.TypeDataType:
		return tvmffi.Float32, true
	case abi.TypeDevice:
		return tvmffi.CPU, true
	case abi.TypeSmallStr:
		return "text", true
	case run.TooBig, run.Released:
		if m.library {
			return unknown, false // such values the library does not have
		}
		if v.TypeIndex == run.TooBig {
			return uint64(math.MaxUint64), true
		}
		t := Tensor(abi.DLTensor{}, nil, nil)
		t.Release()
		return t, true
	case abi.TypeDLTensorPtr:
		return m.tensorForm(memory)
	case abi.TypeShape, abi.TypeArray:
		cell := capi.PointerTo[sequence](memory).cell
		if v.TypeIndex == abi.TypeShape {
			return m.sizes(unsafe.Slice(capi.PointerTo[int64](cell.Data), cell.Size)), false
		}
		outer, library := m.library, m.library || m.Next(2) == 0
		m.library = library
		elems, _, ok := m.Go(unsafe.Slice(capi.PointerTo[abi.Any](cell.Data), cell.Size))
		m.library = outer
		if !ok {
			return unknown, false
		}
		if !library {
			return elems, false
		}
		a, err := tvmffi.NewArray(elems...)
		if err != nil {
			return unknown, false
		}
		m.objects = append(m.objects, a)
		return a, false
	}
	if m.library || v.TypeIndex.IsObject() {
		return unknown, false
	}
	return make(chan int), false
}

// choose chooses one of n forms, the last one where the library makes a value of it: others are for calls.
func (m *Maker) choose(n int) int {
	if m.library {
		return n - 1
	}
	return m.Next(n)
}

// integer returns n as an integer of a type that holds it.
func (m *Maker) integer(n int64) any {
	types := []any{int8(0), uint8(0), int16(0), uint16(0), int32(0), uint32(0), uint(0), uint64(0), int64(0), int64(0), int(0), int(0)}
	form := reflect.New(reflect.TypeOf(types[m.Next(len(types))])).Elem()
	switch {
	case form.CanInt() && !form.OverflowInt(n):
		form.SetInt(n)
	case form.CanUint() && n >= 0 && !form.OverflowUint(uint64(n)):
		form.SetUint(uint64(n))
	default:
		return n
	}
	return form.Interface()
}

func (m *Maker) sizes(n []int64) any {
	if m.Next(2) == 0 {
		if s, err := tvmffi.NewShape(n...); err == nil { // it has no negative size
			m.objects = append(m.objects, s)
			return s
		}
	}
	return n
}

func (m *Maker) tensorForm(at uintptr) (form any, plain bool) {
	if at == 0 {
		return unknown, false
	}
	d := capi.PointerTo[abi.DLTensor](at)
	if d.NDim < 0 || d.NDim > 0 && d.Shape == 0 || d.ByteOffset != 0 {
		return unknown, false
	}
	var strides []int64
	if d.Strides != 0 {
		strides = unsafe.Slice(capi.PointerTo[int64](d.Strides), d.NDim)
	}
	t := Tensor(*d, unsafe.Slice(capi.PointerTo[int64](d.Shape), d.NDim), strides)
	m.objects = append(m.objects, t)
	forms := []any{Wrapped{t}, &Wrapped{t}, t, t, t, t}
	i := m.choose(len(forms))
	return forms[i], i > 1
}

// Tensor makes a tensor whose memory nobody touches.
func Tensor(d abi.DLTensor, shape, strides []int64) *tvmffi.Tensor {
	s := objects.TensorSpec{Address: d.Data, Type: d.DType, Device: d.Device}
	// Every object type has the layout of objects.Object.
	return (*tvmffi.Tensor)(unsafe.Pointer(objects.Own(objects.NewTensor(s, shape, strides))))
}

var memory = make([]byte, 1<<16)

// Base is an address in memory that is aligned to 4096 bytes.
func Base() uintptr {
	return (uintptr(unsafe.Pointer(unsafe.SliceData(memory))) + 4095) &^ 4095
}
