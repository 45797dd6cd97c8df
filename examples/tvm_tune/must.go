//go:build bindings

package main

// failure is what must panics with.
type failure struct{ err error }

// must returns v. It ends the function around it that describe runs if err is not nil: what is
// described consists of many small calls, and each of them can fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(failure{err})
	}
	return v
}

// describe returns what f returns, or the error with which must ended it.
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
