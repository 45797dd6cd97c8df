package plan

import (
	"strings"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
)

// A Call describes the body of a generated function: pack, call, unpack.
type Call struct {
	Frame   string // the frame type of bindrt
	Count   int    // arguments, with the receiver
	Params  []Param
	Fixed   []Fixed  // the other arguments
	Options *Options // nil if all parameters are required
	Result  *Result  // nil: only the error
	Locals  Locals
}

// Locals are the names that a body itself declares. They are chosen after the names of
// the parameters: if a parameter has the usual name of a local, the local gets another.
type Locals struct {
	Receiver, Frame string
	Options, Option string   // of a constructor: its last parameter, and an element of it
	Fn, Err         string   // of a result that is a typed function
	Args, OK, Value string   // of the adapters of callbacks
	Values          []string // the arguments in such an adapter
}

// A Fixed is an argument that is the same in every call: a kernel was compiled with it.
type Fixed struct {
	At    int // the index of the argument
	Value *Default
}

// OptionNames returns the names of the options with commas between them, one for each argument from
// the first option on. An argument of Fixed has an empty name.
func (c *Call) OptionNames() string {
	first := c.Params[c.Options.First].At
	names := make([]string, c.Count-first)
	for i, option := range c.Options.Funcs {
		names[c.Params[c.Options.First+i].At-first] = option.Name
	}
	return strings.Join(names, ",")
}

// Pack is a way to pack an argument.
type Pack int

// The ways to pack an argument.
const (
	PackMethod   Pack = iota // c.Method(i, x)
	PackBytes                // c.Bytes(i, x), nil is None
	PackPointer              // c.Object(i, bindrt.Ref(x))
	PackTensor               // bindrt.PutTensor, nil is None
	PackRef                  // c.Object(i, bindrt.Ref(x.Marker())), nil is None
	PackRoot                 // bindrt.PutObject
	PackCallback             // bindrt.Callback
	PackValue                // bindrt.Put
)

// A Param is a Go parameter and how it is packed.
type Param struct {
	Name   string
	At     int // the index of the argument, after the receiver
	Type   GoType
	Pack   Pack
	Method string  // of PackMethod
	Object *Object // of PackRef
	// Element is the type of the elements, of PackTensor.
	Element *spec.DType
	// Align is what the address of a tensor of PackPointer must be divisible by, 0 for nothing.
	Align int
	// Optional is set if the parameter may be None. The library calls a typed function that
	// is not optional without a check for None.
	Optional bool
	// OrEmpty is set if nil stands for an empty container.
	OrEmpty bool
	// Default is what the function passes without the option, nil for a parameter without one.
	Default *Default

	Given string // its name in the schema
	Usual string // its name if it has none there and no Object
}

// A Default is a constant that a body packs.
type Default struct {
	Method string // of the frame; "" for None, which needs no packing
	Value  any    // its argument: bool, int64, float64, string or spec.DType
	Member string // of an enum
	Text   string // in Go, unless it is a member
}

// Options are the last parameters of a call, which have defaults.
type Options struct {
	First  int           // the index of the first
	Type   string        // the interface that they have in common
	Marker string        // its method
	Funcs  []*OptionFunc // that make them, in the order of the parameters
}

// An OptionFunc makes an option of one or more functions of a package.
type OptionFunc struct {
	Name   string // the same for all functions
	GoName string // "" if the consumer declared it
	Value  Param
	Users  []*Func
	Type   string // of the option, if it has several users
	Doc    Doc
}

// Same reports whether two functions can share the option.
func (o *OptionFunc) Same(p *OptionFunc) bool {
	a, b := o.Value, p.Value
	sameElement := a.Element == b.Element || a.Element != nil && b.Element != nil && *a.Element == *b.Element
	return o.Name == p.Name && a.Type.Same(b.Type) && a.OrEmpty == b.OrEmpty && sameElement
}

// A Result is a Go result and how it is unpacked.
type Result struct {
	Type   GoType
	Method string  // c.Do<Method> makes the call, such as Int; "" for bindrt.Do
	Object *Object // bindrt.DoObject
	Bound  *Call   // a typed function: its own body
	// Optional is set if the result may be nil.
	Optional bool
	// Element is the type of the elements that a tensor must have, nil for any.
	Element *spec.DType
}
