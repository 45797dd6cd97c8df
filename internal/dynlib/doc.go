// Package dynlib loads shared libraries and finds their symbols. Each operation
// stays on one OS thread, because the loader keeps its error text per thread.
//
// Libraries are never unloaded: objects, functions and deleters may outlive any
// handle that Go knows of.
//
// # What belongs here
//
// The services of the platform's dynamic loader and threads belong here. The package knows
// nothing of TVM-FFI, except that libtvm_ffi replaces the SIGSEGV action. Packages above decide
// where to look for a library.
//
// # Files
//
//	the API                       dynlib.go
//	one file for each platform    dynlib_unix.go, dynlib_windows.go, dynlib_other.go
//	the supported platforms       platform.go
//	RTLD_NOLOAD                   noload_*.go
//	what the process has loaded   images_*.go
//	its memory, without faults    memory_*.go, slots_*.go
//	the SIGSEGV action            signal_*.go
//	the identity of a thread      thread_*.go
//	pointers to C memory          pointer_windows.go
package dynlib
