// Package capi holds what lies under every object: the addresses of the C functions of
// libtvm_ffi, the memory of C, the lock around the registry, and the type table.
// No function here makes an error.
//
// # Files
//
//	C functions                api.go, malloc_*.go
//	C memory                   memory.go, address*.go
//	the registry and its lock  registry.go, thread_*.go, typeinfo.go
package capi
