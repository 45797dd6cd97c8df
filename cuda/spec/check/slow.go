package check

import (
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/spec/run"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// source is where arguments come from: one of the two slices.
type source struct {
	packed []abi.Any
	typed  []any
	n      int
}

func (s *source) value(i int) run.Value {
	if s.packed != nil {
		return run.Of(s.packed[i])
	}
	return valueOf(&s.typed[i])
}

// hidden returns arg such that the compiler does not see that it goes to a function
// that it does not know, which would put the arguments of all callers on the heap.
// Sound, because those functions keep nothing, and because stacks move only at calls
// and there is none between the two conversions.
func hidden(arg *any) *any {
	address := uintptr(unsafe.Pointer(arg))
	return *(**any)(unsafe.Pointer(&address))
}

// streamer is a *cuda.Stream.
type streamer interface{ Pointer() tvmffi.Pointer }

// valueOf returns the value of an argument in Go; its memory is that of arg.
func valueOf(arg *any) run.Value {
	if v, ok := number(*arg); ok {
		return run.Of(v)
	}
	switch x := (*arg).(type) {
	case uint, uint64:
		return run.Of(abi.Any{TypeIndex: run.TooBig})
	case []int64:
		return run.Ints(x)
	case []any:
		return run.List(unsafe.Pointer(unsafe.SliceData(x)), len(x), element)
	case tvmffi.ObjectRef:
		o := objects.StateOf((*hidden(arg)).(objects.Ref))
		if o == nil {
			return run.Of(abi.Any{})
		}
		if o.Handle() == 0 {
			return run.Of(abi.Any{TypeIndex: run.Released})
		}
		return run.Of(abi.Any{TypeIndex: o.TypeIndex(), Bits: uint64(o.Handle())})
	case streamer:
		// The second word of an interface that holds a pointer is the pointer.
		if (*[2]unsafe.Pointer)(unsafe.Pointer(arg))[1] == nil {
			return run.Of(abi.Any{})
		}
		return run.Of(abi.Any{TypeIndex: abi.TypeOpaquePtr, Bits: uint64((*hidden(arg)).(streamer).Pointer().Address)})
	}
	return run.Value{}
}

// element returns the value of an element of a []any.
func element(memory unsafe.Pointer, i int) run.Value {
	return valueOf((*any)(unsafe.Add(memory, i*int(unsafe.Sizeof(any(nil))))))
}

// values is the memory of checks with many operands.
var values = sync.Pool{New: func() any { return new([]run.Value) }}

// slowly does the checks one by one, in order.
func (c *Checker) slowly(v *Values, args source) error {
	nums, from := v.slots()
	if args.n != c.plan.NumArgs {
		return fail(run.Count(c.plan))
	}
	n := len(c.plan.Operands)
	if n <= few {
		var some [few]run.Value
		return c.inOrder(args, some[:n], nums, from)
	}
	pooled := values.Get().(*[]run.Value)
	defer func() {
		clear(*pooled) // they point to what belongs to the caller
		values.Put(pooled)
	}()
	if len(*pooled) < n {
		*pooled = make([]run.Value, n)
	}
	return c.inOrder(args, (*pooled)[:n], nums, from)
}

func (c *Checker) inOrder(args source, values []run.Value, nums []int64, from []int32) error {
	for i := range values {
		if o := &c.plan.Operands[i]; o.Parent < 0 {
			values[i] = args.value(o.Index)
		}
	}
	return fail(run.InOrder(c.plan, values, nums, from, nil)) // as the compiled kernel, which knows no peers
}

// fail makes the error of a check that does not hold.
func fail(r run.Refusal) error {
	if r == (run.Refusal{}) {
		return nil
	}
	return tvmffi.NewError(r.Kind, r.Message)
}
