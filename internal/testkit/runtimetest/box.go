package runtimetest

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/ccall"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// The types and functions of this file have the form of generated code.

type objectBase = tvmffi.Object

// BoxType is the type calls.Box.
var BoxType = bindrt.Type{Library: &Calls, Key: "calls.Box"}

var typeSubBox = bindrt.Type{Library: &Calls, Key: "calls.SubBox"}

// Box is an object of type calls.Box.
type Box struct {
	_ [0]*Box // see Object
	objectBase
}

type boxBase = Box

// SubBox is an object of type calls.SubBox, which derives from calls.Box.
type SubBox struct{ boxBase }

// BoxRef is a [Box] or an object of a type that derives from it.
type BoxRef interface {
	tvmffi.ObjectRef
	AsCallsBox() *Box
}

// TVMFFIType returns [BoxType].
func (*Box) TVMFFIType(*Box) *bindrt.Type { return &BoxType }

// TVMFFIType returns the type calls.SubBox.
func (*SubBox) TVMFFIType(*SubBox) *bindrt.Type { return &typeSubBox }

// AsCallsBox returns x.
func (x *Box) AsCallsBox() *Box { return x }

// AsCallsBox returns x as its base type.
func (x *SubBox) AsCallsBox() *Box { return bindrt.Up[Box](x) }

// AsCallsSubBox returns x.
func (x *SubBox) AsCallsSubBox() *SubBox { return x }

// BoxField describes a field of [BoxType] with this signature.
func BoxField(name, sig string) *bindrt.Field {
	return &bindrt.Field{Owner: &BoxType, Name: name, Sig: sig}
}

// GlobalFunc describes a global function of [Calls] with this signature.
func GlobalFunc(name, sig string) *bindrt.Func {
	return &bindrt.Func{Library: &Calls, Name: name, Sig: sig}
}

// BoxMethod describes a method of [BoxType] with this signature.
func BoxMethod(name, sig string) *bindrt.Func {
	return &bindrt.Func{Owner: &BoxType, Name: name, Sig: sig}
}

// ExportedFunc describes a function that the file of [Calls] exports, with this signature.
func ExportedFunc(name, sig string) *bindrt.Func {
	return &bindrt.Func{Library: &Calls, Module: "libcalls.so", Name: name, Sig: sig}
}

var (
	fnBox      = GlobalFunc("calls.box", "(int) -> calls.Box")
	fnSubBox   = GlobalFunc("calls.sub_box", "(int) -> calls.Box")
	fnEchoBox  = GlobalFunc("calls.echo_box", "(calls.Box) -> calls.Box")
	fnAdd      = BoxMethod("add", "(calls.Box, int) -> int")
	fieldI64   = BoxField("i64", "int")
	fieldChild = BoxField("child", "ffi.Object")
)

// MakeBox is [NewBox] after [Load], and ends the test if there is an error.
func MakeBox(t testing.TB, n int64) *Box {
	t.Helper()
	Load(t)
	return Must[*Box](t)(NewBox(n))
}

// NewBox makes a Box whose field i64 is n. The caller releases it.
func NewBox(n int64) (*Box, error) { return oneInt(fnBox, n) }

// NewSubBox makes a SubBox whose field i64 is n, as its base type. The caller releases it.
func NewSubBox(n int64) (*Box, error) { return oneInt(fnSubBox, n) }

func oneInt(f *bindrt.Func, n int64) (*Box, error) {
	var c bindrt.Call1
	c.Begin(f, 1)
	c.Int(0, n)
	return bindrt.DoObject[Box](&c.Call, &BoxType)
}

// EchoBox passes x to native code and returns what comes back.
func EchoBox(x BoxRef) (*Box, error) {
	var c bindrt.Call1
	c.Begin(fnEchoBox, 1)
	if x != nil {
		c.Object(0, bindrt.Ref(x.AsCallsBox()))
	}
	return bindrt.DoObject[Box](&c.Call, &BoxType)
}

// I64 returns the field i64.
func (x *Box) I64() int64 { return fieldI64.Int(bindrt.Ref(x)) }

// SetI64 sets the field i64.
func (x *Box) SetI64(v int64) error { return bindrt.SetField(fieldI64, bindrt.Ref(x), v) }

// Child returns the field child. The caller releases it.
func (x *Box) Child() *tvmffi.Object {
	return bindrt.ObjectField[tvmffi.Object](fieldChild, bindrt.Ref(x), (*tvmffi.Object)(nil).TVMFFIType(nil))
}

// SetChild sets the field child.
func (x *Box) SetChild(v tvmffi.ObjectRef) error {
	return bindrt.SetField(fieldChild, bindrt.Ref(x), v)
}

// Add returns the sum of the field i64 and n.
func (x *Box) Add(n int64) (int64, error) {
	var c bindrt.Call2
	c.Begin(fnAdd, 2)
	c.Self(0, bindrt.Ref(x))
	c.Int(1, n)
	return c.DoInt()
}

// Assembly is true where the trampolines are assembly.
const Assembly = ccall.Assembly
