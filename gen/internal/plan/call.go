package plan

import (
	"github.com/tvmffi-go/tvmffi/cuda/spec"
)

// A Call describes the body of a generated function: pack, call, unpack.
type Call struct {
	Frame  string // the frame type of bindrt
	Count  int    // arguments, with the receiver
	Params []Param
	Result *Result // nil: only the error
	Locals Locals
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

	Given string // its name in the schema
	Usual string // its name if it has none there and no Object
}

// A Result is a Go result and how it is unpacked.
type Result struct {
	Type   GoType
	Method string  // c.Do<Method> makes the call, such as Int; "" for bindrt.Do
	Object *Object // bindrt.DoObject
	Bound  *Call   // a typed function: its own body
	// Element is the type of the elements that a tensor must have, nil for any.
	Element *spec.DType
}
