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
// # Arguments
//
// A parameter that is a tensor takes a [*tvmffi.Tensor] on the first device of the machine; a shape takes a
// [*tvmffi.Shape], and a number a number. A tuple takes a [*tvmffi.Array], such as an Array[*Tensor] or an
// Array[Any], or a slice. An Array is one argument, however many tensors it has, so weights belong in one that is
// made once; a slice becomes a new Array at each call. A result that is a tuple is an Array too, and [Tensors] takes
// it apart.
//
// # Weights
//
// [LoadWeights] reads the weights of a model, and [Weights.Tuple] makes the argument for a tuple of them:
//
//	w, err := vm.LoadWeights("weights") // a folder with a tensor cache of TVM, or with files of safetensors
//	params, err := m.Params()           // what the model says about itself, in its function _metadata
//	tuple, err := w.Tuple(params)       // fails if these are weights of another model
//	y, err := decode.CallTensor(token, tuple)
//
// [Weights.Verify] reads all files and compares them with the sums of a tensor cache.
//
// # Ownership
//
// The program owns all results of this package: an [Executable] until Release, a [Machine] until
// Close, or until the collector finds it, and the result of a call until [tvmffi.Any.Release], or the collector, ends it. A
// machine keeps its executable. A call borrows its arguments. SetInput keeps tensors that are
// already on the device, without a copy, until the next SetInput of the function or until Close:
// the program must not change them before Invoke has returned.
//
// # Threads
//
// Any goroutine may use this package. A machine runs one call at a time, and others wait. For
// several at once, make several machines of one executable.
//
// A machine has an OS thread of its own, and hands each call to it. TVM keeps a pool of workers for
// each OS thread that calls a kernel, so a machine has one pool, and its workers end with the machine.
// TVM_NUM_THREADS is the number of threads that a pool computes on, with that of the machine. TVM reads
// it when a machine calls its first parallel loop, so set it before the program starts. By default it
// is the number of cores, or half of it on x86. After a loop the workers spin, waiting for the next one, up
// to TVM_THREAD_POOL_SPIN_COUNT times; 0 lets them sleep at once. TVM binds each worker to a core, unless
// TVM_BIND_THREADS is 0. So machines that run at the same time compete for the same cores: set
// TVM_NUM_THREADS=1, or TVM_BIND_THREADS=0 and TVM_THREAD_POOL_SPIN_COUNT=0.
//
// The change of the thread takes about a microsecond between short calls that follow each other, as long as
// a core is free, and tens of microseconds otherwise. [Machine.Do] runs several calls for the price of one. What a library keeps for a thread has to be set inside Do, such as
// the stream of env.WithStream.
//
// A Go func that the model calls, or a hook of [Machine.SetInstrument], runs inside the call, on the
// thread of the machine. It may call the machine: that call runs at once. It must not wait for another
// goroutine that calls the machine, and a Go func that a parallel loop calls must not call the machine,
// because it runs on a worker.
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
//	thread.go      the OS thread of a machine
//	function.go    Function: calls with and without state
//	instrument.go  hooks
//	weights.go     Weights: tensors over the memory of files
//	params.go      the parameters that a model lists
//	tensorcache.go, safetensors.go   the two formats
//	mapping_unix.go, mapping_other.go   files in memory
//	error.go       Error
package vm
