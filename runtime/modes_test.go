package tvmffi_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/env"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

// modeCall is a call by package ccall with the largest block, in one of its modes.
type modeCall struct {
	head  ccall.Head
	block [2 * ccall.MaxBlock]uint64
}

// describe puts the description of a tensor into the block, with shape and strides
// behind it, and returns the number of units.
func (f *modeCall) describe(t abi.DLTensor, shape, strides []int64) {
	const words = unsafe.Sizeof(t) / 8
	n := uintptr(len(shape))
	t.NDim, t.Shape, t.Strides = int32(n), 8*words, 8*(words+n)
	*(*abi.DLTensor)(unsafe.Pointer(&f.block)) = t
	f.head.Mask = 1<<(unsafe.Offsetof(t.Shape)/8) | 1<<(unsafe.Offsetof(t.Strides)/8)
	for i := range n {
		f.block[words+i], f.block[words+n+i] = uint64(shape[i]), uint64(strides[i])
	}
	f.head.Units = uint8(words+2*n+1) / 2
}

// handle returns what C wrote for a pointer, where it would write the tag of a value.
func (f *modeCall) handle() uintptr { return *(*uintptr)(unsafe.Pointer(&f.head.Res)) }

// onNewStack runs f on a goroutine with a small stack.
func onNewStack(f func() error) error {
	done := make(chan error)
	go func() { done <- f() }()
	return <-done
}

// dims are shapes of none to seven dimensions with strides that are not dense.
func dims() (shapes, strides [][]int64) {
	for n := range 8 {
		shape, stride := make([]int64, n), make([]int64, n)
		for i := range n {
			shape[i], stride[i] = 1, int64(1000*(i+1)) // of one element: any stride is right
		}
		if n > 1 {
			shape[0], stride[0] = 3, 5
			shape[n-1], stride[n-1] = 4, 1
		}
		shapes, strides = append(shapes, shape), append(strides, stride)
	}
	return shapes, strides
}

func wantTensor(handle uintptr, shape, strides []int64) error {
	t := capi.PointerTo[abi.DLTensor](handle + abi.ObjectSize)
	view := func(at uintptr) []int64 { return unsafe.Slice(capi.PointerTo[int64](at), t.NDim) }
	if int(t.NDim) != len(shape) {
		return fmt.Errorf("%d dimensions, want %d", t.NDim, len(shape))
	}
	if len(shape) == 0 {
		return nil
	}
	if !slices.Equal(view(t.Shape), shape) {
		return fmt.Errorf("shape %d, want %d", view(t.Shape), shape)
	}
	if strides != nil && !slices.Equal(view(t.Strides), strides) {
		return fmt.Errorf("strides %d, want %d", view(t.Strides), strides)
	}
	return nil
}

// The mode First, int fn(&block, &Res): the result arrives where the frame is, after
// the allocator in Go has moved the stack.
func TestModeFirst(t *testing.T) {
	runtimetest.Load(t)
	float := abi.DLDataType{Code: 2, Bits: 32, Lanes: 1}
	moves := func(spec env.TensorSpec) (*tvmffi.Tensor, error) {
		runtimetest.UseStack(2000)
		runtime.GC()
		if len(spec.Shape) == 6 {
			return nil, errors.New("refused")
		}
		n := int64(1)
		for _, d := range spec.Shape {
			n *= d
		}
		x, err := tvmffi.FromSlice(make([]float32, n))
		if err != nil {
			return nil, err
		}
		defer x.Release()
		return x.Reshape(spec.Shape...)
	}
	shapes, strides := dims()
	for i, shape := range shapes {
		objects.RowMajor(shape, strides[i]) // a result of another layout would be refused
		err := onNewStack(func() error {
			return env.WithAllocator(moves, func() error {
				var f modeCall
				f.head.Fn, f.head.Mode = capi.API.EnvTensorAlloc, ccall.First
				f.describe(abi.DLTensor{DType: float, Device: abi.DLDevice{Type: 1}}, shape, strides[i])
				ccall.Call(&f.head)
				if len(shape) == 6 {
					if f.head.RC == 0 || f.head.Res.Bits == 0 {
						return fmt.Errorf("the error of the allocator is lost: %+v", f.head)
					}
					objects.DecRef(uintptr(f.head.Res.Bits))
					return nil
				}
				if f.head.RC != 0 {
					return failure.ErrorOf(uintptr(f.head.Res.Bits))
				}
				defer objects.DecRef(f.handle())
				return wantTensor(f.handle(), shape, nil)
			})
		})
		if err != nil {
			t.Errorf("%d dimensions: %v", len(shape), err)
		}
	}
}

// The mode Middle, int fn(Handle, &block, &Res).
func TestModeMiddle(t *testing.T) {
	runtimetest.Load(t)
	data := make([]float32, 64)
	x, err := tvmffi.FromSlice(data)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Release()
	source := objects.StateOf(x).Handle()
	shapes, strides := dims()
	for i, shape := range shapes {
		err := onNewStack(func() error {
			var f modeCall
			f.head.Fn, f.head.Handle, f.head.Mode = capi.API.TensorCreateUnsafeView, source, ccall.Middle
			view := *capi.PointerTo[abi.DLTensor](source + abi.ObjectSize)
			f.describe(view, shape, strides[i])
			ccall.Call(&f.head)
			if f.head.RC != 0 {
				return failure.ErrorOf(uintptr(f.head.Res.Bits))
			}
			defer objects.DecRef(f.handle())
			if at := capi.PointerTo[abi.DLTensor](f.handle() + abi.ObjectSize).Data; at != view.Data {
				return fmt.Errorf("data at %x, want %x", at, view.Data)
			}
			return wantTensor(f.handle(), shape, strides[i])
		})
		if err != nil {
			t.Errorf("%d dimensions: %v", len(shape), err)
		}
	}
	if n := memstat.UseCount(x); n != 1 {
		t.Errorf("%d references to the source", n)
	}
}
