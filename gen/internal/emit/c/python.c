// The Python package calls the library without code of Python where the arguments are plain
// values. It asks {{.Library}}__python for a class of functions. Everything else goes to the
// function of Python that such a function stands for. There is no header of Python here: the
// functions of its stable ABI are found in the process, so one library serves each CPython.
#ifndef _WIN32
#include <string.h>

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

#define PYTHON(X)                                                   \
  X(void, Py_IncRef, (object*))                                     \
  X(void, Py_DecRef, (object*))                                     \
  X(object*, PyType_FromSpec, (spec*))                              \
  X(object*, PyType_GenericAlloc, (object*, ssize))                 \
  X(void, PyObject_GC_UnTrack, (void*))                             \
  X(void, PyObject_GC_Del, (void*))                                 \
  X(void, PyObject_ClearWeakRefs, (object*))                        \
  X(int, PyArg_ParseTuple, (object*, const char*, ...))             \
  X(object*, PyObject_GetAttr, (object*, object*))                  \
  X(object*, PyObject_GenericGetAttr, (object*, object*))           \
  X(object*, PyObject_GetAttrString, (object*, const char*))        \
  X(int, PyObject_SetAttr, (object*, object*, object*))             \
  X(object*, PyObject_Repr, (object*))                              \
  X(object*, PyObject_Call, (object*, object*, object*))            \
  X(object*, PyVectorcall_Call, (object*, object*, object*))        \
  X(object*, PyObject_CallFunctionObjArgs, (object*, ...))          \
  X(object*, PyTuple_New, (ssize))                                  \
  X(ssize, PyTuple_Size, (object*))                                 \
  X(object*, PyTuple_GetItem, (object*, ssize))                     \
  X(int, PyTuple_SetItem, (object*, ssize, object*))                \
  X(object*, PyDict_New, (void))                                    \
  X(int, PyDict_SetItem, (object*, object*, object*))               \
  X(long long, PyLong_AsLongLongAndOverflow, (object*, int*))       \
  X(object*, PyLong_FromLongLong, (long long))                      \
  X(double, PyFloat_AsDouble, (object*))                            \
  X(object*, PyFloat_FromDouble, (double))                          \
  X(object*, PyBool_FromLong, (long))                               \
  X(const char*, PyUnicode_AsUTF8AndSize, (object*, ssize*))        \
  X(object*, PyUnicode_DecodeUTF8, (const char*, ssize, const char*)) \
  X(int, PyUnicode_CompareWithASCIIString, (object*, const char*))  \
  X(int, PyBytes_AsStringAndSize, (object*, char**, ssize*))        \
  X(object*, PyBytes_FromStringAndSize, (const char*, ssize))       \
  X(object*, PyErr_Occurred, (void))                                \
  X(void, PyErr_Clear, (void))                                      \
  X(void, PyErr_SetString, (object*, const char*))                  \
  X(void*, PyEval_SaveThread, (void))                               \
  X(void, PyEval_RestoreThread, (void*))
#define VALUES(X) X(PyLong_Type) X(PyBool_Type) X(PyFloat_Type) X(PyUnicode_Type) X(PyBytes_Type) X(_Py_NoneStruct) X(_Py_TrueStruct)
#define NAME(type, name, params) #name,
#define FUNCTION_OF(type, name, params) type(*name) params;
#define NAME_ONLY(name) #name,
#define VALUE_OF(name) object* name;

static const char* const python_names[] = {PYTHON(NAME) VALUES(NAME_ONLY) "PyExc_SystemError"};
static struct {
  PYTHON(FUNCTION_OF) VALUES(VALUE_OF)
  object** PyExc_SystemError;
} py;

// Values of TVM-FFI, as its c_api.h has them.
typedef struct { const char* data; size_t size; } text;
typedef struct { uint64_t references; int32_t type, padding; void* deleter; } header;
typedef struct {
  int32_t type;
  uint32_t size;
  union { int64_t integer; double number; header* object; const char* raw; char small[8]; };
} any;
enum { NONE, INT, BOOL, FLOAT, RAW_STR = 8, SMALL_STR = 11, SMALL_BYTES, OBJECT = 64, STR, BYTES, ERROR };

static struct {
  int (*TVMFFIObjectDecRef)(void*);
  void (*TVMFFIErrorMoveFromRaised)(void**);
  int (*TVMFFIStringFromByteArray)(const text*, any*);
  int (*TVMFFIBytesFromByteArray)(const text*, any*);
} tvm;
static const char* const tvm_names[] = {"TVMFFIObjectDecRef", "TVMFFIErrorMoveFromRaised", "TVMFFIStringFromByteArray", "TVMFFIBytesFromByteArray"};

static object* (*vectorcall)(object*, object* const*, size_t, object*); // NULL before Python 3.11
static int release;                                                     // the GIL, during a call

#define ARGUMENTS 16

// function is a function of the library. Its attributes are those of the one in Python.
typedef struct {
  object base;
  object* (*call)(object*, object* const*, size_t, object*);
  object* weak;
  safe_call target;
  object *python, *convert; // convert makes the result of what tvm_ffi would return, or NULL
  object *params, *failed, *taken, *bound;
  const char* kinds; // of the parameters: s takes text without a copy; the last may be *
  ssize required, most;
} function;

static void drop(any* v) {
  if (v->type >= OBJECT) tvm.TVMFFIObjectDecRef(v->object);
}

// pending is the value that the function _python of the library returns, for tvm_ffi to make an
// object of Python of it.
static __thread any pending;

SYMBOL int __tvm_ffi__python(void* self, const void* args, int32_t n, void* result) {
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

// set_error sets the exception for the error of a call.
static object* set_error(function* f, int code) {
  void* e = NULL;
  if (code != -2) tvm.TVMFFIErrorMoveFromRaised(&e);
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

// argument makes v of a plain value. It returns 0 for all others, without an exception.
static int argument(object* o, char kind, any* v) {
  v->size = 0;
  v->integer = 0;
  if (o->type == py.PyLong_Type) {
    int overflow;
    v->type = INT;
    v->integer = py.PyLong_AsLongLongAndOverflow(o, &overflow);
    return overflow == 0;
  }
  if (o->type == py.PyUnicode_Type) {
    ssize n;
    const char* s = py.PyUnicode_AsUTF8AndSize(o, &n);
    if (s == NULL) { // it has surrogates
      py.PyErr_Clear();
      return 0;
    }
    if (kind == 's' && strlen(s) == (size_t)n) { // the call ends before o does
      v->type = RAW_STR;
      v->raw = s;
      return 1;
    }
    text t = {s, (size_t)n};
    return tvm.TVMFFIStringFromByteArray(&t, v) == 0;
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
    if (py.PyBytes_AsStringAndSize(o, &s, &n) != 0) {
      py.PyErr_Clear();
      return 0;
    }
    text t = {s, (size_t)n};
    return tvm.TVMFFIBytesFromByteArray(&t, v) == 0;
  }
  v->type = NONE;
  return o == py._Py_NoneStruct;
}

// result makes a value of Python of v, and ends v.
static object* result(function* f, any* v) {
  object* o;
  text t = {v->small, v->size};
  switch (v->type) {
  case NONE: py.Py_IncRef(py._Py_NoneStruct); return py._Py_NoneStruct;
  case INT: return py.PyLong_FromLongLong(v->integer);
  case BOOL: return py.PyBool_FromLong(v->integer != 0);
  case FLOAT: return py.PyFloat_FromDouble(v->number);
  case SMALL_STR: return py.PyUnicode_DecodeUTF8(t.data, (ssize)t.size, NULL);
  case SMALL_BYTES: return py.PyBytes_FromStringAndSize(t.data, (ssize)t.size);
  case STR:
  case BYTES:
    t = *(text*)(v->object + 1);
    o = v->type == STR ? py.PyUnicode_DecodeUTF8(t.data, (ssize)t.size, NULL) : py.PyBytes_FromStringAndSize(t.data, (ssize)t.size);
    drop(v);
    return o;
  }
  return with_pending(f->taken, *v);
}

// ordinary calls the function of Python.
static object* ordinary(function* f, object* const* args, size_t flags, object* names) {
  if (vectorcall != NULL) return vectorcall(f->python, args, flags, names);
  ssize n = (ssize)(flags << 1 >> 1), m = names == NULL ? 0 : py.PyTuple_Size(names);
  object *list = py.PyTuple_New(n), *named = py.PyDict_New(), *o = NULL;
  int ok = list != NULL && named != NULL;
  for (ssize i = 0; ok && i < n; i++) {
    py.Py_IncRef(args[i]);
    ok = py.PyTuple_SetItem(list, i, args[i]) == 0;
  }
  for (ssize i = 0; ok && i < m; i++) ok = py.PyDict_SetItem(named, py.PyTuple_GetItem(names, i), args[n + i]) == 0;
  if (ok) o = py.PyObject_Call(f->python, list, named);
  if (list != NULL) py.Py_DecRef(list);
  if (named != NULL) py.Py_DecRef(named);
  return o;
}

// run calls the library.
static int run(function* f, const any* args, ssize n, any* r) {
  if (!release) return f->target(NULL, args, (int32_t)n, r);
  void* thread = py.PyEval_SaveThread();
  int code = f->target(NULL, args, (int32_t)n, r);
  py.PyEval_RestoreThread(thread);
  return code;
}

static object* function_call(object* self, object* const* args, size_t flags, object* names) {
  function* f = (function*)self;
  ssize n = (ssize)(flags << 1 >> 1), i = 0; // the highest bit is a flag
  any a[ARGUMENTS], r = {.type = NONE};
  if (f->python == NULL) { // the collector has it
    py.PyErr_SetString(*py.PyExc_SystemError, "the function was deleted");
    return NULL;
  }
  if (names != NULL || n < f->required || n > f->most) return ordinary(f, args, flags, names);
  for (const char* kind = f->kinds; i < n && argument(args[i], *kind, &a[i]); i++) {
    if (kind[1] != '*') kind++;
  }
  int code = i == n ? run(f, a, n, &r) : 0;
  for (ssize j = 0; j < i; j++) drop(&a[j]);
  if (i < n) return ordinary(f, args, flags, names);
  if (code != 0) return set_error(f, code);
  object* o = result(f, &r);
  if (o == NULL || f->convert == NULL) return o;
  object* converted = py.PyObject_CallFunctionObjArgs(f->convert, o, NULL);
  py.Py_DecRef(o);
  return converted;
}

#define REFERENCES(f) {&f->python, &f->convert, &f->params, &f->failed, &f->taken, &f->bound}

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
  object *python, *convert, *params, *failed, *taken, *bound;
  const char* kinds;
  long long target, required;
  if (!py.PyArg_ParseTuple(args, "OLOLOOOO", &python, &target, &params, &required, &convert, &failed, &taken, &bound)) return NULL;
  ssize n;
  if ((kinds = py.PyUnicode_AsUTF8AndSize(params, &n)) == NULL) return NULL;
  function* f = (function*)py.PyType_GenericAlloc(type, 0);
  if (f == NULL) return NULL;
  f->call = function_call;
  f->target = (safe_call)(intptr_t)target;
  f->kinds = kinds;
  f->required = required;
  f->most = (n > 0 && kinds[n - 1] == '*') || n > ARGUMENTS ? ARGUMENTS : n;
  f->python = python, f->params = params, f->failed = failed, f->taken = taken, f->bound = bound;
  f->convert = convert == py._Py_NoneStruct ? NULL : convert;
  object** all[] = REFERENCES(f);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (*all[i] != NULL) py.Py_IncRef(*all[i]);
  }
  return (object*)f;
}

// All attributes are those of the function of Python, so that a function has its name, doc,
// signature and annotations. Only pickle and copy see the function itself.
static object* function_getattr(object* self, object* name) {
  if (py.PyUnicode_CompareWithASCIIString(name, "__reduce_ex__") == 0) return py.PyObject_GenericGetAttr(self, name);
  return py.PyObject_GetAttr(((function*)self)->python, name);
}

static int function_setattr(object* self, object* name, object* value) {
  return py.PyObject_SetAttr(((function*)self)->python, name, value);
}

static object* function_repr(object* self) { return py.PyObject_Repr(((function*)self)->python); }

static object* function_reduce(object* self, object* args) {
  (void)args;
  return py.PyObject_GetAttrString(((function*)self)->python, "__qualname__");
}

// pydoc looks for the doc in the class.
static object* function_doc(object* self, void* more) {
  (void)more;
  return py.PyObject_GetAttrString(((function*)self)->python, "__doc__");
}

static object* function_get(object* self, object* o, object* type) {
  (void)type;
  if (o != NULL && o != py._Py_NoneStruct) return py.PyObject_CallFunctionObjArgs(((function*)self)->bound, self, o, NULL);
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

// {{.Library}}__python returns the class of functions, or NULL if this Python, or this tvm_ffi,
// lacks something. process and library are the handles of the process and of libtvm_ffi.
SYMBOL object* {{.Library}}__python(finder* find, void* process, void* library, int gil) {
  static member members[] = {
      {"__vectorcalloffset__", 19, offsetof(function, call), 1, NULL},
      {"__weaklistoffset__", 19, offsetof(function, weak), 1, NULL},
      {0},
  };
  static method methods[] = {
      {"__reduce_ex__", function_reduce, 1, NULL},
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
  static spec type = {"{{.Library}}.function", sizeof(function), 0, 1u << 18 | 1u << 14 | 1u << 17 | 1u << 11, slots};
  if (!find_all(find, process, python_names, sizeof py / sizeof(void*), &py) || !find_all(find, library, tvm_names, sizeof tvm / sizeof(void*), &tvm)) return NULL;
  void* p = find(process, "PyObject_Vectorcall");
  memcpy(&vectorcall, &p, sizeof p);
  release = gil;
  slots[0].value = py.PyVectorcall_Call;
  return py.PyType_FromSpec(&type);
}
#endif
