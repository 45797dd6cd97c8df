package tvmffi_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

type lentFunc = func(int64) (int64, error)

// lentIn are callbacks that get the same Function in all forms that become a Go func. Each
// gives the funcs to got.
func lentIn(got func(...lentFunc)) map[string]any {
	type handlers struct {
		F lentFunc            `ffi:"f"`
		M map[string]lentFunc `ffi:"m"`
	}
	return map[string]any{
		"a func":     func(f lentFunc) { got(f) },
		"a slice":    func(list []lentFunc) { got(list...) },
		"a map":      func(m map[string]lentFunc) { got(slices.Collect(maps.Values(m))...) },
		"a struct":   func(h handlers) { got(h.F, h.M["a"]) },
		"slices":     func(all [][]lentFunc) { got(all[0][0], all[1][0]) },
		"a variadic": func(list ...lentFunc) { got(list...) },
	}
}

// Go funcs of the arguments of a callback end with it, and release their Function, wherever
// they are. RetainFunc keeps them.
func TestLentFunc(t *testing.T) {
	runtimetest.Load(t)
	fn := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(x int64) (int64, error) { return 2 * x, nil }))
	defer fn.Release()
	m := map[string]any{"a": fn}
	args := map[string][]any{
		"a func": {fn}, "a slice": {[]any{fn, fn}}, "a map": {m}, "a struct": {map[string]any{"f": fn, "m": m}},
		"slices": {[]any{[]any{fn}, []any{fn}}}, "a variadic": {fn, fn},
	}
	var lent, kept []lentFunc
	for name, f := range lentIn(func(all ...lentFunc) {
		lent, kept = all, nil
		for _, f := range all {
			if x, err := f(4); err != nil || x != 8 {
				t.Error(x, err)
			}
			kept = append(kept, tvmffi.RetainFunc(f))
		}
	}) {
		t.Run(name, func(t *testing.T) {
			callback := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(f))
			defer callback.Release()
			before := bindrt.Ref(fn).UseCount()
			v, err := callback.Call(args[name]...)
			if err != nil {
				t.Fatal(err)
			}
			v.Release()
			if n := bindrt.Ref(fn).UseCount() - before; n != len(kept) {
				t.Errorf("%d references are left, want one for each of %d kept funcs", n, len(kept))
			}
			for i := range lent {
				_, err := lent[i](4)
				runtimetest.WantError(t, err, tvmffi.ErrRuntime, "tvmffi.Retain keeps a Function, tvmffi.RetainFunc a Go func")
				if x, err := kept[i](4); err != nil || x != 8 {
					t.Error(x, err)
				}
			}
			lent, kept = nil, nil
			runtimetest.DropGarbage(t)
			if n := bindrt.Ref(fn).UseCount(); n > before {
				t.Errorf("%d references, want %d", n, before)
			}
		})
	}
}

// A func that is not of a callback is its own, also one that never was a Function.
func TestRetainFunc(t *testing.T) {
	runtimetest.Load(t)
	x := 1
	f := func() { x++ }
	tvmffi.RetainFunc(f)()
	if x != 2 {
		t.Error("another func came back")
	}
	var none func()
	if tvmffi.RetainFunc(none) != nil {
		t.Error("nil is not nil")
	}
	defer func() {
		runtimetest.WantError(t, recover().(error), tvmffi.ErrType, "retain: int is not a func type: use Retain for objects")
	}()
	tvmffi.RetainFunc(3)
}

// Goroutines that call a func while its callback returns get a result or an error. The
// Function lives until they have it.
func TestLentFunc_race(t *testing.T) {
	runtimetest.Load(t)
	runtimetest.Balanced(t)
	tries := 300
	if testing.Short() {
		tries = 50
	}
	for range tries {
		var all sync.WaitGroup
		callback := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func(f lentFunc) {
			started := make(chan struct{}, 4)
			for range 4 {
				all.Go(func() {
					started <- struct{}{}
					for {
						if x, err := f(4); err != nil {
							if !errors.Is(err, tvmffi.ErrRuntime) || !strings.Contains(err.Error(), "tvmffi.Retain") {
								t.Error(err)
							}
							return
						} else if x != 8 {
							t.Error(x)
						}
					}
				})
			}
			<-started
		}))
		v, err := callback.Call(func(x int64) (int64, error) { return 2 * x, nil })
		if err != nil {
			t.Fatal(err)
		}
		v.Release()
		all.Wait()
		callback.Release()
	}
	runtimetest.DropGarbage(t)
}
