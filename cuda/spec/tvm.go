package spec

import (
	"fmt"
	"strconv"

	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// tvmAlign is the alignment that TVM assumes of the memory of a tensor.
const tvmAlign = 64

// tvmDevice is the name of the variable that is the number of the device of all tensors.
const tvmDevice = "one device"

// planTVM lists the checks of a function of TVM. TVM makes them in four rounds: the types of
// all arguments; then for each tensor what it is; then for each tensor what depends on
// others; at last what is known before the call. A round of ours follows, for what TVM only
// assumes: the alignment, and that comes last so that it hides no error of TVM's.
func planTVM(f *Func) *Plan {
	b := tvmPlanner{planner: planner{plan: Plan{Func: f, Signature: f.Signature(), NumArgs: len(f.Params), EnvStream: -1}, vars: map[string]int{}}}
	b.calling = " when calling:\n  `" + b.plan.Signature + "`"
	b.collect(f.Params, false)
	for i := range b.plan.Vars {
		if v := &b.plan.Vars[i]; v.DType == (DType{}) {
			v.DType = Int64
		}
	}
	b.add(Check{Op: OpCount, Want: int64(len(f.Params)), Kind: typeError,
		Message: fmt.Sprintf("Expected %d arguments%s", len(f.Params), b.calling)})
	for i, p := range f.Params {
		b.plan.Operands = append(b.plan.Operands, Operand{Param: p, Parent: -1, Index: i, Arg: i, Name: p.name()})
		b.argument(i, p)
	}
	for i, p := range f.Params {
		if t, ok := p.(Tensor); ok {
			b.tensor(i, t)
		}
	}
	for _, round := range b.rounds {
		b.plan.Checks = append(b.plan.Checks, round...)
	}
	return &b.plan
}

type tvmPlanner struct {
	planner
	// rounds have the checks that come after those of all arguments.
	rounds [3][]Check
}

// The rounds.
const (
	roundMatch = iota
	roundConstant
	roundAlign
)

// on makes the message of a check of an argument.
func (b *tvmPlanner) on(what string, arg int, expected string) string {
	return what + " on argument #" + strconv.Itoa(arg) + b.calling + ",\n  expected " + expected
}

func (b *tvmPlanner) typ(arg int, accept Accept, expected string) {
	b.add(Check{Op: OpType, Operand: arg, Accept: accept, Kind: typeError, Message: b.on("Mismatched type", arg, expected)})
}

// argument plans the check of the type of an argument, and gives a number to its name.
func (b *tvmPlanner) argument(i int, p Param) {
	v, ok := p.(Var)
	switch {
	case !ok:
		// None is found out later, with the same text. TVM takes all pointers and objects
		// for tensors; those that are not would be read as if they were.
		b.typ(i, AcceptTensor|AcceptDLTensor|AcceptNone, "Tensor")
	case v.DType == Handle:
		b.typ(i, AcceptNone|AcceptPointer|AcceptDLTensor|AcceptTensor|AcceptShape|AcceptArray|AcceptObject, "pointer")
	case v.DType == Bool:
		b.typ(i, AcceptInt|AcceptBool, "boolean")
	case v.DType.Code == abi.DLFloat || v.DType.Code == abi.DLBfloat:
		b.typ(i, AcceptFloat|AcceptInt|AcceptBool, "float")
	default:
		b.typ(i, AcceptInt|AcceptBool, "int")
		if v.Name != "_" {
			n := b.vars[v.Name]
			b.bound[n] = b.add(Check{Op: OpBind, Field: FieldValue, Operand: i, Var: n, Bits: b.bits(n), Source: v.Name})
		}
	}
}

// bits is the width to which TVM cuts the values of a variable.
func (b *tvmPlanner) bits(v int) uint8 {
	if t := b.plan.Vars[v].DType; t.Code == abi.DLInt && t.Bits < 64 {
		return t.Bits
	}
	return 0
}

// tvmTensor makes the checks of one tensor.
type tvmTensor struct {
	*tvmPlanner
	Tensor
	arg   int
	sizes []PlanSize
}

// now says that a check belongs to the first rounds.
const now = -1

func (t *tvmTensor) refuse(round int, c Check, kind, what, expected string) {
	c.Operand, c.Kind, c.Message = t.arg, kind, t.on(what, t.arg, expected)
	if round == now {
		t.add(c)
		return
	}
	t.rounds[round] = append(t.rounds[round], c)
}

func (b *tvmPlanner) tensor(arg int, p Tensor) {
	t := tvmTensor{b, p, arg, make([]PlanSize, len(p.Shape))}
	b.typ(arg, AcceptTensor|AcceptDLTensor, "Tensor")
	t.refuse(now, Check{Op: OpEqual, Field: FieldNDim, Want: int64(len(t.Shape))}, valueError, "Mismatched "+t.Name+".ndim", strconv.Itoa(len(t.Shape)))
	t.refuse(now, Check{Op: OpSameDType, DType: t.DType}, typeError, "Mismatched "+t.Name+".dtype", t.DType.String())
	for i, d := range t.Shape {
		t.dim(d, FieldShape, i, fmt.Sprintf("%s.shape[%d]", t.Name, i))
		t.sizes[i] = b.size(d)
	}
	if len(t.Strides) == 0 && len(t.Shape) > 0 {
		t.refuse(roundMatch, Check{Op: OpCompact, Sizes: t.sizes}, valueError, "Mismatched "+t.Name+".strides", "to be compact array")
	}
	for i := len(t.Strides) - 1; i >= 0; i-- {
		t.dim(t.Strides[i], FieldStrides, i, fmt.Sprintf("%s.strides[%d]", t.Name, i))
	}
	t.memory()
}

// dim plans the check of a size, a stride or the device.
func (t *tvmTensor) dim(d Dim, field Field, index int, name string) {
	c := Check{Op: OpEqual, Field: field, Index: index}
	switch d := d.(type) {
	case Size64:
		t.dim(Size(d), field, index, name)
	case Size:
		c.Want = int64(d)
		t.refuse(roundConstant, c, valueError, "Invalid "+name, strconv.FormatInt(c.Want, 10))
	case Var:
		if d.Name == "_" {
			return
		}
		c.Var = t.vars[d.Name]
		c.Bits = t.bits(c.Var)
		if from := t.bound[c.Var]; from != unbound {
			c.Op, c.From = OpMatch, from
			t.refuse(roundMatch, c, valueError, "Mismatched "+name, "to match "+t.plan.Checks[from].Source)
			return
		}
		c.Op, c.Operand, c.Source = OpBind, t.arg, name
		t.bound[c.Var] = t.add(c)
	}
}

// memory plans the checks of the device and the address.
func (t *tvmTensor) memory() {
	device := t.Device
	if device == "" {
		device = "cpu"
	}
	kind, _ := abi.ParseDeviceType(device)
	t.refuse(now, Check{Op: OpEqual, Field: FieldDeviceType, Want: int64(kind)}, valueError, "Mismatched "+t.Name+".device_type", device)
	if _, ok := t.vars[tvmDevice]; !ok {
		t.vars[tvmDevice] = len(t.plan.Vars)
		t.plan.Vars = append(t.plan.Vars, PlanVar{Var: Var{Name: tvmDevice, DType: Int32}})
		t.bound = append(t.bound, unbound)
	}
	t.dim(Var{Name: tvmDevice}, FieldDeviceID, 0, t.Name+".device_id")
	t.refuse(roundMatch, Check{Op: OpNotNull, Field: FieldData, UnlessEmpty: true, Sizes: t.sizes}, valueError,
		t.Name+" data pointer is NULL", "non-NULL data pointer")
	if t.Offset != Any {
		n, _ := t.Offset.(Size) // 0 without one
		t.refuse(roundConstant, Check{Op: OpEqual, Field: FieldByteOffset, Want: int64(n)}, valueError,
			"Invalid "+t.Name+".byte_offset", strconv.FormatInt(int64(n), 10))
	}
	align := t.Align
	if align == 0 {
		align = tvmAlign
	}
	if align > 1 {
		t.refuse(roundAlign, Check{Op: OpDivisible, Field: FieldData, Want: align, UnlessEmpty: true, Sizes: t.sizes}, valueError,
			"Misaligned Tensor data", fmt.Sprintf("data alignment=%d bytes", align))
	}
}

// size is what a tensor should have as a size; one that may have any value counts as 1.
func (b *tvmPlanner) size(d Dim) PlanSize {
	switch d := d.(type) {
	case Size:
		return PlanSize{-1, int64(d)}
	case Size64:
		return PlanSize{-1, int64(d)}
	case Var:
		if d.Name != "_" {
			return PlanSize{Var: b.vars[d.Name]}
		}
	}
	return PlanSize{-1, 1}
}
