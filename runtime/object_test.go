package tvmffi_test

import (
	"fmt"
	"runtime"
	"testing"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

func box(t testing.TB, n int64) *Box {
	t.Helper()
	load(t)
	return must[*Box](t)(NewBox(n))
}

func TestReferenceCounts(t *testing.T) {
	balanced(t)
	b := box(t, 1)
	count := func(want int) {
		t.Helper()
		if n := memstat.UseCount(b); n != want {
			t.Errorf("use count %d, want %d", n, want)
		}
		if n := get[int64](t, "calls.use_count", b); n != int64(want) {
			t.Errorf("use count in C++ %d, want %d", n, want)
		}
	}
	count(1)
	r := tvmffi.Retain(b)
	count(2)
	e := must[*Box](t)(EchoBox(b))
	count(3)
	if e == b || !tvmffi.Same(e, b) || !tvmffi.Same(r, b) {
		t.Error("an echo is another wrapper of the same object")
	}
	s, ok := tvmffi.Cast[*tvmffi.Object](b)
	if !ok || fmt.Sprintf("%p", s) != fmt.Sprintf("%p", b) {
		t.Error("a cast is the same pointer")
	}
	count(3)
	a := mustCall(t, "calls.echo", b)
	count(4)
	a2 := a // shares the reference
	x := must[*Box](t)(tvmffi.As[*Box](a))
	count(4)
	x.Release()
	a.Release()
	a2.Release()
	count(3)
	array := must[*tvmffi.Array[*Box]](t)(tvmffi.NewArray(b, b))
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
	var none *Box
	tvmffi.Upcast[*tvmffi.Object](none).Release()
	if memstat.UseCount(none) != 0 || memstat.UseCount(nil) != 0 {
		t.Error("use count of nil")
	}
}

func TestUseAfterRelease(t *testing.T) {
	balanced(t)
	b := box(t, 1)
	b.Release()
	wantPanic(t, tvmffi.ErrRuntime, "RuntimeError: field calls.Box.i64: the receiver was released: release it after its last use, or use a tvmffi.Retain of it", func() { b.I64() })
	wantPanic(t, tvmffi.ErrRuntime, "field calls.Box.child: the receiver was released", func() { b.Child() })
	wantPanic(t, tvmffi.ErrRuntime, "retain: the object was released", func() { tvmffi.Retain(b) })
	wantPanic(t, tvmffi.ErrRuntime, "upcast to ffi.Object: the object was released", func() { tvmffi.Upcast[*tvmffi.Object](b) })
	wantError(t, b.SetI64(1), tvmffi.ErrRuntime, "RuntimeError: field calls.Box.i64: the receiver was released: release it after its last use, or use a tvmffi.Retain of it")
	_, err := b.Add(1)
	wantError(t, err, tvmffi.ErrRuntime, "RuntimeError: calls.Box.add: the receiver was released: release it after its last use, or use a tvmffi.Retain of it")
	_, err = EchoBox(b)
	wantError(t, err, tvmffi.ErrRuntime, "argument 0 of calls.echo_box: the object was released")
	_, err = call("calls.echo", b)
	wantError(t, err, tvmffi.ErrRuntime, "RuntimeError: argument 0: the object was released")
	_, err = tvmffi.AnyOf(b)
	wantError(t, err, tvmffi.ErrRuntime, "the object was released")
	_, err = tvmffi.NewArray(b)
	wantError(t, err, tvmffi.ErrRuntime, "element 0", "the object was released")
	if _, ok := tvmffi.Cast[*Box](b); ok {
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
	wantError(t, any1.Do(), tvmffi.ErrRuntime, "RuntimeError: argument 0 of ffi.ReprPrint: the object was released")
	var array1 bindrt.Call1
	array1.Begin(&echoAny, 1)
	bindrt.Put[tvmffi.ArrayLike[BoxRef]](&array1.Call, 0, tvmffi.Of[BoxRef](b))
	wantError(t, array1.Do(), tvmffi.ErrRuntime, "RuntimeError: argument 0 of ffi.ReprPrint: element 0: the object was released")
	owner := box(t, 2)
	defer owner.Release()
	wantError(t, owner.SetChild(b), tvmffi.ErrRuntime, "field calls.Box.child: the object was released")

	a := mustCall(t, "calls.box", 1)
	a.Release()
	_, err = tvmffi.As[*Box](a)
	wantError(t, err, tvmffi.ErrRuntime, "the object was released")

	f := must[*tvmffi.Function](t)(tvmffi.Lookup("calls.nop"))
	f.Release()
	_, err = f.Call()
	wantError(t, err, tvmffi.ErrRuntime, "RuntimeError: Function.Call: the receiver was released: release it after its last use, or use a tvmffi.Retain of it")
	wantError(t, tvmffi.Register("test.released", f), tvmffi.ErrRuntime, "register test.released: ", "was released")

	zero := new(Box)
	_, err = EchoBox(zero)
	wantError(t, err, tvmffi.ErrRuntime, "the object was never set")
}

func TestUseOfNil(t *testing.T) {
	balanced(t)
	var b *Box
	wantPanic(t, tvmffi.ErrRuntime, "RuntimeError: field calls.Box.i64: the receiver is nil, which stands for None: compare it with nil first", func() { b.I64() })
	wantError(t, b.SetI64(1), tvmffi.ErrRuntime, "field calls.Box.i64: the receiver is nil")
	_, err := b.Add(1)
	wantError(t, err, tvmffi.ErrType, "TypeError: calls.Box.add: the receiver is nil, which stands for None: compare it with nil first")
	for _, x := range []BoxRef{nil, b, (*SubBox)(nil)} {
		// calls.Box is nullable, so that None comes back.
		if e, err := EchoBox(x); err != nil || e != nil {
			t.Errorf("echo of None: %v, %v", e, err)
		}
	}
	for _, x := range []tvmffi.ObjectRef{nil, b, (*SubBox)(nil), (*UserBox)(nil)} {
		if v := mustCall(t, "calls.echo", x); !v.IsNone() {
			t.Errorf("%T: got %s, want None", x, v.TypeKey())
		}
		owner := box(t, 1)
		if err := owner.SetChild(x); err != nil || owner.Child() != nil {
			t.Errorf("%T as a field: %v", x, err)
		}
		owner.Release()
	}
	if tvmffi.Retain(b) != nil || tvmffi.Upcast[*tvmffi.Object](b) != nil || !tvmffi.Same(b, nil) || tvmffi.TypeKey(b) != "None" || tvmffi.Upcast[*tvmffi.Object](b).String() != "None" {
		t.Error("nil is None")
	}
	if v := must[*Box](t)(noBox()); v != nil {
		t.Errorf("None, declared as a Box, is %v", v)
	}
	var f *tvmffi.Function
	_, err = f.Call()
	wantError(t, err, tvmffi.ErrType, "TypeError: Function.Call: the receiver is nil, which stands for None: compare it with nil first")
	var s tvmffi.Scope
	s.Add(nil)
	s.Add(b)
	if s.Len() != 0 {
		t.Error("a scope has no use for nil")
	}
}

func TestCast(t *testing.T) {
	balanced(t)
	b, s := box(t, 1), must[*Box](t)(NewSubBox(2))
	defer b.Release()
	defer s.Release()
	if _, ok := tvmffi.Cast[*SubBox](b); ok {
		t.Error("a Box is no SubBox")
	}
	sub, ok := tvmffi.Cast[*SubBox](s)
	if !ok || sub.I64() != 2 || tvmffi.TypeKey(s) != "calls.SubBox" {
		t.Error("a SubBox, declared as a Box, is a SubBox")
	}
	if up := tvmffi.Upcast[*Box](sub); up != s {
		t.Error("an upcast is the same pointer")
	}
	if e, err := EchoBox(sub); err != nil || !tvmffi.Same(e, s) {
		t.Errorf("a SubBox passes as a Box: %v", err)
	} else {
		e.Release()
	}
	wantPanic(t, tvmffi.ErrType, "upcast: calls.Box is no calls.SubBox", func() { tvmffi.Upcast[*SubBox](b) })
	if _, ok := tvmffi.Cast[*tvmffi.Function](b); ok {
		t.Error("a Box is no Function")
	}
	if tvmffi.Same(b, s) || tvmffi.Same(b, nil) {
		t.Error("two boxes are not the same")
	}
	if _, ok := tvmffi.Cast[*Box](nil); ok {
		t.Error("nil is no Box")
	}
}

// A struct of the user's around a generated type passes where the type does.
func TestUserStruct(t *testing.T) {
	balanced(t)
	b := box(t, 7)
	u := UserBox{b, "note"}
	if e, err := EchoBox(u); err != nil || !tvmffi.Same(e, b) {
		t.Errorf("echo: %v", err)
	} else {
		e.Release()
	}
	for _, x := range []any{u, &u} {
		v := mustCall(t, "calls.echo", x)
		if got, err := tvmffi.As[*Box](v); err != nil || got.I64() != 7 {
			t.Errorf("%T: %v", x, err)
		}
		v.Release()
	}
	if up := tvmffi.Upcast[*Box](u); up != b || memstat.UseCount(u) != 1 || !tvmffi.Same(u, b) {
		t.Error("upcast of a struct around a Box")
	}
	a := must[*tvmffi.Array[UserBox]](t)(tvmffi.NewArray(u, u))
	if memstat.UseCount(b) != 3 {
		t.Errorf("use count %d in an array", memstat.UseCount(b))
	}
	wantPanic(t, tvmffi.ErrType, "Array[0]: ", func() { a.At(0) })
	a.Release()
	u.Release()
	if memstat.UseCount(b) != 0 {
		t.Error("Release through the struct")
	}
	v := &UserValue{Note: "never set"}
	if _, err := call("calls.echo", v); err == nil {
		t.Error("a struct around a box that was never set is no object")
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
	var b *SubBox
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
	balanced(t)
	var s tvmffi.Scope
	before := liveBoxes(t)
	for i := range 10 {
		s.Add(box(t, int64(i)))
	}
	if s.Len() != 10 || liveBoxes(t) != before+10 {
		t.Error("the scope holds the boxes")
	}
	s.Release()
	if s.Len() != 0 || liveBoxes(t) != before {
		t.Error("the scope released the boxes")
	}
	s.Release()
}

func TestCollectorReleases(t *testing.T) {
	load(t)
	before, collected := liveBoxes(t), memstat.Collected()
	func() {
		for i := range 100 {
			box(t, int64(i))
		}
	}()
	collect(t, "boxes", func() bool { return liveBoxes(t) <= before })
	if n := memstat.Collected() - collected; n < 100 {
		t.Errorf("Collected grew by %d, want at least 100", n)
	}
	collect(t, "handles of other tests", func() bool { runtime.GC(); n := memstat.Collected(); runtime.GC(); return n == memstat.Collected() })
	collected = memstat.Collected()
	for i := range 100 {
		box(t, int64(i)).Release()
	}
	runtime.GC()
	runtime.GC()
	if n := memstat.Collected() - collected; n != 0 {
		t.Errorf("%d handles were collected although all were released", n)
	}
}

func TestStringOfObject(t *testing.T) {
	load(t)
	a := must[*tvmffi.Array[int64]](t)(tvmffi.NewArray[int64](1, 2))
	defer a.Release()
	if s := a.String(); s != "(1, 2)" && s != "[1, 2]" {
		t.Errorf("String: %q", s)
	}
}
