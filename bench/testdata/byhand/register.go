//go:build !cgo

package main

import "github.com/ebitengine/purego"

// registered measures typed funcs that purego's RegisterLibFunc makes of C functions, as its
// documentation recommends.
func registered(lib uintptr) {
	var call func(f uintptr, args *value, n int32, result *value) int32
	var drop func(object uintptr) int32
	purego.RegisterLibFunc(&call, lib, "TVMFFIFunctionCall")
	purego.RegisterLibFunc(&drop, lib, "TVMFFIObjectDecRef")
	args, result := new([3]value), new(value)
	apply := func(f uintptr, n int32) {
		if *result = (value{}); call(f, &args[0], n, result) != 0 {
			panic(raised())
		}
	}
	add, newLeaf, nop := global("perf.add_one"), global("perf.make_leaf"), global("perf.nop3_objects")
	item("int.register", func(n int) {
		for i := range n {
			args[0] = integer(int64(i))
			apply(add, 1)
			intSink += int64(result.V)
		}
	})
	item("create.register", func(n int) {
		for i := range n {
			args[0] = integer(int64(i))
			apply(newLeaf, 1)
			drop(uintptr(result.V))
		}
	})
	args[0] = integer(1)
	apply(newLeaf, 1)
	leaf := *result
	item("objects3.register", func(n int) {
		for range n {
			*args = [3]value{leaf, leaf, leaf}
			apply(nop, 3)
		}
	})
}
