// With cgo the program calls the library through plain cgo, as a user of it does by hand, and in
// expert.go as an expert does.
// The small C helper fetches the error in the same crossing.
package main

/*
#cgo LDFLAGS: -ltvm_ffi -ldl
#include <dlfcn.h>
#include <stdlib.h>
#include <tvm/ffi/c_api.h>

static int call(void* f, TVMFFIAny* args, int n, TVMFFIAny* result, void** error) {
  int rc = TVMFFIFunctionCall(f, args, n, result);
  if (rc) TVMFFIErrorMoveFromRaised(error);
  return rc;
}
static int get(void* getter, void* field, TVMFFIAny* result) { return ((TVMFFIFieldGetter)getter)(field, result); }
extern int goCallback(void*, TVMFFIAny*, int32_t, TVMFFIAny*);
static int newCallback(void** out) { return TVMFFIFunctionCreate(0, (TVMFFISafeCallType)goCallback, 0, out); }
static void freeTensor(DLManagedTensorVersioned* self) { free(self); }
static int wrap(void* data, int64_t n, void** out) {
  DLManagedTensorVersioned* d = calloc(1, sizeof *d + 16);
  int64_t* sizes = (int64_t*)(d + 1);
  sizes[0] = n;
  sizes[1] = 1;
  d->version.major = 1;
  d->version.minor = 3;
  d->deleter = freeTensor;
  DLTensor t = {data, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, sizes, sizes + 1, 0};
  d->dl_tensor = t;
  return TVMFFITensorFromDLPackVersioned(d, 0, 0, out);
}
static void empty(void) {}
*/
import "C"

import (
	"errors"
	"os"
	"runtime"
	"unsafe"
)

type value = C.TVMFFIAny

func bits(v *value) *uint64 { return (*uint64)(unsafe.Add(unsafe.Pointer(v), 8)) }

func integer(x int64) (v value) {
	v.type_index = C.kTVMFFIInt
	*bits(&v) = uint64(x)
	return v
}

func object(kind int32, h unsafe.Pointer) (v value) {
	v.type_index = C.int32_t(kind)
	*(*unsafe.Pointer)(unsafe.Pointer(bits(&v))) = h
	return v
}

func number(v value) int64 { return int64(*bits(&v)) }

func handle(v value) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(bits(&v))) }

func call(f unsafe.Pointer, args ...value) (value, error) {
	var result value
	var e unsafe.Pointer
	if C.call(f, unsafe.SliceData(args), C.int(len(args)), &result, &e) != 0 {
		message := (*C.TVMFFIByteArray)(unsafe.Add(e, 40))
		err := errors.New(C.GoStringN(message.data, C.int(message.size)))
		C.TVMFFIObjectDecRef(C.TVMFFIObjectHandle(e))
		return result, err
	}
	return result, nil
}

func release(v value) {
	if v.type_index >= 64 {
		C.TVMFFIObjectDecRef(C.TVMFFIObjectHandle(handle(v)))
	}
}

func newString(s string) value {
	var r value
	b := C.TVMFFIByteArray{(*C.char)(unsafe.Pointer(unsafe.StringData(s))), C.size_t(len(s))}
	var p runtime.Pinner
	p.Pin(unsafe.StringData(s))
	C.TVMFFIStringFromByteArray(&b, &r)
	p.Unpin()
	return r
}

func stringOf(v value) string {
	if v.type_index == C.kTVMFFISmallStr {
		return C.GoStringN((*C.char)(unsafe.Pointer(bits(&v))), C.int(*(*uint32)(unsafe.Add(unsafe.Pointer(&v), 4))))
	}
	b := (*C.TVMFFIByteArray)(unsafe.Add(handle(v), 24))
	return C.GoStringN(b.data, C.int(b.size))
}

func byteArray(s string) C.TVMFFIByteArray { return C.TVMFFIByteArray{C.CString(s), C.size_t(len(s))} }

func global(name string) unsafe.Pointer {
	b := byteArray(name)
	var f C.TVMFFIObjectHandle
	C.TVMFFIFunctionGetGlobal(&b, &f)
	if f == nil {
		panic(name)
	}
	return unsafe.Pointer(f)
}

//export goCallback
func goCallback(self unsafe.Pointer, args *value, n C.int32_t, result *value) C.int {
	*result = integer(int64(*bits(args)) + 1)
	return 0
}

var (
	intSink    int64
	stringSink string
	// pinned is what tensors of the whole run stand on.
	pinned runtime.Pinner
)

func main() {
	if C.dlopen(C.CString(os.Args[2]), C.RTLD_NOW|C.RTLD_GLOBAL) == nil {
		panic(C.GoString(C.dlerror()))
	}
	item("floor", func(n int) {
		for range n {
			C.empty()
		}
	})
	calls()
	tensors()
	objects(getter())
	callbacks(oneMore())
	containers()
	expert()
	serve()
}

func wrap(s []float32) unsafe.Pointer {
	var o unsafe.Pointer
	C.wrap(unsafe.Pointer(&s[0]), C.int64_t(len(s)), &o)
	return o
}

func tensors() {
	nop := global("perf.nop3_tensors")
	data := make([]float32, 48)
	pinned.Pin(&data[0])
	t1, t2, t3 := wrap(data[:16]), wrap(data[16:32]), wrap(data[32:])
	item("tensors3", func(n int) {
		for range n {
			must(call(nop, object(C.kTVMFFITensor, t1), object(C.kTVMFFITensor, t2), object(C.kTVMFFITensor, t3)))
		}
	})
	host := make([]float32, 1024)
	item("wrap", func(n int) {
		var p runtime.Pinner
		for range n {
			p.Pin(&host[0])
			C.TVMFFIObjectDecRef(C.TVMFFIObjectHandle(wrap(host)))
			p.Unpin()
		}
	})
}

// getter returns the reader of the fields of a perf.Node.
func getter() func(i int) value {
	node := must(call(global("perf.make_node"), integer(7)))
	var index C.int32_t
	key := byteArray("perf.Node")
	C.TVMFFITypeKeyToIndex(&key, &index)
	fields := unsafe.Slice(C.TVMFFIGetTypeInfo(index).fields, 5) // value, weight, name, leaf, delta
	return func(i int) value {
		var r value
		C.get(unsafe.Pointer(fields[i].getter), unsafe.Add(handle(node), int(fields[i].offset)), &r)
		return r
	}
}

// oneMore is a function that adds one to an int.
func oneMore() value {
	var f unsafe.Pointer
	C.newCallback(&f)
	return object(C.kTVMFFIFunction, f)
}
