package main

/*
#cgo LDFLAGS: -ltvm_ffi
#cgo noescape expertEcho
#cgo noescape expertFail
#cgo noescape expertInts
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

static TVMFFIObjectHandle fInt, fObjects, fTensors, fEcho, fMake, fFail, fArray;
static TVMFFIObjectHandle find(const char* name) {
  TVMFFIByteArray b = {name, strlen(name)};
  TVMFFIObjectHandle f = 0;
  TVMFFIFunctionGetGlobal(&b, &f);
  return f;
}
static void expertInit(void) {
  fInt = find("perf.add_one"), fObjects = find("perf.nop3_objects"), fTensors = find("perf.nop3_tensors"), fEcho = find("perf.echo");
  fMake = find("perf.make_leaf"), fFail = find("perf.fail"), fArray = find("ffi.Array");
}

typedef struct { int64_t v; void* err; } ret;
static inline TVMFFIAny any(int32_t kind, int64_t bits) { TVMFFIAny a = {0}; a.type_index = kind; a.v_int64 = bits; return a; }
static inline void* apply(TVMFFIObjectHandle f, TVMFFIAny* args, int n, TVMFFIAny* r) {
  void* err = 0;
  if (TVMFFIFunctionCall(f, args, n, r)) TVMFFIErrorMoveFromRaised(&err);
  return err;
}
static inline ret call(TVMFFIObjectHandle f, TVMFFIAny* args, int n) {
  TVMFFIAny r = {0};
  void* err = apply(f, args, n, &r);
  ret x = {r.v_int64, err};
  return x;
}
static inline TVMFFIAny string(const char* s, size_t n) {
  TVMFFIByteArray b = {s, n};
  TVMFFIAny a = {0};
  TVMFFIStringFromByteArray(&b, &a);
  return a;
}
static inline void drop(TVMFFIAny a) { if (a.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(a.v_obj); }
static inline void* cell(void* object) { return (char*)object + sizeof(TVMFFIObject); }

static ret expertInt(int64_t x) { TVMFFIAny a = any(kTVMFFIInt, x); return call(fInt, &a, 1); }
static ret expertMake(int64_t x) { TVMFFIAny a = any(kTVMFFIInt, x); return call(fMake, &a, 1); }
static void expertDrop(void* object) { TVMFFIObjectDecRef(object); }
static inline ret three(TVMFFIObjectHandle f, int32_t kind, void* a, void* b, void* c) {
  TVMFFIAny v[3];
  memset(v, 0, sizeof v);
  v[0].type_index = v[1].type_index = v[2].type_index = kind;
  v[0].v_obj = a, v[1].v_obj = b, v[2].v_obj = c;
  return call(f, v, 3);
}
static ret expertObjects(int32_t kind, void* a, void* b, void* c) { return three(fObjects, kind, a, b, c); }
static ret expertTensors(void* a, void* b, void* c) { return three(fTensors, kTVMFFITensor, a, b, c); }

typedef struct { size_t n; void* err; char data[64]; } text;
static text expertEcho(const char* s, size_t n) {
  text t;
  TVMFFIAny a = string(s, n), r = {0};
  t.err = apply(fEcho, &a, 1, &r);
  if (r.type_index == kTVMFFIStr) {
    TVMFFIByteArray* b = cell(r.v_obj);
    t.n = b->size, memcpy(t.data, b->data, t.n);  // shorter than 64
  } else {
    t.n = r.small_str_len, memcpy(t.data, r.v_bytes, sizeof r.v_bytes);
  }
  drop(r), drop(a);
  return t;
}
static void* expertFail(const char* s, size_t n) {
  TVMFFIAny a = string(s, n), r = {0};
  void* err = apply(fFail, &a, 1, &r);
  drop(a);
  return err;
}
static void* expertInts(const int64_t* p, int64_t n) {
  TVMFFIAny *v = malloc(sizeof *v * n), r = {0};
  for (int64_t i = 0; i < n; ++i) v[i] = any(kTVMFFIInt, p[i]);
  apply(fArray, v, n, &r);
  free(v);
  return r.v_obj;
}
static void expertRead(void* array, int64_t* p) {
  TVMFFISeqCell* s = cell(array);
  for (int64_t i = 0; i < s->size; ++i) p[i] = ((TVMFFIAny*)s->data)[i].v_int64;
}
*/
import "C"

import (
	"errors"
	"strings"
	"unsafe"
)

// This file is cgo as an expert writes it: one C function for each function of the library, which
// takes and returns scalars and structs by value. Go allocates nothing but strings.

func chars(s string) (*C.char, C.size_t) {
	return (*C.char)(unsafe.Pointer(unsafe.StringData(s))), C.size_t(len(s))
}

func failed(e unsafe.Pointer) error {
	m := (*C.TVMFFIByteArray)(unsafe.Add(e, 40))
	err := errors.New(C.GoStringN(m.data, C.int(m.size)))
	C.expertDrop(e)
	return err
}

func succeeded(e unsafe.Pointer) {
	if e != nil {
		panic(failed(e))
	}
}

func expert() {
	C.expertInit()
	item("int.expert", func(n int) {
		for i := range n {
			r := C.expertInt(C.int64_t(i))
			succeeded(r.err)
			intSink += int64(r.v)
		}
	})
	leaf := must(call(global("perf.make_leaf"), integer(1)))
	kind, o := leaf.type_index, handle(leaf)
	item("objects3.expert", func(n int) {
		for range n {
			succeeded(C.expertObjects(kind, o, o, o).err)
		}
	})
	data := make([]float32, 48)
	pinned.Pin(&data[0])
	t1, t2, t3 := wrap(data[:16]), wrap(data[16:32]), wrap(data[32:])
	item("tensors3.expert", func(n int) {
		for range n {
			succeeded(C.expertTensors(t1, t2, t3).err)
		}
	})
	for name, s := range map[string]string{"string32": strings.Repeat("x", 32), "string5": "hello"} {
		item(name+".expert", func(n int) {
			for range n {
				r := C.expertEcho(chars(s))
				succeeded(r.err)
				stringSink = string(unsafe.Slice((*byte)(unsafe.Pointer(&r.data)), r.n))
			}
		})
	}
	item("create.expert", func(n int) {
		for i := range n {
			r := C.expertMake(C.int64_t(i))
			succeeded(r.err)
			C.expertDrop(*(*unsafe.Pointer)(unsafe.Pointer(&r.v)))
		}
	})
	message := strings.Repeat("x", 32)
	item("error.expert", func(n int) {
		for range n {
			if failed(C.expertFail(chars(message))) == nil {
				panic("no error")
			}
		}
	})
	ints := make([]int64, 1000000)
	first, length := (*C.int64_t)(&ints[0]), C.int64_t(len(ints))
	item("ints_build.expert", func(n int) {
		for range n {
			C.expertDrop(C.expertInts(first, length))
		}
	})
	array := C.expertInts(first, length)
	item("ints_read.expert", func(n int) {
		for range n {
			C.expertRead(array, first)
		}
	})
}
