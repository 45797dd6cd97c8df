package callbacks

import (
	"context"
	"runtime"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// Task is a call of an exported func that goes on after C has its answer. Its arguments are
// its own. They lie on the Go heap, which does not move, and the Task keeps them alive: who
// has a Task must not drop it before End or Drop returns.
type Task struct {
	args   Args // first, so that its frame has the address of the Task
	values []abi.Any
	result abi.Any
	run    func(context.Context) error
}

// NewTask makes a Task for the func behind handle, which Export made, with owned copies of
// the arguments of a from first on. One that is borrowed until the call returns is an error.
func NewTask(a *Args, first int, handle uintptr) (*Task, error) {
	t := &Task{values: make([]abi.Any, 0, max(1, a.Len()-first))}
	for i := first; i < a.Len(); i++ {
		v := *a.Any(i)
		if v.TypeIndex == abi.TypeDLTensorPtr {
			t.drop()
			return nil, failure.Errorf(failure.KindType, "argument %d is a DLTensor, which is borrowed until the call returns, but an asynchronous call goes on after that: "+
				"pass a Tensor, such as tvm_ffi.from_dlpack(x) in Python", i-first)
		}
		v, err := values.Owned(v)
		if err != nil {
			t.drop()
			return nil, err
		}
		t.values = append(t.values, v)
	}
	if a.Typed() {
		t.result.TypeIndex = TypedRoom
	}
	t.args.frame = ccall.CallbackFrame{
		Call: capi.PointerTo[ccall.Released](handle).Call, Handle: handle,
		Args: uintptr(unsafe.Pointer(unsafe.SliceData(t.values))), N: uintptr(len(t.values)),
		Res: uintptr(unsafe.Pointer(&t.result)), RC: ccall.Detached,
	}
	return t, nil
}

// Prepare calls call, which reads the arguments and gives what remains to Later.
func (t *Task) Prepare(call func(*Args) error) error {
	err := call(&t.args)
	if err == nil && t.run == nil {
		return failure.Errorf(failure.KindRuntime, "%s does not take a context", t.args.function())
	}
	return err
}

// Later keeps f, which sets the result, for Run if these are the arguments of a Task.
// Otherwise it reports false.
func (a *Args) Later(f func(context.Context) error) bool {
	if a.frame.RC != ccall.Detached {
		return false
	}
	(*Task)(unsafe.Pointer(a)).run = f
	return true
}

// Run runs the func that Later kept. The caller must call End afterwards, also after an error.
func (t *Task) Run(ctx context.Context) error { return t.run(ctx) }

// End ends the arguments after Run, which returned err. It returns the result, which is
// owned, or the error, with its backtrace.
func (t *Task) End(err error) (abi.Any, error) {
	err = t.args.settled(err)
	result := t.result
	if result.TypeIndex == TypedRoom {
		result = abi.Any{}
	}
	if err != nil {
		err = failure.Passed(err, t.args.origin(), false)
		if result.TypeIndex.IsObject() {
			objects.DecRef(uintptr(result.Bits))
		}
		result = abi.Any{}
	}
	t.Drop()
	return result, err
}

// Recovered returns an error for a panic of the Go func.
func (t *Task) Recovered(p any) error { return t.args.Recovered(p) }

// Exited returns an error for runtime.Goexit in the Go func.
func (t *Task) Exited() error { return t.args.Exited() }

// Drop ends the arguments of a Task that does not run.
func (t *Task) Drop() {
	if t.args.frame.Side != 0 {
		t.args.endBorrowed()
	}
	t.drop()
}

func (t *Task) drop() {
	for _, v := range t.values {
		if v.TypeIndex.IsObject() {
			objects.DecRef(uintptr(v.Bits))
		}
	}
	t.values, t.run = nil, nil
	runtime.KeepAlive(t)
}
