package define_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/define"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
)

type chained struct {
	Next any `ffi:"next"`
}

var chain = define.Object[chained]("gotest.Chained")

// TestRelease_longChain releases chains that a recursion would not end: of objects of Go alone,
// and with Lists of C++ between them.
func TestRelease_longChain(t *testing.T) {
	runtimetest.LoadDefine(t)
	if err := chain.Register(); err != nil {
		t.Fatal(err)
	}
	runtimetest.Balanced(t)
	const levels = 200_000
	object := func(next any) (tvmffi.ObjectRef, error) { return chain.New(chained{next}) }
	list := func(next any) (tvmffi.ObjectRef, error) { return tvmffi.NewList(tvmffi.Of(next)) }
	for name, kinds := range map[string][]func(next any) (tvmffi.ObjectRef, error){
		"objects": {object}, "objects and Lists": {object, list},
	} {
		if !runtimetest.Assembly && name != "objects" {
			continue // the portable path does not see what C++ deletes
		}
		var head any
		for i := range levels {
			next, err := kinds[i%len(kinds)](head)
			if err != nil {
				t.Fatal(name, err)
			}
			if i > 0 {
				head.(interface{ Release() }).Release()
			}
			head = next
		}
		head.(interface{ Release() }).Release()
	}
	runtimetest.DropGarbage(t)
}

type (
	linked struct {
		Next any `ffi:"next"`
	}
	linkedState struct{ number int }
)

// TestRelease_longChainOfHeirs does the same with objects of a type that another language has
// derived from one with state. Their deleter enters Go.
func TestRelease_longChainOfHeirs(t *testing.T) {
	runtimetest.LoadDefine(t)
	if _, err := tvmffi.Lookup("ffi._PyClassRegisterTypeAttrColumns"); err != nil {
		t.Log("this libtvm_ffi has no classes of Python: ", err)
		return
	}
	if err := define.Object[linked]("gotest.Linked", define.State[linkedState]()).Register(); err != nil {
		t.Fatal(err)
	}
	runtimetest.MustCall(t, "define.derive", "gotest.DerivedLinked", "gotest.Linked")
	before := runtimetest.SettledGoValues()
	var head tvmffi.Any
	for i := range 50_000 {
		next := runtimetest.MustCall(t, "define.new", "gotest.DerivedLinked")
		state, err := define.StateOf[linkedState](next.Value().(tvmffi.ObjectRef))
		if err != nil {
			t.Fatal(err)
		}
		state.number = i
		if i > 0 {
			runtimetest.MustCall(t, "define.set", next, "next", head)
			head.Release()
		}
		head = next
	}
	head.Release()
	if n := objects.LiveCallbacks() - before; n != 0 {
		t.Errorf("%d states are left", n)
	}
}

type (
	firstMade struct {
		N int64 `ffi:"n"`
	}
	secondMade struct {
		N int64 `ffi:"n"`
	}
)

// TestRegister_releases: what registering a type takes, it gives back, and does not wait
// for the collector.
func TestRegister_releases(t *testing.T) {
	runtimetest.LoadDefine(t)
	if err := define.Object[firstMade]("gotest.FirstMade").Register(); err != nil { // with what is looked up once
		t.Fatal(err)
	}
	leaktest.Check(t)
	if err := define.Object[secondMade]("gotest.SecondMade").Register(); err != nil {
		t.Fatal(err)
	}
}
