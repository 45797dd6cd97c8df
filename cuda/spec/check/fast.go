package check

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/core"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// fast is a plan for calls that are right: the checks of each argument are put
// together, and it only answers yes or "look closer". So it needs no order among
// the checks but that of variables, and no messages.
type fast struct {
	ok    bool // the plan has no checks that only the slow way knows
	args  []argument
	steps []step
}

// argument is what is checked of one argument before its numbers.
type argument struct {
	accept spec.Accept
	tensor bool
	// contiguous asks for row-major order.
	contiguous bool
	ndim       int32
	device     int32
	// A type of elements has two forms where int and uint are the same.
	dtype, other uint32
	// mask has the bits that the address must not have.
	mask uintptr
	// first and last delimit the steps.
	first, last uint16
}

// step compares one number.
type step struct {
	op        spec.Op
	field     spec.Field
	unlessOne bool
	slot      uint8
	index     int32
	// want is compared with, or divides; min and max are of a range.
	want, min, max int64
}

// compile makes the fast form of a plan.
func compile(p *spec.Plan) fast {
	f := fast{args: make([]argument, p.NumArgs)}
	if len(p.Vars) > few || len(p.Checks) > 1<<15 {
		return fast{}
	}
	last := -1
	for i := range p.Checks {
		c := &p.Checks[i]
		if c.Op == spec.OpCount {
			continue
		}
		if p.Places[c.Place].Parent >= 0 || p.Places[c.Place].Optional {
			return fast{}
		}
		a := &f.args[c.Place]
		if c.Place != last {
			last = c.Place
			a.first, a.last = uint16(len(f.steps)), uint16(len(f.steps))
		}
		if !f.take(a, c) {
			return fast{}
		}
	}
	f.ok = true
	return f
}

// take adds a check to an argument, and reports whether it can.
func (f *fast) take(a *argument, c *spec.Check) bool {
	switch {
	case c.Op == spec.OpType:
		a.accept = c.Accept
		a.tensor = c.Accept&spec.AcceptTensor != 0
		return c.Accept&(spec.AcceptShape|spec.AcceptArray) == 0
	case c.Op == spec.OpDType:
		a.dtype = dtypeBits(c.DType)
		a.other = a.dtype
		if c.DType.Code == abi.DLInt || c.DType.Code == abi.DLUInt {
			t := c.DType
			t.Code = abi.DLInt + abi.DLUInt - t.Code
			a.other = dtypeBits(t)
		}
		return true
	case c.Op == spec.OpContiguous:
		a.contiguous = true
		return true
	case c.Field == spec.FieldNDim:
		a.ndim = int32(c.Want)
		return true
	case c.Field == spec.FieldDeviceType:
		a.device = int32(c.Want)
		return true
	case c.Field == spec.FieldAddress:
		a.mask = uintptr(c.Want - 1)
		return c.Want&(c.Want-1) == 0
	}
	switch c.Op {
	case spec.OpEqual, spec.OpRange, spec.OpDivisible, spec.OpMatch, spec.OpBind:
	default:
		return false
	}
	s := step{op: c.Op, field: c.Field, unlessOne: c.UnlessOne, index: int32(c.Index), want: c.Want, min: c.Min, max: c.Max}
	if c.Op == spec.OpMatch || c.Op == spec.OpBind {
		s.slot = uint8(c.Var)
	}
	f.steps = append(f.steps, s)
	a.last = uint16(len(f.steps))
	return true
}

func dtypeBits(t spec.DType) uint32 {
	return uint32(t.Code) | uint32(t.Bits)<<8 | uint32(t.Lanes)<<16
}

// kinds has the kind of each type index, as far as an argument may be one.
var kinds = func() (k [128]spec.Accept) {
	k[abi.TypeNone] = spec.AcceptNone
	k[abi.TypeInt] = spec.AcceptInt
	k[abi.TypeBool] = spec.AcceptBool
	k[abi.TypeFloat] = spec.AcceptFloat
	k[abi.TypeOpaquePtr] = spec.AcceptPointer
	k[abi.TypeDLTensorPtr] = spec.AcceptDLTensor
	k[abi.TypeTensor] = spec.AcceptTensor
	k[abi.TypeShape] = spec.AcceptShape
	k[abi.TypeArray] = spec.AcceptArray
	return k
}()

func kindOf(t abi.TypeIndex) spec.Accept {
	if uint32(t) < uint32(len(kinds)) {
		return kinds[t]
	}
	return 0
}

// accept reports whether the arguments are right; false may also mean that it does
// not know.
func (f *fast) accept(args []any, nums *[few]int64) bool {
	if !f.ok || len(args) != len(f.args) {
		return false
	}
	for i := range f.args {
		a := &f.args[i]
		if a.tensor {
			t, ok := args[i].(*tvmffi.Tensor)
			if !ok || t == nil {
				return false
			}
			// Every object type has the layout of core.Object.
			h := (*core.Object)(unsafe.Pointer(t)).Handle()
			if h == 0 || !f.tensor(a, core.At[abi.DLTensor](h+abi.ObjectSize), nums) {
				return false
			}
			continue
		}
		v, ok := number(args[i])
		if !ok || a.accept&kindOf(v.TypeIndex) == 0 || a.first != a.last && !f.number(a, int64(v.Bits), nums) {
			return false
		}
	}
	return true
}

// acceptPacked is accept for packed arguments.
func (f *fast) acceptPacked(args []abi.Any, nums *[few]int64) bool {
	if !f.ok || len(args) != len(f.args) {
		return false
	}
	for i := range f.args {
		a, v := &f.args[i], &args[i]
		if a.tensor {
			at := uintptr(v.Bits)
			switch {
			case v.TypeIndex == abi.TypeTensor:
				at += abi.ObjectSize
			case v.TypeIndex != abi.TypeDLTensorPtr || at == 0:
				return false
			}
			if !f.tensor(a, core.At[abi.DLTensor](at), nums) {
				return false
			}
			continue
		}
		if a.accept&kindOf(v.TypeIndex) == 0 || a.first != a.last && !f.number(a, int64(v.Bits), nums) {
			return false
		}
	}
	return true
}

func (f *fast) tensor(a *argument, d *abi.DLTensor, nums *[few]int64) bool {
	dtype := *(*uint32)(unsafe.Pointer(&d.DType))
	if d.NDim != a.ndim || d.Device.Type != a.device || dtype != a.dtype && dtype != a.other ||
		(d.Data+uintptr(d.ByteOffset))&a.mask != 0 {
		return false
	}
	if a.ndim > 0 && (d.Shape == 0 || d.Strides == 0) {
		return false
	}
	steps := f.steps[a.first:a.last]
	for i := range steps {
		s := &steps[i]
		var v int64
		switch s.field {
		case spec.FieldShape:
			v = *core.At[int64](d.Shape + 8*uintptr(s.index))
		case spec.FieldStrides:
			v = *core.At[int64](d.Strides + 8*uintptr(s.index))
		default:
			v = int64(d.Device.ID)
		}
		if !s.holds(v, nums) && !(s.unlessOne && *core.At[int64](d.Shape + 8*uintptr(s.index)) == 1) {
			return false
		}
	}
	return !a.contiguous || contiguous(d)
}

func (f *fast) number(a *argument, v int64, nums *[few]int64) bool {
	steps := f.steps[a.first:a.last]
	for i := range steps {
		if !steps[i].holds(v, nums) {
			return false
		}
	}
	return true
}

func (s *step) holds(v int64, nums *[few]int64) bool {
	switch s.op {
	case spec.OpBind:
		nums[s.slot%few] = v
		return true
	case spec.OpMatch:
		return v == nums[s.slot%few]
	case spec.OpRange:
		return v >= s.min && v <= s.max
	case spec.OpEqual:
		return v == s.want
	}
	return v%s.want == 0
}

// contiguous reports whether d, which has shape and strides, is in row-major order
// without gaps.
func contiguous(d *abi.DLTensor) bool {
	step := int64(1)
	for i := uintptr(d.NDim); i > 0; i-- {
		n := *core.At[int64](d.Shape + 8*(i-1))
		if *core.At[int64](d.Strides + 8*(i-1)) != step && n != 1 {
			return false
		}
		step *= n
	}
	return true
}

// number packs a value of Go that needs no memory; ok is false for others.
func number(arg any) (v abi.Any, ok bool) {
	switch x := arg.(type) {
	case int:
		return abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(x)}, true
	case int64:
		return abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(x)}, true
	case int32:
		return abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(x)}, true
	case bool:
		if x {
			v.Bits = 1
		}
		return abi.Any{TypeIndex: abi.TypeBool, Bits: v.Bits}, true
	case float64:
		return abi.Any{TypeIndex: abi.TypeFloat, Bits: *(*uint64)(unsafe.Pointer(&x))}, true
	case float32:
		y := float64(x)
		return abi.Any{TypeIndex: abi.TypeFloat, Bits: *(*uint64)(unsafe.Pointer(&y))}, true
	case tvmffi.Pointer:
		return abi.Any{TypeIndex: abi.TypeOpaquePtr, Bits: uint64(x.Address)}, true
	case uintptr:
		return abi.Any{TypeIndex: abi.TypeOpaquePtr, Bits: uint64(x)}, true
	case nil:
		return abi.Any{}, true
	case int8:
		return abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(x)}, true
	case int16:
		return abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(x)}, true
	case uint8:
		return abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(x)}, true
	case uint16:
		return abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(x)}, true
	case uint32:
		return abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(x)}, true
	case uint:
		return abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(x)}, int(x) >= 0
	case uint64:
		return abi.Any{TypeIndex: abi.TypeInt, Bits: x}, int64(x) >= 0
	case tvmffi.DataType:
		return abi.Any{TypeIndex: abi.TypeDataType}, true
	case tvmffi.Device:
		return abi.Any{TypeIndex: abi.TypeDevice}, true
	case string:
		return abi.Any{TypeIndex: abi.TypeStr}, true
	}
	return v, false
}
