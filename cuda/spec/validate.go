package spec

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// Validate reports the first thing in the description that makes no sense. Parse,
// UnmarshalJSON and Plan call it.
func (f *Func) Validate() error {
	if f == nil {
		return fmt.Errorf("spec: the function is nil")
	}
	v := validator{f: f, vars: map[string]*declared{}, names: map[string]bool{}}
	if !isName(f.Name) {
		return fmt.Errorf("spec: %q is not the name of a function: use letters, digits, _, $ and dots", f.Name)
	}
	if f.Dialect > TVM {
		return v.errorf("there is no dialect %d: use CuTe or TVM", f.Dialect)
	}
	for i, p := range f.Params {
		if p == nil || nameOf(p) == "" {
			return v.errorf("parameter %d has no name", i)
		}
		if err := v.param(nameOf(p), p, false, 0); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.vars)) {
		d := v.vars[name]
		if d.dim && d.set && !isDimType(d.dtype) {
			return v.errorf("dimension %s: its type %s is not an integer of at most 64 bits: write int32 or int64", name, d.dtype)
		}
		if err := v.divisor(name, d.dtype, d.div); err != nil {
			return err
		}
	}
	for _, p := range f.Params {
		if e, ok := p.(EnvStream); ok && deviceTensor(f.Params) == nil {
			return v.errorf("%s: there is no tensor on a device to take the current stream of: use Stream", e.Name)
		}
	}
	return nil
}

// deviceTensor returns the tensor whose device the environment stream belongs to.
func deviceTensor(params []Param) *Tensor {
	for _, p := range params {
		switch p := p.(type) {
		case Tensor:
			if p.device() != "cpu" {
				return &p
			}
		case Tuple:
			if t := deviceTensor(p.Elems); t != nil {
				return t
			}
		}
	}
	return nil
}

func isName(s string) bool {
	for i, r := range s {
		if !nameRune(r, i == 0) || r == 0xFFFD {
			return false
		}
	}
	return s != ""
}

func isDimType(t DType) bool {
	return (t.Code == abi.DLInt || t.Code == abi.DLUInt) && t.odd() == "" && t.Bits <= 64 && t.Lanes == 1
}

// odd says what to write in place of a type that no kernel has, because of its width;
// "" if there is nothing odd about it.
func (t DType) odd() string {
	ok := t.Bits != 0 && t.Bits&(t.Bits-1) == 0
	switch t.Code {
	case abi.DLInt, abi.DLUInt:
		if !ok && t != (DType{}) {
			return "integers have 1, 2, 4, 8, 16, 32, 64 or 128 bits"
		}
	case abi.DLFloat:
		if !ok || t.Bits < 16 || t.Bits > 64 {
			return "write float16, float32 or float64, or a smaller one with its layout, such as float8_e4m3fn"
		}
	case abi.DLBfloat:
		if t.Bits != 16 {
			return "write bfloat16"
		}
	case abi.DLComplex:
		if t.Bits != 64 && t.Bits != 128 {
			return "write complex64 or complex128"
		}
	case abi.DLBool:
		if t.Bits != 8 {
			return "write bool"
		}
	case abi.DLOpaqueHandle:
		if t.Bits != 64 {
			return "write handle"
		}
	}
	return ""
}

// most is the greatest value of a type of dimensions.
func (t DType) most() int64 {
	if t.Code == abi.DLUInt && t.Bits < 64 {
		return 1<<t.Bits - 1
	}
	return math.MaxInt64 >> (64 - min(t.Bits, 64))
}

func badDivisor(n int64, t DType) string {
	return fmt.Sprintf("the divisor %d is more than the type %s holds: write a number from 1 to %d, or another type", n, t, t.most())
}

// divisor refuses a divisor that is greater than all values of the type. The zero DType is that
// of a dimension about which nothing is said.
func (v *validator) divisor(where string, t DType, n int64) error {
	if t == (DType{}) {
		t = Int32
	}
	if n > 0 && n > t.most() {
		return v.errorf("%s: %s", where, badDivisor(n, t))
	}
	return nil
}

func validAlign(bytes int64) bool { return bytes > 0 && bytes&(bytes-1) == 0 }

func badAlign(bytes int64) string {
	return fmt.Sprintf("an address cannot be aligned to %d bytes: write a power of 2, such as 16", bytes)
}

// declared collects what all places with one name declare.
type declared struct {
	dtype DType
	div   int64
	set   bool // dtype is known
	dim   bool // a place is a dimension
}

type validator struct {
	f     *Func
	vars  map[string]*declared
	names map[string]bool
}

func (v *validator) errorf(format string, args ...any) error {
	return fmt.Errorf("spec: %s: %s", v.f.Name, fmt.Sprintf(format, args...))
}

// param checks one parameter; where names it in errors, nested says that it is
// inside a tuple or optional.
func (v *validator) param(where string, p Param, nested bool, depth int) error {
	if depth > maxDepth {
		return v.errorf("%s: types nest deeper than %d", where, maxDepth)
	}
	switch p.(type) {
	case Var, Tensor:
	default:
		if v.f.Dialect == TVM {
			return v.errorf("%s: functions of TVM take tensors and numbers, not %s", where, strings.TrimPrefix(fmt.Sprintf("%T", p), "spec."))
		}
	}
	if o, ok := p.(Optional); ok {
		return v.optional(where, o, depth)
	}
	if name := p.name(); name != "" {
		if !isName(name) {
			return v.errorf("%q is not the name of a parameter: use letters, digits, _, $ and dots", name)
		}
		if v.names[name] {
			return v.errorf("two parameters have the name %s: give one of them another name", name)
		}
		v.names[name] = true
	}
	switch p := p.(type) {
	case Var:
		return v.scalar(where, p)
	case Tensor:
		return v.tensor(where, p)
	case Shape:
		return v.dims(where, p.Dims, true)
	case Stream:
	case EnvStream:
		if nested {
			return v.errorf("%s: an EnvStream is not an argument, so it cannot stand in a Tuple or an Optional", where)
		}
	case DataPointer:
		if p.Space < 0 {
			return v.errorf("%s: %d is not an address space", where, p.Space)
		}
	case Const:
		switch p.Value.(type) {
		case nil, bool, int64, float64:
		default:
			return v.errorf("%s: a constant of type %T: use nil, bool, int64 or float64", where, p.Value)
		}
	case Tuple:
		for i, e := range p.Elems {
			if e == nil {
				return v.errorf("%s[%d] is nil", where, i)
			}
			if err := v.param(fmt.Sprintf("%s[%d]", where, i), e, true, depth+1); err != nil {
				return err
			}
		}
	default:
		return v.errorf("%s: %T is not a parameter of this package", where, p)
	}
	return nil
}

func (v *validator) optional(where string, o Optional, depth int) error {
	switch inner := o.Param.(type) {
	case nil:
		return v.errorf("%s: an Optional of nothing: give it a type", where)
	case Optional:
		return v.errorf("%s: an Optional of an Optional: write one", where)
	case Const:
		if inner.Value == nil {
			return v.errorf("%s: an Optional of None: write None", where)
		}
	}
	return v.param(where, o.Param, true, depth+1)
}

func (v *validator) scalar(where string, p Var) error {
	t := p.DType
	if remedy := t.odd(); remedy != "" {
		return v.errorf("%s: there is no type %s: %s", where, t, remedy)
	}
	if t.Code == abi.DLComplex {
		return v.errorf("%s: a call cannot pass a number of type %s: take its two parts, or a tensor", where, t)
	}
	ok := t.Lanes == 1
	switch t.Code {
	case abi.DLInt, abi.DLUInt:
		ok = ok && t.Bits >= 1 && t.Bits <= 64
	case abi.DLFloat:
		ok = ok && (t.Bits == 16 || t.Bits == 32 || t.Bits == 64)
	default:
		ok = t == Bool || t == BFloat16 || t == Handle
	}
	if !ok {
		return v.errorf("%s: the type %s of a number must be one of int, uint, bool, float16, bfloat16, float32, float64 and handle", where, t)
	}
	if !isDimType(t) && p.Divisibility != 0 {
		return v.errorf("%s: only integers are divisible, not %s", where, t)
	}
	return v.declare(where, p, false)
}

// declare records what a place says about a name.
func (v *validator) declare(where string, p Var, dim bool) error {
	if p.Divisibility < 0 {
		return v.errorf("%s: a value cannot be divisible by %d", where, p.Divisibility)
	}
	if v.f.Dialect == TVM && p.Divisibility != 0 {
		return v.errorf("%s: functions of TVM do not ask for a divisor: remove %% %d", where, p.Divisibility)
	}
	if p.Name == "_" {
		if dim && p.DType != (DType{}) && !isDimType(p.DType) {
			return v.errorf("%s: its type %s is not an integer of at most 64 bits: write int32 or int64", where, p.DType)
		}
		return v.divisor(where, p.DType, p.Divisibility)
	}
	if p.Name == "" { // an element of a tuple
		return v.divisor(where, p.DType, p.Divisibility)
	}
	d := v.vars[p.Name]
	if d == nil {
		d = new(declared)
		v.vars[p.Name] = d
	}
	d.dim = d.dim || dim
	if p.DType != (DType{}) {
		if d.set && d.dtype != p.DType {
			return v.errorf("%s is of type %s in one place and %s in another: write one type", p.Name, d.dtype, p.DType)
		}
		d.dtype, d.set = p.DType, true
	}
	if p.Divisibility != 0 {
		if d.div != 0 && d.div != p.Divisibility {
			return v.errorf("%s is divisible by %d in one place and by %d in another: write one divisor", p.Name, d.div, p.Divisibility)
		}
		d.div = p.Divisibility
	}
	return nil
}

func (v *validator) dims(where string, dims []Dim, sizes bool) error {
	for i, d := range dims {
		if err := v.dim(fmt.Sprintf("%s[%d]", where, i), d, sizes); err != nil {
			return err
		}
	}
	return nil
}

func (v *validator) dim(where string, d Dim, size bool) error {
	switch d := d.(type) {
	case Size:
		if size && d < 0 {
			return v.errorf("%s: the size %d is negative: write a number from 0 on, a name, or _ for any value", where, d)
		}
	case Size64:
		if v.f.Dialect != TVM {
			return v.errorf("%s: only functions of TVM have sizes of the type int64: write %d", where, d)
		}
		return v.dim(where, Size(d), size)
	case Var:
		if !isName(d.Name) {
			return v.errorf("%s: %q is not the name of a dimension: use letters, digits, _, $ and dots", where, d.Name)
		}
		return v.declare(where, d, true)
	default:
		return v.errorf("%s: a dimension is nil: use a Size or a Var", where)
	}
	return nil
}

func (v *validator) tensor(where string, t Tensor) error {
	name := t.DType.String()
	if back, err := ParseDType(name); err != nil || back != t.DType || name == "" || t.DType.Lanes == 0 {
		return v.errorf("%s: %s is not an element type", where, t.DType)
	}
	if remedy := t.DType.odd(); remedy != "" {
		return v.errorf("%s: there is no type %s: %s", where, t.DType, remedy)
	}
	if err := v.dims(where+".shape", t.Shape, true); err != nil {
		return err
	}
	if len(t.Strides) != 0 && len(t.Strides) != len(t.Shape) {
		return v.errorf("%s: it needs a stride for each dimension: the shape has %d, the strides have %d", where, len(t.Shape), len(t.Strides))
	}
	if !countable(t.Shape) {
		return v.errorf("%s: the sizes are those of more elements than an int64 counts: write smaller ones, or names", where)
	}
	if err := v.dims(where+".strides", t.Strides, false); err != nil {
		return err
	}
	if t.Align != 0 && !validAlign(t.Align) {
		return v.errorf("%s: %s", where, badAlign(t.Align))
	}
	kind, ok := abi.ParseDeviceType(t.device())
	if !ok || abi.DeviceTypeName(kind) != t.device() || strings.ContainsAny(t.Device, " :") {
		return v.errorf("%s: %q is not a type of device: write cpu, cuda, rocm, metal or another of DLPack", where, t.Device)
	}
	if n, ok := t.Offset.(Size); t.Offset != nil && (v.f.Dialect != TVM || t.Offset != Any && (!ok || n < 0)) {
		return v.errorf("%s: the offset of a tensor is a number of bytes from 0 on, or _ for any, in the dialect of TVM alone", where)
	}
	if t.DeviceID != nil && v.f.Dialect == TVM {
		return v.errorf("%s: all tensors of a function of TVM are on one device: leave its number out", where)
	}
	if n, ok := t.DeviceID.(Size); ok && (n < 0 || n > math.MaxInt32) {
		return v.errorf("%s: %d is not the number of a device: write one from 0 on, such as 1, or a name", where, n)
	}
	if t.DeviceID != nil {
		return v.dim(where+".device.index", t.DeviceID, true)
	}
	return nil
}

// countable reports whether an int64 counts the elements of all sizes that are known.
func countable(shape []Dim) bool {
	most := int64(math.MaxInt64)
	for _, d := range shape {
		var n int64
		switch d := d.(type) {
		case Size:
			n = int64(d)
		case Size64:
			n = int64(d)
		default:
			continue
		}
		if n == 0 {
			return true
		}
		most /= n
	}
	return most > 0
}
