// Command cgo is the library of the comparison as a cgo c-shared library: every value that
// is not a number is converted by hand, here and in ledger.py.
package main

/*
#include <stdint.h>
#include <stdlib.h>
typedef int64_t (*unary)(int64_t);
static int64_t call(unary f, int64_t x) { return f(x); }
*/
import "C"

import (
	"fmt"
	"math"
	"runtime/cgo"
	"strconv"
	"strings"
	"sync"
	"unsafe"
)

//export Add
func Add(a, b int64) int64 { return a + b }

//export Mean
func Mean(xs *float64, n C.size_t) float64 {
	sum := 0.0
	for _, x := range unsafe.Slice(xs, n) {
		sum += x
	}
	return sum / float64(n)
}

//export Greet
func Greet(name *C.char) *C.char { return C.CString("hello, " + C.GoString(name)) }

// Split returns an array of n strings. Free ends the strings and the array.
//
//export Split
func Split(text, sep *C.char, n *C.size_t) **C.char {
	parts := strings.Split(C.GoString(text), C.GoString(sep))
	*n = C.size_t(len(parts))
	p := (**C.char)(C.malloc(C.size_t(len(parts)) * C.size_t(unsafe.Sizeof(uintptr(0)))))
	for i, s := range unsafe.Slice(p, len(parts)) {
		_ = s
		unsafe.Slice(p, len(parts))[i] = C.CString(parts[i])
	}
	return p
}

// CountWords returns n words and their counts.
//
//export CountWords
func CountWords(text *C.char, n *C.size_t, counts **int64) **C.char {
	m := map[string]int64{}
	for _, w := range strings.Fields(C.GoString(text)) {
		m[w]++
	}
	*n = C.size_t(len(m))
	p := (**C.char)(C.malloc(C.size_t(len(m)+1) * C.size_t(unsafe.Sizeof(uintptr(0)))))
	*counts = (*int64)(C.malloc(C.size_t(len(m)+1) * 8))
	words, values := unsafe.Slice(p, len(m)), unsafe.Slice(*counts, len(m))
	i := 0
	for w, c := range m {
		words[i], values[i] = C.CString(w), c
		i++
	}
	return p
}

//export DivMod
func DivMod(a, b int64, q, r *int64) *C.char {
	if b == 0 {
		return C.CString("division by zero")
	}
	*q, *r = a/b, a%b
	return nil
}

//export Parse
func Parse(text *C.char, out *int64) *C.char {
	n, err := strconv.ParseInt(C.GoString(text), 10, 64)
	if err != nil {
		return C.CString(fmt.Sprintf("%q is not an integer", C.GoString(text)))
	}
	*out = n
	return nil
}

//export Apply
func Apply(f C.unary, x int64) int64 { return int64(C.call(f, C.int64_t(x))) }

//export Scale
func Scale(xs *float32, n C.size_t, factor float32) {
	for i, x := range unsafe.Slice(xs, n) {
		unsafe.Slice(xs, n)[i] = x * factor
	}
}

//export Sum
func Sum(xs *float32, n C.size_t) float64 {
	sum := 0.0
	for _, x := range unsafe.Slice(xs, n) {
		sum += float64(x)
	}
	return sum
}

//export Norm
func Norm(x, y float64) float64 { return math.Hypot(x, y) }

type counter struct {
	mu sync.Mutex
	n  map[string]int64
}

//export NewCounter
func NewCounter() C.uintptr_t { return C.uintptr_t(cgo.NewHandle(&counter{n: map[string]int64{}})) }

//export CounterAdd
func CounterAdd(h C.uintptr_t, word *C.char) int64 {
	c := cgo.Handle(h).Value().(*counter)
	c.mu.Lock()
	defer c.mu.Unlock()
	w := C.GoString(word)
	c.n[w]++
	return c.n[w]
}

//export CounterFree
func CounterFree(h C.uintptr_t) { cgo.Handle(h).Delete() }

//export Free
func Free(p unsafe.Pointer) { C.free(p) }

func main() {}
