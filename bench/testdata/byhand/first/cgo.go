package main

/*
#cgo LDFLAGS: -ltvm_ffi -ldl
#include <dlfcn.h>
#include <tvm/ffi/c_api.h>
*/
import "C"

import (
	"runtime"
	"unsafe"
)

func check(ok bool) {
	if !ok {
		panic("the library refuses")
	}
}

func load(_, library string) { check(C.dlopen(C.CString(library), C.RTLD_NOW|C.RTLD_GLOBAL) != nil) }

// in is s in the memory of C.
func in(s string) C.TVMFFIByteArray { return C.TVMFFIByteArray{C.CString(s), C.size_t(len(s))} }

func global(name string) uint64 {
	b := in(name)
	var f C.TVMFFIObjectHandle
	check(C.TVMFFIFunctionGetGlobal(&b, &f) == 0 && f != nil)
	return uint64(uintptr(f))
}

func newString(s string) (v value) {
	b := in(s)
	check(C.TVMFFIStringFromByteArray(&b, (*C.TVMFFIAny)(unsafe.Pointer(&v))) == 0)
	return v
}

func call(f uint64, args ...value) (result value) {
	check(C.TVMFFIFunctionCall(C.TVMFFIObjectHandle(unsafe.Pointer(at[byte](f, 0))), (*C.TVMFFIAny)(unsafe.Pointer(unsafe.SliceData(args))), C.int32_t(len(args)), (*C.TVMFFIAny)(unsafe.Pointer(&result))) == 0)
	runtime.KeepAlive(args)
	return result
}

func typeInfo(key string) uint64 {
	b := in(key)
	var index C.int32_t
	check(C.TVMFFITypeKeyToIndex(&b, &index) == 0)
	return uint64(uintptr(unsafe.Pointer(C.TVMFFIGetTypeInfo(index))))
}
