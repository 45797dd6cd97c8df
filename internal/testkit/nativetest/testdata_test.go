//go:build unix

package nativetest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// loader loads the library of its first argument, then says of each further argument whether it is a registered
// function (plain), a registered type (type:KEY) or an exported symbol (symbol:NAME).
const loader = `
#include <dlfcn.h>
#include <tvm/ffi/c_api.h>
#include <cstdio>
#include <cstring>
#include <string>
int main(int argc, char** argv) {
  TVMFFIVersion version;
  TVMFFIGetVersion(&version);
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) { std::printf("dlopen: %s\n", dlerror()); return 2; }
  for (int i = 2; i < argc; ++i) {
    std::string name = argv[i];
    bool found = false;
    if (name.rfind("type:", 0) == 0) {
      TVMFFIByteArray key{name.data() + 5, name.size() - 5};
      int32_t index = 0;
      found = TVMFFITypeKeyToIndex(&key, &index) == 0;
    } else if (name.rfind("symbol:", 0) == 0) {
      found = dlsym(library, name.c_str() + 7) != nullptr;
    } else {
      TVMFFIByteArray key{name.data(), name.size()};
      TVMFFIObjectHandle handle = nullptr;
      found = TVMFFIFunctionGetGlobal(&key, &handle) == 0 && handle != nullptr;
    }
    if (!found) std::printf("missing: %s\n", name.c_str());
  }
  std::puts("loaded");
}
`

func load(t *testing.T, library string, names ...string) (string, error) {
	t.Helper()
	program := BuildText(t, "loader", loader, Executable(), Flags("-ldl"))
	ctx, cancel := context.WithTimeout(t.Context(), Patience(20*time.Second))
	defer cancel()
	cmd := Command(ctx, program, append([]string{library}, names...)...)
	// No core file of the libraries that are meant to crash.
	cmd.Dir = t.TempDir()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return out.String(), err
}

func TestTestdataLoads(t *testing.T) {
	for name, want := range map[string][]string{
		"garden": {"garden.water", "garden.make_bed", "garden.count", "garden.tallest", "garden.alive", "type:garden.Plant",
			"type:garden.Rose", "type:garden.Tulip", "symbol:__tvm_ffi_area", "symbol:__tvm_ffi__metadata_area",
			"symbol:__tvm_ffi__doc_area", "symbol:__tvm_ffi_describe", "symbol:__tvm_ffi_scale"},
		"calls": {"calls.nop", "calls.add_one", "calls.nop3", "calls.concat", "calls.fail", "calls.repeat", "calls.on_thread",
			"calls.store", "calls.live", "type:calls.Box", "symbol:__tvm_ffi_raw_minus_two", "symbol:__tvm_ffi_raw_minus_one",
			"symbol:__tvm_ffi_triple"},
		"hostile/ugly": {"ugly.type", "ugly.range", "ugly.1st", "ugly.with-dash", "ugly.naïve", "ugly.Foo_Bar", "ugly.foo_bar",
			"ugly.release", "ugly.string", "ugly.internal.vendor.main", "type:ugly.Func", "symbol:__tvm_ffi_type"},
		"hostile/metadata": {"metadata.not_json", "metadata.unknown_type", "metadata.very_deep", "metadata.good_args",
			"metadata.good_packed", "type:metadata.Broken"},
		"hostile/noise": {"noise.one"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := load(t, Build(t, name), want...)
			if err != nil || !strings.HasSuffix(out, "loaded\n") || strings.Contains(out, "missing:") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	if out, err := load(t, Build(t, "garden"), "garden.no_such_function"); err != nil || !strings.Contains(out, "missing: garden.no_such_function") {
		t.Errorf("the loader finds a library that does not exist: %v\n%s", err, out)
	}
}

func TestHostileLibrariesAre(t *testing.T) {
	for name, want := range map[string]struct {
		signal syscall.Signal
		code   int
		says   string
	}{
		"abort":      {signal: syscall.SIGABRT, says: "abort in a static initialiser"},
		"throw":      {signal: syscall.SIGABRT, says: "thrown in a static initialiser"},
		"twice":      {signal: syscall.SIGABRT, says: "already registered"},
		"segfault":   {signal: syscall.SIGSEGV},
		"exit":       {code: 3},
		"future":     {code: 2, says: "FromTheFuture"},
		"unresolved": {code: 2, says: "hostile_symbol_that_nobody_defines"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := load(t, Build(t, "hostile/"+name))
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				t.Fatalf("err = %v, want an exit status\n%s", err, out)
			}
			status := exit.Sys().(syscall.WaitStatus)
			if status.Signaled() != (want.signal != 0) || status.Signaled() && status.Signal() != want.signal {
				t.Errorf("ended with %v, want signal %v", err, want.signal)
			}
			if want.signal == 0 && status.ExitStatus() != want.code {
				t.Errorf("exit code %d, want %d", status.ExitStatus(), want.code)
			}
			if !strings.Contains(out, want.says) || strings.Contains(out, "loaded\n") {
				t.Errorf("printed %q, want %q in it and no success", out, want.says)
			}
		})
	}
}

func TestHostileHangs(t *testing.T) {
	program := BuildText(t, "loader", loader, Executable(), Flags("-ldl"))
	library := Build(t, "hostile/hang")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if out, err := Command(ctx, program, library).CombinedOutput(); ctx.Err() == nil {
		t.Errorf("ended by itself: %v\n%s", err, out)
	}
}

// use calls the libraries from C++ as any C++ program would, so that a Go test that fails later is known to be
// the fault of Go.
const use = `
#include <dlfcn.h>
#include <tvm/ffi/tvm_ffi.h>
#include <cstdio>
#include <cstdlib>
namespace ffi = tvm::ffi;
static ffi::Function global(const char* name) { return ffi::Function::GetGlobalRequired(name); }
#define EXPECT(...) do { if (!(__VA_ARGS__)) { std::printf("line %d: %s\n", __LINE__, #__VA_ARGS__); ++wrong; } } while (0)
int main(int argc, char** argv) {
  int wrong = 0;
  void* library = nullptr;
  for (int i = 1; i < argc; ++i) {
    library = dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) { std::puts(dlerror()); return 2; }
  }
  auto live = [] { return global("calls.live")().cast<int64_t>(); };
  EXPECT(global("calls.add_one")(41).cast<int64_t>() == 42);
  EXPECT(global("calls.concat")("left ", "right").cast<ffi::String>() == "left right");
  EXPECT(global("calls.sum")(1, 2, 3, 4).cast<int64_t>() == 10);
  auto doubled = ffi::TypedFunction<int64_t(int64_t)>([](int64_t x) { return 2 * x; });
  EXPECT(global("calls.repeat")(doubled, 5).cast<int64_t>() == 20);
  EXPECT(global("calls.repeat_on_thread")(doubled, 5).cast<int64_t>() == 20);
  EXPECT(global("calls.repeat_on_threads")(doubled, 5, 3).cast<int64_t>() == 60);
  EXPECT(global("calls.adder")(3).cast<ffi::Function>()(4).cast<int64_t>() == 7);
  EXPECT(global("calls.stl_map")(ffi::Map<ffi::String, int64_t>{{"a", 1}}).cast<ffi::Map<ffi::String, int64_t>>().size() == 1);
  EXPECT(live() == 0);
  {
    ffi::Any box = global("calls.box")(7);
    EXPECT(live() == 1);
    EXPECT(box.GetTypeKey() == "calls.Box");
    EXPECT(global("calls.sub_box")(1).GetTypeKey() == "calls.SubBox");
    EXPECT(global("calls.no_box")() == nullptr);
    global("calls.keep")(box);
    global("calls.store")(doubled);
    EXPECT(global("calls.use_count")(box).cast<int64_t>() == 2);
    EXPECT(global("calls.call_stored")(8).cast<int64_t>() == 16);
  }
  EXPECT(live() == 1);
  global("calls.drop")();
  EXPECT(live() == 0);
  global("calls.release_on_thread")(global("calls.boxes")(10));
  EXPECT(live() == 0);
  try {
    global("calls.fail")("KeyError", "no such key");
    EXPECT(!"an error");
  } catch (const ffi::Error& e) {
    EXPECT(e.kind() == "KeyError" && e.message() == "no such key");
  }
  try {
    global("calls.fail_with_cause")("TypeError", "outer", "inner", global("calls.box")(1));
    EXPECT(!"an error");
  } catch (const ffi::Error& e) {
    EXPECT(e.kind() == "TypeError" && e.cause_chain().has_value() && e.extra_context().has_value());
  }
  EXPECT(live() == 0);
  try {
    global("calls.throw_std")("plain exception");
    EXPECT(!"an error");
  } catch (const std::exception& e) {  // from C++ to C++ the exception is passed through as it is
    EXPECT(std::string(e.what()) == "plain exception");
  }
  EXPECT(global("calls.swallow")(global("calls.nop")).cast<ffi::String>() == "");
  auto raw = [&](const char* name) {
    auto f = reinterpret_cast<TVMFFISafeCallType>(dlsym(library, name));
    if (f == nullptr) std::abort();
    TVMFFIAny result;
    result.type_index = kTVMFFINone;
    result.zero_padding = 0;
    result.v_int64 = 0;
    return f(nullptr, nullptr, 0, &result);
  };
  auto raised = [] {
    TVMFFIObjectHandle e = nullptr;
    TVMFFIErrorMoveFromRaised(&e);
    bool found = e != nullptr;
    if (found) TVMFFIObjectDecRef(e);
    return found;
  };
  EXPECT(raw("__tvm_ffi_raw_minus_two") == -2);
  EXPECT(!raised());
  EXPECT(raw("__tvm_ffi_raw_minus_one") == -1);
  EXPECT(!raised());
  EXPECT(raw("__tvm_ffi_raw_seven") == 7);
  EXPECT(raw("__tvm_ffi_raw_stale") == 0);
  EXPECT(raised());
  EXPECT(raw("__tvm_ffi_raw_fail") == -1);
  EXPECT(raised());

  // garden: what libraries without constructors of their own can be used for.
  EXPECT(global("garden.alive")().cast<int64_t>() == 0);
  {
    ffi::Array<ffi::Any> none;
    EXPECT(global("garden.make_bed")(none).cast<ffi::Array<ffi::Any>>().size() == 0);
    EXPECT(global("garden.tallest")(none) == nullptr);
  }
  try {
    global("garden.water")(nullptr, 1.0);
    EXPECT(!"an error");
  } catch (const ffi::Error& e) {
    EXPECT(e.kind() == "TypeError");
  }
  if (wrong == 0) std::puts("all right");
  return wrong == 0 ? 0 : 1;
}
`

func TestTestdataWorks(t *testing.T) {
	program := BuildText(t, "use", use, Executable(), Flags("-ldl"))
	cmd := Command(t.Context(), program, Build(t, "garden"), Build(t, "calls"))
	cmd.Env = os.Environ()
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "all right\n" {
		t.Errorf("%v\n%s", err, out)
	}
}
