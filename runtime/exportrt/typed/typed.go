// Package typed makes the objects that hold a value of any type and the name of its type, for packages of other
// languages that ask for them.
//
// The main package of a library imports it if one of its functions takes or returns a value of any type.
package typed

import (
	"runtime"
	"sync"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/define"
	"github.com/tvmffi-go/tvmffi/runtime/structural"
)

// value holds a value of Go as it crosses elsewhere. Type is time, duration, complex, set, or the name of an enum.
type value struct {
	Type  string     `ffi:"type"`
	Value tvmffi.Any `ffi:"value"`
}

var (
	once   sync.Once
	failed error
)

// Objects registers the type of the objects under that key, and makes values of any type such objects where exportrt
// says. Only the first call does something.
func Objects(key string) error {
	once.Do(func() { failed = register(key) })
	return failed
}

func register(key string) error {
	t := define.Object[value](key, define.Structural(structural.Tree), define.Doc("A value of any type, and the name of its type in Go."))
	first, err := t.New(value{})
	if err != nil {
		return err
	}
	index := codec.Ref(first).TypeIndex()
	first.Release()
	codec.SetTypedObjects(index, func(name string, x values.AnyView) (values.AnyView, error) {
		made, err := t.New(value{name, codec.ShowAny[tvmffi.Any](x.Value, objects.ReadOwned())})
		codec.ReleaseTemp(x)
		runtime.KeepAlive(x.Keep)
		if err != nil {
			return values.AnyView{}, err
		}
		handle := codec.Ref(made).Handle()
		objects.IncRef(handle)
		made.Release()
		return values.AnyView{Value: abi.Any{TypeIndex: index, Bits: uint64(handle)}, Owned: true}, nil
	})
	return nil
}
