// Package env lends to native code what it asks its environment for: an allocator of
// tensors, the current stream of a device, and whether the host wants a call to end.
// Values themselves, and tensors made by the program, belong to package tvmffi.
package env

import (
	"runtime"
	"slices"
	"sync"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TensorSpec says which tensor is wanted.
type TensorSpec struct {
	DataType tvmffi.DataType
	Device   tvmffi.Device
	Shape    []int64
	// Strides are in elements; nil stands for row-major order.
	Strides []int64
}

// Allocator makes the tensors that native code asks the environment for, such as
// the results of kernels. It may be called on any thread, and may be called by
// many at once. The tensor that it returns must have the shape and data type of
// the spec and be on its device; its reference passes to the caller (an allocator
// that keeps its tensors returns a Retain of them). An error, or a panic, becomes
// the error of the native function.
type Allocator func(spec TensorSpec) (*tvmffi.Tensor, error)

// GoAllocator makes tensors of zeros in memory of the Go heap. It is for the host
// only.
func GoAllocator(spec TensorSpec) (*tvmffi.Tensor, error) {
	if spec.Device.Type != abi.DLCPU {
		return nil, failure.Errorf(failure.KindValue, "allocator: %s is not the host: set an allocator for it", spec.Device)
	}
	if spec.Strides == nil || core.Contiguous(spec.Shape, spec.Strides) {
		return tvmffi.NewTensor(spec.DataType, spec.Shape...)
	}
	low, high, err := core.Reach(spec.Shape, spec.Strides)
	if err != nil {
		return nil, err
	}
	if low < 0 {
		return nil, failure.Errorf(failure.KindValue, "allocator: a stride of %v is negative", spec.Strides)
	}
	all, err := tvmffi.NewTensor(spec.DataType, high+1)
	if err != nil {
		return nil, err
	}
	defer all.Release()
	return all.AsStrided(spec.Shape, spec.Strides, 0)
}

var _ Allocator = GoAllocator

// allocators are those that are set: for threads by WithAllocator, and for the
// process.
var allocators struct {
	sync.RWMutex
	threads map[int]Allocator
	process Allocator
}

// WithAllocator runs f with a as the allocator of its thread, before that of the
// process. As with [WithStream], f runs on one thread, and what was set before
// returns when f has ended.
func WithAllocator(a Allocator, f func() error) error {
	if a == nil {
		return failure.Errorf(failure.KindValue, "WithAllocator: the allocator is nil")
	}
	if err := tvmffi.Load(); err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread := capi.ThreadID()
	old := setThreadAllocator(thread, a)
	defer func() { setThreadAllocator(thread, old) }()
	native, err := core.SetAllocator(core.AllocatorEntry(allocate), false)
	if err != nil {
		return err
	}
	defer core.SetAllocator(native, false)
	return f()
}

func setThreadAllocator(thread int, a Allocator) (old Allocator) {
	allocators.Lock()
	defer allocators.Unlock()
	old = allocators.threads[thread]
	if a == nil {
		delete(allocators.threads, thread)
		return old
	}
	if allocators.threads == nil {
		allocators.threads = map[int]Allocator{}
	}
	allocators.threads[thread] = a
	return old
}

// processMu is held while the allocator of the process changes.
var processMu sync.Mutex

// SetAllocator makes a the allocator of the process, for threads without one of
// their own. restore sets the one before again; it must be called in the reverse
// order of the SetAllocator calls.
func SetAllocator(a Allocator) (restore func() error, err error) {
	if a == nil {
		return nil, failure.Errorf(failure.KindValue, "SetAllocator: the allocator is nil")
	}
	if err := tvmffi.Load(); err != nil {
		return nil, err
	}
	processMu.Lock()
	defer processMu.Unlock()
	allocators.Lock()
	old := allocators.process
	allocators.process = a
	allocators.Unlock()
	native, err := setProcessAllocator(core.AllocatorEntry(allocate))
	putBack := func() {
		allocators.Lock()
		allocators.process = old
		allocators.Unlock()
	}
	if err != nil {
		putBack()
		return nil, err
	}
	return sync.OnceValue(func() error {
		processMu.Lock()
		defer processMu.Unlock()
		if _, err := setProcessAllocator(native); err != nil {
			return err // native code still reaches a
		}
		putBack()
		return nil
	}), nil
}

// setProcessAllocator sets the C function of the process alone: the library sets
// and reports that of the thread as well.
func setProcessAllocator(f uintptr) (old uintptr, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread, err := core.SetAllocator(0, false)
	if err != nil {
		return 0, err
	}
	old = core.Allocator()
	_, err = core.SetAllocator(f, true)
	core.SetAllocator(thread, false)
	return old, err
}

// allocate is what native code reaches.
func allocate(prototype *abi.DLTensor) (uintptr, error) {
	allocators.RLock()
	a := allocators.threads[capi.ThreadID()]
	if a == nil {
		a = allocators.process
	}
	allocators.RUnlock()
	if a == nil {
		return 0, failure.Errorf(failure.KindRuntime, "allocator: none is set")
	}
	spec := TensorSpec{tvmffi.DataType(prototype.DType), tvmffi.Device(prototype.Device), slices.Clone(core.ShapeOf(prototype)), nil}
	if prototype.Strides != 0 {
		spec.Strides = slices.Clone(core.Strides(prototype))
	}
	t, err := a(spec)
	if err != nil {
		return 0, err
	}
	o, err := codec.Live(t)
	if err != nil {
		return 0, failure.Annotate("result of the allocator", err)
	}
	defer t.Release()
	c := capi.PointerTo[abi.DLTensor](o.Handle() + abi.ObjectSize)
	if tvmffi.DataType(c.DType) != spec.DataType || tvmffi.Device(c.Device) != spec.Device || !slices.Equal(core.ShapeOf(c), spec.Shape) {
		return 0, failure.Errorf(failure.KindValue, "allocator: it made %s instead of %s%v@%s", t, spec.DataType, spec.Shape, spec.Device)
	}
	if o.BorrowedMemory() || t.ReadOnly() {
		return 0, failure.Errorf(failure.KindValue, "allocator: %s is read-only or lent for a callback: return a new tensor", t)
	}
	return core.ExportDLPack(o.Handle(), true)
}

// EnvTensor asks the allocator of the environment for a tensor, as native code
// does: that of [WithAllocator], of [SetAllocator], or one that a library has set.
// Its elements are not initialised. Strides are a wish that allocators may ignore.
func EnvTensor(spec TensorSpec) (*tvmffi.Tensor, error) {
	if _, err := spec.DataType.BytesOf(spec.Shape); err != nil {
		return nil, err
	}
	if spec.Strides != nil {
		if _, _, err := core.Reach(spec.Shape, spec.Strides); err != nil {
			return nil, err
		}
	}
	if err := tvmffi.Load(); err != nil {
		return nil, err
	}
	handle, err := core.EnvTensor(abi.DLDataType(spec.DataType), abi.DLDevice(spec.Device), spec.Shape, spec.Strides)
	if err != nil {
		return nil, err
	}
	return codec.Wrap[*tvmffi.Tensor](objects.Own(handle)), nil
}
