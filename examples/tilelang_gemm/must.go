//go:build bindings

package main

import (
	"fmt"
	"runtime"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// failure is what must panics with.
type failure struct{ err error }

// must returns v. It ends the function around it that describe runs if err is not nil: a description
// of a kernel consists of many small calls, and each of them can fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(failure{err})
	}
	return v
}

// check is must for a call without a result.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// describe returns what f returns, or the error with which must or check ended it.
func describe[T any](f func() T) (result T, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.err
		default:
			panic(r)
		}
	}()
	return f(), nil
}

// as returns an object as a T, which it is.
func as[T tvmffi.ObjectType[T]](x tvmffi.ObjectRef) (T, error) {
	v, ok := tvmffi.Cast[T](x)
	if !ok {
		return v, fmt.Errorf("TileLang made a %s, want a %T", tvmffi.TypeKey(x), v)
	}
	return v, nil
}

// onThread is describe on one thread of the system. TVM keeps the builder and the target of each
// thread apart.
func onThread[T any](f func() T) (T, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return describe(f)
}
