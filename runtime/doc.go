// Package tvmffi is the runtime of TVM-FFI for Go. It gives Go programs the values,
// objects, functions, containers, tensors and errors of TVM-FFI, the C ABI that libraries
// such as XGrammar, FlashInfer and TVM share. It needs neither cgo nor Python.
//
// # Start here
//
// Most programs call a library through bindings that the command tvmffi-bind generates.
// Generated functions take and return the types of this package:
//
//	rose, err := garden.NewRose("red") // a generated constructor
//	if err != nil {
//		return err // a *tvmffi.Error
//	}
//	defer rose.Release()
//
// Such a program needs little of this package. Read the sections Ownership and Errors below,
// then [Of] and [MapOf], which pass Go values as containers, [Array] and [Map], which calls
// return, and [FromSlice] and [Slice] for tensors.
//
// Without bindings, a program calls a function by its name:
//
//	water, err := tvmffi.Lookup("garden.water")
//	if err != nil {
//		return err
//	}
//	result, err := water.Call(rose, 2.5) // a tvmffi.Any
//
// Then these are the names to know, each with an example:
//
//   - [Load] loads libtvm_ffi, [LoadLibrary] another library, [LoadModule] a module.
//   - [Lookup] finds a function, [Function.Call] calls it, and [As] reads the result.
//   - [Register] gives a Go func a name for every language. [FuncOf] makes a [Function] of a
//     func; a func argument becomes one automatically.
//   - [Error] is what a library raises. [ErrValue], [ErrType] and the others name its kinds.
//   - [NewArray], [NewMap], [NewList] and [NewDict] make containers.
//   - [FromSlice] makes a [Tensor] over a Go slice, and [Slice] gives the memory of one.
//   - [Object.Release] ends an object, [Scope] ends many, and [Retain] keeps one.
//   - [Cast] goes from a general type to the type of an object.
//
// The other names are for special needs: exchanging tensors by DLPack, narrow floats, nested
// modules, C functions, Go values inside native objects.
//
// # Packages
//
// This package makes, reads, converts, passes and releases single values. Other packages have
// the rest:
//
//	runtime/define      object types that are written in Go
//	runtime/structural  structural equality and hashes; walking, rewriting and copying of objects
//	runtime/jsongraph   the JSON graph format, which keeps types and sharing
//	runtime/env         what native code asks for: allocator, current stream, signals; its output
//	runtime/memstat     reference counts, leaked handles, memory behind tensors
//	runtime/leaktest    a check that fails a test that leaks handles
//	reflection          types, fields and functions by name, without generated code
//
// Packages runtime/bindrt and runtime/exportrt serve generated code only.
//
// # Values
//
// A Go value becomes a TVM-FFI value when it is passed, and the reverse when it is returned:
//
//	nil, a nil pointer                 None
//	integers, floats, bool             int, float, bool
//	*big.Int, and uint64 beyond int64  int, or ffi.BigInt for an int beyond int64
//	string, []byte                     ffi.String, ffi.Bytes
//	slices and arrays, *Array, Of      ffi.Array, also of a type made of byte
//	Go maps, *Map, MapOf, PairsOf      ffi.Map
//	structs with ffi tags              ffi.Map, see MarshalMap
//	*List, *Dict, *Shape, *Tensor      ffi.List, ffi.Dict, ffi.Shape, ffi.Tensor
//	funcs, *Function, *Module          ffi.Function, ffi.Module
//	error, *Error                      ffi.Error
//	DataType, Device, Pointer          DataType, Device, void*
//	Tuple1 to Tuple8                   ffi.Array of that length
//	*T                                 Optional: nil is None, and so is a pointer to a nil
//	Valuer                             what its method FFIValue returns
//
// [Any] holds a value of any of these types; [As] and [Convert] read it.
//
// # Loading
//
// Importing this package loads nothing. [Load] finds and loads libtvm_ffi, and so does the
// first use of anything that needs it. Load uses a copy that the process has already loaded,
// or the file that [WithLibrary] or TVMFFI_LIBRARY names, or searches in the order of
// docs/SHIPPING.md. Its error lists every path that was tried. The library is never unloaded.
//
// A generated package has a Load for its library. If the process has already loaded a library
// of that name, however it was loaded ([LoadLibrary], another generated package, another
// library that needs it, or the program around a Go library), the package uses that one. If it
// is another version, each function and type is still compared when it is first used. A
// generated package's LoadChecked compares all of them at once, so a server with the wrong
// version fails when it starts.
//
// A library need not be built for the loaded version of libtvm_ffi. But apache-tvm-ffi 0.1.15
// changed how native hooks for map keys are called. If a library has such hooks and was built
// on the other side of that change, loading it is an error that names the version to use.
// TVMFFI_ALLOW_MIXED=1 in the environment loads it anyway; its maps may then lose entries or
// crash the process. A value that is not a bool is an error.
//
// A library may call Go while it is being loaded. That code may use everything that is
// registered so far, including the library's own items. Using an item that is not registered
// yet returns an error, which says that the library is being loaded. That code must not wait
// for other goroutines or threads that use the registry.
//
// # Ownership
//
// A pointer to an object type, such as *[Function] or a generated *Rose, owns one reference to
// a native object. Release drops the reference, as Close closes a file: call it after all
// uses. A second Release does nothing. The garbage collector later releases every reference
// that the program did not release. A [Scope] releases many references at once. Using a
// released object is an error.
//
// The objects that a callback receives are borrowed: they end when the callback returns, and
// [Retain] keeps one ([RetainFunc] a func). A callback returns a new object as [Move](x),
// which gives its reference away.
//
// A nil pointer to an object type is passed as None. A method or field of the type itself
// reports its nil receiver by name. Methods promoted from an embedded parent, such as Release
// and String, cannot: Go panics before they run, with "invalid memory address or nil pointer
// dereference". So check the error before Release, or use a [Scope], whose Add ignores nil.
//
// # Threads
//
// Everything may be used from any goroutine. Releasing an object while another goroutine uses
// the same pointer is a data race. A call uses its arguments until it returns, also while a
// callback waits for another goroutine. The func inside an iter.Pull is another goroutine too.
// A callback must not call the yield of an iter.Pull: the Go runtime stops the program,
// because the C++ frames belong to one thread. The same happens if native code that Go has
// called switches to another stack, such as that of a coroutine, and calls Go there. A call
// blocks only its goroutine, like a system call.
//
// Native code cannot be cancelled, so calls take no context.Context. To give up waiting, make
// the call on another goroutine, which runs until the callee returns. A callback ends the
// enclosing call by returning an error, such as ctx.Err(), and errors.Is finds that error in
// the error of the call.
//
// # Errors
//
// An error of the library is an *[Error] with the library's kind, message and backtrace.
// errors.Is compares the kind: errors.Is(err, tvmffi.ErrValue). If a Go callback returns an
// error, the error of the outer call wraps it, so errors.Is and errors.As find it. A panic in
// a callback becomes an error whose backtrace has the Go stack. A callback must not call
// runtime.Goexit, as testing.T.FailNow does: that stops the program with a text that names the
// func, because the C++ frames in between cannot be unwound. In a library for other languages it
// is an error; see docs/EXPORT.md.
//
// A fault in native code, such as SIGSEGV or abort, ends the program. On linux/amd64 and
// linux/arm64 a line before Go's report names the library, the place in it, and the function
// that was called; docs/SHIPPING.md explains it.
//
// # Operations on whole values
//
// Some operations exist in several forms:
//
//	structural.Clone       a copy of one object
//	structural.DeepCopy    a copy of an object and of everything that it refers to
//	Equal                  compares contents
//	structural.Equal       compares as a compiler compares programs
//	structural.Walk        the library visits the fields of structural comparison, by rules
//	structural.Visit       the same, but a rule decides what is visited inside its value
//	reflection.Walk        a Go loop over all fields, with their paths
//	structural.Rewrite     the library replaces values, by rules
//	structural.Mutate      the same, but a rule decides what is replaced inside its value
//	MarshalMap             a Go struct to a Map; UnmarshalMap is the reverse
//	jsongraph.Marshal      JSON text that keeps types and sharing; every language reads it
//	json.Marshal           JSON text as Go programs expect it, without types
//	StringifyJSON          JSON text by the library, for Arrays and Maps; ParseJSON reads it
//
// # What is not checked
//
// The C library holds what native code prints if standard output is a file or a pipe, and a Go
// program ends without the C library: env.FlushOutput writes it.
//
// A packed function has no signature, so its arguments reach C++ unchecked.
//
// The C++ stack has a fixed size of some megabytes, and the program ends when it overflows. A
// callback that would leave less than an eighth of the stack, or less than 256 kB, is an error
// of kind ErrRuntime. So endless recursion between Go and C++ gets that error, unless C++
// alone needs the rest of the stack. The stack still overflows when C++ frees a chain of some
// hundred thousand of its own objects, such as an Array in an Array and so on. If an object of
// a type made in Go lies between them, as in a list or a tree of these, the length does not
// matter.
//
// If there is no memory for a tensor of a gigabyte or more, the result is an error. Otherwise
// a lack of memory ends the program, as in every Go program.
//
// This package calls functions of the registry whose names begin with "ffi.". A replacement
// for one of them must behave like the original.
//
// # Files
//
// The files of this package, by task:
//
//	load.go            finds and loads libtvm_ffi and other libraries
//	any.go             Any, As and Convert
//	tuple.go           Tuple1 to Tuple8
//	variant.go         what the generated Variant types embed
//	valuer.go          Go types that stand for a value
//	opaque.go          Go values that travel through native code
//	move.go            arguments that give their reference away (RValueRef)
//	object.go          Object, Cast, Retain
//	scope.go           releases many objects at once
//	array.go, list.go  sequences
//	map.go, dict.go    maps
//	shape.go           ffi.Shape
//	containers.go      the element types of the containers
//	compare.go         Equal, Compare, Hash, Repr
//	marshal.go         Go structs to Maps and back
//	json.go            JSON text of containers and objects
//	function.go        Function, Lookup, Register, FuncOf
//	function_call.go   Function.Call
//	pointer.go         Functions made of C functions
//	module.go          Module, LoadModule
//	error.go           Error and its kinds
//	backtrace.go       how an Error is printed and logged
//	dtype.go, half.go  DataType; 16-bit and narrower floats
//	device.go          Device, Pointer
//	tensor.go          what describes a tensor
//	tensor_new.go      makes tensors
//	tensor_access.go   reads and writes elements
//	tensor_device.go   copies from and to devices by the device API of TVM
//	tensor_view.go     views of a tensor: Slice, Reshape, Transpose
//	tensor_values.go   converts elements to float32; prints them
//	dlpack.go          exchange of tensors with other frameworks
//	codec_public.go    converts the types of this package; package internal/codec converts the rest
package tvmffi
