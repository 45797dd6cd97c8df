package check

import (
	"math"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/cuda/spec/run"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// fast is a plan for calls that are right: the checks of each argument are put
// together, and the answer is only yes or "look closer". So it needs no messages, and
// keeps the order of the checks only where they share variables.
type fast struct {
	ok   bool // the plan has no checks that only the slow way knows
	args []argument
}

// argument holds the checks of one argument.
type argument struct {
	accept spec.Accept
	tensor bool
	// contiguous asks for row-major order.
	contiguous bool
	// deviceOp says how the number of the device is compared, OpCount for not at all.
	deviceOp   spec.Op
	deviceVar  uint8
	deviceType int32
	deviceWant int32
	// head is the rank and the type of the elements, which lie side by side in a
	// DLTensor; other is the second form of types where int and uint are the same.
	head, other uint64
	// mask has the bits that the address must not have.
	mask  uintptr
	steps []step
}

// step compares one number: a size, a stride or the argument itself.
type step struct {
	// op is OpEqual, OpMatch, OpDivisible, OpRange, or OpBind, which does the work of
	// OpRange too.
	op        spec.Op
	strides   bool
	unlessOne bool
	variable  uint8
	index     int32
	want      int64
	min, max  int64
}

// head is the part of a DLTensor from its rank to its type of elements.
type head struct {
	ndim  int32
	dtype abi.DLDataType
}

func headBits(ndim int32, t spec.DType) uint64 {
	h := head{ndim, abi.DLDataType(t)}
	return *(*uint64)(unsafe.Pointer(&h))
}

// compile makes the fast form of a plan.
func compile(p *spec.Plan) fast {
	f := fast{args: make([]argument, p.NumArgs)}
	if len(p.Vars) > few || p.Func.Dialect != spec.CuTe {
		return fast{}
	}
	for i := range p.Checks {
		c := &p.Checks[i]
		if c.Op == spec.OpCount {
			continue
		}
		if p.Operands[c.Operand].Parent >= 0 || p.Operands[c.Operand].Optional || !f.args[c.Operand].take(c) {
			return fast{}
		}
	}
	f.ok = true
	return f
}

// take adds a check, and reports whether it can.
func (a *argument) take(c *spec.Check) bool {
	switch {
	case c.Op == spec.OpType:
		a.accept = c.Accept
		a.tensor = c.Accept&spec.AcceptTensor != 0
		return c.Accept&(spec.AcceptShape|spec.AcceptArray) == 0
	case c.Op == spec.OpDType:
		// The rank was checked before.
		ndim := (*head)(unsafe.Pointer(&a.head)).ndim
		t := c.DType
		a.head = headBits(ndim, t)
		if t.Code == abi.DLInt || t.Code == abi.DLUInt {
			t.Code = abi.DLInt + abi.DLUInt - t.Code
		}
		a.other = headBits(ndim, t)
		return true
	case c.Op == spec.OpContiguous:
		a.contiguous = true
		return true
	case c.Field == spec.FieldNDim:
		a.head = headBits(int32(c.Want), spec.DType{})
		return true
	case c.Field == spec.FieldDeviceType:
		a.deviceType = int32(c.Want)
		return true
	case c.Field == spec.FieldDeviceID:
		a.deviceOp, a.deviceVar, a.deviceWant = c.Op, uint8(c.Var), int32(c.Want)
		return c.Op != spec.OpEqual || int64(a.deviceWant) == c.Want
	case c.Field == spec.FieldAddress:
		a.mask = uintptr(c.Want - 1)
		return c.Want&(c.Want-1) == 0
	}
	s := step{op: c.Op, strides: c.Field == spec.FieldStrides, unlessOne: c.UnlessOne, index: int32(c.Index),
		want: c.Want, min: math.MinInt64, max: math.MaxInt64}
	switch c.Op {
	case spec.OpRange:
		s.min, s.max = c.Min, c.Max
	case spec.OpMatch:
		s.variable = uint8(c.Var)
	case spec.OpBind:
		s.variable = uint8(c.Var)
		for i := range a.steps {
			if r := &a.steps[i]; r.op == spec.OpRange && r.strides == s.strides && r.index == s.index {
				r.op, r.variable = spec.OpBind, s.variable
				return true
			}
		}
	case spec.OpEqual, spec.OpDivisible:
	default:
		return false
	}
	a.steps = append(a.steps, s)
	return true
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
			// Every object type has the layout of objects.Object.
			h := (*objects.Object)(unsafe.Pointer(t)).Handle()
			if h == 0 || !a.isTensor(capi.PointerTo[abi.DLTensor](h+abi.ObjectSize), nums) {
				return false
			}
			continue
		}
		v, ok := number(args[i])
		if !ok || a.accept&run.Kind(v.TypeIndex) == 0 || !a.isNumber(int64(v.Bits), nums) {
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
			if t := run.TensorOf(*v); t == nil || !a.isTensor(t, nums) {
				return false
			}
			continue
		}
		if a.accept&run.Kind(v.TypeIndex) == 0 || !a.isNumber(int64(v.Bits), nums) {
			return false
		}
	}
	return true
}

func (a *argument) isTensor(d *abi.DLTensor, nums *[few]int64) bool {
	bits := *(*uint64)(unsafe.Pointer(&d.NDim))
	if bits != a.head && bits != a.other || d.Device.Type != a.deviceType || run.Address(d)&a.mask != 0 {
		return false
	}
	switch a.deviceOp {
	case spec.OpMatch:
		if int64(d.Device.ID) != nums[a.deviceVar%few] {
			return false
		}
	case spec.OpBind:
		nums[a.deviceVar%few] = int64(d.Device.ID)
	case spec.OpEqual:
		if d.Device.ID != a.deviceWant {
			return false
		}
	}
	if d.NDim > 0 && (d.Shape == 0 || d.Strides == 0) {
		return false
	}
	for i := range a.steps {
		s := &a.steps[i]
		at := d.Shape
		if s.strides {
			at = d.Strides
		}
		if !s.holds(*capi.PointerTo[int64](at + 8*uintptr(s.index)), nums) && !(s.unlessOne && run.Size(d, int(s.index)) == 1) {
			return false
		}
	}
	return !a.contiguous || run.Contiguous(d)
}

func (a *argument) isNumber(v int64, nums *[few]int64) bool {
	for i := range a.steps {
		if !a.steps[i].holds(v, nums) {
			return false
		}
	}
	return true
}

func (s *step) holds(v int64, nums *[few]int64) bool {
	switch s.op {
	case spec.OpBind:
		nums[s.variable%few] = v
	case spec.OpMatch:
		return v == nums[s.variable%few]
	case spec.OpEqual:
		return v == s.want
	case spec.OpDivisible:
		return v%s.want == 0
	}
	return v >= s.min && v <= s.max
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
