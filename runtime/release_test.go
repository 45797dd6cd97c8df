package tvmffi_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
	"github.com/tvmffi-go/tvmffi/runtime/structural"
)

// The functions take no reference to their arguments, and use them after the callback.
const releaseText = `
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>

#include <thread>

using namespace tvm::ffi;

static void Count(PackedArgs args, Any* result) {
  args[0].cast<const FunctionObj*>()->CallPacked(args.data() + 1, args.size() - 1, result);
  *result = static_cast<int64_t>(args[1].cast<const Object*>()->use_count());
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = reflection;
  refl::GlobalDef()
      .def_packed("release.count", Count)
      .def_packed("release.count_on_thread",
                  [](PackedArgs args, Any* result) { std::thread([&] { Count(args, result); }).join(); })
      .def("release.counter", [] { return Function::FromPacked(Count); })
      // A function that has state of its own, which it uses after the callback.
      .def("release.keeper", [](Any x) {
        return Function::FromPacked([x](PackedArgs args, Any* result) {
          args[0].cast<const FunctionObj*>()->CallPacked(args.data() + 1, args.size() - 1, result);
          *result = x;
        });
      });
}
`

func loadRelease(t *testing.T) {
	t.Helper()
	runtimetest.Balanced(t)
	if err := tvmffi.LoadLibrary(nativetest.BuildText(t, "release", releaseText)); err != nil {
		t.Fatal(err)
	}
}

// A callback that ends the wrapper of an argument does not end the object, which C still
// uses. Only the wrapper ends.
func TestReleaseInCallback(t *testing.T) {
	loadRelease(t)
	end := map[string]func(x *runtimetest.Box) error{
		"Release": func(x *runtimetest.Box) error { x.Release(); return nil },
		"twice":   func(x *runtimetest.Box) error { x.Release(); x.Release(); return nil },
		"Scope": func(x *runtimetest.Box) error {
			var s tvmffi.Scope
			s.Add(x)
			s.Release()
			return nil
		},
		"Move": func(x *runtimetest.Box) error {
			_, err := runtimetest.Call("calls.nop_packed", tvmffi.Move(x))
			return err
		},
		"defer": func(x *runtimetest.Box) error { defer x.Release(); return nil },
		"goroutine state": func(x *runtimetest.Box) error {
			_, err := runtimetest.Call("calls.apply", func(int64) (int64, error) { x.Release(); return 0, nil }, 1)
			return err
		},
	}
	for _, function := range []string{"release.count", "release.count_on_thread"} {
		for how, end := range end {
			x := runtimetest.MakeBox(t, 7)
			f := func(borrowed *runtimetest.Box) error {
				if err := end(x); err != nil {
					return err
				}
				runtime.GC()
				runtimetest.WantPanic(t, tvmffi.ErrRuntime, "was released", func() { x.I64() })
				if borrowed.I64() != 7 {
					return errors.New("the argument is another object")
				}
				return nil
			}
			n, err := runtimetest.Call(function, f, x)
			if err != nil || n.Value() != int64(1) {
				t.Errorf("%s, %s: after the callback C sees %v references, want 1 (%v)", function, how, n, err)
			}
		}
	}
	runtimetest.DropGarbage(t)
}

// A callback may end the Function that called it, while that runs.
func TestReleaseInCallback_callee(t *testing.T) {
	loadRelease(t)
	x := runtimetest.MakeBox(t, 7)
	keeper := runtimetest.Get[*tvmffi.Function](t, "release.keeper", x)
	x.Release()
	v, err := keeper.Call(func() { keeper.Release() })
	got, wrong := tvmffi.As[*runtimetest.Box](v)
	if err != nil || wrong != nil || got.I64() != 7 {
		t.Fatal(err, wrong)
	}
	got.Release()
	v.Release()
	runtimetest.DropGarbage(t)
}

// An object that a callback makes and releases ends at once, in every callback that is nested in it
// too, and so does everything when no callback runs.
func TestReleaseInCallback_atOnce(t *testing.T) {
	loadRelease(t)
	old := runtimetest.MakeBox(t, 0)
	before := runtimetest.LiveBoxes(t)
	ends := func(when string) func() error {
		return func() error {
			x := runtimetest.MakeBox(t, 1)
			if _, err := runtimetest.Call("calls.nop_packed", x); err != nil {
				return err
			}
			x.Release()
			if n := runtimetest.LiveBoxes(t); n != before {
				return fmt.Errorf("%s: %d boxes are left", when, n-before)
			}
			return nil
		}
	}
	inner := ends("inner")
	outer := func() error {
		x := runtimetest.MakeBox(t, 1)
		before++
		_, err := runtimetest.Call("calls.apply_packed", inner)
		before--
		x.Release() // made before the inner callback, which has returned
		return errors.Join(err, ends("outer")())
	}
	if _, err := runtimetest.Call("release.count", func(*runtimetest.Box) error { return outer() }, old); err != nil {
		t.Error(err)
	}
	if _, err := runtimetest.Call("calls.apply_packed", outer); err != nil {
		t.Error(err)
	}
	if _, err := runtimetest.Call("calls.on_thread", func(int64) error { return outer() }, 1); err != nil {
		t.Error(err)
	}
	if err := ends("outside")(); err != nil {
		t.Error(err)
	}
	old.Release()
	if n := runtimetest.LiveBoxes(t); n != before-1 {
		t.Errorf("a box that callbacks saw is left: %d, want %d", n, before-1)
	}
}

// A wrapper that an earlier callback made is as old as any other.
func TestReleaseInCallback_laterCallback(t *testing.T) {
	loadRelease(t)
	var x *runtimetest.Box
	if _, err := runtimetest.Call("calls.apply_packed", func() { x = runtimetest.MakeBox(t, 7) }); err != nil {
		t.Fatal(err)
	}
	n, err := runtimetest.Call("release.count", func(*runtimetest.Box) { x.Release() }, x)
	if err != nil || n.Value() != int64(1) {
		t.Errorf("C sees %v references, want 1 (%v)", n, err)
	}
	runtimetest.DropGarbage(t)
}

// The library's own loops over an object that the program releases.
func TestReleaseInWalk(t *testing.T) {
	runtimetest.LoadProgram(t)
	runtimetest.NeedFunctions(t, "ffi.StructuralWalk")
	a := runtimetest.Must[*tvmffi.Array[string]](t)(tvmffi.NewArray("the first of two texts", "the second of two texts"))
	var got []string
	err := structural.Walk(a, structural.PreOrder, structural.On(func(s string) error {
		a.Release()
		runtime.GC()
		got = append(got, s)
		return nil
	}))
	if err != nil || fmt.Sprint(got) != "[the first of two texts the second of two texts]" {
		t.Errorf("Walk: %q, %v", got, err)
	}
	f := runtimetest.NewFunc(t, []any{runtimetest.NewVar(t, "x")}, nil)
	var names []string
	err = structural.Visit(f, structural.OnVisit(func(x *runtimetest.Func, v *structural.Visitor) error {
		f.Release()
		runtime.GC()
		return v.Children(x)
	}), structural.OnVisit(func(x *runtimetest.Var, _ *structural.Visitor) error {
		names = append(names, x.Name())
		return nil
	}))
	if err != nil || fmt.Sprint(names) != "[x]" {
		t.Errorf("Visit: %q, %v", names, err)
	}
}

// An element of a loop is valid until the next step, whatever happens to its container.
func TestLoopElementOutlivesContainer(t *testing.T) {
	runtimetest.Balanced(t)
	boxes := func() []*runtimetest.Box {
		return []*runtimetest.Box{runtimetest.MakeBox(t, 0), runtimetest.MakeBox(t, 1)}
	}
	check := func(what string, x *runtimetest.Box, i int64) {
		t.Helper()
		runtimetest.MakeBox(t, 100).Release()                         // takes the memory of a box that has ended
		if n := memstat.UseCount(x); n < 1 || n > 2 || x.I64() != i { // a Map is read ahead
			t.Errorf("%s: element %d is %d and has %d references", what, i, x.I64(), n)
		}
	}
	stop := func(what string, loop func()) {
		t.Helper()
		defer func() {
			if e, ok := recover().(error); !ok || !errors.Is(e, tvmffi.ErrRuntime) {
				t.Errorf("%s: after the container was released the loop ended with %v", what, e)
			}
		}()
		loop()
	}
	items := boxes()
	release := func() {
		for _, x := range items {
			x.Release()
		}
	}
	a := runtimetest.Must[*tvmffi.Array[*runtimetest.Box]](t)(tvmffi.NewArray(items...))
	release()
	stop("Array", func() {
		for i, x := range a.All() {
			a.Release()
			check("Array", x, int64(i))
		}
	})
	items = boxes()
	l := runtimetest.Must[*tvmffi.List[*runtimetest.Box]](t)(tvmffi.NewList(items...))
	release()
	for i, x := range l.All() {
		if err := l.Clear(); err != nil {
			t.Fatal(err)
		}
		check("List", x, int64(i))
	}
	l.Release()
	items = boxes()
	m := runtimetest.Must[*tvmffi.Map[int64, *runtimetest.Box]](t)(tvmffi.NewMap(tvmffi.MapOf(map[int64]*runtimetest.Box{0: items[0], 1: items[1]})))
	release()
	stop("Map", func() {
		for i, x := range m.All() {
			m.Release()
			check("Map", x, i)
		}
	})
	items = boxes()
	d := runtimetest.Must[*tvmffi.Dict[int64, *runtimetest.Box]](t)(tvmffi.NewDict(tvmffi.MapOf(map[int64]*runtimetest.Box{0: items[0], 1: items[1]})))
	release()
	n := int64(0)
	for x := range d.Values() {
		if _, err := d.Delete(n); err != nil {
			t.Fatal(err)
		}
		check("Dict", x, n)
		n++
	}
	d.Release()
}

// Goroutines that release one wrapper at the same time drop one reference.
func TestReleaseAtOnce(t *testing.T) {
	runtimetest.Balanced(t)
	rounds := 2000
	if testing.Short() {
		rounds = 200
	}
	for i := range rounds {
		x := runtimetest.MakeBox(t, 1)
		other := tvmffi.Retain(x)
		if i%3 == 0 {
			memstat.Collected() // gives the recent wrappers their cleanups
		}
		together(4, func(int) { x.Release() })
		if n := memstat.UseCount(other); n != 1 {
			t.Fatalf("round %d: %d references are left, want 1", i, n)
		}
		other.Release()
	}
}
