// Package cuda is the CUDA driver API for Go: devices, memory, streams, events,
// modules, kernels and graphs. It needs the NVIDIA driver and nothing else: no
// cgo, no toolkit, no header.
//
// # Start here
//
// [Available] says whether a GPU can be used. A [Device] is a number, and its methods make
// what lives on it: [Device.LoadModule] loads PTX or a cubin, [Device.NewStream] makes a
// [Stream]. [AllocOf] copies a Go slice into new [Memory], and [CopyOut] copies it back.
// [Module.Kernel] finds a [Kernel], and [Kernel.Launch] runs it. The package example does all
// of that.
//
// # The driver
//
// Nothing happens at import. The first use of anything loads libcuda.so.1
// (nvcuda.dll on Windows), or the file that the environment variable
// TVMFFI_CUDA_LIBRARY names, and initialises it, once, from any goroutine. Where
// that fails, every function returns the same error, for which
// errors.Is(err, [ErrUnavailable]) holds; it names the missing item. A function
// that an older driver lacks is an error of its call only.
//
// # Devices and threads
//
// Everything may be used from any goroutine. CUDA keeps the current device per OS
// thread. Each call of this package stays on one thread, makes the primary
// context of its device current only if another one is, and restores the
// former one before it returns. [WithDevice] does that once for many calls. The
// primary context is the one that the CUDA runtime and other libraries of the
// process use too; this package retains it on first use, and [Device.Release]
// gives it back.
//
// # Streams
//
// A nil [*Stream] is the environment stream of the device: the stream that
// libtvm_ffi holds for the calling thread, which [WithStream] sets, and the
// default stream of CUDA where there is none.
//
// # Ownership
//
// Memory, pools, streams, events, modules and graphs belong to the caller, who frees
// them; twice is harmless, and use after that is an error. The collector frees
// none of them: it cannot see the work on the device that still uses them.
// [Device.Live] counts the things that are left.
//
// # Units
//
// Sizes and offsets of memory are bytes, those of Go slices are elements. Shared
// memory is in bytes per block. Times are time.Duration.
//
// # Errors
//
// An error of the driver is an *[Error], whose kind for TVM-FFI is RuntimeError:
// errors.Is(err, tvmffi.ErrRuntime), and errors.Is(err, cuda.ErrOutOfMemory) for
// the single code. Arguments that are refused before the driver sees them are
// *tvmffi.Error of kind ValueError or TypeError. After a sticky error
// ([Error.Sticky]) no call on that device succeeds for the rest of the process.
//
// # Files
//
//	devices and contexts           device.go, context.go
//	memory                         memory.go, pool.go, copy.go
//	streams and what runs on them  stream.go, hostfunc.go, graph.go
//	kernels                        image.go, module.go, kernel.go, launch.go, args.go
//	kernels for other languages    packed.go
//	errors                         error.go
package cuda
