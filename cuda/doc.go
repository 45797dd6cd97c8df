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
// that an older driver lacks is an error of its call only. For tests without a GPU
// there is a driver that runs on the host: docs/KERNELS.md says how to build it.
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
// # Order
//
// Work on one stream runs in the order in which it was queued. Work on two streams runs in
// any order, unless one waits for an [Event] of the other ([Stream.Wait]), the program waits
// between them, or one of them is the default stream: it and the streams of [Blocking] wait for
// each other, also those that other libraries make by cudaStreamCreate.
//
// [CopyIn], [CopyOut] and [AllocOf] wait: their copies are complete for every stream when they
// return. Their docs name the work that they come after. Functions that take a stream queue work
// and return at once, except [CopyInAt] and [CopyOutAt], which wait for the stream.
//
// Everything that queued work uses must live until the work is done: [Stream.Keep] keeps tensors
// and other values of Go alive that long. [Memory.Free], Free of [Host], and Close of [Module] wait
// for the work of their device; the program waits for work of other devices that uses them.
// [Memory.FreeAsync] frees in the order of a stream. Close of streams, events and graphs does not
// wait: the driver keeps those until their work is done.
//
// # Captures
//
// Inside [Stream.Capture], calls that wait, allocate or free return a ValueError before the driver
// sees them, so the capture goes on. Other goroutines may use the device meanwhile. Their calls
// that wait for the device, such as Free, wait for the end of the capture. The default stream, and
// so [CopyIn] and [CopyOut], cannot be used while a stream of [Blocking] is captured. A capture
// stays on one device. This package does not know captures that other libraries began. There the
// driver refuses such a call, and the error is one of [ErrCaptureUnsupported] to
// [ErrCaptureWrongThread]. The comment of type gate in gate.go says which locks are held when.
//
// # Several devices
//
// Memory of one device is refused by launches on another one until
// [Device.EnablePeerAccess] allows it, or for memory of pools [Pool.AllowAccess]. The kernels
// of generated code accept tensors of such a device, too. Free waits for the device of the
// memory: work of a peer that uses it must be done before. [Copy] needs no access.
//
// # Ownership
//
// The program owns everything that it makes, and frees or closes it: memory of all kinds ([Memory],
// [Host]), [Pool], [Stream], [Event], [Module], [Image] and [Graph]. A second Free or Close does
// nothing, and use after that is an error. The collector frees none of them: it cannot see the work on the
// device that still uses them. [Device.Live] counts the things that are left.
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
// # Memory of the host
//
// Asynchronous copies take pinned memory ([Host]), because the driver may use it after the
// call. A slice of Go is not pinned: the calls that take one ([CopyInAt], [CopyOutAt]) wait
// for the stream before they return.
// [RegisterHost] pins memory of C, and [PinHost] a slice of Go until Free.
//
// # Files
//
// Package internal/driver declares the functions, numbers and structs of the driver. The
// files here stand on it in the order of this table: words, an operation on a device, what must
// stay alive until which work is done, and then what a program holds. A file names only what a
// file before it declares, which a test checks.
//
//	words                  device.go, error.go, dim.go, imagekind.go, tensor.go
//	one operation          context.go, env.go
//	what waits for what    gate.go, keeper.go, copier.go
//	the state of a device  access.go, limits.go, state.go
//	devices                peer.go, properties.go, current.go
//	streams                resource.go, stream.go, event.go, hostfunc.go
//	memory                 memory.go, pool.go, hostmemory.go, copy.go, keep.go
//	kernels                module.go, kernel.go, args.go, launch.go, occupancy.go, image.go
//	recorded work          graph.go
//	generated code         packed.go
package cuda
