// Package tvmffi is the runtime of TVM-FFI for Go: values, objects, functions,
// containers, tensors and errors, without cgo and without Python.
//
// # Loading
//
// Nothing happens at import. [Load], or the first use of anything that needs it,
// finds libtvm_ffi: the file that [WithLibrary] or TVMFFI_LIBRARY names, a copy
// that the process has already loaded, the folder of the executable and its lib
// folder, the cache that the command "tvmffi-bind setup" fills, an installed
// Python package. An error lists every path that was tried. The library is never
// unloaded.
//
// A generated package has a Load for its library. Where the library has several
// packages, what one Load was told holds for all that are used after it.
//
// A library that is being loaded may call Go. That code may use what is registered so
// far, of the same library too; the rest is an error that says that it is being loaded.
// It must not wait for other goroutines or threads that use the registry.
//
// # Ownership
//
// A pointer to an object type, such as *[Function] or a generated *Rose, owns one
// reference to a native object. Release ends it, as Close ends a file: after all
// uses, and a second call does nothing. What nobody released, the collector
// releases later. A [Scope] releases many at once. Objects that a callback
// receives are borrowed: they end when the callback returns, and [Retain] keeps
// one. Using a wrapper that has ended is an error that says so.
//
// A nil pointer to an object type is None where it is passed. A method or field that
// the type itself has names itself and says that the receiver is nil. What is promoted
// from an embedded parent, Release and String among it, cannot: Go finds the nil
// before code of the parent runs, and panics with its own "invalid memory address or
// nil pointer dereference". So release after the error was checked, or through a
// [Scope], whose Add passes over nil.
//
// # Threads
//
// Everything may be used from any goroutine. Releasing a wrapper while another
// goroutine uses it is a data race. The error of a call is fetched on the thread
// of the call. A call blocks only its goroutine, as a system call does.
//
// Native code cannot be cancelled, so calls take no context.Context. To give up
// waiting, make the call on a goroutine of its own, which goes on until the callee
// returns. A callback ends the call around it by returning an error, such as
// ctx.Err(), and errors.Is finds that error outside.
//
// # Errors
//
// Errors of the library are *[Error] with the kind, message and backtrace that
// the library gave; errors.Is finds the kind: errors.Is(err, tvmffi.ErrValue).
// An error that a Go callback returns comes out of the outer call with the Go
// error inside, so that errors.Is and errors.As find it. A panic in a callback
// becomes an error with the Go stack in its backtrace. A callback must not end by
// runtime.Goexit (as testing.T.FailNow does): that stops the program, because the
// C++ frames in between cannot be unwound.
//
// # Values as a whole
//
// Some things can be done in two ways, by what they are for:
//
//	structural.Clone, structural.DeepCopy    a copy of one object, or of all that it refers to
//	Equal, structural.Equal                  by contents, or as a compiler compares programs
//	structural.Walk, reflection.Walk         the library's, by rules and by the fields of
//	                                         structural comparison; or a Go loop over all
//	                                         fields, with paths
//	structural.Walk, structural.Visit        the library goes on by itself, or the rule decides
//	structural.Rewrite, structural.Mutate    the same for replacing
//	MarshalMap, UnmarshalMap                 a Go struct to a Map and back: values, no text
//	jsongraph.Marshal, jsongraph.Graph       JSON text that keeps types and sharing; every
//	                                         language of TVM-FFI reads it back
//	json.Marshal                             JSON text as Go programs expect it, without types
//	StringifyJSON, ParseJSON                 JSON text by the library, for Arrays and Maps alone
//
// # What is not checked
//
// A packed function has no signature: what it is called with goes to C++ as it is.
//
// C++ has one stack, of some megabytes, which no error can save: it ends the program
// when Go and C++ call each other without end, and when an object is freed that alone
// keeps a chain of some hundred thousand others, each inside of the next. Memory that
// the system does not have is an error for a tensor of a gigabyte or more, and ends the
// program else, as in all of Go.
//
// The functions of the registry whose names begin with "ffi." are those that this
// package calls. One that is registered in their place must do what they do.
package tvmffi
