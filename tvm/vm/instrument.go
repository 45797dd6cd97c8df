package vm

import (
	"context"
	"fmt"
	"sync/atomic"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Event is a call of a kernel, or of a function of the runtime, that a machine makes.
type Event struct {
	// Function is the name of the kernel or function, such as "matmul" or
	// "vm.builtin.alloc_tensor".
	Function string
	// Before says that the call follows. Otherwise it has returned, and Result is its result.
	Before bool
	// Args are the arguments. A kernel writes to its last ones. Objects are borrowed: they are
	// valid until the hook returns, and tvmffi.Retain keeps one.
	Args   []tvmffi.Any
	Result tvmffi.Any
}

// hook is the Go side of an instrument. It outlives the machine if a call is under way.
type hook struct {
	f atomic.Pointer[func(Event) error]
}

func (h *hook) set(f func(Event) error) {
	if f == nil {
		h.f.Store(nil)
		return
	}
	h.f.Store(&f)
}

// goOn tells the machine to make the call.
const goOn = 0

// call is what the machine calls: with the function, its name, whether the call follows, the
// result, and the arguments.
func (h *hook) call(args []tvmffi.Any) (any, error) {
	f := h.f.Load()
	if f == nil {
		return goOn, nil
	}
	if len(args) < 4 {
		return nil, fmt.Errorf("the number of arguments of the machine's hook is %d, expected 4 or more", len(args))
	}
	name, err := tvmffi.As[string](args[1])
	if err != nil {
		return nil, err
	}
	before, err := tvmffi.As[bool](args[2])
	if err != nil {
		return nil, err
	}
	return goOn, (*f)(Event{name, before, args[4:], args[3]})
}

// SetInstrument makes the machine call f before and after each call that it makes. An error of f
// ends the call of the model, whose error wraps it. f runs on the thread of the machine. After a nil f
// no Go code runs, but the hook of TVM stays: each call costs a little more until the machine is closed. A
// machine on the other side of an RPC session refuses a hook.
func (m *Machine) SetInstrument(f func(Event) error) error {
	err := m.Do(context.Background(), func() error {
		if m.hook != nil {
			m.hook.set(f)
			return nil
		}
		if f == nil {
			return nil
		}
		h := new(hook)
		h.set(f)
		set, err := m.find("set_instrument")
		if err == nil {
			_, err = set.Call(tvmffi.Packed(h.call))
		}
		if err == nil {
			m.hook = h
		}
		return err
	})
	return fail("instrument", m.executable.name, err)
}
