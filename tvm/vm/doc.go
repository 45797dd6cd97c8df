// Package vm runs models exported by TVM's Relax compiler, on its virtual machine. It needs
// libtvm_runtime, and neither the compiler nor Python.
//
//	exe, err := vm.Load("mlp.so")
//	if err != nil { ... }
//	defer exe.Release()
//	m, err := exe.NewMachine(vm.Pooled, tvmffi.CPU)
//	if err != nil { ... }
//	defer m.Close()
//	main, err := m.Function("main")
//	if err != nil { ... }
//	y, err := main.Call(x, weight, bias) // *tvmffi.Tensor as arguments; y is a tvmffi.Any
//
// # Functions
//
// [Executable.Signatures] returns the parameter names of an executable's functions.
// [Function.Call] passes its arguments to one call, and [Function.Args] gives them by name. [Function.SetInput], [Function.Invoke] and
// [Function.Output] keep arguments and results in the machine, which copies the arguments to its
// first device.
//
// # Ownership
//
// The program owns all results of this package: an [Executable] until Release, a [Machine] until
// Close, and the result of a call until [tvmffi.Any.Release], or the collector, ends it. A
// machine keeps its executable. A call borrows its arguments. SetInput keeps tensors that are
// already on the device, without a copy, until the next SetInput of the function or until Close:
// the program must not change them before Invoke has returned.
//
// # Goroutines
//
// Any goroutine may use this package. A machine runs one call at a time, and others wait. For
// several at once, make several machines of one executable. A hook of [Machine.SetInstrument]
// runs inside the call, so it must not use its machine.
//
// # Errors
//
// All errors are an [*Error], which names the operation; errors.As finds the machine's
// [*tvmffi.Error] inside. A call whose types, shapes or devices do not fit the signature fails,
// and the machine stays usable. A file must come from a trusted source, because it contains code.
//
// # Files
//
//	executable.go  Executable, its texts
//	signature.go   what an executable says about its functions
//	machine.go     Machine
//	function.go    Function: calls with and without state
//	instrument.go  hooks
//	error.go       Error
package vm
