package spec

import (
	"fmt"
	"math"
	"strconv"

	"github.com/tvmffi-go/tvmffi/internal/abi"
)

const (
	typeError  = "TypeError"
	valueError = "ValueError"
)

// Plan lists the checks of a call. The Func must not change while the Plan is
// used.
func (f *Func) Plan() (*Plan, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	if f.Dialect == TVM {
		return planTVM(f), nil
	}
	b := planner{plan: Plan{Func: f, Signature: f.Signature(), EnvStream: -1}, vars: map[string]int{}}
	b.calling = " when calling: `" + b.plan.Signature + "`"
	for _, p := range f.Params {
		if _, env := p.(EnvStream); !env {
			b.plan.NumArgs++
		}
	}
	b.collect(f.Params, false)
	for i := range b.plan.Vars {
		if v := &b.plan.Vars[i]; v.DType == (DType{}) {
			v.DType = Int32
		}
	}
	b.add(Check{Op: OpCount, Want: int64(b.plan.NumArgs), Kind: typeError,
		Message: fmt.Sprintf("Expects %d parameters%s", b.plan.NumArgs, b.calling)})
	n, env := 0, false
	for _, p := range f.Params {
		if _, ok := p.(EnvStream); ok {
			env = true
			continue
		}
		b.operand(p, Operand{Parent: -1, Index: n, Arg: n, Name: nameOf(p)}, nil)
		n++
	}
	if env {
		b.plan.EnvStream = b.device
	}
	return &b.plan, nil
}

type planner struct {
	plan    Plan
	calling string // " when calling: `...`"
	// vars has the index of each name. bound has for each variable the index of the
	// check that gave it its value, or one of the states below.
	vars     map[string]int
	bound    []int
	optional int // how many Optionals the operand is in
	device   int // the operand that is the first tensor on a device
	found    bool
}

const (
	unbound   = -1
	sometimes = -2 // it has a value if an optional argument is there
	somewhere = -3 // it has a value, from one of several operands
)

// collect lists the variables with all that is said about them.
func (b *planner) collect(params []Param, optional bool) {
	add := func(v Var, isDim bool) {
		if v.Name == "_" || v.Name == "" || !isDim && !isDimType(v.DType) && v.DType != Bool {
			return
		}
		i, ok := b.vars[v.Name]
		if !ok {
			i = len(b.plan.Vars)
			b.vars[v.Name] = i
			b.plan.Vars = append(b.plan.Vars, PlanVar{Var: Var{Name: v.Name}, Maybe: true})
			b.bound = append(b.bound, unbound)
		}
		known := &b.plan.Vars[i]
		if v.DType != (DType{}) {
			known.DType = v.DType
		}
		if v.Divisibility != 0 {
			known.Divisibility = v.Divisibility
		}
		known.Maybe = known.Maybe && optional
		known.Constrained = known.Constrained || v.constrained()
	}
	dims := func(dims []Dim) {
		for _, d := range dims {
			if v, ok := d.(Var); ok {
				add(v, true)
			}
		}
	}
	for _, p := range params {
		if o, ok := p.(Optional); ok {
			b.collect([]Param{o.Param}, true)
			continue
		}
		switch p := p.(type) {
		case Var:
			add(p, false)
		case Tensor:
			dims([]Dim{p.DeviceID})
			dims(p.Shape)
			dims(p.Strides)
		case Shape:
			dims(p.Dims)
		case Tuple:
			b.collect(p.Elems, optional)
		}
	}
}

func (b *planner) add(c Check) int {
	b.plan.Checks = append(b.plan.Checks, c)
	return len(b.plan.Checks) - 1
}

// operand plans the checks of p; path holds the indices in tuples on the way to it.
func (b *planner) operand(p Param, at Operand, path []int) {
	o, optional := p.(Optional)
	if optional {
		p = o.Param
	}
	at.Param, at.Optional = p, optional
	i := len(b.plan.Operands)
	b.plan.Operands = append(b.plan.Operands, at)
	where := "on argument #" + strconv.Itoa(at.Arg)
	if len(path) > 0 {
		where = "on " + at.Name + " in argument #" + strconv.Itoa(at.Arg)
	}
	if at.Parent >= 0 {
		b.add(Check{Op: OpElement, Operand: at.Parent, Index: at.Index, Want: int64(i)})
	}
	c := context{b: b, operand: i, name: at.Name, where: where + b.calling}
	if !optional {
		c.param(p, path)
		return
	}
	c.orNone = " or None"
	skip := b.add(Check{Op: OpSkipNone, Operand: i})
	before := append([]int(nil), b.bound...)
	b.optional++
	c.param(p, path)
	b.optional--
	// Variables that were bound in here have a value only if the argument is not None.
	for v := range b.bound {
		if v >= len(before) || before[v] < 0 && before[v] != b.bound[v] {
			b.bound[v] = sometimes
		}
	}
	b.plan.Checks[skip].Want = int64(len(b.plan.Checks))
}

// context makes the checks of one operand.
type context struct {
	b       *planner
	operand int
	name    string // how messages name the operand, such as "t[1]"
	where   string // "on argument #0 when calling: `...`"
	orNone  string
}

func (c *context) message(what, expected string) string {
	return what + " " + c.where + ", " + expected
}

func (c *context) typ(accept Accept, expected string) {
	c.b.add(Check{Op: OpType, Operand: c.operand, Accept: accept, Kind: typeError,
		Message: c.message("Mismatched type", "expected "+expected+c.orNone)})
}

func (c *context) equal(f Field, want int64, what, expected string) {
	c.b.add(Check{Op: OpEqual, Field: f, Operand: c.operand, Want: want, Kind: valueError, Message: c.message(what, expected)})
}

func (c *context) param(p Param, path []int) {
	switch p := p.(type) {
	case Var:
		c.number(p)
	case Tensor:
		c.tensor(p)
	case Shape:
		c.typ(AcceptShape|AcceptArray, "ffi.Shape or ffi.Array")
		c.equal(FieldLen, int64(len(p.Dims)), "Mismatched Shape", fmt.Sprintf("expected shape size=%d", len(p.Dims)))
		for i := range p.Dims {
			c.b.add(Check{Op: OpElementInt, Operand: c.operand, Index: i, Kind: typeError,
				Message: c.message(fmt.Sprintf("Invalid shape element type %s[%d]", c.name, i), "expected int")})
		}
		for i, d := range p.Dims {
			c.dim(d, quantity{field: FieldDim, index: i, name: fmt.Sprintf("%s[%d]", c.name, i)})
		}
	case Stream, DataPointer:
		c.typ(AcceptPointer|AcceptNone|AcceptInt, "handle or int")
	case Const:
		c.constant(p)
	case Tuple:
		c.typ(AcceptArray, "ffi.Array for tuple")
		c.equal(FieldLen, int64(len(p.Elems)), "Mismatched tuple size", fmt.Sprintf("expected tuple size=%d", len(p.Elems)))
		arg := c.b.plan.Operands[c.operand].Arg
		for i, e := range p.Elems {
			c.b.operand(e, Operand{Parent: c.operand, Index: i, Arg: arg, Name: fmt.Sprintf("%s[%d]", c.name, i)}, append(path[:len(path):len(path)], i))
		}
	}
}

func (c *context) number(p Var) {
	switch {
	case p.DType == Handle:
		c.typ(AcceptPointer|AcceptNone, "handle")
	case p.DType.Code == abi.DLFloat || p.DType.Code == abi.DLBfloat:
		c.typ(AcceptFloat|AcceptInt|AcceptBool, "float")
	default:
		c.typ(AcceptInt|AcceptBool, "int")
		if p.Name == "" || p.Name == "_" {
			c.limits(quantity{field: FieldValue, what: "value"}, p, false)
			return
		}
		c.dim(p, quantity{field: FieldValue, name: c.name, what: "value"})
	}
}

func (c *context) constant(p Const) {
	switch v := p.Value.(type) {
	case nil:
		c.typ(AcceptNone, "None")
	case bool:
		c.typ(AcceptBool, "bool")
		var want int64
		if v {
			want = 1
		}
		c.equal(FieldValue, want, "Mismatched constexpr value", "expected "+literal(v))
	case int64:
		c.typ(AcceptInt|AcceptBool, "int")
		c.equal(FieldValue, v, "Mismatched constexpr value", "expected "+literal(v))
	case float64:
		c.typ(AcceptFloat, "float")
		c.b.add(Check{Op: OpFloat, Operand: c.operand, Float: v, Kind: valueError,
			Message: c.message("Mismatched constexpr value", "expected "+literal(v))})
	}
}

func (c *context) tensor(p Tensor) {
	c.typ(AcceptTensor|AcceptDLTensor, "Tensor")
	if p.Align != 0 {
		c.b.add(Check{Op: OpDivisible, Field: FieldAddress, Operand: c.operand, Want: p.Align, Kind: valueError,
			Message: c.message("Misaligned Tensor data", fmt.Sprintf("expected data alignment=%d bytes", p.Align))})
	}
	c.deviceID(p)
	c.equal(FieldNDim, int64(len(p.Shape)), "Mismatched Tensor", fmt.Sprintf("expected ndim=%d", len(p.Shape)))
	kind, _ := abi.ParseDeviceType(p.device())
	c.equal(FieldDeviceType, int64(kind), "Mismatched Tensor", "expected device_type="+p.device())
	c.b.add(Check{Op: OpDType, Operand: c.operand, DType: p.DType, Kind: valueError,
		Message: c.message("Mismatched Tensor", "expected dtype="+p.DType.String())})
	for i, d := range p.Shape {
		c.dim(d, quantity{field: FieldShape, index: i, name: fmt.Sprintf("%s.shape[%d]", c.name, i)})
	}
	for i, d := range p.Strides {
		c.dim(d, quantity{field: FieldStrides, index: i, name: fmt.Sprintf("%s.strides[%d]", c.name, i), unlessOne: true})
	}
	if len(p.Strides) == 0 && len(p.Shape) > 0 {
		c.b.add(Check{Op: OpContiguous, Operand: c.operand, Kind: valueError,
			Message: c.message("Mismatched Tensor", "expected contiguous")})
	}
}

// deviceID plans the check of the number of the device. Without one, tensors share
// a hidden variable for each type of device.
func (c *context) deviceID(p Tensor) {
	b := c.b
	device := p.device()
	if device != "cpu" && !b.found && b.optional == 0 {
		b.device, b.found = c.operand, true
	}
	d := p.DeviceID
	if d == nil {
		if device == "cpu" {
			return
		}
		d = Var{Name: device + " device", DType: Int32}
		if _, ok := b.vars[device+" device"]; !ok {
			b.vars[device+" device"] = len(b.plan.Vars)
			b.plan.Vars = append(b.plan.Vars, PlanVar{Var: d.(Var), Maybe: true})
			b.bound = append(b.bound, unbound)
		}
		if b.optional == 0 {
			b.plan.Vars[b.vars[device+" device"]].Maybe = false
		}
	}
	c.dim(d, quantity{field: FieldDeviceID, name: c.name + ".device.index", what: "device index", free: true, peer: p.DeviceID == nil && device == "cuda"})
}

// quantity is the number that a dimension is compared with.
type quantity struct {
	field     Field
	index     int
	name      string // of the field, which later mismatches refer to
	what      string // how messages call it, if it is not name
	unlessOne bool
	free      bool // any value may be bound: it is an int32 already
	peer      bool // Check.Peer of an OpMatch
}

// dim plans the checks of one dimension, stride, number or device.
func (c *context) dim(d Dim, o quantity) {
	if o.what == "" {
		o.what = o.name
	}
	check := Check{Field: o.field, Operand: c.operand, Index: o.index, UnlessOne: o.unlessOne, Kind: valueError}
	if n, ok := d.(Size); ok {
		check.Op, check.Want = OpEqual, int64(n)
		check.Message = c.message("Mismatched "+o.what, "expected to be "+strconv.FormatInt(int64(n), 10))
		c.b.add(check)
		return
	}
	v := d.(Var)
	if v.Name == "_" {
		if v.constrained() {
			if v.DType == (DType{}) {
				v.DType = Int32
			}
			c.limits(o, v, false)
		}
		return
	}
	i := c.b.vars[v.Name]
	state := c.b.bound[i]
	if state != unbound {
		check.Op, check.Var, check.From, check.Peer = OpMatch, i, state, o.peer
		check.Message = c.message("Mismatched "+o.what, "expected to match ")
		if state >= 0 {
			check.Message += c.b.plan.Checks[state].Source
		} else {
			check.From, check.Maybe = -1, state == sometimes
		}
		c.b.add(check)
		if state != sometimes {
			return
		}
	}
	maybe := state == sometimes
	if !o.free {
		c.limits(o, c.b.plan.Vars[i].Var, maybe)
	}
	c.b.bound[i] = c.b.add(Check{Op: OpBind, Field: o.field, Operand: c.operand, Index: o.index, Var: i, Maybe: maybe, Source: o.name})
	if maybe {
		c.b.bound[i] = somewhere
	}
}

// limits plans what the type and the divisibility of v ask of a value.
func (c *context) limits(o quantity, v Var, maybe bool) {
	check := Check{Field: o.field, Operand: c.operand, Index: o.index, Var: -1, Maybe: maybe, Kind: valueError}
	if maybe {
		check.Var = c.b.vars[v.Name]
	}
	if t := v.DType; t.Bits < 64 {
		low, high := int64(math.MinInt64)>>(64-t.Bits), int64(math.MaxInt64)>>(64-t.Bits)
		if t.Code == abi.DLUInt {
			low, high = 0, 1<<t.Bits-1
		}
		r := check
		r.Op, r.Min, r.Max = OpRange, low, high
		r.Message = c.message("Out of bound "+o.what, fmt.Sprintf("expected to be in %s range [%d, %d]", t, low, high))
		c.b.add(r)
	}
	if v.Divisibility != 0 {
		check.Op, check.Want, check.UnlessOne = OpDivisible, v.Divisibility, o.unlessOne
		check.Message = c.message("Invalid "+o.what, fmt.Sprintf("expected to be divisible by %d", v.Divisibility))
		c.b.add(check)
	}
}
