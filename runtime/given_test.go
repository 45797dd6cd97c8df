package tvmffi_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
	"github.com/tvmffi-go/tvmffi/runtime/define"
	"github.com/tvmffi-go/tvmffi/runtime/exportrt"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

const givenText = `
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/ffi/rvalue_ref.h>

#include <thread>

using namespace tvm::ffi;

static float data[2] = {1, 2};
static int64_t shape[1] = {2};
static DLTensor tensor{data, DLDevice{kDLCPU, 0}, 1, DLDataType{kDLFloat, 32, 1}, shape, nullptr, 0};
static TVMFFIObject* slot = nullptr;

// Calls f with a view of a kind, and spoils its memory after the call.
static Any GiveView(const Function& f, int64_t kind) {
  char text[24] = "a text of some length";
  float x[3] = {1, 2, 3};
  int64_t n[1] = {3}, wrong[1] = {-3};
  DLTensor t{x, DLDevice{kDLCPU, 0}, 1, DLDataType{kDLFloat, 32, 1}, kind == 4 ? wrong : n, nullptr, 0};
  TVMFFIByteArray bytes{text, 6};
  AnyView v;
  if (kind == 0) v = static_cast<DLTensor*>(&t);
  if (kind == 1) v = static_cast<const char*>(text);
  if (kind == 2) v = &bytes;
  if (kind == 3) v = static_cast<void*>(text);
  if (kind == 4) v = static_cast<DLTensor*>(&t);
  Any r = f(v);
  memset(text, 'x', sizeof(text));
  memset(x, 0x7f, sizeof(x));
  memset(&t, 0x7f, sizeof(t));
  return r;
}

extern "C" {
// A C function whose result is a view, which no function should return.
static int ReturnView(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  result->type_index = static_cast<int32_t>(reinterpret_cast<intptr_t>(self));
  result->zero_padding = 0;
  result->v_ptr = &tensor;
  if (result->type_index == kTVMFFIRawStr) result->v_c_str = "a text of some length";
  if (result->type_index == kTVMFFIObjectRValueRef) result->v_ptr = &slot;
  return 0;
}
}

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = reflection;
  refl::GlobalDef()
      // The result of f, and whether f took x.
      .def("given.move",
           [](Function f, RValueRef<ObjectRef> x) {
             RValueRef<ObjectRef> y(*std::move(x));
             Any r;
             String error;
             try {
               r = f(RValueRef<ObjectRef>(std::move(y)));
             } catch (const Error& e) {
               error = e.message();
             }
             return Array<Any>{r, error};
           })
      .def("given.move_on_thread",
           [](Function f, RValueRef<ObjectRef> x) {
             Any r;
             std::thread([&] { r = f(RValueRef<ObjectRef>(*std::move(x))); }).join();
             return r;
           })
      .def("given.move_null", [](Function f) { return f(RValueRef<ObjectRef>(ObjectRef())); })
      // How many references the caller sees to what f returns.
      .def("given.count", [](Function f) { Any r = f(); return static_cast<int64_t>(r.as<Object>()->use_count()); })
      .def("given.view", GiveView)
      .def("given.return_view", [] { return reinterpret_cast<void*>(&ReturnView); })
      .def("given.any_of_view", [] { return Array<Any>{AnyView(&tensor)}; });
}
`

func loadGiven(t *testing.T) {
	t.Helper()
	runtimetest.LoadTensors(t)
	if err := tvmffi.LoadLibrary(nativetest.BuildText(t, "given", givenText)); err != nil {
		t.Fatal(err)
	}
}

type givenBox = runtimetest.Box

// given is an object type made in Go, whose constructor gets moved arguments. That of
// narrowed enters Go.
type (
	given struct {
		Box *givenBox `ffi:"box,optional"`
		Any any       `ffi:"any,optional"`
	}
	narrowed struct {
		N   int64 `ffi:"n"`
		Any any   `ffi:"any"`
	}
)

var (
	givenType = define.Object[given]("gotest.Given", define.Method("number", func(_ *define.Instance[given], b *givenBox) int64 {
		return b.I64() + int64(memstat.UseCount(b))
	}))
	narrowedType = define.Object[narrowed]("gotest.Narrowed", define.Converter("n", func(x tvmffi.Any) (int64, error) {
		b, err := tvmffi.As[*givenBox](x)
		if err != nil {
			return 0, err
		}
		return b.I64(), nil
	}))
)

// loadGivenTypes returns the type keys with the name of the first field. Older libraries have
// no converters.
func loadGivenTypes(t *testing.T) map[string]string {
	t.Helper()
	loadGiven(t)
	runtimetest.LoadDefine(t)
	if err := givenType.Register(); err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{"gotest.Given": "box"}
	if err := narrowedType.Register(); err == nil {
		keys["gotest.Narrowed"] = "n"
	} else if !strings.Contains(err.Error(), "needs version 0.1.11 of libtvm_ffi") {
		t.Fatal(err)
	}
	return keys
}

// takers are callbacks for a moved Box, which hold one reference when they get it.
func takers(t *testing.T) map[string]any {
	see := func(b *givenBox) int64 {
		if n := memstat.UseCount(b); n != 1 {
			t.Errorf("the callback sees %d references, want 1", n)
		}
		return b.I64()
	}
	return map[string]any{
		"typed":     func(b *givenBox) int64 { return see(b) },
		"any":       func(x any) (int64, error) { return see(tvmffi.Upcast[*givenBox](x.(tvmffi.ObjectRef))), nil },
		"interface": func(x tvmffi.ObjectRef) int64 { return see(tvmffi.Upcast[*givenBox](x)) },
		"value":     func(x tvmffi.Any) (int64, error) { b, err := tvmffi.As[*givenBox](x); return see(b), err },
		"pointer":   func(x *tvmffi.Any) (int64, error) { b, err := tvmffi.As[*givenBox](*x); return see(b), err },
		"variadic":  func(xs ...*givenBox) int64 { return see(xs[0]) },
		"packed": tvmffi.Packed(func(args []tvmffi.Any) (any, error) {
			if key := args[0].TypeKey(); key != "calls.Box" {
				t.Errorf("the argument is %s", key)
			}
			if _, err := tvmffi.As[*tvmffi.Function](args[0]); !errors.Is(err, tvmffi.ErrType) {
				t.Errorf("as a function: %v", err)
			}
			b, err := tvmffi.As[*givenBox](args[0])
			return see(b), err
		}),
		"passed on": tvmffi.Packed(func(args []tvmffi.Any) (any, error) {
			for range 2 {
				v, err := runtimetest.Call("calls.echo_box", args[0])
				if err != nil {
					return nil, err
				}
				v.Release()
			}
			b, err := tvmffi.As[*givenBox](args[0])
			return see(b), err
		}),
		"moved on": func(b *givenBox) (int64, error) {
			n := b.I64()
			if got := runtimetest.Get[int64](t, "move.take", tvmffi.Move(b)); got != 1 {
				t.Errorf("the next callee sees %d references, want 1", got)
			}
			return n, nil
		},
		"released": func(b *givenBox) int64 { defer b.Release(); return see(b) },
	}
}

// An argument that native code moves to a Go func of any kind gives the func one
// reference, which ends with the callback.
func TestGivenMoved(t *testing.T) {
	loadGiven(t)
	loadMove(t)
	leaktest.Check(t)
	runtimetest.Balanced(t)
	for name, f := range takers(t) {
		fn := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(f))
		before := runtimetest.LiveBoxes(t)
		for how, call := range map[string]func(m tvmffi.Moved) (tvmffi.Any, error){
			"Go": func(m tvmffi.Moved) (tvmffi.Any, error) { return fn.Call(m) },
			"C++": func(m tvmffi.Moved) (tvmffi.Any, error) {
				v, err := runtimetest.Call("given.move", fn, m)
				if err != nil {
					return v, err
				}
				defer v.Release()
				both, err := tvmffi.As[tvmffi.Tuple2[tvmffi.Any, string]](v)
				if both.B != "" {
					t.Errorf("%s from C++: %s", name, both.B)
				}
				return both.A, err
			},
			"a thread of C++": func(m tvmffi.Moved) (tvmffi.Any, error) { return runtimetest.Call("given.move_on_thread", fn, m) },
		} {
			v, err := call(tvmffi.Move(runtimetest.MakeBox(t, 7)))
			if err != nil || v.Value() != int64(7) {
				t.Errorf("%s from %s: %v, %v, want 7", name, how, v, err)
			}
			if n := runtimetest.LiveBoxes(t) - before; n != 0 {
				t.Fatalf("%s from %s: %d boxes are left", name, how, n)
			}
		}
		fn.Release()
	}
}

// A callback that refuses a moved argument, fails or panics drops the reference once.
func TestGivenMoved_refused(t *testing.T) {
	loadGiven(t)
	runtimetest.Balanced(t)
	for name, c := range map[string]struct {
		f    any
		want string
	}{
		"a wrong type":         {func(x *tvmffi.Function) {}, "argument 0: expected ffi.Function, got calls.Box"},
		"a number":             {func(x int64) {}, "argument 0: expected int, got calls.Box"},
		"a slice":              {func(x []int64) {}, "argument 0: expected ffi.Array of int64, got calls.Box"},
		"an interface":         {func(x interface{ AsCallsSubBox() *runtimetest.SubBox }) {}, "got calls.Box"},
		"too many arguments":   {func(x, y *givenBox) {}, "it takes 2 arguments, but got 1"},
		"an error":             {func(x *givenBox) error { return errors.New("no") }, "no"},
		"a panic":              {func(x *givenBox) { panic("out") }, "out"},
		"a panic of a Packed":  {tvmffi.Packed(func([]tvmffi.Any) (any, error) { panic("out") }), "out"},
		"a result of no type":  {func(x *givenBox) any { return make(chan int) }, "its result"},
		"released, then wrong": {func(x any) error { x.(tvmffi.ObjectRef).TVMFFIObject().Release(); return errors.New("no") }, "no"},
	} {
		fn := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(c.f))
		before := runtimetest.LiveBoxes(t)
		_, err := fn.Call(tvmffi.Move(runtimetest.MakeBox(t, 7)))
		runtimetest.WantError(t, err, nil, c.want)
		v := runtimetest.MustCall(t, "given.move", fn, tvmffi.Move(runtimetest.MakeBox(t, 7)))
		if v.Release(); t.Failed() || runtimetest.LiveBoxes(t) != before {
			t.Fatalf("%s: %d boxes are left", name, runtimetest.LiveBoxes(t)-before)
		}
		fn.Release()
	}
	runtimetest.DropGarbage(t)
}

// A moved argument ends with the callback, unless the callback retains it.
func TestGivenMoved_kept(t *testing.T) {
	loadGiven(t)
	runtimetest.Balanced(t)
	var kept tvmffi.Any
	var box *givenBox
	keep := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(tvmffi.Packed(func(args []tvmffi.Any) (any, error) {
		kept = args[0]
		b, err := tvmffi.As[*givenBox](args[0])
		box = tvmffi.Retain(b)
		return nil, err
	})))
	runtimetest.MustCall(t, "given.move", keep, tvmffi.Move(runtimetest.MakeBox(t, 8))).Release()
	_, err := runtimetest.Call("calls.echo", kept)
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "was borrowed for a callback that has returned")
	runtimetest.WantError(t, runtimetest.ErrorOf(tvmffi.NewList[any](kept)), tvmffi.ErrRuntime, "was borrowed for a callback")
	runtimetest.WantError(t, runtimetest.ErrorOf(tvmffi.As[*givenBox](kept)), tvmffi.ErrRuntime, "was borrowed for a callback")
	if box.I64() != 8 || memstat.UseCount(box) != 1 {
		t.Errorf("what was retained: %d, %d references", box.I64(), memstat.UseCount(box))
	}
	box.Release()
	keep.Release()
	// Its elements live as long as it does, and None is None.
	elements := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(bs []*givenBox) int64 { return bs[0].I64() + bs[1].I64() }))
	a, b := runtimetest.MakeBox(t, 1), runtimetest.MakeBox(t, 2)
	array := runtimetest.Must[*tvmffi.Array[*givenBox]](t)(tvmffi.NewArray(a, b))
	a.Release()
	b.Release()
	if v, err := elements.Call(tvmffi.Move(array)); err != nil || v.Value() != int64(3) {
		t.Errorf("elements: %v, %v, want 3", v, err)
	}
	elements.Release()
	none := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(x any, b *givenBox) bool { return x == nil && b == nil }))
	if v, err := none.Call(tvmffi.Move(nil), nil); err != nil || v.Value() != true {
		t.Errorf("None: %v, %v", v, err)
	}
	none.Release()
	null := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(x any) bool { return x == nil }))
	if v, err := runtimetest.Call("given.move_null", null); err != nil || v.Value() != true {
		t.Errorf("a null reference: %v, %v", v, err)
	}
	null.Release()
	runtimetest.DropGarbage(t)
}

// Generated code reads arguments by package bindrt, a constructor and a method by package
// define, and an exported function by a symbol.
func TestGivenMoved_elsewhere(t *testing.T) {
	nativetest.OneCompiler(t)
	keys := loadGivenTypes(t)
	runtimetest.Balanced(t)
	box := func() tvmffi.Moved { return tvmffi.Move(runtimetest.MakeBox(t, 9)) }
	before := runtimetest.LiveBoxes(t)
	exports := &exportrt.Exports{Name: "given", Prefix: "given.go.", Functions: []exportrt.Function{
		{Name: "typed", Func: func(*givenBox) int64 { return 0 }, Call: func(a *bindrt.Args) error {
			b := bindrt.Arg[*givenBox](a, 0)
			if err := a.Check(1); err != nil {
				return err
			}
			return a.ReturnInt(b.I64() + int64(memstat.UseCount(b)))
		}},
		{Name: "callee", Func: func(func() int64) int64 { return 0 }, Call: func(a *bindrt.Args) error {
			f := exportrt.Callee(a, 0, func(fn *tvmffi.Function) func() int64 {
				return func() int64 { v, _ := fn.Call(); return v.Value().(int64) }
			})
			if err := a.Check(1); err != nil {
				return err
			}
			return a.ReturnInt(f())
		}},
		{Name: "rest", Func: tvmffi.Packed(nil), Call: func(a *bindrt.Args) error {
			return a.ReturnInt(int64(memstat.UseCount(exportrt.Rest[tvmffi.ObjectRef](a, 0)[0])))
		}},
	}}
	if err := exports.Register(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{"given.go.typed": 10, "given.go.rest": 1} {
		if got := runtimetest.Get[int64](t, name, box()); got != want {
			t.Errorf("%s returned %d, want %d", name, got, want)
		}
	}
	_, err := runtimetest.Call("given.go.typed", tvmffi.Move(runtimetest.NewList(t)))
	runtimetest.WantError(t, err, tvmffi.ErrType, "typed: argument 0: expected a calls.Box, got List")
	fn := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() int64 { return 11 }))
	if got := runtimetest.Get[int64](t, "given.go.callee", tvmffi.Move(fn)); got != 11 {
		t.Errorf("given.go.callee returned %d, want 11", got)
	}
	for _, e := range exports.Functions {
		runtimetest.Must[bool](t)(tvmffi.Unregister("given.go." + e.Name))
	}
	for key, want := range keys {
		second := tvmffi.Move(runtimetest.MakeBox(t, 10))
		made := runtimetest.MustCall(t, "define.init", key, box(), second)
		for _, field := range []string{want, "any"} {
			runtimetest.MustCall(t, "define.set", made, field, box())
		}
		v := runtimetest.MustCall(t, "define.get", made, "any")
		if b, err := tvmffi.As[*givenBox](v); err != nil || b.I64() != 9 || memstat.UseCount(b) != 2 {
			t.Errorf("%s: %v, %v", key, v, err)
		}
		v.Release()
		made.Release()
		_, err := runtimetest.Call("define.init", key, tvmffi.Move(runtimetest.NewList(t)), box())
		runtimetest.WantError(t, err, tvmffi.ErrType, "calls.Box")
	}
	x := runtimetest.Must[*define.Instance[given]](t)(givenType.New(given{}))
	number := runtimetest.Must[tvmffi.Any](t)(runtimetest.Call("define.method", "gotest.Given", "number", x, box()))
	if number.Value() != int64(10) {
		t.Errorf("the method returned %v, want 10", number)
	}
	x.Release()
	if n := runtimetest.LiveBoxes(t) - before; n != 0 {
		t.Errorf("%d boxes are left", n)
	}
	runtimetest.DropGarbage(t)
}

// A result that is moved has one reference, of the caller. Without Move, the collector gets
// a second one.
func TestGivenAway(t *testing.T) {
	loadGiven(t)
	runtimetest.Balanced(t)
	var kept *givenBox
	for name, c := range map[string]struct {
		f    any
		want int64
	}{
		"moved, packed": {tvmffi.Packed(func([]tvmffi.Any) (any, error) { return tvmffi.Move(runtimetest.MakeBox(t, 1)), nil }), 1},
		"moved, any":    {func() (any, error) { return tvmffi.Move(runtimetest.MakeBox(t, 1)), nil }, 1},
		"moved, Moved":  {func() (tvmffi.Moved, error) { return tvmffi.Move(runtimetest.MakeBox(t, 1)), nil }, 1},
		"shared":        {func() (*givenBox, error) { kept = runtimetest.MakeBox(t, 1); return kept, nil }, 2},
	} {
		fn := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(c.f))
		before := runtimetest.LiveBoxes(t)
		if got := runtimetest.Get[int64](t, "given.count", fn); got != c.want {
			t.Errorf("%s: the caller sees %d references, want %d", name, got, c.want)
		}
		if kept != nil {
			kept.Release()
		}
		if n := runtimetest.LiveBoxes(t) - before; n != 0 {
			t.Errorf("%s: %d boxes are left", name, n)
		}
		fn.Release()
	}
}

// An argument that was moved to a callback goes back with the one reference that it has.
func TestGivenBack(t *testing.T) {
	loadGiven(t)
	runtimetest.Balanced(t)
	for name, f := range map[string]any{
		"as it is": func(b *givenBox) (*givenBox, error) { return b, nil },
		"moved":    func(b *givenBox) (any, error) { return tvmffi.Move(b), nil },
		"packed":   tvmffi.Packed(func(args []tvmffi.Any) (any, error) { return args[0], nil }),
	} {
		fn := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(f))
		v := runtimetest.Must[tvmffi.Any](t)(fn.Call(tvmffi.Move(runtimetest.MakeBox(t, 5))))
		b := runtimetest.Must[*givenBox](t)(tvmffi.As[*givenBox](v))
		if b.I64() != 5 || memstat.UseCount(b) != 1 {
			t.Errorf("%s: %d with %d references, want 5 with 1", name, b.I64(), memstat.UseCount(b))
		}
		v.Release()
		fn.Release()
	}
}
