package tvmffi_test

import (
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// What follows has the form of generated code.

type objectBase = tvmffi.Object

var (
	typeBox    = bindrt.Type{Library: &calls, Key: "calls.Box"}
	typeSubBox = bindrt.Type{Library: &calls, Key: "calls.SubBox"}
)

type Box struct{ objectBase }

type boxBase = Box

type SubBox struct{ boxBase }

type BoxRef interface {
	tvmffi.ObjectRef
	AsCallsBox() *Box
}

func (*Box) TVMFFIType(*Box) *bindrt.Type       { return &typeBox }
func (*SubBox) TVMFFIType(*SubBox) *bindrt.Type { return &typeSubBox }
func (x *Box) AsCallsBox() *Box                 { return x }
func (x *SubBox) AsCallsBox() *Box              { return bindrt.Up[Box](x) }
func (x *SubBox) AsCallsSubBox() *SubBox        { return x }
func field(name, sig string) *bindrt.Field {
	return &bindrt.Field{Owner: &typeBox, Name: name, Sig: sig}
}
func global(name, sig string) *bindrt.Func {
	return &bindrt.Func{Library: &calls, Name: name, Sig: sig}
}
func method(name, sig string) *bindrt.Func {
	return &bindrt.Func{Owner: &typeBox, Name: name, Sig: sig}
}
func export(name, sig string) *bindrt.Func {
	return &bindrt.Func{Library: &calls, Module: "libcalls.so", Name: name, Sig: sig}
}

// UserBox is a struct of a user around a generated type.
type UserBox struct {
	*Box
	Note string
}

// UserValue embeds the generated type itself.
type UserValue struct {
	Box
	Note string
}

var (
	fnBox      = global("calls.box", "(int) -> calls.Box")
	fnSubBox   = global("calls.sub_box", "(int) -> calls.Box")
	fnNoBox    = global("calls.no_box", "() -> calls.Box")
	fnEchoBox  = global("calls.echo_box", "(calls.Box) -> calls.Box")
	fnRepeat   = global("calls.repeat", "((int) -> int, int) -> int")
	fieldI64   = field("i64", "int")
	fieldChild = field("child", "ffi.Object")
)

func NewBox(n int64) (*Box, error) { return oneInt(fnBox, n) }

func NewSubBox(n int64) (*Box, error) { return oneInt(fnSubBox, n) }

func noBox() (*Box, error) {
	var c bindrt.Call1
	c.Begin(fnNoBox, 0)
	if err := c.Do(); err != nil {
		return nil, err
	}
	return bindrt.ObjectResult[Box](&c.Call, &typeBox)
}

func oneInt(f *bindrt.Func, n int64) (*Box, error) {
	var c bindrt.Call1
	c.Begin(f, 1)
	c.Int(0, n)
	if err := c.Do(); err != nil {
		return nil, err
	}
	return bindrt.ObjectResult[Box](&c.Call, &typeBox)
}

func EchoBox(x BoxRef) (*Box, error) {
	var c bindrt.Call1
	c.Begin(fnEchoBox, 1)
	if x != nil {
		c.Object(0, bindrt.Ref(x.AsCallsBox()))
	}
	if err := c.Do(); err != nil {
		return nil, err
	}
	return bindrt.ObjectResult[Box](&c.Call, &typeBox)
}

func (x *Box) I64() int64 { return fieldI64.Int(bindrt.Ref(x)) }

func (x *Box) SetI64(v int64) error { return bindrt.SetField(fieldI64, bindrt.Ref(x), v) }

func (x *Box) Child() *tvmffi.Object {
	return bindrt.ObjectField[tvmffi.Object](fieldChild, bindrt.Ref(x), (*tvmffi.Object)(nil).TVMFFIType(nil))
}

func (x *Box) SetChild(v tvmffi.ObjectRef) error {
	return bindrt.SetField(fieldChild, bindrt.Ref(x), v)
}

var fnAdd = method("add", "(calls.Box, int) -> int")

func (x *Box) Add(n int64) (int64, error) {
	var c bindrt.Call2
	c.Begin(fnAdd, 2)
	c.Self(0, bindrt.Ref(x))
	c.Int(1, n)
	if err := c.Do(); err != nil {
		return 0, err
	}
	return c.IntResult()
}

func Repeat(f func(int64) (int64, error), n int64) (int64, error) {
	var c bindrt.Call2
	c.Begin(fnRepeat, 2)
	bindrt.Callback(&c.Call, 0, f, func(a *bindrt.Args) error {
		x := bindrt.Arg[int64](a, 0)
		if err := a.Check(1); err != nil {
			return err
		}
		v, err := f(x)
		if err != nil {
			return err
		}
		return bindrt.Return(a, v)
	})
	c.Int(1, n)
	if err := c.Do(); err != nil {
		return 0, err
	}
	return c.IntResult()
}
