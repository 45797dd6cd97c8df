//go:build bindings

package main

// failure is what must panics with.
type failure struct{ err error }

// Error returns the text of the error, for a panic outside describe.
func (f failure) Error() string { return f.err.Error() }

// must returns v. It ends the function around it that describe runs if err is not nil: a description
// of a kernel consists of many small calls, and each of them can fail.
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
