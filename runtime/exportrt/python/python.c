//go:build !windows

// The functions of Python's stable ABI are found in the process, so there is no header of Python
// here, and one library serves each CPython.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int (*safe_call)(void*, const void*, int32_t, void*);
typedef intptr_t ssize;
typedef struct object object; // PyObject
struct object {
  ssize references;
  object* type;
};
typedef struct { const char* name; int type; ssize offset; int flags; const char* doc; } member;
typedef struct { const char* name; object* (*call)(object*, object*); int flags; const char* doc; } method;
typedef struct { const char* name; object* (*get)(object*, void*); int (*set)(object*, object*, void*); const char* doc; void* more; } property;
typedef struct { int slot; void* value; } slot;
typedef struct { const char* name; int size, item; unsigned flags; slot* slots; } spec;
typedef int (*visitor)(object*, void*);
typedef struct { const char* at; object* owner; ssize bytes, item; int readonly, dimensions; const char* format; const ssize *shape, *strides, *inner; void* more; } buffer; // Py_buffer

#define PYTHON(X)                                                   \
  X(void, Py_IncRef, (object*))                                     \
  X(void, Py_DecRef, (object*))                                     \
  X(object*, PyType_FromSpec, (spec*))                              \
  X(object*, PyType_GenericAlloc, (object*, ssize))                 \
  X(void*, PyType_GetSlot, (object*, int))                          \
  X(void, PyObject_GC_UnTrack, (void*))                             \
  X(void, PyObject_GC_Del, (void*))                                 \
  X(void, PyObject_ClearWeakRefs, (object*))                        \
  X(object*, PyWeakref_NewRef, (object*, object*))                  \
  X(int, PyArg_ParseTuple, (object*, const char*, ...))             \
  X(object*, PyObject_GetAttr, (object*, object*))                  \
  X(object*, PyObject_GenericGetAttr, (object*, object*))           \
  X(object*, PyObject_GetAttrString, (object*, const char*))        \
  X(int, PyObject_SetAttr, (object*, object*, object*))             \
  X(object*, PyImport_ImportModule, (const char*))                  \
  X(object*, PyUnicode_InternFromString, (const char*))             \
  X(object*, PyObject_Repr, (object*))                              \
  X(object*, PyObject_Str, (object*))                               \
  X(object*, PyObject_Call, (object*, object*, object*))            \
  X(object*, PyVectorcall_Call, (object*, object*, object*))        \
  X(object*, PyObject_CallFunctionObjArgs, (object*, ...))          \
  X(object*, PyTuple_New, (ssize))                                  \
  X(ssize, PyTuple_Size, (object*))                                 \
  X(object*, PyTuple_GetItem, (object*, ssize))                     \
  X(int, PyTuple_SetItem, (object*, ssize, object*))                \
  X(object*, PyList_New, (ssize))                                   \
  X(ssize, PyList_Size, (object*))                                  \
  X(object*, PyList_GetItem, (object*, ssize))                      \
  X(int, PyList_SetItem, (object*, ssize, object*))                 \
  X(object*, PyDict_New, (void))                                    \
  X(ssize, PyDict_Size, (object*))                                  \
  X(int, PyDict_Next, (object*, ssize*, object**, object**))        \
  X(int, PyDict_SetItem, (object*, object*, object*))               \
  X(object*, PyDict_GetItemWithError, (object*, object*))           \
  X(long long, PyLong_AsLongLongAndOverflow, (object*, int*))       \
  X(object*, PyLong_FromLongLong, (long long))                      \
  X(unsigned long long, PyLong_AsUnsignedLongLong, (object*))       \
  X(object*, PyLong_FromUnsignedLongLong, (unsigned long long))     \
  X(double, PyFloat_AsDouble, (object*))                            \
  X(object*, PyFloat_FromDouble, (double))                          \
  X(object*, PyBool_FromLong, (long))                               \
  X(const char*, PyUnicode_AsUTF8AndSize, (object*, ssize*))        \
  X(object*, PyUnicode_DecodeUTF8, (const char*, ssize, const char*)) \
  X(int, PyUnicode_CompareWithASCIIString, (object*, const char*))  \
  X(int, PyBytes_AsStringAndSize, (object*, char**, ssize*))        \
  X(object*, PyBytes_FromStringAndSize, (const char*, ssize))       \
  X(int, PyType_IsSubtype, (object*, object*))                      \
  X(int, PyCallable_Check, (object*))                               \
  X(int, PyObject_CheckBuffer, (object*))                           \
  X(int, PyObject_GetBuffer, (object*, buffer*, int))               \
  X(void, PyBuffer_Release, (buffer*))                              \
  X(object*, PyErr_Occurred, (void))                                \
  X(void, PyErr_Clear, (void))                                      \
  X(int, PyErr_ExceptionMatches, (object*))                         \
  X(void, PyErr_SetObject, (object*, object*))                      \
  X(int, PyException_SetTraceback, (object*, object*))              \
  X(void, PyErr_SetString, (object*, const char*))                  \
  X(void, PyErr_Fetch, (object**, object**, object**))              \
  X(void, PyErr_Restore, (object*, object*, object*))               \
  X(object*, PyErr_Format, (object*, const char*, ...))             \
  X(int, PyGILState_Ensure, (void))                                 \
  X(void, PyGILState_Release, (int))                                \
  X(void*, PyEval_SaveThread, (void))                               \
  X(void, PyEval_RestoreThread, (void*))
#define VALUES(X)                                                                                  \
  X(PyLong_Type) X(PyBool_Type) X(PyFloat_Type) X(PyUnicode_Type) X(PyBytes_Type) X(PyList_Type)   \
  X(PyTuple_Type) X(PyDict_Type) X(_Py_NoneStruct) X(_Py_TrueStruct)
#define ERRORS(X) X(PyExc_SystemError) X(PyExc_TypeError) X(PyExc_ValueError) X(PyExc_OverflowError) X(PyExc_RuntimeError) X(PyExc_Exception) X(PyExc_BaseException)
#define NAME(type, name, params) #name,
#define FUNCTION_OF(type, name, params) type(*name) params;
#define NAME_ONLY(name) #name,
#define VALUE_OF(name) object* name;

#define ERROR_OF(name) object** name;

static const char* const python_names[] = {PYTHON(NAME) VALUES(NAME_ONLY) ERRORS(NAME_ONLY)};
static struct { PYTHON(FUNCTION_OF) VALUES(VALUE_OF) ERRORS(ERROR_OF) } py;

// Values of TVM-FFI, as its c_api.h has them.
typedef struct { const char* data; size_t size; } text;
typedef struct { uint64_t references; int32_t type, padding; void* deleter; } header;
typedef struct {
  int32_t type;
  uint32_t size;
  union { int64_t integer; double number; header* object; const char* raw; char small[8]; };
} any;
typedef struct { // an Array, with its elements behind it
  header base;
  any* data;
  int64_t size, capacity;
  void (*end)(void*);
} array;
typedef struct { text kind, message, trace; void *cause, *value; } flat_error;
typedef struct { const any* values; const char* bytes; } flat_argument;
// An argument of a callback has the type FLAT if it is in flat form. A result of the type ROOM tells the library that the error may be the result, and FLAT_ANY_ROOM also
// values in flat form, with all that is in them; see internal/callbacks.
enum { ROOM = -0x726f6f6d, FLAT, FLAT_LIST, FLAT_TUPLE, FLAT_MAP, FLAT_ERROR, FLAT_ROOM, FLAT_ANY_ROOM, FLAT_TYPED, NONE = 0, INT, BOOL, FLOAT, RAW_STR = 8, RAW_BYTES, MOVED, SMALL_STR, SMALL_BYTES, OBJECT = 64, STR, BYTES, ERROR, FUNCTION, ARRAY = 71, MAP, BIG_INT = 78, DYNAMIC = 128 };

#define TVM(X)                                                      \
  X(int, TVMFFIObjectIncRef, (void*))                               \
  X(int, TVMFFIObjectDecRef, (void*))                               \
  X(void, TVMFFIErrorMoveFromRaised, (void**))                      \
  X(int, TVMFFIErrorCreateWithCauseAndExtraContext, (const text*, const text*, const text*, void*, void*, void**)) \
  X(void, TVMFFIErrorSetRaisedFromCStr, (const char*, const char*)) \
  X(int, TVMFFIStringFromByteArray, (const text*, any*))            \
  X(int, TVMFFIBytesFromByteArray, (const text*, any*))             \
  X(int, TVMFFIFunctionGetGlobal, (const text*, void**))            \
  X(int, TVMFFIFunctionCall, (void*, const any*, int32_t, any*))

static const char* const tvm_names[] = {TVM(NAME)};
static struct { TVM(FUNCTION_OF) } tvm;
static void* new_map; // a function of libtvm_ffi
static int (*new_big_int)(const text*, any*); // of words with a sign, the least significant first; NULL before 0.1.14
static text (*big_int_content)(const any*);
static object* (*vectorcall)(object*, object* const*, size_t, object*); // NULL before Python 3.11
static void* node_deleter;                                              // of the objects that stand for values of Go, or NULL
static int release;                                                     // the GIL, during a call
static int tuples_keep_hash;                                            // since Python 3.14
static object* object_class;                                            // of all objects of tvm_ffi
static struct { object *class, *new, *kinds, *attribute, *next, *none; } errors; // what tvm_ffi knows of errors, names, and no arguments
static object* (*new_error)(object*, object*, object*);                          // NULL where tp_new cannot be had

#define ARGUMENTS 16
#define APART __attribute__((noinline)) // keeps the code of most calls small
#define HOT __attribute__((aligned(64))) // makes their time depend less on the code before

// function is a function or method of the library. Its attributes are those of the one in Python.
typedef struct {
  object base;
  object* (*call)(object*, object* const*, size_t, object*);
  object* weak;
  safe_call target;
  void* self; // of target, which callee keeps
  object *callee, *python, *convert, *make, *lists; // convert makes the result of what tvm_ffi returns, or NULL; for __init__ it is the class.
                                            // make is the class of a tuple in flat form, or NULL; for __init__ it takes the handle
  object *params, *names, *defaults, *failed, *taken, *ended, *bound, *trace, *tracebacks;
  const char* kinds; // of the parameters: s takes text without a copy, p leaves all to Python, o objects, f callbacks, F those that return containers, b and i those that return bytes and a number, n arrays of numbers; the last may be *; c and C are like f and F, but their callbacks get containers of tvm_ffi;
                     // the first is - for an object to make, and + where no code of Go does it
  ssize required, most;
  int flat; // the result may be in flat form: 1 if it is the one of Python then, 2 if convert makes that of it
} function;

static void drop(any* v) {
  if (v->type >= OBJECT) tvm.TVMFFIObjectDecRef(v->object);
}

// handle returns the object of TVM-FFI behind an object of tvm_ffi, which is NULL if __init__ did
// not run.
static header* handle(object* o) { return *(header**)(o + 1); }

// place is where an object that stands for a value of Go has a weak reference to its object of Python. It returns NULL for
// all other objects. The 16 bytes before a node are the private word of its allocator, and the header of the allocation,
// which says that no other allocator made it. The GIL guards the word. The memory of nodes is never freed, so the
// reference stays, dead, until the node stands for another value and that has an object of Python.
static object** place(header* h) { return h->type >= DYNAMIC && h->deleter == node_deleter ? (object**)h - 2 : NULL; }

// known returns the object of Python for h, whose place is at. It is borrowed, and NULL if there is none.
static object* known(header* h, object** at) {
  object* o = *at == NULL ? NULL : *(object**)(*at + 1); // the object behind the reference, where tvmffi_python has found it
  if (o == NULL || o == py._Py_NoneStruct || (uint32_t)o->references == 0) return NULL; // it has ended, or it is ending
  return handle(o) == h ? o : NULL;                                                     // it was moved from
}

// keep makes o the object of Python for h, which has none. It returns another one, borrowed, if the collector has run code
// of Python that has made one.
APART static object* keep(object* o, header* h, object** at) {
  object* weak = *at;
  *at = NULL;
  if (weak != NULL) py.Py_DecRef(weak);
  if ((weak = py.PyWeakref_NewRef(o, NULL)) == NULL) { // the class has none, because tvm_ffi made it
    py.PyErr_Clear();
    return o;
  }
  py.PyObject_GC_UnTrack(weak); // it refers to nothing that the collector has to see
  if (*at == NULL) {
    *at = weak;
    return o;
  }
  py.Py_DecRef(weak);
  object* other = known(h, at);
  return other != NULL ? other : o;
}

// same takes an object of Python, and returns the one for the same value of Go that lives already. That is o if there was
// none. It takes and returns NULL and all other objects, too.
static object* same(object* o) {
  header* h;
  object** at;
  if (o == NULL || o->type == py.PyFloat_Type || o->type == py.PyLong_Type || o->type == py.PyUnicode_Type || o == py._Py_NoneStruct) return o;
  if (!py.PyType_IsSubtype(o->type, object_class) || (h = handle(o)) == NULL || (at = place(h)) == NULL) return o;
  object* other = known(h, at);
  if (other == NULL) other = keep(o, h, at);
  if (other == o) return o;
  py.Py_IncRef(other);
  py.Py_DecRef(o);
  return other;
}

// tie makes o, which has a handle, the object of Python for its value of Go, unless there is another one.
static void tie(object* o) {
  header* h = handle(o);
  object** at = place(h);
  if (at != NULL && known(h, at) == NULL) keep(o, h, at);
}

// pending is the value that the function _python of the library returns, for tvm_ffi to make an
// object of Python of it.
static __thread any pending;

__attribute__((visibility("default"))) int __tvm_ffi__python(void* self, const void* args, int32_t n, void* result) {
  (void)self, (void)args, (void)n;
  *(any*)result = pending;
  pending.type = NONE;
  return 0;
}

// with_pending calls a function of Python that takes v.
static object* with_pending(object* f, any v) {
  any before = pending;
  pending = v;
  object* result = py.PyObject_CallFunctionObjArgs(f, NULL);
  drop(&pending); // if it was not taken
  pending = before;
  return result;
}

// unused reports whether nobody else has one of the tracebacks, or has set the tb_next of one.
static int unused(object* tracebacks) {
  ssize n = py.PyTuple_Size(tracebacks);
  for (ssize i = 0; i < n; i++) { // all but the outermost one are the tb_next of another
    if ((uint32_t)py.PyTuple_GetItem(tracebacks, i)->references != (i < n - 1 ? 2 : 1)) return 0;
  }
  object* last = n == 0 ? NULL : py.PyObject_GetAttr(py.PyTuple_GetItem(tracebacks, 0), errors.next);
  if (last != NULL) py.Py_DecRef(last);
  return n == 0 || last == py._Py_NoneStruct;
}

// traceback returns the traceback of an error of f. Most errors of a function have the same one, so f keeps its parts,
// the innermost first, and uses them again if nobody else has them. It returns NULL without an exception if there are no frames.
static object* traceback(function* f, const text* trace) {
  char* s = NULL;
  ssize n = 0;
  int same = f->trace != NULL && py.PyBytes_AsStringAndSize(f->trace, &s, &n) == 0 && (size_t)n == trace->size && memcmp(s, trace->data, trace->size) == 0;
  object *all = f->tracebacks, *old = NULL, *others = NULL, *tb = NULL;
  if (!same || !unused(all)) {
    object* bytes = same ? f->trace : py.PyBytes_FromStringAndSize(trace->data, (ssize)trace->size);
    if (bytes == NULL) return NULL;
    if (same) py.Py_IncRef(bytes);
    all = py.PyObject_CallFunctionObjArgs(f->failed, same ? all : bytes, NULL);
    if (all == NULL) {
      py.Py_DecRef(bytes);
      return NULL;
    }
    old = f->trace, others = f->tracebacks;
    f->trace = bytes, f->tracebacks = all;
  }
  n = py.PyTuple_Size(all);
  if (n > 0) py.Py_IncRef(tb = py.PyTuple_GetItem(all, n - 1)); // an error of a call within may replace those of f
  if (old != NULL) py.Py_DecRef(old);
  if (others != NULL) py.Py_DecRef(others);
  return tb;
}

// kind_of returns the name of a kind of error, which most often is that of the last error.
static object* kind_of(const text* kind) {
  static object* last;
  ssize n = 0;
  const char* s = last == NULL ? NULL : py.PyUnicode_AsUTF8AndSize(last, &n);
  if (s == NULL || (size_t)n != kind->size || memcmp(s, kind->data, kind->size) != 0) {
    object *name = py.PyUnicode_DecodeUTF8(kind->data, (ssize)kind->size, NULL), *old = last;
    if (name == NULL) return NULL;
    last = name;
    if (old != NULL) py.Py_DecRef(old);
  }
  py.Py_IncRef(last);
  return last;
}

// interrupted reports whether a KeyboardInterrupt or the like is set. It clears all other exceptions.
static int interrupted(void) {
  if (py.PyErr_Occurred() && !py.PyErr_ExceptionMatches(*py.PyExc_Exception)) return 1;
  py.PyErr_Clear();
  return 0;
}

// raise sets the exception for an error of Go, as tvm_ffi makes it, and returns 0 without an
// exception if that has to do it. A KeyboardInterrupt that comes meanwhile stays instead.
static int raise(function* f, header* e) {
  text *kind = (text*)(e + 1), *message = kind + 1, *trace = kind + 2;
  object* name = kind_of(kind);
  object* said = py.PyUnicode_DecodeUTF8(message->data, (ssize)message->size, NULL);
  object* class = name == NULL ? NULL : py.PyDict_GetItemWithError(errors.kinds, name);
  if (class == NULL) class = *py.PyExc_RuntimeError;
  object* x = said == NULL || py.PyErr_Occurred() ? NULL : py.PyObject_CallFunctionObjArgs(class, said, NULL);
  object* error = NULL;
  if (x != NULL && py.PyType_IsSubtype(x->type, *py.PyExc_BaseException)) error = new_error != NULL ? new_error(errors.class, errors.none, NULL) : py.PyObject_CallFunctionObjArgs(errors.new, errors.class, NULL);
  int ok = error != NULL;
  if (ok) {
    tvm.TVMFFIObjectIncRef(e);
    *(header**)(error + 1) = e;
    object* tb = traceback(f, trace);
    ok = (tb == NULL || py.PyException_SetTraceback(x, tb) == 0) && !py.PyErr_Occurred() && py.PyObject_SetAttr(x, errors.attribute, error) == 0;
    if (tb != NULL) py.Py_DecRef(tb);
  }
  if (ok) py.PyErr_SetObject(x->type, x);
  else ok = interrupted();
  object* all[] = {name, said, x, error};
  for (int i = 0; i < 4; i++) {
    if (all[i] != NULL) py.Py_DecRef(all[i]);
  }
  return ok;
}

// set_error sets the exception for the error of a call, which is its result or else the error of
// this thread.
APART static object* set_error(function* f, int code, any* r) {
  void* e = NULL;
  if (r->type == FLAT_ERROR) {
    const flat_error* p = (const flat_error*)r->raw;
    if (tvm.TVMFFIErrorCreateWithCauseAndExtraContext(&p->kind, &p->message, &p->trace, p->cause, p->value, &e) == 0) r->type = ERROR, r->object = e;
    if (p->cause != NULL) tvm.TVMFFIObjectDecRef(p->cause);
    tvm.TVMFFIObjectDecRef(p->value);
  }
  if (r->type == ERROR) e = r->object;
  if (e != NULL && r->size == 1 && !py.PyErr_Occurred() && raise(f, e)) {
    drop(r);
    return NULL;
  }
  if (code != -2 && e == NULL) tvm.TVMFFIErrorMoveFromRaised(&e);
  if (e != NULL) {
    text* kind = (text*)((header*)e + 1);
    any v = {.type = ERROR, .object = e};
    if (py.PyErr_Occurred() && kind->size == 18 && memcmp(kind->data, "EnvErrorAlreadySet", 18) == 0) {
      drop(&v);
      return NULL;
    }
    py.PyErr_Clear();
    object* none = with_pending(f->failed, v);
    if (none != NULL) py.Py_DecRef(none);
  }
  if (!py.PyErr_Occurred()) py.PyErr_SetString(*py.PyExc_SystemError, "a call of Go failed without an error");
  return NULL;
}

// no drops the error of a call, and returns 0.
static int no(void) {
  void* e = NULL;
  tvm.TVMFFIErrorMoveFromRaised(&e);
  if (e != NULL) tvm.TVMFFIObjectDecRef(e);
  return 0;
}

static int bytes_of(const char* s, ssize n, any* v) {
  text t = {s, (size_t)n};
  return (v->type == STR ? tvm.TVMFFIStringFromByteArray : tvm.TVMFFIBytesFromByteArray)(&t, v) == 0 || no();
}

// end_array is the deleter of an Array. It runs on any thread.
static void end_array(void* p, int flags) {
  array* a = p;
  for (int64_t i = 0; (flags & 1) != 0 && i < a->size; i++) drop(&a->data[i]);
  if ((flags & 2) != 0) free((char*)p - 16);
}

static const uint64_t one = (uint64_t)1 << 32 | 1; // the count of an object with one reference

// new_object makes an object of TVM-FFI of that size. The 16 bytes before it are the empty header of an allocation.
static void* new_object(size_t size, int type, void (*end)(void*, int)) {
  char* p = malloc(16 + size);
  if (p == NULL) return NULL;
  memset(p, 0, 16);
  *(header*)(p + 16) = (header){one, type, 0, (void*)end};
  return p + 16;
}

// new_array makes an Array whose elements are to be set. The size of an array of Python may be any number.
static array* new_array(ssize n) {
  if (n > PTRDIFF_MAX / (ssize)sizeof(any) - (ssize)sizeof(array)) return NULL;
  array* a = new_object(sizeof(array) + (size_t)n * sizeof(any), ARRAY, end_array);
  if (a != NULL) a->data = (any*)(a + 1), a->size = 0, a->capacity = n, a->end = NULL;
  return a;
}

// limits end the conversion of a container. Those that contain themselves, or the same one again
// and again, are for Python to report.
struct limits {
  int depth;
  ssize elements;
  int looks; // whether unmade calls look
};

// unsigned_int makes v of a number beyond int64.
APART static int unsigned_int(uint64_t n, any* v) {
  uint64_t words[] = {n, 0};
  text t = {(const char*)words, sizeof words};
  *v = (any){.type = NONE};
  return new_big_int != NULL && (new_big_int(&t, v) == 0 || no());
}

// large_int makes v of an int of Python beyond int64. It returns 0, without an exception, for one that uint64 does not have.
APART static int large_int(object* o, any* v) {
  unsigned long long n = py.PyLong_AsUnsignedLongLong(o);
  if (n != (unsigned long long)-1 || !py.PyErr_Occurred()) return unsigned_int(n, v);
  py.PyErr_Clear();
  return 0;
}

// number makes v of a number of an array. kind is that of its format.
static int number(const char* at, char kind, ssize size, any* v) {
  const int little = 1;
  *v = (any){.type = kind == 'f' ? FLOAT : kind == '?' ? BOOL : INT};
  if (kind == 'f' && size == sizeof(float)) {
    float x;
    memcpy(&x, at, sizeof x);
    v->number = x;
    return 1;
  }
  memcpy((char*)&v->integer + (*(const char*)&little ? 0 : 8 - size), at, (size_t)size);
  if (kind == '?') v->integer = v->integer != 0;
  int unused = 64 - 8 * (int)size;
  if (kind == 'i') v->integer = (int64_t)((uint64_t)v->integer << unused) >> unused;
  return kind != 'u' || v->integer >= 0 || unsigned_int((uint64_t)v->integer, v);
}

// numbers makes v an Array of the numbers of a dimension of an array, from at on. Rows count as elements of a container:
// those without elements need memory, too.
static int numbers(const buffer* b, int dimension, const char* at, char kind, struct limits* most, any* v) {
  ssize n = b->shape[dimension], step = b->strides[dimension];
  int last = dimension + 1 == b->dimensions;
  array* a = last || (most->elements -= n) >= 0 ? new_array(n) : NULL;
  *v = (any){.type = a == NULL ? NONE : ARRAY, .object = (header*)a};
  int ok = a != NULL;
  for (; ok && a->size < n; at += step) {
    any* x = &a->data[a->size++];
    ok = last ? number(at, kind, b->item, x) : numbers(b, dimension + 1, at, kind, most, x);
  }
  return ok;
}

// number_kind returns the kind of the numbers in a buffer, or 0 for all that numbers does not read: its shape and the
// size of its elements must agree with the rest, since any package may have made it.
static char number_kind(const buffer* b) {
  static const struct { char format, kind; unsigned char size; } all[] = {
      {'d', 'f', sizeof(double)}, {'f', 'f', sizeof(float)}, {'?', '?', 1},
      {'b', 'i', 1}, {'h', 'i', sizeof(short)}, {'i', 'i', sizeof(int)}, {'l', 'i', sizeof(long)}, {'q', 'i', 8}, {'n', 'i', sizeof(ssize)},
      {'B', 'u', 1}, {'H', 'u', sizeof(short)}, {'I', 'u', sizeof(int)}, {'L', 'u', sizeof(long)}, {'Q', 'u', 8}, {'N', 'u', sizeof(ssize)},
  };
  const char* format = b->format == NULL ? "B" : b->format + (*b->format == '@');
  ssize bytes = b->item;
  if (*format == 0 || format[1] != 0 || b->dimensions < 1 || b->dimensions > 64 || b->shape == NULL || b->strides == NULL || b->inner != NULL) return 0;
  for (int i = 0; i < b->dimensions; i++) {
    if (b->shape[i] < 0 || __builtin_mul_overflow(bytes, b->shape[i], &bytes)) return 0;
  }
  if (bytes != b->bytes || (b->at == NULL && bytes > 0)) return 0;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (all[i].format == *format) return all[i].size == b->item ? all[i].kind : 0;
  }
  return 0;
}

// buffer_argument makes v of the numbers of this machine in a buffer. It returns 0 where it fails, without an exception
// unless it was interrupted.
static int buffer_argument(object* o, struct limits* most, any* v) {
  buffer b;
  int ok = py.PyObject_CheckBuffer(o) && py.PyObject_GetBuffer(o, &b, 0x1c) == 0; // PyBUF_RECORDS_RO
  interrupted();
  if (ok) {
    char kind = number_kind(&b);
    ok = 0;
    if (kind != 0 && !(ok = numbers(&b, 0, b.at, kind, most, v))) drop(v);
    py.PyBuffer_Release(&b);
  }
  return ok;
}

// has reports whether an object has an attribute.
static int has(object* o, const char* name) {
  object* x = py.PyObject_GetAttrString(o, name);
  if (x != NULL) py.Py_DecRef(x);
  return x != NULL;
}

// is_unmasked reports whether o is neither an array with a mask, nor bytes, nor a buffer of pyarrow, which says that its bytes are signed.
// last is the last such class.
static int is_unmasked(object* o, object** last) {
  if (o->type == *last) return 1;
  if (has(o->type, "filled") || interrupted() || py.PyType_IsSubtype(o->type, py.PyBytes_Type) || (has(o->type, "hex") && has(o->type, "is_mutable"))) return 0;
  interrupted();
  object* old = *last; // code of Python may have changed it
  py.Py_IncRef(*last = o->type);
  if (old != NULL) py.Py_DecRef(old);
  return 1;
}

// array_argument makes v of an array of NumPy, a column of pandas, and all others with numbers of this machine in a
// buffer or, if they have a dtype of NumPy, in what __array__ returns: other columns may have nulls, which the module
// _columns knows. It may run code of Python, and returns 0 where it fails, without an exception unless it was interrupted.
APART static int array_argument(object* o, struct limits* most, any* v) {
  static object *passes, *made; // the last classes that were no other ones, of o and of what __array__ returns
  object* other = NULL;
  if (!is_unmasked(o, &passes)) return 0;
  if (!py.PyObject_CheckBuffer(o)) {
    object *dtype = py.PyObject_GetAttrString(o, "dtype"), *make = dtype != NULL && has(dtype, "alignment") ? py.PyObject_GetAttrString(o, "__array__") : NULL;
    other = o = make == NULL ? NULL : py.PyObject_CallFunctionObjArgs(make, NULL);
    if (dtype != NULL) py.Py_DecRef(dtype);
    if (make != NULL) py.Py_DecRef(make);
  }
  interrupted();
  int ok = o != NULL && (other == NULL || is_unmasked(o, &made)) && buffer_argument(o, most, v);
  if (other != NULL) py.Py_DecRef(other);
  return ok;
}

// object_argument makes v of an object with a handle.
APART static void object_argument(object* o, any* v) {
  v->object = handle(o);
  v->type = v->object->type;
  tvm.TVMFFIObjectIncRef(v->object);
  tie(o); // tvm_ffi may have made it
}

// argument makes v of a value of a type of Python itself, without code of Python but for arrays. It
// returns 0 for all others, and where it fails, without an exception unless an array was interrupted or an entry of a dict
// would be lost.
HOT static int argument(object* o, char kind, struct limits* most, any* v) {
  v->size = 0;
  v->integer = 0;
  v->type = NONE;
  if (kind == 'p') return 0;
  if (o->type == py.PyLong_Type) {
    int overflow;
    v->type = INT;
    v->integer = py.PyLong_AsLongLongAndOverflow(o, &overflow);
    return overflow == 0 || large_int(o, v);
  }
  if (kind == 'o' && py.PyType_IsSubtype(o->type, object_class) && handle(o) != NULL) {
    object_argument(o, v);
    return 1;
  }
  if (o->type == py.PyUnicode_Type) {
    ssize n;
    const char* s = py.PyUnicode_AsUTF8AndSize(o, &n);
    if (s == NULL) { // it has surrogates
      py.PyErr_Clear();
      return 0;
    }
    if (kind != 's' || strlen(s) != (size_t)n) {
      v->type = STR;
      return bytes_of(s, n, v);
    }
    v->type = RAW_STR; // the call ends before o does
    v->raw = s;
    return 1;
  }
  if (o->type == py.PyFloat_Type) {
    v->type = FLOAT;
    v->number = py.PyFloat_AsDouble(o);
    return 1;
  }
  if (o->type == py.PyBool_Type) {
    v->type = BOOL;
    v->integer = o == py._Py_TrueStruct;
    return 1;
  }
  if (o->type == py.PyBytes_Type) {
    char* s;
    ssize n;
    if (py.PyBytes_AsStringAndSize(o, &s, &n) == 0) return bytes_of(s, n, v);
    py.PyErr_Clear();
    return 0;
  }
  if (o == py._Py_NoneStruct) return 1;
  int list = o->type == py.PyList_Type, dict = o->type == py.PyDict_Type;
  if (!list && !dict && o->type != py.PyTuple_Type) return kind == 'n' && array_argument(o, most, v);
  ssize n = dict ? 2 * py.PyDict_Size(o) : list ? py.PyList_Size(o) : py.PyTuple_Size(o), at = 0;
  array* a = NULL;
  int ok = most->depth-- > 0 && (most->elements -= n) >= 0 && (a = new_array(n)) != NULL;
  for (object *k, *x; ok && a->size < n; a->size += ok) {
    if (dict) {
      ok = py.PyDict_Next(o, &at, &k, &x) && argument(k, 'v', most, &a->data[a->size]);
      if (!ok) break;
      a->size++;
    } else {
      x = list ? py.PyList_GetItem(o, a->size) : py.PyTuple_GetItem(o, a->size);
    }
    ok = argument(x, 'v', most, &a->data[a->size]);
  }
  most->depth++;
  if (ok && !dict) {
    v->type = ARRAY;
    v->object = &a->base;
    return 1;
  }
  ok = ok && (tvm.TVMFFIFunctionCall(new_map, a->data, (int32_t)n, v) == 0 || no());
  if (ok && 2 * ((array*)v->object)->size != n) { // a Map begins like an Array: with the data and the size
    drop(v);
    py.PyErr_SetString(*py.PyExc_ValueError, "two keys of the dict are one key of a map, as NaN and NaN are: one of the entries would be lost");
    ok = 0;
  }
  if (a != NULL) tvm.TVMFFIObjectDecRef(a);
  return ok;
}

// typed makes a value of Python of the name of its type and of a value without it, and of an object that holds both, which
// is of the type typed_type.
static object* typed;
static int32_t typed_type = -1;

static object* function_typed(object* self, object* args) {
  (void)self;
  object* make;
  long long type;
  if (!py.PyArg_ParseTuple(args, "OL", &make, &type)) return NULL;
  py.Py_IncRef(typed = make); // it stays as long as the process
  typed_type = (int32_t)type;
  py.Py_IncRef(py._Py_NoneStruct);
  return py._Py_NoneStruct;
}

APART static object* typed_object(function* f, any v) {
  object *o = with_pending(f->taken, v), *made = o == NULL ? NULL : py.PyObject_CallFunctionObjArgs(typed, o, NULL);
  if (o != NULL) py.Py_DecRef(o);
  return made;
}

// object_result makes a value of Python of v, which may be an object.
APART static object* object_result(function* f, any v) {
  object** at = v.type >= OBJECT ? place(v.object) : NULL;
  object* o = at != NULL ? known(v.object, at) : NULL;
  if (o != NULL) {
    py.Py_IncRef(o);
    return o;
  }
  if (v.type >= OBJECT) tvm.TVMFFIObjectIncRef(v.object);
  return v.type == typed_type ? typed_object(f, v) : same(with_pending(f->taken, v));
}

// result makes a value of Python of v.
HOT static object* result(function* f, const any* v) {
  text t = {v->small, v->size};
  switch (v->type) {
  case NONE: py.Py_IncRef(py._Py_NoneStruct); return py._Py_NoneStruct;
  case INT: return py.PyLong_FromLongLong(v->integer);
  case BOOL: return py.PyBool_FromLong(v->integer != 0);
  case FLOAT: return py.PyFloat_FromDouble(v->number);
  case RAW_STR: t = (text){v->raw, strlen(v->raw)}; return py.PyUnicode_DecodeUTF8(t.data, (ssize)t.size, NULL);
  case STR: t = *(text*)(v->object + 1); // fallthrough
  case SMALL_STR: return py.PyUnicode_DecodeUTF8(t.data, (ssize)t.size, NULL);
  case RAW_BYTES: t = *(text*)v->object; return py.PyBytes_FromStringAndSize(t.data, (ssize)t.size);
  case BYTES: t = *(text*)(v->object + 1); // fallthrough
  case SMALL_BYTES: return py.PyBytes_FromStringAndSize(t.data, (ssize)t.size);
  case BIG_INT:
    if (big_int_content == NULL) break;
    uint64_t words[2];
    t = big_int_content(v);
    if (t.size != sizeof words) break;
    memcpy(words, t.data, sizeof words);
    if (words[1] == 0) return py.PyLong_FromUnsignedLongLong(words[0]);
  }
  return object_result(f, *v);
}

// new_tuple makes a tuple of a class, whose elements are to be set.
static object* new_tuple(object* class, ssize n) {
  object* o = py.PyType_GenericAlloc(class, n);
  if (o != NULL && tuples_keep_hash) ((ssize*)o)[3] = -1; // behind the size: not known yet
  return o;
}

static object* flat(function* f, const any** next, const char* bytes, object* class);

// flat_typed does what flat does for a value that has the name of its type before it.
APART static object* flat_typed(function* f, const any** next, const char* bytes) {
  object *name = flat(f, next, bytes, NULL), *value = name == NULL ? NULL : flat(f, next, bytes, NULL), *made = NULL;
  if (value != NULL && typed != NULL) made = py.PyObject_CallFunctionObjArgs(typed, value, name, NULL);
  else if (value != NULL) py.Py_IncRef(made = value);
  if (name != NULL) py.Py_DecRef(name);
  if (value != NULL) py.Py_DecRef(value);
  return made;
}

// key_of returns a tuple for a list, which cannot be the key of a dict, and all else as it is. It takes o, which may be NULL.
static object* key_of(object* o) {
  if (o == NULL || o->type != py.PyList_Type) return o;
  ssize n = py.PyList_Size(o);
  object* all = py.PyTuple_New(n);
  for (ssize i = 0; all != NULL && i < n; i++) {
    object* x = py.PyList_GetItem(o, i);
    py.Py_IncRef(x);
    if ((x = key_of(x)) != NULL && py.PyTuple_SetItem(all, i, x) == 0) continue; // takes x
    py.Py_DecRef(all);
    all = NULL;
  }
  py.Py_DecRef(o);
  return all;
}

// flat makes a value of Python of the next value in flat form. bytes are those of its texts, and
// class is the one of a tuple, or NULL.
static object* flat(function* f, const any** next, const char* bytes, object* class) {
  const any* v = (*next)++;
  if (v->type == RAW_STR) return py.PyUnicode_DecodeUTF8(bytes + v->integer, (ssize)v->size, NULL);
  if (v->type == RAW_BYTES) return py.PyBytes_FromStringAndSize(bytes + v->integer, (ssize)v->size);
  if (v->type == FLAT_MAP) {
    object* dict = py.PyDict_New();
    int ok = dict != NULL;
    for (int64_t i = 0; ok && i < v->integer; i++) {
      object *key = key_of(flat(f, next, bytes, NULL)), *value = key == NULL ? NULL : flat(f, next, bytes, NULL);
      ok = value != NULL && py.PyDict_SetItem(dict, key, value) == 0;
      if (key != NULL) py.Py_DecRef(key);
      if (value != NULL) py.Py_DecRef(value);
    }
    if (ok && py.PyDict_Size(dict) != (ssize)v->integer) {
      py.PyErr_SetString(*py.PyExc_ValueError, "two keys of the map are one key in Python, as 1 and True are");
      ok = 0;
    }
    if (ok) return dict;
    if (dict != NULL) py.Py_DecRef(dict);
    return NULL;
  }
  if (v->type == FLAT_TYPED) return flat_typed(f, next, bytes);
  if (v->type != FLAT_LIST && v->type != FLAT_TUPLE) return result(f, v);
  ssize n = (ssize)v->integer;
  int list = v->type == FLAT_LIST;
  object* o = list ? py.PyList_New(n) : class != NULL ? new_tuple(class, n) : py.PyTuple_New(n);
  int ok = o != NULL;
  for (ssize i = 0; ok && i < n; i++) {
    const any* e = *next;
    object* x = e->type == FLOAT ? py.PyFloat_FromDouble(e->number) : e->type == INT ? py.PyLong_FromLongLong(e->integer) : flat(f, next, bytes, NULL);
    *next += *next == e; // flat has gone on
    ok = x != NULL && (list ? py.PyList_SetItem : py.PyTuple_SetItem)(o, i, x) == 0; // takes x
  }
  if (ok) return o;
  if (o != NULL) py.Py_DecRef(o);
  return NULL;
}

// flat_result makes a value of Python of a result in flat form, which ends.
static object* flat_result(function* f, const any* r, const any* room) {
  const any *all = (const any*)r->raw, *next = all;
  object* o = flat(f, &next, (const char*)(all + r->size), f->make);
  for (uint32_t i = 0; i < r->size; i++) {
    any v = all[i];
    drop(&v);
  }
  if (all != room) free((void*)all);
  return o;
}

// look is a function of Python that raises a BufferError for an array that Go must not write to. It returns True if all
// values of the class pass.
static object* look;

static int unwritable(object* o) {
  static object* passes; // the last such class
  object* t = o->type;
  if (t == passes || t == py.PyFloat_Type || t == py.PyLong_Type || t == py.PyUnicode_Type || t == py.PyBool_Type || t == py.PyBytes_Type || o == py._Py_NoneStruct || look == NULL) return 0;
  py.Py_IncRef(t); // look may give o another class
  object *all = py.PyObject_CallFunctionObjArgs(look, o, NULL), *old = t;
  if (all == py._Py_TrueStruct) old = passes, passes = t;
  if (old != NULL) py.Py_DecRef(old);
  if (all == NULL) return 1;
  py.Py_DecRef(all);
  return 0;
}

static object* function_look(object* self, object* o) {
  (void)self;
  py.Py_IncRef(look = o); // as long as the process, like the library
  py.Py_IncRef(py._Py_NoneStruct);
  return py._Py_NoneStruct;
}

// unmade raises a TypeError for o, or for an element of a container, if it is an object without a handle, a BufferError if it is
// an array that Go must not write to, and a ValueError if the container is too deep for tvm_ffi, which goes into it on the C stack, or too large.
static int unmade(object* o, struct limits* most) {
  if (py.PyType_IsSubtype(o->type, object_class)) {
    if (handle(o) != NULL) {
      tie(o);
      return 0;
    }
    py.PyErr_Format(*py.PyExc_TypeError, "%R has no object of Go yet: call super().__init__() first", o->type);
    return 1;
  }
  int list = py.PyType_IsSubtype(o->type, py.PyList_Type), dict = !list && py.PyType_IsSubtype(o->type, py.PyDict_Type);
  if (!list && !dict && !py.PyType_IsSubtype(o->type, py.PyTuple_Type)) return most->looks && unwritable(o);
  ssize n = dict ? py.PyDict_Size(o) : list ? py.PyList_Size(o) : py.PyTuple_Size(o), at = 0;
  int found = 0;
  if (most->depth == 0) {
    py.PyErr_SetString(*py.PyExc_ValueError, "the value contains itself, or is nested deeper than 1000 levels");
    return 1;
  }
  if ((most->elements -= n) < 0) {
    py.PyErr_SetString(*py.PyExc_ValueError, "the value has more than 134217728 elements, perhaps because it shares containers");
    return 1;
  }
  most->depth--;
  for (object *k = NULL, *x; !found && n > 0; n--) { // unwritable runs code of Python, which may change o
    if (dict && !py.PyDict_Next(o, &at, &k, &x)) break;
    if (!dict) x = list ? py.PyList_GetItem(o, n - 1) : py.PyTuple_GetItem(o, n - 1);
    if (x == NULL) { // the list is shorter now
      py.PyErr_Clear();
      continue;
    }
    if (k != NULL) py.Py_IncRef(k);
    py.Py_IncRef(x);
    found = (k != NULL && unmade(k, most)) || unmade(x, most);
    if (k != NULL) py.Py_DecRef(k);
    py.Py_DecRef(x);
  }
  most->depth++;
  return found;
}

static int is_nan(object* o) {
  double x = o->type == py.PyFloat_Type ? py.PyFloat_AsDouble(o) : 0;
  return x != x;
}

// plain reports whether o, with all that is in it, is of types of Python itself, not of those that derive.
static int plain(object* o, struct limits* most) {
  object* t = o->type;
  if (t == py.PyFloat_Type || t == py.PyLong_Type || t == py.PyUnicode_Type || t == py.PyBool_Type || t == py.PyBytes_Type || o == py._Py_NoneStruct) return 1;
  int list = t == py.PyList_Type, dict = t == py.PyDict_Type;
  if ((!list && !dict && t != py.PyTuple_Type) || most->depth == 0) return 0;
  ssize n = dict ? py.PyDict_Size(o) : list ? py.PyList_Size(o) : py.PyTuple_Size(o), at = 0;
  int ok = (most->elements -= n) >= 0;
  most->depth--;
  for (object *k, *x; ok && n > 0; n--) {
    if (dict) ok = py.PyDict_Next(o, &at, &k, &x) && plain(k, most) && !is_nan(k); // of which a map has one
    else x = list ? py.PyList_GetItem(o, n - 1) : py.PyTuple_GetItem(o, n - 1);
    ok = ok && plain(x, most);
  }
  most->depth++;
  return ok;
}

// scaled multiplies the ints of an Array by times, and divides them by per. It returns 0 if one becomes no int of 64 bits,
// and in at how many came before it. The smallest int is NaT.
static int scaled(array* a, int64_t times, int64_t per, ssize* at) {
  for (int64_t i = 0; i < a->size; i++) {
    any* x = &a->data[i];
    if (x->type == ARRAY) {
      if (!scaled((array*)x->object, times, per, at)) return 0;
      continue;
    }
    int64_t n = x->integer;
    if (x->type != INT || n == INT64_MIN || (per != 1 && n % per != 0) || __builtin_mul_overflow(per == 1 ? n : n / per, times, &x->integer)) return 0;
    ++*at;
  }
  return 1;
}

// function_column is _columns.made.
static object* function_column(object* self, object* args) {
  (void)self;
  object *o, *taken;
  long long times, per;
  struct limits most = {16, 1 << 24, 0};
  ssize at = 0;
  any v = {.type = NONE};
  if (!py.PyArg_ParseTuple(args, "OLLO", &o, &times, &per, &taken)) return NULL;
  int ok = buffer_argument(o, &most, &v);
  if (ok && (times == 0 || scaled((array*)v.object, times, per, &at))) return with_pending(taken, v);
  if (ok) drop(&v);
  if (ok) return py.PyLong_FromLongLong(at);
  if (py.PyErr_Occurred()) return NULL;
  py.Py_IncRef(py._Py_NoneStruct);
  return py._Py_NoneStruct;
}

static object* function_plain(object* self, object* o) {
  (void)self;
  struct limits most = {16, 1 << 24, 0};
  return py.PyBool_FromLong(plain(o, &most));
}

static object* function_same(object* self, object* o) {
  (void)self;
  py.Py_IncRef(o);
  return same(o);
}

// function_each is function_same for the elements of a list.
static object* function_each(object* self, object* list) {
  (void)self;
  for (ssize i = 0, n = py.PyList_Size(list); i < n; i++) {
    object* o = py.PyList_GetItem(list, i);
    if (o == NULL) return NULL;
    py.Py_IncRef(o);
    object* other = same(o);
    if (other == o) py.Py_DecRef(o);
    else if (py.PyList_SetItem(list, i, other) != 0) return NULL; // takes it
  }
  if (py.PyErr_Occurred()) return NULL;
  py.Py_IncRef(list);
  return list;
}

// is_made raises a TypeError for an object with a handle.
static int is_made(object* o) {
  if (handle(o) == NULL) return 0;
  py.PyErr_Format(*py.PyExc_TypeError, "%R.__init__() was called before: the object is made", o->type);
  return 1;
}

// construct gives o, which has no handle, the object that the library has made.
APART static object* construct(function* f, object* o, any v) {
  if (is_made(o)) { // by another thread
    drop(&v);
    return NULL;
  }
  if (v.type >= OBJECT) { // of this library: tvm_ffi keeps objects of its own only with those that it has allocated
    *(header**)(o + 1) = v.object;
    if (*f->kinds == '-') tie(o); // others have fields
    py.Py_IncRef(py._Py_NoneStruct);
    return py._Py_NoneStruct;
  }
  any before = pending;
  pending = v;
  object* none = py.PyObject_CallFunctionObjArgs(f->make, o, f->taken, NULL); // it says what is wrong with v
  drop(&pending); // if it was not taken
  pending = before;
  return none;
}

// makes reports whether f is the __init__ of o, which has no handle and is of the class or of one that derives in Python.
APART static int makes(function* f, object* o) {
  if (o->type == f->convert) return handle(o) == NULL;
  if (!py.PyType_IsSubtype(o->type, f->convert) || handle(o) != NULL) return 0;
  object *own = py.PyObject_GetAttrString(o->type, "__tvm_ffi_type_info__"), *of_class = py.PyObject_GetAttrString(f->convert, "__tvm_ffi_type_info__");
  int same = own != NULL && own == of_class;
  if (own != NULL) py.Py_DecRef(own);
  if (of_class != NULL) py.Py_DecRef(of_class);
  py.PyErr_Clear();
  return same;
}

// own returns the text or the bytes of Python for those of tvm_ffi, which derive from them. It takes o.
static object* own(object* o) {
  object* of = NULL;
  char* s;
  ssize n;
  if (o->type != py.PyUnicode_Type && py.PyType_IsSubtype(o->type, py.PyUnicode_Type)) of = py.PyObject_Str(o);
  else if (o->type != py.PyBytes_Type && py.PyType_IsSubtype(o->type, py.PyBytes_Type)) of = py.PyBytes_AsStringAndSize(o, &s, &n) == 0 ? py.PyBytes_FromStringAndSize(s, n) : NULL;
  else return o;
  py.Py_DecRef(o);
  return of;
}

// checks is the number of required arguments of a function that only looks at them: tvm_ffi ends the process for an
// object that was not made. If the parameters are -, it makes the first one.
enum { checks = ARGUMENTS + 1 };

static int refuses(function* f, object* const* args, ssize n) {
  ssize k = 0;
  if (*f->kinds == '-' && n > 0 && py.PyType_IsSubtype(args[0]->type, object_class) && is_made(args[k++])) return 1;
  struct limits most = {1000, 1 << 27, f->callee == py._Py_NoneStruct}; // another function looks itself
  while (k < n && !unmade(args[k], &most)) k++;
  return k < n;
}

// call calls an object of Python.
static object* call(object* f, object* const* args, size_t flags, object* names) {
  ssize n = (ssize)(flags << 1 >> 1), m = names == NULL ? 0 : py.PyTuple_Size(names);
  if (vectorcall != NULL) return vectorcall(f, args, flags, names);
  object *list = py.PyTuple_New(n), *named = py.PyDict_New(), *o = NULL;
  int ok = list != NULL && named != NULL;
  for (ssize i = 0; ok && i < n; i++) {
    py.Py_IncRef(args[i]);
    ok = py.PyTuple_SetItem(list, i, args[i]) == 0;
  }
  for (ssize i = 0; ok && i < m; i++) ok = py.PyDict_SetItem(named, py.PyTuple_GetItem(names, i), args[n + i]) == 0;
  if (ok) o = py.PyObject_Call(f, list, named);
  if (list != NULL) py.Py_DecRef(list);
  if (named != NULL) py.Py_DecRef(named);
  return o;
}

// python_of returns the function of Python. It raises an exception if the collector has it.
static object* python_of(object* self) {
  object* f = ((function*)self)->python;
  if (f == NULL) py.PyErr_SetString(*py.PyExc_SystemError, "the function was deleted");
  return f;
}

// ordinary calls the function of Python.
static object* ordinary(function* f, object* const* args, size_t flags, object* names) { return same(call(f->python, args, flags, names)); }

// callback is a Function: a function of Python that Go calls. end is the one that ends its calls where C cannot.
typedef struct {
  header base;
  safe_call call;
  void* no_cpp;
  function* f;
  object *callable, *end;
  char result; // its kind, for Python
  char lists;  // an Array or a Map is to be a list or a dict
} callback;

// spare is memory for the next callback: most end with the call that they are for, with nobody else who has them. The
// GIL guards it.
static callback* spare;

// left is the result, or the exception, of the callback that end ends.
static __thread struct outcome { object *result, *type, *value, *traceback; } left;

static object* function_left(object* self, object* none) {
  (void)self, (void)none;
  object* o = left.result;
  if (o == NULL) py.PyErr_Restore(left.type, left.value, left.traceback); // takes them
  left.result = left.type = left.value = left.traceback = NULL;
  return o;
}

// raise_here raises the exception as an error, without code of Python: where that fails, such as at the limit of recursion.
static void raise_here(void) {
  object *type = NULL, *value = NULL, *traceback = NULL;
  py.PyErr_Fetch(&type, &value, &traceback);
  object *name = type == NULL ? NULL : py.PyObject_GetAttrString(type, "__name__"), *about = value == NULL ? NULL : py.PyObject_Str(value);
  const char *kind = name == NULL ? NULL : py.PyUnicode_AsUTF8AndSize(name, NULL), *message = about == NULL ? NULL : py.PyUnicode_AsUTF8AndSize(about, NULL);
  py.PyErr_Clear();
  tvm.TVMFFIErrorSetRaisedFromCStr(kind == NULL ? "MemoryError" : kind, message == NULL ? "in a callback" : message);
  object* all[] = {type, value, traceback, name, about};
  for (int i = 0; i < 5; i++) {
    if (all[i] != NULL) py.Py_DecRef(all[i]);
  }
}

// end_callback ends a call with a result that C does not know, or with an exception.
static int end_callback(callback* c, object* o, any* result) {
  struct outcome this = {.result = o};
  if (o == NULL) py.PyErr_Fetch(&this.type, &this.value, &this.traceback);
  if (c->end == NULL) {
    object* kind = py.PyUnicode_DecodeUTF8(&c->result, 1, NULL);
    object* end = kind == NULL ? NULL : py.PyObject_CallFunctionObjArgs(c->f->ended, kind, NULL);
    if (kind != NULL) py.Py_DecRef(kind);
    if (c->end == NULL) c->end = end;
    else if (end != NULL) py.Py_DecRef(end); // another call has made one
    else py.PyErr_Clear();
  }
  struct outcome outer = left;
  int code = -1;
  left = this;
  if (c->end != NULL) code = tvm.TVMFFIFunctionCall(handle(c->end), NULL, 0, result);
  else raise_here();
  if ((o = function_left(NULL, NULL)) != NULL) py.Py_DecRef(o); // if it was not taken
  py.PyErr_Clear();
  left = outer;
  return code;
}

// received makes a value of Python of an argument of a callback.
static object* received(callback* c, const any* v) {
  if (v->type == FLAT) {
    const flat_argument* a = (const flat_argument*)v->raw;
    const any* next = a->values;
    return flat(c->f, &next, a->bytes, NULL);
  }
  object* o = result(c->f, v);
  if (o == NULL || !c->lists || (v->type != ARRAY && v->type != MAP)) return o;
  object* plain = py.PyObject_CallFunctionObjArgs(c->f->lists, o, NULL);
  py.Py_DecRef(o);
  return plain;
}

// tvmffi_callback is the safe call of a callback. It runs on any thread.
__attribute__((visibility("hidden"))) int tvmffi_callback(void* self, const void* args, int32_t n, void* result_) {
  callback* c = self;
  int state = py.PyGILState_Ensure(), i = 0;
  tvm.TVMFFIObjectIncRef(c); // the callback may drop the last other reference
  object *few[ARGUMENTS + 1], **given = n <= ARGUMENTS ? few : malloc((size_t)(n + 1) * sizeof(object*)), *o = NULL;
  int ok = given != NULL && python_of((object*)c->f) != NULL;
  for (; ok && i < n; i += ok) {
    any v = ((const any*)args)[i];
    if (v.type == MOVED) {
      header** from = (header**)v.object;
      v.object = *from;
      *from = NULL;
      v.type = v.object == NULL ? NONE : v.object->type;
      given[i + 1] = received(c, &v);
      drop(&v);
    } else {
      given[i + 1] = received(c, &v);
    }
    ok = given[i + 1] != NULL;
  }
  if (ok) o = call(c->callable, given + 1, (size_t)n | (size_t)1 << (sizeof(size_t) * 8 - 1), NULL);
  while (i > 0) py.Py_DecRef(given[i--]);
  if (given != few) free(given);
  struct limits most = {16, 1 << 24, 0};
  any r = {.type = NONE};
  int code = 0;
  if (o != NULL && argument(o, c->result == 'n' ? 'n' : 'o', &most, &r)) {
    py.Py_DecRef(o);
  } else {
    if (o != NULL && py.PyErr_Occurred()) { // an array was interrupted
      py.Py_DecRef(o);
      o = NULL;
    }
    r = (any){.type = NONE};
    code = end_callback(c, o, &r);
  }
  *(any*)result_ = r;
  tvm.TVMFFIObjectDecRef(c);
  py.PyGILState_Release(state);
  return code;
}

// delete_callback is the deleter of a callback. It runs on any thread.
static void delete_callback(void* p, int flags) {
  callback* c = p;
  if ((flags & 1) != 0) {
    int state = py.PyGILState_Ensure();
    py.Py_DecRef((object*)c->f);
    py.Py_DecRef(c->callable);
    if (c->end != NULL) py.Py_DecRef(c->end);
    py.PyGILState_Release(state);
  }
  if ((flags & 2) != 0) free((char*)p - 16);
}

// new_callback makes v of a function of Python. It returns 0 for all other values.
APART static int new_callback(function* f, object* o, char kind, any* v) {
  callback* c;
  if (!py.PyCallable_Check(o) || py.PyType_IsSubtype(o->type, object_class)) return 0;
  if ((c = spare) != NULL) spare = NULL;
  else if ((c = new_object(sizeof *c, FUNCTION, delete_callback)) == NULL) return 0;
  c->call = tvmffi_callback, c->no_cpp = NULL, c->f = f, c->callable = o, c->end = NULL;
  c->result = kind == 'F' || kind == 'C' ? 'n' : kind == 'b' || kind == 'i' ? kind : 'o', c->lists = kind != 'c' && kind != 'C';
  py.Py_IncRef((object*)f);
  py.Py_IncRef(o);
  *v = (any){.type = FUNCTION, .object = &c->base};
  return 1;
}

// end_argument drops an argument of a call that is over, which is an object.
APART static void end_argument(any* v) {
  callback* c = (callback*)v->object;
  if (v->type != FUNCTION || c->base.deleter != (void*)delete_callback || spare != NULL || __atomic_load_n(&c->base.references, __ATOMIC_ACQUIRE) != one) {
    drop(v);
    return;
  }
  object *f = (object*)c->f, *callable = c->callable, *end = c->end;
  spare = c; // before code of Python runs
  py.Py_DecRef(f);
  py.Py_DecRef(callable);
  if (end != NULL) py.Py_DecRef(end);
}

// run calls the library.
static int run(function* f, const any* args, ssize n, any* r) {
  if (!release || *f->kinds == '+') return f->target(f->self, args, (int32_t)n, r);
  void* thread = py.PyEval_SaveThread();
  int code = f->target(f->self, args, (int32_t)n, r);
  py.PyEval_RestoreThread(thread);
  return code;
}

// arrange puts the arguments of a call with keywords into the order of the parameters, with
// defaults between them, and returns their number, or -1 for what Python has to look at.
static ssize arrange(function* f, object* const* args, ssize n, object* names, object** ordered) {
  ssize all = py.PyTuple_Size(f->names), keywords = py.PyTuple_Size(names), count = n;
  if (all > ARGUMENTS || n > all || f->kinds[all] != 0) return -1; // with *, too
  for (ssize i = 0; i < all; i++) ordered[i] = i < n ? args[i] : NULL;
  for (ssize k = 0; k < keywords; k++) {
    ssize i = 0;
    while (i < all && py.PyTuple_GetItem(f->names, i) != py.PyTuple_GetItem(names, k)) i++;
    if (i == all || ordered[i] != NULL) return -1;
    ordered[i] = args[n + k];
    if (i >= count) count = i + 1;
  }
  for (ssize i = n; i < count; i++) {
    ssize at = i - all + py.PyTuple_Size(f->defaults);
    if (ordered[i] == NULL && at < 0) return -1;
    if (ordered[i] == NULL) ordered[i] = py.PyTuple_GetItem(f->defaults, at);
  }
  return count;
}

// named adds the name of the function to an error of convert, such as that a datetime cannot hold a time.
APART static object* named(function* f) {
  object *type = NULL, *value = NULL, *traceback = NULL, *name = NULL;
  if (!py.PyErr_ExceptionMatches(*py.PyExc_OverflowError)) return NULL;
  py.PyErr_Fetch(&type, &value, &traceback);
  name = py.PyObject_GetAttrString(f->python, "__qualname__");
  if (name != NULL) py.PyErr_Format(*py.PyExc_OverflowError, "%U(): %S", name, value);
  object* all[] = {type, value, traceback, name};
  for (int i = 0; i < 4; i++) {
    if (all[i] != NULL) py.Py_DecRef(all[i]);
  }
  return NULL;
}

HOT static object* function_call(object* self, object* const* args, size_t flags, object* names) {
  function* f = (function*)self;
  ssize n = (ssize)(flags << 1 >> 1), i = 0; // the highest bit is a flag
  any a[ARGUMENTS], room[128], r = {.type = f->flat ? FLAT_ANY_ROOM : ROOM, .size = sizeof room, .raw = (char*)room};
  object* ordered[ARGUMENTS];
  if (python_of(self) == NULL) return NULL;
  if (*f->kinds == '+') r = (any){.type = NONE};
  if (f->required == checks) {
    if (refuses(f, args, names == NULL ? n : n + py.PyTuple_Size(names))) return NULL;
    struct limits most = {16, 1 << 24, 0};
    // The callee sets a field to what tvm_ffi may not know.
    int knows = f->callee == py._Py_NoneStruct || n != 2 || plain(args[1], &most) || py.PyType_IsSubtype(args[1]->type, object_class) || py.PyType_IsSubtype(args[1]->type, py.PyFloat_Type);
    object* o = call(knows ? f->python : f->callee, args, flags, names);
    if (o != NULL) o = same(own(o));
    if (o != NULL && *f->kinds == '-' && n > 0 && py.PyType_IsSubtype(args[0]->type, object_class) && handle(args[0]) != NULL) tie(args[0]);
    if (o != NULL && f->convert != NULL && !plain(o, &(struct limits){0, 0})) {
      object* made = py.PyObject_CallFunctionObjArgs(f->convert, o, NULL);
      py.Py_DecRef(o);
      return made;
    }
    // The callee says which field it is that does not take a value.
    return o != NULL || !knows || f->callee == py._Py_NoneStruct || interrupted() ? o : call(f->callee, args, flags, names);
  }
  if (names != NULL && (n = arrange(f, args, n, names, ordered)) < 0) return ordinary(f, args, flags, names);
  if (n < f->required || n > f->most) return ordinary(f, args, flags, names);
  object* const* given = names != NULL ? ordered : args;
  struct limits most = {16, 1 << 24, 0};
  ssize init = *f->kinds == '-' || *f->kinds == '+';
  if (init && !makes(f, given[0])) return ordinary(f, args, flags, names);
  for (const char* kind = f->kinds + (i = init); i < n && ((((*kind | 0x20) == 'f' || (*kind | 0x20) == 'c' || *kind == 'b' || *kind == 'i') && new_callback(f, given[i], *kind, &a[i])) || argument(given[i], *kind, &most, &a[i])); i++) {
    if (kind[1] != '*') kind++;
  }
  int code = i == n ? run(f, a + init, n - init, &r) : 0, stopped = i < n && py.PyErr_Occurred() != NULL;
  int left_to_python = i < n || (code != 0 && *f->kinds == '+' && !no()); // tvm_ffi raises such an error itself
  object* failed = code != 0 && !left_to_python ? set_error(f, code, &r) : NULL; // the callbacks have the exceptions
  for (ssize j = init; j < i; j++) {
    if (a[j].type >= OBJECT) end_argument(&a[j]);
  }
  if (stopped) return NULL;
  if (left_to_python) return ordinary(f, args, flags, names);
  if (code != 0) return failed;
  if (r.type == ROOM || r.type == FLAT_ANY_ROOM) r = (any){.type = NONE};
  if (init) return construct(f, given[0], r);
  int done = f->flat == 1 && r.type != ARRAY && r.type != MAP; // which convert takes apart in a value of any type
  object* o = r.type == FLAT ? flat_result(f, &r, room) : result(f, &r);
  drop(&r);
  if (o == NULL || done || f->convert == NULL) return o;
  object* made = py.PyObject_CallFunctionObjArgs(f->convert, o, NULL);
  py.Py_DecRef(o);
  return made != NULL ? made : named(f);
}

#define REFERENCES(f) {&f->callee, &f->python, &f->convert, &f->make, &f->lists, &f->params, &f->names, &f->defaults, &f->failed, &f->taken, &f->ended, &f->bound, &f->trace, &f->tracebacks}

static int function_clear(object* self) {
  function* f = (function*)self;
  object** all[] = REFERENCES(f);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    object* o = *all[i];
    *all[i] = NULL;
    if (o != NULL) py.Py_DecRef(o);
  }
  return 0;
}

static int function_traverse(object* self, visitor visit, void* arg) {
  function* f = (function*)self;
  object** all[] = REFERENCES(f);
  int stop = visit(self->type, arg);
  for (size_t i = 0; stop == 0 && i < sizeof all / sizeof *all; i++) {
    if (*all[i] != NULL) stop = visit(*all[i], arg);
  }
  return stop;
}

static void function_dealloc(object* self) {
  object* type = self->type;
  py.PyObject_GC_UnTrack(self);
  if (((function*)self)->weak != NULL) py.PyObject_ClearWeakRefs(self);
  function_clear(self);
  py.PyObject_GC_Del(self);
  py.Py_DecRef(type);
}

static object* function_new(object* type, object* args, object* options) {
  (void)options;
  function given = {.required = 0};
  long long target, handle, required;
  if (!py.PyArg_ParseTuple(args, "OOLLOOOLOOiOOOOO", &given.python, &given.callee, &target, &handle, &given.params, &given.names, &given.defaults,
                           &required, &given.convert, &given.make, &given.flat, &given.failed, &given.taken, &given.ended, &given.bound, &given.lists)) return NULL;
  ssize n;
  if ((given.kinds = py.PyUnicode_AsUTF8AndSize(given.params, &n)) == NULL) return NULL;
  if (given.convert == py._Py_NoneStruct) given.convert = NULL;
  if (given.make == py._Py_NoneStruct) given.make = NULL;
  given.call = function_call;
  given.self = (void*)(intptr_t)handle;
  given.target = target != 0 ? (safe_call)(intptr_t)target : handle != 0 ? ((callback*)given.self)->call : NULL; // as TVMFFIFunctionCall does
  given.required = (ssize)required;
  given.most = n > 0 && given.kinds[n - 1] == '*' ? ARGUMENTS : n < ARGUMENTS ? n : ARGUMENTS;
  function* f = (function*)py.PyType_GenericAlloc(type, 0);
  if (f == NULL) return NULL;
  given.base = f->base;
  *f = given;
  object** all[] = REFERENCES(f);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (*all[i] != NULL) py.Py_IncRef(*all[i]);
  }
  return (object*)f;
}

// All attributes are those of the function of Python, so that a function has its name, doc,
// signature and annotations. Only pickle and copy see the function itself.
static object* function_getattr(object* self, object* name) {
  if (py.PyUnicode_CompareWithASCIIString(name, "__reduce_ex__") == 0 || py.PyUnicode_CompareWithASCIIString(name, "__deepcopy__") == 0) return py.PyObject_GenericGetAttr(self, name);
  object* f = python_of(self);
  return f == NULL ? NULL : py.PyObject_GetAttr(f, name);
}

static int function_setattr(object* self, object* name, object* value) {
  object* f = python_of(self);
  return f == NULL ? -1 : py.PyObject_SetAttr(f, name, value);
}

static object* function_repr(object* self) {
  object* f = python_of(self);
  return f == NULL ? NULL : py.PyObject_Repr(f);
}

static object* function_reduce(object* self, object* args) {
  (void)args;
  object* f = python_of(self);
  object* name = f == NULL ? NULL : py.PyObject_GetAttrString(f, "__qualname__");
  if (name != NULL && py.PyUnicode_CompareWithASCIIString(name, "function_that_Go_returned") == 0) { // of _values
    py.Py_DecRef(name);
    name = NULL;
  }
  if (name == NULL && f != NULL && !interrupted()) {
    py.PyErr_SetString(*py.PyExc_TypeError, "a function that Go returned cannot be pickled, because it lives in this process: pickle what it is made of, and call the library again");
  }
  return name;
}

static object* function_copy(object* self, object* memo) {
  (void)memo;
  py.Py_IncRef(self);
  return self;
}

// pydoc looks for the doc in the class.
static object* function_doc(object* self, void* more) {
  (void)more;
  object* f = python_of(self);
  return f == NULL ? NULL : py.PyObject_GetAttrString(f, "__doc__");
}

static object* function_get(object* self, object* o, object* type) {
  (void)type;
  if (o != NULL && o != py._Py_NoneStruct) return python_of(self) == NULL ? NULL : py.PyObject_CallFunctionObjArgs(((function*)self)->bound, self, o, NULL);
  py.Py_IncRef(self);
  return self;
}

typedef void* finder(void*, const char*); // dlsym

static int find_all(finder* find, void* library, const char* const* names, size_t n, void* table) {
  for (size_t i = 0; i < n; i++) {
    void* p = find(library, names[i]);
    if (p == NULL) return 0;
    memcpy((void**)table + i, &p, sizeof p);
  }
  return 1;
}

// tvmffi_python returns the class of functions, or NULL if this Python, or this tvm_ffi, lacks
// something. process and library are the handles of the process and of libtvm_ffi. deleter is that of nodes.
__attribute__((visibility("hidden"))) object* tvmffi_python(const char* name, finder* find, void* process, void* library, object* objects, int gil, void* deleter) {
  static member members[] = {
      {"__vectorcalloffset__", 19, offsetof(function, call), 1, NULL},
      {"__weaklistoffset__", 19, offsetof(function, weak), 1, NULL},
      {0},
  };
  static method methods[] = {
      {"__reduce_ex__", function_reduce, 1, NULL},
      {"column", function_column, 1 | 0x20, NULL}, // METH_VARARGS, METH_STATIC
      {"__copy__", function_copy, 4, NULL},
      {"__deepcopy__", function_copy, 8, NULL},
      {"left", function_left, 4 | 0x20, NULL}, // METH_NOARGS, METH_STATIC
      {"plain", function_plain, 8 | 0x20, NULL}, // METH_O, METH_STATIC
      {"same", function_same, 8 | 0x20, NULL},
      {"each", function_each, 8 | 0x20, NULL},
      {"look", function_look, 8 | 0x20, NULL},
      {"typed", function_typed, 1 | 0x20, NULL}, // METH_VARARGS, METH_STATIC
      {0},
  };
  static property properties[] = {
      {"__doc__", function_doc, NULL, NULL, NULL},
      {0},
  };
  static slot slots[] = {
      {50, NULL}, // tp_call
      {51, function_clear}, {52, function_dealloc}, {54, function_get}, {58, function_getattr}, {64, methods},
      {65, function_new}, {66, function_repr}, {69, function_setattr}, {71, function_traverse}, {72, members}, {73, properties},
      {0},
  };
  // Py_TPFLAGS_DEFAULT, HAVE_GC, METHOD_DESCRIPTOR, HAVE_VECTORCALL
  spec type = {name, sizeof(function), 0, 1u << 18 | 1u << 14 | 1u << 17 | 1u << 11, slots};
  if (!find_all(find, process, python_names, sizeof py / sizeof(void*), &py) || !find_all(find, library, tvm_names, sizeof tvm / sizeof(void*), &tvm)) return NULL;
  void* p;
  text map = {"ffi.Map", 7};
  object* core = py.PyImport_ImportModule("tvm_ffi.core");
  if (core == NULL) return NULL;
  errors.class = py.PyObject_GetAttrString(core, "Error"), errors.kinds = py.PyObject_GetAttrString(core, "ERROR_NAME_TO_TYPE");
  errors.attribute = py.PyUnicode_InternFromString("__tvm_ffi_error__"), errors.next = py.PyUnicode_InternFromString("tb_next"), errors.none = py.PyTuple_New(0);
  errors.new = errors.class == NULL ? NULL : py.PyObject_GetAttrString(errors.class, "__new__");
  py.Py_DecRef(core);
  if (errors.kinds == NULL || errors.attribute == NULL || errors.next == NULL || errors.none == NULL || errors.new == NULL || errors.kinds->type != py.PyDict_Type) return NULL;
  p = py.PyType_GetSlot(errors.class, 65); // Py_tp_new; before Python 3.10 that of a class of this kind cannot be had
  memcpy(&new_error, &p, sizeof p);
  py.PyErr_Clear();
  if (new_map == NULL && tvm.TVMFFIFunctionGetGlobal(&map, &new_map) != 0) return (object*)(intptr_t)no();
  object* size = py.PyObject_GetAttrString(py.PyTuple_Type, "__basicsize__");
  if (size == NULL) return NULL;
  int overflow;
  tuples_keep_hash = py.PyLong_AsLongLongAndOverflow(size, &overflow) == 4 * sizeof(ssize);
  py.Py_DecRef(size);
  p = find(process, "PyObject_Vectorcall");
  memcpy(&vectorcall, &p, sizeof p);
  object* weak = py.PyWeakref_NewRef(objects, NULL);
  if (weak == NULL) return NULL;
  if (*(object**)(weak + 1) == objects) node_deleter = deleter;
  py.Py_DecRef(weak);
  p = find(library, "TVMFFIBigIntFromByteArray");
  memcpy(&new_big_int, &p, sizeof p);
  p = find(library, "TVMFFIBigIntGetContentByteArray");
  memcpy(&big_int_content, &p, sizeof p);
  release = gil;
  py.Py_IncRef(object_class = objects);
  slots[0].value = py.PyVectorcall_Call;
  return py.PyType_FromSpec(&type);
}
