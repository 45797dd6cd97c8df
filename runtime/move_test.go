package tvmffi_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/env"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

const moveText = `
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/rvalue_ref.h>

using namespace tvm::ffi;

static int64_t ended = 0;

extern "C" {
static int PlusSelf(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  if (n != 1 || args[0].type_index != kTVMFFIInt) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "one int");
    return -1;
  }
  result->type_index = kTVMFFIInt;
  result->v_int64 = args[0].v_int64 + *static_cast<int64_t*>(self);
  return 0;
}
// Says that the host has the error. The slot holds another one.
static int WithHost(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  if (n == 1) TVMFFIErrorSetRaisedFromCStr("ValueError", "left behind");
  return -2;
}
static void End(void* self) {
  ++ended;
  delete static_cast<int64_t*>(self);
}
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = reflection;
  refl::GlobalDef()
      // The use count of what came, and whether it was taken.
      .def("move.take", [](RValueRef<ObjectRef> x) { return static_cast<int64_t>((*std::move(x)).use_count()); })
      .def("move.leave", [](RValueRef<ObjectRef> x) {})
      .def("move.any", [](Any x) { return static_cast<int64_t>(x.cast<ObjectRef>().use_count()); })
      .def("move.append", [](RValueRef<Array<int64_t>> x) {
        Array<int64_t> a = *std::move(x);
        const void* before = a.get();
        a.Set(0, 100);
        return Array<Any>{a, a.get() == before};
      })
      .def("move.call", [] { return reinterpret_cast<void*>(&PlusSelf); })
      .def("move.with_host", [] { return reinterpret_cast<void*>(&WithHost); })
      .def("move.self", [](int64_t n) { return static_cast<void*>(new int64_t(n)); })
      .def("move.deleter", [] { return reinterpret_cast<void*>(&End); })
      .def("move.ended", [] { return ended; });
}
`

func loadMove(t *testing.T) {
	t.Helper()
	runtimetest.Load(t)
	if err := tvmffi.LoadLibrary(nativetest.BuildText(t, "move", moveText)); err != nil {
		t.Fatal(err)
	}
}

// The callee owns what was moved, alone, and Go has it no longer.
func TestMove(t *testing.T) {
	loadMove(t)
	runtimetest.Balanced(t)
	for function, count := range map[string]int64{"move.take": 1, "move.any": 2} { // any: the cast refers to it too
		b := runtimetest.MakeBox(t, 1)
		if n := runtimetest.MustCall(t, function, tvmffi.Move(b)); n.Value() != count {
			t.Errorf("%s sees %v references, want %d", function, n, count)
		}
		runtimetest.WantPanic(t, tvmffi.ErrRuntime, "was released", func() { b.I64() })
		_, err := runtimetest.Call(function, tvmffi.Move(b))
		runtimetest.WantError(t, err, tvmffi.ErrRuntime, "argument 0: the object was released")
	}
	before := runtimetest.LiveBoxes(t)
	b := runtimetest.MakeBox(t, 1)
	runtimetest.MustCall(t, "move.leave", tvmffi.Move(b))
	b = runtimetest.MakeBox(t, 1)
	_, err := runtimetest.Call("calls.echo_box", tvmffi.Move(b)) // no parameter that takes it
	runtimetest.WantError(t, err, tvmffi.ErrType, "ObjectRValueRef")
	b = runtimetest.MakeBox(t, 1)
	_, err = runtimetest.Call("move.take", tvmffi.Move(b), make(chan int))
	runtimetest.WantError(t, err, tvmffi.ErrType, "argument 1")
	if n := runtimetest.LiveBoxes(t); n != before || memstat.UseCount(b) != 0 {
		t.Errorf("%d boxes that nobody took are left", n-before)
	}
	// An array that nobody else has is changed in place.
	for _, shared := range []bool{false, true} {
		a := runtimetest.Must[*tvmffi.Array[int64]](t)(tvmffi.NewArray[int64](1, 2))
		other := tvmffi.Retain(a)
		if !shared {
			other.Release()
		}
		v := runtimetest.MustCall(t, "move.append", tvmffi.Move(a))
		got := runtimetest.Must[tvmffi.Tuple2[[]int64, bool]](t)(tvmffi.As[tvmffi.Tuple2[[]int64, bool]](v))
		if got.A[0] != 100 || got.B == shared {
			t.Errorf("shared %v: %v", shared, got)
		}
		if shared && other.At(0) != 1 {
			t.Error("the array of another owner was changed")
		}
		v.Release()
		other.Release()
	}
	// Inside containers, as results, and with other owners it is an object.
	b = runtimetest.MakeBox(t, 5)
	other := tvmffi.Retain(b)
	a := runtimetest.Must[*tvmffi.Array[any]](t)(tvmffi.NewArray[any](tvmffi.Move(b)))
	if memstat.UseCount(other) != 2 || memstat.UseCount(b) != 0 {
		t.Errorf("use count %d", memstat.UseCount(other))
	}
	a.Release()
	v := runtimetest.Must[tvmffi.Any](t)(tvmffi.AnyOf(tvmffi.Move(other)))
	if x := runtimetest.Must[*runtimetest.Box](t)(tvmffi.As[*runtimetest.Box](v)); memstat.UseCount(x) != 1 {
		t.Errorf("use count %d", memstat.UseCount(x))
	}
	v.Release()
	f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() (any, error) { return tvmffi.Move(runtimetest.MakeBox(t, 6)), nil }))
	r := runtimetest.Must[tvmffi.Any](t)(f.Call())
	if x := runtimetest.Must[*runtimetest.Box](t)(tvmffi.As[*runtimetest.Box](r)); x.I64() != 6 || memstat.UseCount(x) != 1 {
		t.Errorf("use count %d", memstat.UseCount(x))
	}
	r.Release()
	f.Release()
	if v := runtimetest.MustCall(t, "calls.echo", tvmffi.Move(nil)); !v.IsNone() {
		t.Errorf("moving nil gives %v, want None", v)
	}
}

func TestFunctionFromPointer(t *testing.T) {
	loadMove(t)
	code, deleter := runtimetest.Get[tvmffi.Pointer](t, "move.call"), runtimetest.Get[tvmffi.Pointer](t, "move.deleter")
	f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FunctionFromPointer(code, runtimetest.Get[tvmffi.Pointer](t, "move.self", 40), deleter))
	for _, through := range []func() (tvmffi.Any, error){
		func() (tvmffi.Any, error) { return f.Call(2) },
		func() (tvmffi.Any, error) { return runtimetest.Call("calls.apply", f, 2) },
		func() (tvmffi.Any, error) { return runtimetest.Call("calls.on_thread", f, 2) },
	} {
		if v, err := through(); err != nil || v.Value() != int64(42) {
			t.Errorf("the call returned %v, %v, want 42", v, err)
		}
	}
	_, err := f.Call("text")
	runtimetest.WantError(t, err, tvmffi.ErrType, "TypeError: one int")
	before := runtimetest.Get[int64](t, "move.ended")
	other := tvmffi.Retain(f)
	f.Release()
	if v, err := other.Call(1); err != nil || v.Value() != int64(41) || runtimetest.Get[int64](t, "move.ended") != before {
		t.Errorf("the other function returned %v, %v, want 41; the deleter must not run", v, err)
	}
	other.Release()
	if n := runtimetest.Get[int64](t, "move.ended") - before; n != 1 {
		t.Errorf("the deleter ran %d times", n)
	}
	plain := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FunctionFromPointer(symbol(t, "testing.get_add_one_c_symbol"), tvmffi.Pointer{}, tvmffi.Pointer{}))
	if v, err := plain.Call(1); err != nil || v.Value() != int64(2) {
		t.Errorf("the call returned %v, %v, want 2", v, err)
	}
	plain.Release()
	for _, make := range []func() (*tvmffi.Function, error){
		func() (*tvmffi.Function, error) {
			return tvmffi.FunctionFromPointer(tvmffi.Pointer{}, tvmffi.Pointer{}, deleter)
		},
		func() (*tvmffi.Function, error) { return tvmffi.FunctionFromPacked(tvmffi.Pointer{}) },
	} {
		_, err := make()
		runtimetest.WantError(t, err, tvmffi.ErrValue, "the address of the C function is null")
	}
}

// The return code -2 is an error of its own, which passes through a callback as it is.
func TestErrorOfTheHost(t *testing.T) {
	loadMove(t)
	runtimetest.Balanced(t)
	host := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FunctionFromPointer(runtimetest.Get[tvmffi.Pointer](t, "move.with_host"), tvmffi.Pointer{}, tvmffi.Pointer{}))
	for _, args := range [][]any{{}, {1}, {1, 2}} {
		_, err := host.Call(args...)
		runtimetest.WantError(t, err, env.ErrSignal, "EnvErrorAlreadySet: the host language was interrupted and keeps the error of the function")
	}
	pass := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() error { _, err := host.Call(1); return err }))
	_, err := runtimetest.Call("calls.apply_packed", pass)
	runtimetest.WantError(t, err, env.ErrSignal)
	if v, err := runtimetest.Call("calls.add_one", 1); err != nil || v.Value() != int64(2) {
		t.Errorf("calls.add_one returned %v, %v, want 2", v, err)
	}
	pass.Release()
	host.Release()
	err = nil
	runtimetest.DropGarbage(t)
}

// symbol returns the address of a C function, which the library gives as an int.
func symbol(t *testing.T, name string) tvmffi.Pointer {
	t.Helper()
	return tvmffi.Pointer{Address: uintptr(runtimetest.Get[int64](t, name))}
}

// The packed form of MLIR: the arguments are addresses of what they are.
func TestFunctionFromPacked(t *testing.T) {
	runtimetest.Load(t)
	runtimetest.Balanced(t)
	f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FunctionFromPacked(symbol(t, "testing.get_mlir_add_one_c_symbol")))
	for _, through := range []func(x any) (tvmffi.Any, error){
		func(x any) (tvmffi.Any, error) { return f.Call(x) },
		func(x any) (tvmffi.Any, error) { return runtimetest.Call("calls.apply", f, x) },
		func(x any) (tvmffi.Any, error) { return runtimetest.Call("calls.on_thread", f, x) },
	} {
		if v, err := through(1); err != nil || v.Value() != int64(2) {
			t.Errorf("the call returned %v, %v, want 2", v, err)
		}
		_, err := through("text")
		runtimetest.WantError(t, err, tvmffi.ErrType, "int")
	}
	f.Release()
	runtimetest.DropGarbage(t)
}

// streamHandle and others are types of other packages that know what they are.
type streamHandle uintptr

func (s streamHandle) FFIValue() (any, error) { return tvmffi.Pointer{Address: uintptr(s)}, nil }

type elementType string

func (e elementType) FFIValue() (any, error) { return tvmffi.ParseDataType(string(e)) }

type matrix struct{ rows [][]float64 }

func (m *matrix) FFIValue() (any, error) {
	if len(m.rows) == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return m.rows, nil
}

type itself struct{}

func (i itself) FFIValue() (any, error) { return i, nil }

type boxed struct{ b *runtimetest.Box }

func (b boxed) FFIValue() (any, error) { return b.b, nil }

func TestValuer(t *testing.T) {
	runtimetest.Balanced(t)
	for _, c := range []struct {
		function string
		in       any
		want     string
	}{
		{"calls.echo_pointer", streamHandle(64), fmt.Sprint(tvmffi.Pointer{Address: 64})},
		{"calls.echo_dtype", elementType("float16x2"), "float16x2"},
		{"calls.echo", &matrix{rows: [][]float64{{1}, {2, 3}}}, "((1,), (2, 3))"},
		{"calls.echo", (*matrix)(nil), "None"},
		{"calls.echo", []elementType{"int8", "bool"}, ""},
		{"calls.echo", map[string]any{"s": streamHandle(1)}, ""},
		{"calls.echo", tvmffi.Of(elementType("int8")), ""},
	} {
		v, err := runtimetest.Call(c.function, c.in)
		if err != nil || c.want != "" && v.String() != c.want {
			t.Errorf("%s(%v) returned %v, %v, want %s", c.function, c.in, v, err, c.want)
		}
		v.Release()
	}
	b := runtimetest.MakeBox(t, 3)
	v := runtimetest.MustCall(t, "calls.echo_box", boxed{b})
	if x := runtimetest.Must[*runtimetest.Box](t)(tvmffi.As[*runtimetest.Box](v)); !tvmffi.Same(x, b) || memstat.UseCount(b) != 2 {
		t.Error("the object of a value")
	}
	v.Release()
	b.Release()
	f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() elementType { return "int8" }))
	if v := runtimetest.Must[tvmffi.Any](t)(f.Call()); v.Value() != tvmffi.Int8 {
		t.Errorf("the function returned %v, want int8", v)
	}
	f.Release()
	_, err := runtimetest.Call("calls.echo", elementType("nonsense"))
	runtimetest.WantError(t, err, tvmffi.ErrValue, "argument 0: the value of tvmffi_test.elementType: ", "nonsense")
	_, err = runtimetest.Call("calls.echo", []any{1, new(matrix)})
	runtimetest.WantError(t, err, tvmffi.ErrType, "argument 0: element 1: the value of *tvmffi_test.matrix: unexpected EOF")
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v lost its cause", err)
	}
	_, err = runtimetest.Call("calls.echo", itself{})
	runtimetest.WantError(t, err, tvmffi.ErrValue, "nested deeper than 1000 levels")
	if !strings.HasPrefix(fmt.Sprint(v), "<object that was released") {
		t.Errorf("the value is %v, want one that was released", v)
	}
	runtimetest.DropGarbage(t)
}
