//go:build !cgo

package main

import (
	"runtime"

	"github.com/ebitengine/purego"
)

var (
	fnCall     func(f uint64, args *value, n int32, result *value) int32
	fnGlobal   func(name *text, f *uint64) int32
	fnString   func(s *text, v *value) int32
	fnIndex    func(key *text, index *int32) int32
	fnTypeInfo func(index int32) uint64
)

func check(ok bool) {
	if !ok {
		panic("the library refuses")
	}
}

func load(core, library string) {
	lib, err := purego.Dlopen(core, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	check(err == nil)
	_, err = purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	check(err == nil)
	purego.RegisterLibFunc(&fnCall, lib, "TVMFFIFunctionCall")
	purego.RegisterLibFunc(&fnGlobal, lib, "TVMFFIFunctionGetGlobal")
	purego.RegisterLibFunc(&fnString, lib, "TVMFFIStringFromByteArray")
	purego.RegisterLibFunc(&fnIndex, lib, "TVMFFITypeKeyToIndex")
	purego.RegisterLibFunc(&fnTypeInfo, lib, "TVMFFIGetTypeInfo")
}

func global(name string) (f uint64) {
	b := newText(name)
	check(fnGlobal(&b, &f) == 0 && f != 0)
	return f
}

func newString(s string) (v value) {
	b := newText(s)
	check(fnString(&b, &v) == 0)
	return v
}

func call(f uint64, args ...value) (result value) {
	args = append(args, value{}) // so that there is a first one
	check(fnCall(f, &args[0], int32(len(args)-1), &result) == 0)
	runtime.KeepAlive(args)
	return result
}

func typeInfo(key string) uint64 {
	var index int32
	b := newText(key)
	check(fnIndex(&b, &index) == 0)
	return fnTypeInfo(index)
}
