package define_test

import (
	"testing"

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
