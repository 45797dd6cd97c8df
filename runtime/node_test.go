package tvmffi_test

import (
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

// holderText holds an object by strong and by weak references, which end on threads
// of C++, and puts objects into an array that it alone owns.
const holderText = `
#include <tvm/ffi/tvm_ffi.h>
#include <thread>
#include <utility>
using namespace tvm::ffi;
static ObjectPtr<Object> strong;
static WeakObjectPtr<Object> weak;

static ObjectPtr<Object> PtrOf(const Any& x) { return details::ObjectUnsafe::ObjectPtrFromObjectRef<Object>(x.cast<ObjectRef>()); }

TVM_FFI_STATIC_INIT_BLOCK() {
  namespace refl = tvm::ffi::reflection;
  refl::GlobalDef()
      .def("holder.hold", [](Any x) { strong = PtrOf(x); weak = strong; })
      .def("holder.held", [] { return ObjectRef(strong); })
      .def("holder.locked", [] { return ObjectRef(weak.lock()); })
      .def("holder.drop_strong", [] { std::thread([] { strong = nullptr; }).join(); })
      .def("holder.drop_weak", [] { std::thread([] { weak = nullptr; }).join(); })
      .def("holder.fill", [](Any x, ObjectRef with) {
        Array<Any> a = x.cast<Array<Any>>();
        x = nullptr;
        bool alone = a.use_count() == 1;
        for (int64_t i = 0; i < static_cast<int64_t>(a.size()); ++i) a.Set(i, with);
        while (a.size() < a.capacity()) a.push_back(with);
        return Array<Any>{a, alone};
      });
}
`

func loadHolder(t *testing.T) {
	t.Helper()
	runtimetest.Load(t)
	if err := tvmffi.LoadLibrary(nativetest.BuildText(t, "holder", holderText)); err != nil {
		t.Fatal(err)
	}
}

// A Function of a Go func is an object like any other: with one reference, callable
// through its C function alone, alive as long as somebody has a strong reference, and
// its memory not used again before the last weak one has gone.
func TestFunctionObject(t *testing.T) {
	loadHolder(t)
	runtimetest.Balanced(t)
	f := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(x int64) int64 { return 3 * x }))
	if n := memstat.UseCount(f); n != 1 {
		t.Errorf("a new Function has %d references", n)
	}
	handle := stateHandle(tvmffi.Upcast[*tvmffi.Object](f))
	if cell := capi.PointerTo[abi.FunctionCell](handle + abi.ObjectSize); cell.CppCall != 0 || cell.SafeCall == 0 {
		t.Errorf("cell %+v", cell)
	}
	runtimetest.MustCall(t, "holder.hold", f)
	back := runtimetest.Get[*tvmffi.Function](t, "holder.held")
	if !tvmffi.Same(f, back) || memstat.UseCount(f) != 3 {
		t.Errorf("another Function came back, or its count %d is wrong", memstat.UseCount(f))
	}
	f.Release()
	back.Release()
	runtime.GC()
	back = runtimetest.Get[*tvmffi.Function](t, "holder.held")
	if v, err := back.Call(5); err != nil || v.Value() != int64(15) {
		t.Errorf("after Go let it go: %v, %v", v, err)
	}
	back.Release()

	before := objects.LiveCallbacks()
	runtimetest.MustCall(t, "holder.drop_strong") // the last one, on a thread of C++
	if v := runtimetest.MustCall(t, "holder.locked"); !v.IsNone() {
		t.Errorf("a weak reference gave %v", v)
	}
	if n := objects.LiveCallbacks(); n != before {
		t.Errorf("%d nodes, with a weak reference to one there were %d", n, before)
	}
	notAgain(t, handle, func() *tvmffi.Object {
		return tvmffi.Upcast[*tvmffi.Object](runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() {})))
	})
	runtimetest.MustCall(t, "holder.drop_weak")

	// The weak reference first: then the last strong one frees the node.
	f = runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() {}))
	runtimetest.MustCall(t, "holder.hold", f)
	runtimetest.MustCall(t, "holder.drop_weak")
	f.Release()
	runtimetest.MustCall(t, "holder.drop_strong")
	// Go has the last strong reference, and C++ a weak one.
	f = runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() {}))
	runtimetest.MustCall(t, "holder.hold", f)
	runtimetest.MustCall(t, "holder.drop_strong")
	handle = stateHandle(tvmffi.Upcast[*tvmffi.Object](f))
	f.Release()
	notAgain(t, handle, func() *tvmffi.Object {
		return tvmffi.Upcast[*tvmffi.Object](runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() {})))
	})
	if v := runtimetest.MustCall(t, "holder.locked"); !v.IsNone() {
		t.Errorf("a weak reference gave %v", v)
	}
	runtimetest.MustCall(t, "holder.drop_weak")
}

// notAgain checks that no new object gets the memory that a weak reference looks at.
func notAgain(t *testing.T, handle uintptr, fresh func() *tvmffi.Object) {
	t.Helper()
	var scope tvmffi.Scope
	defer scope.Release()
	for range 100 {
		x := fresh()
		scope.Add(x)
		if stateHandle(x) == handle {
			t.Fatal("the memory is used again")
		}
	}
}

// A Function that nobody releases is found by the collector, which counts it.
func TestFunctionIsCollected(t *testing.T) {
	runtimetest.Balanced(t)
	before, nodes := memstat.Collected(), objects.LiveCallbacks()
	func() {
		for range 10 {
			runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() {}))
		}
	}()
	runtimetest.Collect(t, "the Functions", func() bool { return memstat.Collected() == before+10 && objects.LiveCallbacks() == nodes })
}

// An Array of numbers that only Go had is freed without reading it. Others have to see
// it whole, and what they put into it must go.
func TestReleaseOfScalars(t *testing.T) {
	loadHolder(t)
	runtimetest.Balanced(t)
	numbers := make([]int64, 5000)
	for i := range numbers {
		numbers[i] = int64(i)
	}
	whole := func(a *tvmffi.Array[int64]) {
		t.Helper()
		if got, err := a.Slice(); err != nil || !slices.Equal(got, numbers) {
			t.Errorf("the array has changed: %v", err)
		}
	}
	for _, n := range []int{3, len(numbers)} { // small ones get their cleanup late
		numbers = numbers[:n]
		for range 20 {
			a := runtimetest.Must[*tvmffi.Array[int64]](t)(tvmffi.NewArray(numbers...))
			runtimetest.MustCall(t, "holder.hold", a)
			a.Release()
			junk := runtimetest.Must[*tvmffi.Array[int64]](t)(tvmffi.NewArray(make([]int64, n)...)) // would take the memory
			back := runtimetest.Get[*tvmffi.Array[int64]](t, "holder.held")
			whole(back)
			runtimetest.MustCall(t, "holder.drop_strong")
			if c := memstat.UseCount(back); c != 1 {
				t.Errorf("%d references", c)
			}
			back.Release()
			junk.Release()
			if v := runtimetest.MustCall(t, "holder.locked"); !v.IsNone() {
				t.Error("the array was not freed")
			}
			runtimetest.MustCall(t, "holder.drop_weak")

			a = runtimetest.Must[*tvmffi.Array[int64]](t)(tvmffi.NewArray(numbers...))
			other := tvmffi.Retain(a)
			a.Release()
			whole(other)
			runtimetest.MustCall(t, "holder.hold", other) // with a weak reference when the last strong one goes
			runtimetest.MustCall(t, "holder.drop_strong")
			other.Release()
			if v := runtimetest.MustCall(t, "holder.locked"); !v.IsNone() {
				t.Error("the array was not freed")
			}
			runtimetest.MustCall(t, "holder.drop_weak")

			// The other way: the wrapper that made it goes last, while C++ looks at it weakly.
			a = runtimetest.Must[*tvmffi.Array[int64]](t)(tvmffi.NewArray(numbers...))
			runtimetest.MustCall(t, "holder.hold", a)
			runtimetest.MustCall(t, "holder.drop_strong")
			handle := stateHandle(tvmffi.Upcast[*tvmffi.Object](a))
			a.Release()
			notAgain(t, handle, func() *tvmffi.Object {
				return tvmffi.Upcast[*tvmffi.Object](runtimetest.Must[*tvmffi.Array[int64]](t)(tvmffi.NewArray(numbers...)))
			})
			if v := runtimetest.MustCall(t, "holder.locked"); !v.IsNone() {
				t.Error("the array was not freed")
			}
			runtimetest.MustCall(t, "holder.drop_weak")
		}
		// Moved into C++, which is the only owner then and puts objects in.
		b := runtimetest.MakeBox(t, 1)
		a := runtimetest.Must[*tvmffi.Array[int64]](t)(tvmffi.NewArray(numbers...))
		filled := runtimetest.Get[*tvmffi.Array[tvmffi.Any]](t, "holder.fill", tvmffi.Move(a), b)
		if alone := filled.At(1).Value(); alone != true {
			t.Error("the array had another owner")
		}
		inner := runtimetest.Must[*tvmffi.Array[tvmffi.Any]](t)(tvmffi.As[*tvmffi.Array[tvmffi.Any]](filled.At(0)))
		if c := memstat.UseCount(b); inner.Len() < n || c != 1+inner.Len() { // the room behind the elements is real
			t.Errorf("%d references to the box in an array of %d, filled up to %d", c, n, inner.Len())
		}
		a.Release() // ended before
		filled.Release()
		inner.Release()
		runtimetest.DropGarbage(t)
		if c := memstat.UseCount(b); c != 1 {
			t.Errorf("%d references to the box are left", c)
		}
		b.Release()
	}
	// Many goroutines, each with arrays of its own and one that C++ shares.
	shared := runtimetest.Must[*tvmffi.Array[int64]](t)(tvmffi.NewArray(numbers...))
	runtimetest.MustCall(t, "holder.hold", shared)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				back, err := runtimetest.Call("holder.held")
				if err != nil {
					t.Error(err)
					return
				}
				a, err := tvmffi.As[*tvmffi.Array[int64]](back)
				if err != nil || a.Len() != len(numbers) {
					t.Error(err)
				}
				a.Release()
				own, err := tvmffi.NewArray(numbers...)
				if err != nil {
					t.Error(err)
					return
				}
				own.Release()
			}
		})
	}
	wg.Wait()
	shared.Release()
	runtimetest.MustCall(t, "holder.drop_strong")
	runtimetest.MustCall(t, "holder.drop_weak")
}
