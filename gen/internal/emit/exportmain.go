package emit

import (
	"fmt"
	"strings"
	"text/template"

	"github.com/dave/jennifer/jen"
)

// readySymbol and endSymbol are the C names of the funcs that make a library ready and that
// end it with its host. They contain the name of the library, because some hosts make all
// symbols global.
func readySymbol(x Exported) string { return "tvmffi_ready_" + x.Library }
func endSymbol(x Exported) string   { return "tvmffi_end_" + x.Library }

// Main writes the main package of the shared library.
func Main(x Exported) ([]byte, error) {
	f := jen.NewFilePathName("", "main")
	f.HeaderComment(marker(x.Tool))
	f.HeaderComment("// source: " + clean(x.Path))
	f.PackageComment("// Command lib" + x.Library + " is the package " + x.Path + " as a shared library:")
	f.PackageComment("//")
	f.PackageComment("//\tgo build -buildmode=c-shared -o lib" + x.Library + ".so")
	f.CgoPreamble("#include <stdint.h>")
	f.ImportName(exportrtPath, "exportrt")
	f.ImportAlias(x.Path, "exported")
	f.Anon(exportrtPath+"/faults", exportrtPath+"/python")
	args := []jen.Code{jen.Qual(x.Path, exportsFunc).Call(), jen.Id("symbols"), jen.Id("end"), jen.Id("names")}
	if x.HasAny() {
		f.ImportName(exportrtPath+"/typed", "typed")
		args = append(args, jen.Qual(exportrtPath+"/typed", "Objects"))
	}
	f.Comment("//export " + readySymbol(x))
	f.Func().Id(readySymbol(x)).Params(jen.Id("symbols"), jen.Id("end").Uintptr()).Block(
		exportrt("Ready").Call(args...))
	f.Line()
	f.Comment("//export " + endSymbol(x))
	f.Func().Id(endSymbol(x)).Params().Block(exportrt("End").Call())
	f.Line()
	f.Comment("// names lists the functions in the order of the symbols.")
	var names []jen.Code
	for _, name := range symbols(x) {
		names = append(names, jen.Lit(name))
	}
	f.Var().Id("names").Op("=").Index().String().Values(names...)
	f.Line()
	f.Func().Id("main").Params().Block()
	return newExporter(x, f).render("the main package")
}

// symbols returns the names of the functions in the order of the symbols. The last ones
// start asynchronous calls and ask for typed values; see package exportrt.
func symbols(x Exported) []string { return append(x.Symbols(), "_async", "_typed") }

// Stubs writes the C file of the shared library: the constructor, and symbols for each
// function, its metadata and its doc.
func Stubs(x Exported) ([]byte, error) {
	var b strings.Builder
	type symbol struct{ Kind, Name string }
	var names []symbol
	for _, name := range symbols(x) {
		for _, kind := range []string{"", "_metadata_", "_doc_"} {
			names = append(names, symbol{kind, name})
		}
	}
	err := stubs.Execute(&b, map[string]any{
		"Marker": marker(x.Tool), "Path": clean(x.Path), "Library": x.Library,
		"Ready": readySymbol(x), "End": endSymbol(x), "Symbols": names, "Count": len(names),
	})
	if err != nil {
		return nil, fmt.Errorf("write the C file of %s: %w", x.Path, err)
	}
	return []byte(b.String()), nil
}

// stubs is the C file. Its struct symbols is the one of package exportrt.
var stubs = template.Must(template.New("stubs").Parse(`{{.Marker}}
// source: {{.Path}}

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef _WIN32
#define SYMBOL __declspec(dllexport)
#define ENVIRONMENT NULL // Go gets it from Windows
#else
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#define SYMBOL __attribute__((visibility("default")))
#ifdef __APPLE__
#include <crt_externs.h>
#define ENVIRONMENT (*_NSGetEnviron())
#else
extern char** environ;
#define ENVIRONMENT environ
#endif
#endif

typedef int (*safe_call)(void*, const void*, int32_t, void*);
typedef void* (*stream_of)(int32_t, int32_t);
struct stream {
  int32_t type, id;
  void* handle;
};

static struct {
  safe_call call;                      // set last, when all is ready
  void (*raise)(const char*, const char*);
  const char* problem;                 // why it is not ready
  char** environment;
  safe_call object;                    // calls a Function object
  safe_call guarded;                   // goes on to object, or refuses the call
  int32_t (*streams)(stream_of, struct stream*);
  safe_call callback;                  // of functions of Python
  void* deleter;                       // of objects that stand for values of Go
  uintptr_t count;
  void* handles[{{.Count}}];
} symbols = {.count = {{.Count}}};

extern void {{.Ready}}(uintptr_t symbols, uintptr_t end);
extern void {{.End}}(void);

#ifdef _WIN32
static void end(void) { {{.End}}(); }
#else
static pid_t process; // that loaded the library

// A host such as Rust has taken the stack for signals from the thread by now. Go, which
// is interrupted by signals, would end the process without one.
static void signal_stack(void) {
  static char memory[1 << 16];
  stack_t now, own = {.ss_sp = memory, .ss_size = sizeof memory};
  if (sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_DISABLE) != 0) sigaltstack(&own, NULL);
}

static void end(void) {
  if (getpid() != process) return;
  signal_stack();
  {{.End}}();
}

// A forked process has only one thread, and the Go runtime needs more. So it makes no calls.
static int refuse(void* self, const void* args, int32_t n, void* result) {
  (void)self, (void)args, (void)n, (void)result;
  const char* why = "the process was forked after lib{{.Library}} was loaded, and the fork has no threads of Go: "
      "start workers with spawn or forkserver, as multiprocessing.set_start_method(\"spawn\") does, or load the library only after the fork";
  if (symbols.raise != NULL) {
    symbols.raise("RuntimeError", why);
  } else {
    fprintf(stderr, "%s\n", why);
  }
  return -1;
}

static void forked(void) { symbols.call = symbols.object = refuse; }

static int guarded(void* self, const void* args, int32_t n, void* result) {
  return symbols.object(self, args, n, result);
}
#endif

// streams finds the current streams of devices, as package environment describes it.
static int32_t streams(stream_of get, struct stream* found) {
  static const int32_t types[] = {2, 10, 14, 12};
  int32_t n = 0;
  for (int32_t t = 0; t < 4; t++) {
    for (int32_t id = 0; id < 16; id++) {
      void* handle = get(types[t], id);
      if (handle != NULL) found[n++] = (struct stream){types[t], id, handle};
    }
  }
  return n;
}

#ifndef _WIN32 // see package runtime/exportrt/python
extern int tvmffi_callback(void*, const void*, int32_t, void*);
#endif

static safe_call ready(void) {
  safe_call call = __atomic_load_n(&symbols.call, __ATOMIC_ACQUIRE);
  if (call != NULL) return call;
  symbols.environment = ENVIRONMENT;
  symbols.streams = streams;
#ifndef _WIN32
  symbols.guarded = guarded;
  symbols.callback = tvmffi_callback;
#endif
  {{.Ready}}((uintptr_t)&symbols, (uintptr_t)end);
  return __atomic_load_n(&symbols.call, __ATOMIC_ACQUIRE);
}

#ifdef __linux__ // see package runtime/exportrt/faults
extern void tvmffi_faults(int);

SYMBOL void {{.Library}}__faults(int step) { tvmffi_faults(step); }
#endif

#ifndef _WIN32 // on Windows, Go cannot start under the loader lock: the first call starts it
__attribute__((constructor)) static void load(void) {
  process = getpid();
  pthread_atfork(NULL, NULL, forked);
#ifdef __linux__
  tvmffi_faults(0);
#endif
  ready();
  atexit(end);
}
#endif

static int fail(void) {
  if (symbols.raise != NULL) {
    symbols.raise("RuntimeError", symbols.problem);
  } else {
    fprintf(stderr, "%s\n", symbols.problem);
  }
  return -1;
}

static int enter(int i, const void* args, int32_t n, void* result) {
  safe_call call = ready();
  return call != NULL ? call(symbols.handles[i], args, n, result) : fail();
}

// Programs in C++ link with this symbol and those that contain the name of the library.
SYMBOL int {{.Library}}__tvm_ffi(void) { return ready() != NULL ? 0 : fail(); }

#define LINKED(i, name)                                                                        \
  SYMBOL int {{.Library}}__tvm_ffi_##name(void* self, const void* args, int32_t n, void* result) { \
    (void)self;                                                                                \
    return enter(i, args, n, result);                                                          \
  }

#define FUNCTION(i, name)                                                            \
  SYMBOL int __tvm_ffi_##name(void* self, const void* args, int32_t n, void* result) { \
    (void)self;                                                                      \
    return enter(i, args, n, result);                                                \
  }
{{range $i, $s := .Symbols}}
FUNCTION({{$i}}, {{$s.Kind}}{{$s.Name}}){{if eq $s.Kind ""}}
LINKED({{$i}}, {{$s.Name}}){{end}}{{end}}

#ifndef _WIN32 // see package runtime/exportrt/python
extern void* tvmffi_python(const char*, void*, void*, void*, void*, int, void*);

SYMBOL void* {{.Library}}__python(void* find, void* process, void* library, void* objects, int gil) {
  return tvmffi_python("{{.Library}}.function", find, process, library, objects, gil, symbols.deleter);
}
#endif
`))
