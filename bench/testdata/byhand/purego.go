//go:build !cgo

// Without cgo the program calls the library through purego's public API, as a user of it
// does by hand: SyscallN, NewCallback, and LockOSThread for the error. It also
// measures the empty crossing that all Go calls stand on.
package main

import (
	"errors"
	"os"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// value is a TVMFFIAny.
type value struct {
	Type int32
	Len  uint32
	V    uint64
}

// byteArray is a TVMFFIByteArray.
type byteArray struct {
	data unsafe.Pointer
	size uintptr
}

func pointer(u uintptr) unsafe.Pointer     { return *(*unsafe.Pointer)(unsafe.Pointer(&u)) }
func at[T any](address, off uintptr) *T    { return (*T)(pointer(address + off)) }
func symbol(lib uintptr, s string) uintptr { return must(purego.Dlsym(lib, s)) }

var fnCall, fnError, fnDecRef, fnGlobal, fnString uintptr

func decRef(h uintptr) { purego.SyscallN(fnDecRef, h) }

func text(b *byteArray) string { return string(unsafe.Slice((*byte)(b.data), b.size)) }

func raised() error {
	e := new(uintptr)
	purego.SyscallN(fnError, uintptr(unsafe.Pointer(e)))
	message := text(at[byteArray](*e, 40))
	decRef(*e)
	return errors.New(message)
}

func call(h uintptr, args ...value) (value, error) {
	result := new(value)
	runtime.LockOSThread() // the error belongs to the thread
	rc, _, _ := purego.SyscallN(fnCall, h, uintptr(unsafe.Pointer(unsafe.SliceData(args))), uintptr(len(args)), uintptr(unsafe.Pointer(result)))
	var err error
	if int32(rc) != 0 {
		err = raised()
	}
	runtime.UnlockOSThread()
	runtime.KeepAlive(args)
	return *result, err
}

func newString(s string) value {
	b := &byteArray{unsafe.Pointer(unsafe.StringData(s)), uintptr(len(s))}
	r := new(value)
	purego.SyscallN(fnString, uintptr(unsafe.Pointer(b)), uintptr(unsafe.Pointer(r)))
	runtime.KeepAlive(b)
	return *r
}

func release(v value) {
	if v.Type >= 64 {
		decRef(uintptr(v.V))
	}
}

func stringOf(v value) string {
	if v.Type == 11 {
		return string((*[8]byte)(unsafe.Pointer(&v.V))[:v.Len])
	}
	return text(at[byteArray](uintptr(v.V), 24))
}

func global(name string) uintptr {
	b := &byteArray{unsafe.Pointer(unsafe.StringData(name)), uintptr(len(name))}
	h := new(uintptr)
	purego.SyscallN(fnGlobal, uintptr(unsafe.Pointer(b)), uintptr(unsafe.Pointer(h)))
	runtime.KeepAlive(b)
	if *h == 0 {
		panic(name)
	}
	return *h
}

func integer(v int64) value { return value{Type: 1, V: uint64(v)} }

func number(v value) int64 { return int64(v.V) }

func handle(v value) uintptr { return uintptr(v.V) }

func object(kind int32, h uintptr) value { return value{Type: kind, V: uint64(h)} }

var (
	intSink    int64
	stringSink string
)

//go:linkname cgocall runtime.cgocall
//go:noescape
func cgocall(fn uintptr, arg unsafe.Pointer) int32

func main() {
	lib := must(purego.Dlopen(os.Args[1], purego.RTLD_NOW|purego.RTLD_GLOBAL))
	perf := must(purego.Dlopen(os.Args[2], purego.RTLD_NOW|purego.RTLD_GLOBAL))
	fnCall, fnError, fnDecRef = symbol(lib, "TVMFFIFunctionCall"), symbol(lib, "TVMFFIErrorMoveFromRaised"), symbol(lib, "TVMFFIObjectDecRef")
	fnGlobal, fnString = symbol(lib, "TVMFFIFunctionGetGlobal"), symbol(lib, "TVMFFIStringFromByteArray")
	empty := symbol(perf, "perf_empty")
	item("floor", func(n int) {
		for range n {
			cgocall(empty, nil)
		}
	})
	calls()
	tensors(lib)
	objects(getter(lib))
	callbacks(oneMore(lib))
	containers()
	registered(lib)
	serve()
}

func tensors(lib uintptr) {
	nop := global("perf.nop3_tensors")
	wrap := wrapper(symbol(lib, "TVMFFITensorFromDLPackVersioned"))
	data := make([]float32, 48)
	t1, t2, t3 := wrap(data[:16]), wrap(data[16:32]), wrap(data[32:])
	item("tensors3", func(n int) {
		for range n {
			must(call(nop, object(70, t1), object(70, t2), object(70, t3)))
		}
	})
	host := make([]float32, 1024)
	item("wrap", func(n int) {
		for range n {
			decRef(wrap(host))
		}
	})
}

// managed is a DLManagedTensorVersioned with its shape and strides.
type managed struct {
	major, minor     uint32
	context, deleter uintptr
	flags            uint64
	data             uintptr
	device           [2]int32
	ndim             int32
	dtype            uint32
	shape, strides   unsafe.Pointer
	offset           uint64
	sizes, steps     [1]int64
}

// wrapper makes tensors over Go memory, which is pinned until C releases it.
func wrapper(fromDLPack uintptr) func([]float32) uintptr {
	live, pins := map[uintptr]*managed{}, map[uintptr]*runtime.Pinner{}
	deleter := purego.NewCallback(func(p uintptr) uintptr {
		pins[p].Unpin()
		delete(pins, p)
		delete(live, p)
		return 0
	})
	return func(s []float32) uintptr {
		d := &managed{major: 1, minor: 3, deleter: deleter, device: [2]int32{1, 0}, ndim: 1, dtype: 2 | 32<<8 | 1<<16,
			sizes: [1]int64{int64(len(s))}, steps: [1]int64{1}}
		d.shape, d.strides, d.data = unsafe.Pointer(&d.sizes), unsafe.Pointer(&d.steps), uintptr(unsafe.Pointer(&s[0]))
		p := uintptr(unsafe.Pointer(d))
		pins[p], live[p] = new(runtime.Pinner), d
		pins[p].Pin(&s[0])
		out := new(uintptr)
		purego.SyscallN(fromDLPack, p, 0, 0, uintptr(unsafe.Pointer(out)))
		return *out
	}
}

// getter returns the reader of the fields of a perf.Node.
func getter(lib uintptr) func(i int) value {
	node := must(call(global("perf.make_node"), integer(7)))
	key := "perf.Node"
	b := &byteArray{unsafe.Pointer(unsafe.StringData(key)), uintptr(len(key))}
	index := new(int32)
	purego.SyscallN(symbol(lib, "TVMFFITypeKeyToIndex"), uintptr(unsafe.Pointer(b)), uintptr(unsafe.Pointer(index)))
	runtime.KeepAlive(b)
	info, _, _ := purego.SyscallN(symbol(lib, "TVMFFIGetTypeInfo"), uintptr(*index))
	fields := *at[uintptr](info, 48)
	get := func(i int) value { // by the getter of the reflection table
		f := fields + uintptr(i)*120
		r := new(value)
		purego.SyscallN(*at[uintptr](f, 80), uintptr(node.V)+*at[uintptr](f, 72), uintptr(unsafe.Pointer(r)))
		return *r
	}
	if get(0).V != 7 {
		panic("the first field is not the value")
	}
	return get
}

// oneMore is a function that adds one to an int.
func oneMore(lib uintptr) value {
	callback := purego.NewCallback(func(self, args uintptr, n int32, result uintptr) int32 {
		*at[value](result, 0) = integer(int64(at[value](args, 0).V) + 1)
		return 0
	})
	f := new(uintptr)
	purego.SyscallN(symbol(lib, "TVMFFIFunctionCreate"), 0, callback, 0, uintptr(unsafe.Pointer(f)))
	return object(68, *f)
}
