// Command first calls a library as little as the programs of ../../consumer do, without bindings: first NAME LIBTVM_FFI
// LIBRARY. It is by cgo or by purego, as it is built. Errors of C end it without a reason.
package main

import (
	"fmt"
	"io"
	"os"
	"unsafe"
)

// value is a TVMFFIAny.
type value struct {
	Type int32
	Len  uint32
	V    uint64
}

// text is a TVMFFIByteArray.
type text struct {
	data unsafe.Pointer
	size uintptr
}

func newText(s string) text { return text{unsafe.Pointer(unsafe.StringData(s)), uintptr(len(s))} }

func at[T any](address uint64, offset uintptr) *T {
	return (*T)(unsafe.Add(*(*unsafe.Pointer)(unsafe.Pointer(&address)), offset))
}

func integer(n int64) value           { return value{Type: 1, V: uint64(n)} }
func boolean(n uint64) value          { return value{Type: 2, V: n} }
func array(v ...value) value          { return call(global("ffi.Array"), v...) }
func made(t string, v ...value) value { return call(method(t, "__ffi_init__"), v...) }

// method finds a method in the table of a type.
func method(key, name string) uint64 {
	info := typeInfo("xgrammar.tvm_ffi_binding." + key)
	for i := range uintptr(*at[int32](info, 44)) {
		m := at[struct {
			name, doc text
			flags     int64
			metadata  text
			method    value
		}](*at[uint64](info, 56), i*72)
		if unsafe.String((*byte)(m.name.data), m.name.size) == name {
			return m.method.V
		}
	}
	panic(name)
}

var (
	words uint32
	shape = [2]int64{1, 1}
	// row is the DLTensor of one word.
	row = struct {
		data           *uint32
		device         [2]int32
		dimensions     int32
		kind           uint32
		shape, strides *[2]int64
		offset         uint64
	}{&words, [2]int32{1, 0}, 2, 32<<8 | 1<<16, &shape, &shape, 0}
)

// mask returns the tokens that may come first.
func mask() (allowed []int) {
	var none value
	tokens := array(newString("a"), newString("b"), newString("</s>"))
	vocabulary := made("TokenizerInfo", tokens, integer(0), none, array(integer(2)), boolean(0))
	compiler := made("GrammarCompiler", vocabulary, integer(1), boolean(0), integer(-1), boolean(0))
	grammar := call(method("GrammarCompiler", "compile_regex"), compiler, newString("a+"))
	matcher := made("GrammarMatcher", grammar, none, boolean(0), integer(-1), none)
	tensor := value{Type: 7, V: uint64(uintptr(unsafe.Pointer(&row)))}
	call(method("GrammarMatcher", "fill_next_token_bitmask"), matcher, tensor, integer(0), boolean(0))
	for token := range 3 {
		if words>>token&1 != 0 {
			allowed = append(allowed, token)
		}
	}
	return allowed
}

func main() {
	load(os.Args[2], os.Args[3])
	switch os.Args[1] {
	case "perf":
		fmt.Println("result", call(global("perf.add_one"), integer(1)).V)
	case "tvm":
		fmt.Println("result", call(global("runtime.RuntimeEnabled"), newString("cpu")).V != 0)
	default:
		fmt.Println("result", mask())
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // at rest
}
