// Package ccall makes calls into C and takes calls from C without cgo.
//
// # Calls
//
// A call is described by a Head and the block of 16-byte units that follows it
// directly in memory. Call makes one crossing: on the system stack it copies the
// block, turns the words that Head.Mask names from offsets into addresses, calls
// the C function, and, when that fails, fetches the error of the same OS thread.
//
// C never sees an address in a goroutine stack, because a callback may grow and
// so move that stack while the C function runs. The results are written to the
// frame where it is after the call: the trampoline compares the top of the
// goroutine stack before and after, and shifts the address of the frame by the
// difference if the frame lay on that stack.
//
// Words of a block that hold addresses must point to C memory or to Go heap
// memory that the caller keeps alive until Call returns.
//
// # Entries of C into Go
//
// An entry looks whether the process is a fork, which has no threads of Go, and how much of
// the C stack is left, because Go may call C, which may enter again. In the assembly path these are all of them:
//
//	tvmffi_callback         Function objects and exported symbols; both checks
//	tvmffi_allocateTensor   the allocator of the environment: a call of tvmffi_callback
//	objects.deleteHeir      the deleter of types derived from those with state; it calls no user code, and is not nested
//	hostFunc of cuda        on a thread of the driver, where nothing is nested
//	holdThreads             on a thread that never returns to C
//
// Getters, setters, creators and deleters of types made in Go are assembly and never enter Go.
//
// # Paths
//
// On linux and darwin, amd64 and arm64, the trampolines are assembly. Elsewhere,
// and with the build tag tvmffi_portable, the same functions are written on the
// public API of purego.
//
// # What belongs here
//
// The code that crosses between Go and C, or runs in C without Go, belongs here: the trampolines,
// the C functions of object types made in Go, and the descriptions that both read. The package
// knows addresses and layouts of package abi. Libraries, type keys and Go errors are the
// business of internal/capi and the packages above it.
//
// # Files
//
// Each task has its descriptions in the first file, and its implementations after it:
// assembly (_asm.go, _amd64, _arm64), or purego (_portable.go).
//
//	one call, callbacks, releases   head.go; call_*, g_*
//	what calls may still use        moment.go; moment_*
//	light calls, on Linux           way.go; light.go, light_*
//	what a fault in C says          names.go, crash_*
//	many calls in one crossing      vector.go; vector_*
//	a call within a setting         within.go; within_*
//	object types made in Go         stub.go; stub_*, stubtable_*
//	C++ exceptions                  throw_linux*, throw_none.go
//	threads that C made             bind_*
//	a test of what is kept alive    liveness*.go
//	how full the C stack is         stack.go; stack_asm.go, stack_linux*, stack_darwin.go, stack_portable*,
//	                                stack_symbols.go
//	the end of a host               gate.go; gate_*
//	names for the assembly          layout_*
package ccall
