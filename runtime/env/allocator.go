// Package env is the environment of native code: the allocator of tensors, the current stream of
// a device, and whether the host wants a call to end. For tensors that the program makes itself,
// use package tvmffi.
//
// An allocator and a stream belong to an OS thread. [WithAllocator] and [WithStream]
// therefore run a func on one thread.
package env

import (
	"runtime"
	"slices"
	"sync"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/environment"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TensorSpec describes a tensor that native code asks for.
type TensorSpec struct {
	DataType tvmffi.DataType
	Device   tvmffi.Device
	Shape    []int64
	// Strides are in elements. If they are nil, the order is row-major.
	Strides []int64
}

// Allocator makes the tensors that native code asks for, such as the results of kernels. Native
// code may call it on any thread, and on several threads at once. The tensor that it returns must
// have the shape and data type of spec and be on its device. The caller takes over the reference,
// so an allocator that keeps its tensors returns the result of tvmffi.Retain. An error or a panic
// becomes the error of the native function.
type Allocator func(spec TensorSpec) (*tvmffi.Tensor, error)

// GoAllocator is an [Allocator] that makes tensors of zeros in memory of the Go heap. It
// returns an error of kind ErrValue for a device other than the host.
func GoAllocator(spec TensorSpec) (*tvmffi.Tensor, error) {
	if spec.Device.Type != abi.DLCPU {
		return nil, failure.Errorf(failure.KindValue, "allocator: %s is not the host: set an allocator for it", spec.Device)
	}
	if spec.Strides == nil {
		return tvmffi.NewTensor(spec.DataType, spec.Shape...)
	}
	low, high, err := values.Reach(spec.Shape, spec.Strides)
	switch {
	case err != nil:
		return nil, err
	case values.Contiguous(spec.Shape, spec.Strides):
		return tvmffi.NewTensor(spec.DataType, spec.Shape...)
	}
	if low < 0 {
		return nil, failure.Errorf(failure.KindValue, "allocator: strides %v are negative, expected 0 or more", spec.Strides)
	}
	all, err := tvmffi.NewTensor(spec.DataType, high+1)
	if err != nil {
		return nil, err
	}
	defer all.Release()
	return all.AsStrided(spec.Shape, spec.Strides, 0)
}

var _ Allocator = GoAllocator

// allocators holds the allocator of the process. Those of threads, which WithAllocator sets, are in package environment,
// because a func that runs on another thread than its caller needs them there.
var allocators struct {
	sync.RWMutex
	process Allocator
}

// WithAllocator runs f with a as the allocator of its thread, which precedes the allocator
// of the process. f runs on one OS thread, and goroutines that it starts do not use a. When
// f has ended, also by a panic, WithAllocator sets the previous allocator of the thread
// again. It returns the error of f.
func WithAllocator(a Allocator, f func() error) error {
	if a == nil {
		return failure.Errorf(failure.KindValue, "WithAllocator: the allocator is nil")
	}
	if err := tvmffi.Load(); err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	old := environment.SetOwnAllocator(a)
	defer func() { environment.SetOwnAllocator(old) }()
	native, err := environment.SetAllocator(environment.AllocatorEntry(allocate), false)
	if err != nil {
		return err
	}
	defer environment.SetAllocator(native, false)
	return f()
}

// processMu is held while the allocator of the process changes.
var processMu sync.Mutex

// SetAllocator makes a the allocator of the process, for threads without their own allocator.
// restore sets the previous allocator again. The restore funcs must be called in the reverse
// order of the SetAllocator calls. SetAllocator may be called from any goroutine.
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
	native, err := setProcessAllocator(environment.AllocatorEntry(allocate))
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

// setProcessAllocator sets only the C function of the process. The library would also set the
// thread's, and report that one as the old function.
func setProcessAllocator(f uintptr) (old uintptr, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread, err := environment.SetAllocator(0, false)
	if err != nil {
		return 0, err
	}
	old = environment.Allocator()
	_, err = environment.SetAllocator(f, true)
	environment.SetAllocator(thread, false)
	return old, err
}

// allocate is the allocator that native code calls.
func allocate(prototype *abi.DLTensor, run func(func() error) error) (uintptr, error) {
	a, _ := environment.OwnAllocator().(Allocator)
	if a == nil {
		allocators.RLock()
		a = allocators.process
		allocators.RUnlock()
	}
	if a == nil {
		return 0, failure.Errorf(failure.KindRuntime, "allocator: no allocator is set: use env.WithAllocator or env.SetAllocator")
	}
	spec := TensorSpec{tvmffi.DataType(prototype.DType), tvmffi.Device(prototype.Device), slices.Clone(values.ShapeOf(prototype)), nil}
	if prototype.Strides != 0 {
		spec.Strides = slices.Clone(values.Strides(prototype))
	}
	var t *tvmffi.Tensor
	err := run(func() (err error) {
		t, err = a(spec)
		return err
	})
	if err != nil {
		return 0, err
	}
	o, err := codec.Live(t)
	if err != nil {
		return 0, failure.Annotate("result of the allocator", err)
	}
	defer t.Release()
	c, shape := capi.PointerTo[abi.DLTensor](o.Handle()+abi.ObjectSize), values.ShapeOf(prototype) // a may have changed spec.Shape
	if tvmffi.DataType(c.DType) != spec.DataType || tvmffi.Device(c.Device) != spec.Device || !slices.Equal(values.ShapeOf(c), shape) {
		return 0, failure.Errorf(failure.KindValue, "allocator: it returned %s, expected %s%v@%s", t, spec.DataType, shape, spec.Device)
	}
	if o.BorrowedMemory() || t.ReadOnly() {
		return 0, failure.Errorf(failure.KindValue, "allocator: %s is read-only or borrowed until a callback returns: return a new tensor", t)
	}
	return values.ExportDLPack(o.Handle(), true)
}

// EnvTensor asks the allocator of the environment for a tensor, like native code: the allocator
// of [WithAllocator], of [SetAllocator], or one that a library set. The elements are not
// initialized. Allocators may ignore the strides of spec. The caller owns the reference.
func EnvTensor(spec TensorSpec) (*tvmffi.Tensor, error) {
	if _, err := spec.DataType.BytesOf(spec.Shape); err != nil {
		return nil, err
	}
	if spec.Strides != nil {
		if _, _, err := values.Reach(spec.Shape, spec.Strides); err != nil {
			return nil, err
		}
	}
	if err := tvmffi.Load(); err != nil {
		return nil, err
	}
	handle, err := values.EnvTensor(abi.DLDataType(spec.DataType), abi.DLDevice(spec.Device), spec.Shape, spec.Strides)
	if err != nil {
		return nil, err
	}
	return codec.Wrap[*tvmffi.Tensor](objects.Own(handle)), nil
}
