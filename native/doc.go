// Package native compiles C++ and CUDA with the compilers of this machine and loads
// the result as a TVM-FFI module:
//
//	module, err := native.Load(ctx, native.Code{
//		Name:    "sums",
//		CPP:     []string{`int64_t add_one(int64_t x) { return x + 1; }`},
//		Exports: map[string]string{"add_one": "Adds one to x."},
//	})
//	add, err := module.Function("add_one")
//	four, err := add.Call(3)
//
// # Start here
//
// [Load] compiles a [Code] and loads it. [Build] only compiles it, into the cache, and [BuildTo]
// into a file that the program names. [BuildObjects] leaves out the linker. [FlagsFor] gives the flags for a build system of your
// own.
//
// # The cache
//
// The same code is compiled once: the library lies in the cache of this module
// (TVMFFI_CACHE, or tvmffi in the user's cache folder), under a hash of the sources,
// the flags, the compilers and the headers of TVM-FFI, and is compiled again when a
// header that it includes changes. Several processes may ask for it at once.
//
// # Compilers
//
// C++ needs g++ or clang++, CUDA needs nvcc; a [*CompileError] holds what the
// compiler printed. The headers are those next to the libtvm_ffi that the process uses,
// so that both have the same version.
//
// # Types
//
// For types that are checked at compile time, let the tool build and bind instead:
//
//	//go:generate go tool tvmffi-bind build -o libsums.so native/sums.cc
//	//go:generate go tool tvmffi-bind gen --lib libsums.so --package sums --out sums
//
// (The go command refuses C++ files in the folder of a Go package without cgo.)
//
// # Environment
//
// These environment variables are read: CXX, CUDA_HOME and CUDA_PATH name the
// compilers, TVM_FFI_CUDA_ARCH_LIST the architectures, such as "9.0 10.0a", and
// MAX_JOBS how many compilers run at a time. Windows is not supported: the headers
// of TVM-FFI want the compiler of Microsoft there.
package native
