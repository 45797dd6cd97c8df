package tvmffi_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

func TestReferenceCounts(t *testing.T) {
	runtimetest.Balanced(t)
	b := runtimetest.MakeBox(t, 1)
	count := func(want int) {
		t.Helper()
		if n := memstat.UseCount(b); n != want {
			t.Errorf("use count %d, want %d", n, want)
		}
		if n := runtimetest.Get[int64](t, "calls.use_count", b); n != int64(want) {
			t.Errorf("use count in C++ %d, want %d", n, want)
		}
	}
	count(1)
	r := tvmffi.Retain(b)
	count(2)
	e := runtimetest.Must[*runtimetest.Box](t)(runtimetest.EchoBox(b))
	count(3)
	if e == b || !tvmffi.Same(e, b) || !tvmffi.Same(r, b) {
		t.Error("an echo is another wrapper of the same object")
	}
	s, ok := tvmffi.Cast[*tvmffi.Object](b)
	if !ok || fmt.Sprintf("%p", s) != fmt.Sprintf("%p", b) {
		t.Error("a cast is the same pointer")
	}
	count(3)
	a := runtimetest.MustCall(t, "calls.echo", b)
	count(4)
	a2 := a // shares the reference
	x := runtimetest.Must[*runtimetest.Box](t)(tvmffi.As[*runtimetest.Box](a))
	count(4)
	x.Release()
	a.Release()
	a2.Release()
	count(3)
	array := runtimetest.Must[*tvmffi.Array[*runtimetest.Box]](t)(tvmffi.NewArray(b, b))
	count(5)
	at := array.At(0)
	count(6)
	at.Release()
	array.Release()
	count(3)
	if err := b.SetChild(b); err != nil {
		t.Fatal(err)
	}
	count(4)
	c := b.Child()
	count(5)
	c.Release()
	if err := b.SetChild(nil); err != nil {
		t.Fatal(err)
	}
	if b.Child() != nil {
		t.Error("the child is None")
	}
	count(3)
	r.Release()
	r.Release()
	e.Release()
	count(1)
	b.Release()
	b.Release()
	if n := memstat.UseCount(b); n != 0 {
		t.Errorf("use count after Release: %d", n)
	}
	var none *runtimetest.Box
	tvmffi.Upcast[*tvmffi.Object](none).Release()
	if memstat.UseCount(none) != 0 || memstat.UseCount(nil) != 0 {
		t.Error("use count of nil")
	}
}

func TestUseAfterRelease(t *testing.T) {
	runtimetest.Balanced(t)
	b := runtimetest.MakeBox(t, 1)
	b.Release()
	runtimetest.WantPanic(t, tvmffi.ErrRuntime, "RuntimeError: field calls.Box.i64: the receiver was released: release it after its last use, or use a tvmffi.Retain of it", func() { b.I64() })
	runtimetest.WantPanic(t, tvmffi.ErrRuntime, "field calls.Box.child: the receiver was released", func() { b.Child() })
	runtimetest.WantPanic(t, tvmffi.ErrRuntime, "retain: the object was released", func() { tvmffi.Retain(b) })
	runtimetest.WantPanic(t, tvmffi.ErrRuntime, "upcast to ffi.Object: the object was released", func() { tvmffi.Upcast[*tvmffi.Object](b) })
	runtimetest.WantError(t, b.SetI64(1), tvmffi.ErrRuntime, "RuntimeError: field calls.Box.i64: the receiver was released: release it after its last use, or use a tvmffi.Retain of it")
	_, err := b.Add(1)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "RuntimeError: calls.Box.add: the receiver was released: release it after its last use, or use a tvmffi.Retain of it")
	_, err = runtimetest.EchoBox(b)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "argument 0 of calls.echo_box: the object was released")
	_, err = runtimetest.Call("calls.echo", b)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "RuntimeError: argument 0: the object was released")
	_, err = tvmffi.AnyOf(b)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "the object was released")
	_, err = tvmffi.NewArray(b)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "element 0", "the object was released")
	if _, ok := tvmffi.Cast[*runtimetest.Box](b); ok {
		t.Error("cast of a released object")
	}
	if s := b.String(); s != "<object that was released>" {
		t.Errorf("String: %q", s)
	}
	if k := tvmffi.TypeKey(b); k != "None" {
		t.Errorf("TypeKey: %q", k)
	}
	var any1 bindrt.Call1
	any1.Begin(&echoAny, 1)
	bindrt.Put[any](&any1.Call, 0, b)
	runtimetest.WantError(t, any1.Do(), tvmffi.ErrRuntime, "RuntimeError: argument 0 of ffi.ReprPrint: the object was released")
	var array1 bindrt.Call1
	array1.Begin(&echoAny, 1)
	bindrt.Put[tvmffi.ArrayLike[runtimetest.BoxRef]](&array1.Call, 0, tvmffi.Of[runtimetest.BoxRef](b))
	runtimetest.WantError(t, array1.Do(), tvmffi.ErrRuntime, "RuntimeError: argument 0 of ffi.ReprPrint: element 0: the object was released")
	owner := runtimetest.MakeBox(t, 2)
	defer owner.Release()
	runtimetest.WantError(t, owner.SetChild(b), tvmffi.ErrRuntime, "field calls.Box.child: the object was released")

	a := runtimetest.MustCall(t, "calls.box", 1)
	a.Release()
	_, err = tvmffi.As[*runtimetest.Box](a)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "the object was released")

	f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.Lookup("calls.nop"))
	f.Release()
	_, err = f.Call()
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "RuntimeError: Function.Call: the receiver was released: release it after its last use, or use a tvmffi.Retain of it")
	runtimetest.WantError(t, tvmffi.Register("test.released", f), tvmffi.ErrRuntime, "register test.released: ", "was released")

	zero := new(runtimetest.Box)
	_, err = runtimetest.EchoBox(zero)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "the object was never set")
}

func TestUseOfNil(t *testing.T) {
	runtimetest.Balanced(t)
	var b *runtimetest.Box
	runtimetest.WantPanic(t, tvmffi.ErrRuntime, "RuntimeError: field calls.Box.i64: the receiver is nil, which stands for None: compare it with nil first", func() { b.I64() })
	runtimetest.WantError(t, b.SetI64(1), tvmffi.ErrRuntime, "field calls.Box.i64: the receiver is nil")
	_, err := b.Add(1)
	runtimetest.WantError(t, err, tvmffi.ErrType, "TypeError: calls.Box.add: the receiver is nil, which stands for None: compare it with nil first")
	for _, x := range []runtimetest.BoxRef{nil, b, (*runtimetest.SubBox)(nil)} {
		// calls.Box is nullable, so that None comes back.
		if e, err := runtimetest.EchoBox(x); err != nil || e != nil {
			t.Errorf("echo of None: %v, %v", e, err)
		}
	}
	for _, x := range []tvmffi.ObjectRef{nil, b, (*runtimetest.SubBox)(nil), (*UserBox)(nil)} {
		if v := runtimetest.MustCall(t, "calls.echo", x); !v.IsNone() {
			t.Errorf("%T: got %s, want None", x, v.TypeKey())
		}
		owner := runtimetest.MakeBox(t, 1)
		if err := owner.SetChild(x); err != nil || owner.Child() != nil {
			t.Errorf("%T as a field: %v", x, err)
		}
		owner.Release()
	}
	if tvmffi.Retain(b) != nil || tvmffi.Upcast[*tvmffi.Object](b) != nil || !tvmffi.Same(b, nil) || tvmffi.TypeKey(b) != "None" || tvmffi.Upcast[*tvmffi.Object](b).String() != "None" {
		t.Error("nil is None")
	}
	if v := runtimetest.Must[*runtimetest.Box](t)(noBox()); v != nil {
		t.Errorf("None, declared as a Box, is %v", v)
	}
	var f *tvmffi.Function
	_, err = f.Call()
	runtimetest.WantError(t, err, tvmffi.ErrType, "TypeError: Function.Call: the receiver is nil, which stands for None: compare it with nil first")
	var s tvmffi.Scope
	s.Add(nil)
	s.Add(b)
	if s.Len() != 0 {
		t.Error("a scope has no use for nil")
	}
}

func TestCast(t *testing.T) {
	runtimetest.Balanced(t)
	b, s := runtimetest.MakeBox(t, 1), runtimetest.Must[*runtimetest.Box](t)(runtimetest.NewSubBox(2))
	defer b.Release()
	defer s.Release()
	if _, ok := tvmffi.Cast[*runtimetest.SubBox](b); ok {
		t.Error("Cast made a SubBox of a Box")
	}
	sub, ok := tvmffi.Cast[*runtimetest.SubBox](s)
	if !ok || sub.I64() != 2 || tvmffi.TypeKey(s) != "calls.SubBox" {
		t.Error("a SubBox, declared as a Box, is a SubBox")
	}
	if up := tvmffi.Upcast[*runtimetest.Box](sub); up != s {
		t.Error("an upcast is the same pointer")
	}
	if e, err := runtimetest.EchoBox(sub); err != nil || !tvmffi.Same(e, s) {
		t.Errorf("a SubBox passes as a Box: %v", err)
	} else {
		e.Release()
	}
	runtimetest.WantPanic(t, tvmffi.ErrType, "upcast: calls.Box does not derive from calls.SubBox: use Cast to test it", func() { tvmffi.Upcast[*runtimetest.SubBox](b) })
	if _, ok := tvmffi.Cast[*tvmffi.Function](b); ok {
		t.Error("Cast made a Function of a Box")
	}
	if tvmffi.Same(b, s) || tvmffi.Same(b, nil) {
		t.Error("two boxes are not the same")
	}
	if _, ok := tvmffi.Cast[*runtimetest.Box](nil); ok {
		t.Error("Cast made a Box of nil")
	}
}

// A struct of the user's around a generated type passes where the type does.
func TestUserStruct(t *testing.T) {
	runtimetest.Balanced(t)
	b := runtimetest.MakeBox(t, 7)
	u := UserBox{b, "note"}
	if e, err := runtimetest.EchoBox(u); err != nil || !tvmffi.Same(e, b) {
		t.Errorf("echo: %v", err)
	} else {
		e.Release()
	}
	for _, x := range []any{u, &u} {
		v := runtimetest.MustCall(t, "calls.echo", x)
		if got, err := tvmffi.As[*runtimetest.Box](v); err != nil || got.I64() != 7 {
			t.Errorf("%T came back with %v, want a box with 7", x, err)
		}
		v.Release()
	}
	if up := tvmffi.Upcast[*runtimetest.Box](u); up != b || memstat.UseCount(u) != 1 || !tvmffi.Same(u, b) {
		t.Error("upcast of a struct around a Box")
	}
	a := runtimetest.Must[*tvmffi.Array[UserBox]](t)(tvmffi.NewArray(u, u))
	if memstat.UseCount(b) != 3 {
		t.Errorf("use count %d in an array", memstat.UseCount(b))
	}
	runtimetest.WantPanic(t, tvmffi.ErrType, "Array[0]: ", func() { a.At(0) })
	a.Release()
	u.Release()
	if memstat.UseCount(b) != 0 {
		t.Error("Release through the struct")
	}
	v := &UserValue{Note: "never set"}
	if _, err := runtimetest.Call("calls.echo", v); err == nil {
		t.Error("calls.echo took a struct around a box that was never set, want an error")
	}
}

// A nil *Object is None; promoted methods of other nil pointers are an error that
// Go reports as a runtime.Error, which can be recovered.
func TestNilObjects(t *testing.T) {
	var o *tvmffi.Object
	o.Release()
	if s := o.String(); s != "None" {
		t.Errorf("String: %q", s)
	}
	var b *runtimetest.SubBox
	for name, f := range map[string]func(){"Release": func() { b.Release() }, "String": func() { _ = b.String() }} {
		func() {
			defer func() {
				if _, ok := recover().(runtime.Error); !ok {
					t.Errorf("%s of a nil pointer did not end with a runtime.Error", name)
				}
			}()
			f()
		}()
	}
	var s tvmffi.Scope
	s.Add(b)
	s.Add(o)
	if s.Len() != 0 {
		t.Error("the scope holds nil pointers")
	}
	s.Release()
}

func TestScope(t *testing.T) {
	runtimetest.Balanced(t)
	var s tvmffi.Scope
	before := runtimetest.LiveBoxes(t)
	for i := range 10 {
		s.Add(runtimetest.MakeBox(t, int64(i)))
	}
	if s.Len() != 10 || runtimetest.LiveBoxes(t) != before+10 {
		t.Error("the scope holds the boxes")
	}
	s.Release()
	if s.Len() != 0 || runtimetest.LiveBoxes(t) != before {
		t.Error("the scope released the boxes")
	}
	s.Release()
}

func TestStringOfObject(t *testing.T) {
	runtimetest.Load(t)
	a := runtimetest.Must[*tvmffi.Array[int64]](t)(tvmffi.NewArray[int64](1, 2))
	defer a.Release()
	if s := a.String(); s != "(1, 2)" && s != "[1, 2]" {
		t.Errorf("String: %q", s)
	}
}

func TestScopeReleasesTogether(t *testing.T) {
	runtimetest.Balanced(t)
	before := runtimetest.LiveBoxes(t)
	var s tvmffi.Scope
	shared := runtimetest.MakeBox(t, 0)
	for i := range 200 {
		s.Add(runtimetest.MakeBox(t, int64(i)))
		s.Add(tvmffi.Retain(shared))
	}
	released := runtimetest.MakeBox(t, 1)
	s.Add(released)
	released.Release()
	s.Release()
	if n := runtimetest.LiveBoxes(t); n != before+1 || memstat.UseCount(shared) != 1 {
		t.Errorf("%d boxes, use count %d", n-before, memstat.UseCount(shared))
	}
	shared.Release()
}

// UserBox is a struct of a user around a generated type.
type UserBox struct {
	*runtimetest.Box
	Note string
}

// UserValue embeds the generated type itself.
type UserValue struct {
	runtimetest.Box
	Note string
}

var fnNoBox = runtimetest.GlobalFunc("calls.no_box", "() -> calls.Box")

func noBox() (*runtimetest.Box, error) {
	var c bindrt.Call1
	c.Begin(fnNoBox, 0)
	return bindrt.DoObject[runtimetest.Box](&c.Call, &runtimetest.BoxType)
}
