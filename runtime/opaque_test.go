package tvmffi_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// A Go value travels through containers and fields and comes back the same.
func TestWrap(t *testing.T) {
	runtimetest.LoadDefine(t)
	runtimetest.NewPoint(t, runtimetest.Point{Name: "p"}).Release() // its type has callbacks
	before := runtimetest.SettledGoValues()
	m := map[string]int{"a": 1}
	v, err := tvmffi.NewOpaque(m)
	if err != nil {
		t.Fatal(err)
	}
	array := runtimetest.MustCall(t, "ffi.Array", v, v)
	item := runtimetest.MustCall(t, "ffi.ArrayGetItem", array, 1)
	mapped := runtimetest.MustCall(t, "ffi.Map", "k", v)
	p := runtimetest.NewPoint(t, runtimetest.Point{Name: "p", Tag: v})
	v.Release()
	runtime.GC()
	tag := p.Value().Tag.(tvmffi.ObjectRef)
	for _, x := range []tvmffi.ObjectRef{item.Value().(tvmffi.ObjectRef), tag} {
		got, ok := tvmffi.OpaqueAs[map[string]int](x)
		if !ok || got["a"] != 1 {
			t.Errorf("OpaqueAs returned %v, %v, want the map", got, ok)
		}
		got["a"] = 1
		if _, ok := tvmffi.Cast[*tvmffi.Opaque](x); !ok {
			t.Error("not an Opaque")
		}
		if _, ok := tvmffi.OpaqueAs[int](x); ok {
			t.Error("Unwrap made an int of a map")
		}
	}
	if _, ok := tvmffi.OpaqueAs[any](p); ok {
		t.Error("a Point carries no Go value")
	}
	if _, ok := tvmffi.OpaqueAs[any](nil); ok {
		t.Error("None carries no Go value")
	}
	if n := objects.LiveCallbacks() - before; n != 1 {
		t.Error(n, "values")
	}
	tag.(interface{ Release() }).Release()
	for _, a := range []tvmffi.Any{array, item, mapped} {
		a.Release()
	}
	p.Release()
	if n := objects.LiveCallbacks() - before; n != 0 {
		t.Error(n, "values left")
	}
	null, err := tvmffi.NewOpaque(nil)
	if err != nil {
		t.Fatal(err)
	}
	if x, ok := tvmffi.OpaqueAs[any](null); ok || x != nil {
		t.Errorf("OpaqueAs of nil returned %v, %v, want nil, false: a nil interface has no type", x, ok)
	}
	null.Release()
}

func TestWrapThreads(t *testing.T) {
	runtimetest.Load(t)
	before := runtimetest.SettledGoValues()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 2000 {
				v, err := tvmffi.NewOpaque([2]int{g, i})
				if err != nil {
					t.Error(err)
					return
				}
				second := tvmffi.Retain(v)
				v.Release()
				if x, ok := tvmffi.OpaqueAs[[2]int](second); !ok || x != [2]int{g, i} {
					t.Errorf("OpaqueAs returned %v, %v, want %v", x, ok, [2]int{g, i})
				}
				second.Release()
				if i%500 == 0 {
					runtime.GC()
				}
			}
		})
	}
	wg.Wait()
	if n := objects.LiveCallbacks() - before; n != 0 {
		t.Error(n, "values left")
	}
}

func BenchmarkWrap(b *testing.B) {
	runtimetest.Load(b)
	x := new(int)
	for b.Loop() {
		v, err := tvmffi.NewOpaque(x)
		if err != nil {
			b.Fatal(err)
		}
		v.Release()
	}
}
