package tvmffi_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func module(t *testing.T) *tvmffi.Module {
	t.Helper()
	runtimetest.Load(t)
	return runtimetest.Must[*tvmffi.Module](t)(tvmffi.LoadModule(nativetest.Build(t, "calls")))
}

func TestModule(t *testing.T) {
	runtimetest.Balanced(t)
	m := module(t)
	defer m.Release()
	f := runtimetest.Must[*tvmffi.Function](t)(m.Function("triple"))
	defer f.Release()
	if v := runtimetest.Must[tvmffi.Any](t)(f.Call(14)); v.Value() != int64(42) {
		t.Errorf("triple(14) returned %v, want 42", v)
	}
	for name, want := range map[string]bool{"triple": true, "absent": false, "": false, "no\x00name": false, "triple\x00": false} {
		if has := runtimetest.Must[bool](t)(m.Has(name)); has != want {
			t.Errorf("Has(%q) = %v, want %v", name, has, want)
		}
	}
	_, err := m.Function("absent")
	runtimetest.WantError(t, err, tvmffi.ErrAttribute, "the module has no function absent")
	_, err = m.Function("triple\x00s")
	runtimetest.WantError(t, err, tvmffi.ErrAttribute, `the module has no function "triple\x00s", whose name has a zero byte`)
	if doc := runtimetest.Must[string](t)(m.FunctionDoc("triple\x00")); doc != "" {
		t.Errorf("FunctionDoc of another name returned %q", doc)
	}
	runtimetest.WantError(t, m.WriteToFile("a\x00b", "o"), tvmffi.ErrValue, `no file can have the name "a\x00b", which has a zero byte`)
	if kind := runtimetest.Must[string](t)(m.Kind()); kind != "library" {
		t.Errorf("Kind returned %q, want library", kind)
	}
	if p := runtimetest.Must[tvmffi.ModuleProperties](t)(m.Properties()); !p.Has(tvmffi.ModuleRunnable) || p.Has(tvmffi.ModuleExportable) {
		t.Errorf("properties %b", p)
	}
	if doc := runtimetest.Must[string](t)(m.FunctionDoc("triple")); doc != "Three times x." {
		t.Errorf("FunctionDoc returned %q", doc)
	}
	if text := runtimetest.Must[string](t)(m.FunctionMetadata("triple")); len(text) < 10 {
		t.Errorf("FunctionMetadata returned %q, want JSON", text)
	}
	if text := runtimetest.Must[string](t)(m.FunctionMetadata("absent")); text != "" {
		t.Errorf("FunctionMetadata of an absent function returned %q, want nothing", text)
	}
	if formats := runtimetest.Must[[]string](t)(m.WriteFormats()); len(formats) != 0 {
		t.Errorf("WriteFormats returned %q, want none", formats)
	}
	if source := runtimetest.Must[string](t)(m.Source("")); source != "" {
		t.Errorf("Source returned %q, want nothing", source)
	}
	runtimetest.WantError(t, m.WriteToFile(filepath.Join(t.TempDir(), "x"), "o"), tvmffi.ErrRuntime, "Module[library] does not support WriteToFile")
}

func TestModuleImports(t *testing.T) {
	runtimetest.Balanced(t)
	m, other := module(t), runtimetest.Must[*tvmffi.Module](t)(tvmffi.LoadModule(nativetest.Testing(t)))
	if has := runtimetest.Must[bool](t)(other.Has("triple")); has {
		t.Error("before the import")
	}
	if err := other.Import(m); err != nil {
		t.Fatal(err)
	}
	imports := runtimetest.Must[[]*tvmffi.Module](t)(other.Imports())
	if len(imports) != 1 || !tvmffi.Same(imports[0], m) {
		t.Errorf("Imports returned %v, want the one module", imports)
	}
	imports[0].Release()
	if !runtimetest.Must[bool](t)(other.Has("triple")) || runtimetest.Must[bool](t)(other.Has("triple", tvmffi.OwnFunctions())) {
		t.Error("a function of the import")
	}
	f := runtimetest.Must[*tvmffi.Function](t)(other.Function("triple"))
	if v := runtimetest.Must[tvmffi.Any](t)(f.Call(2)); v.Value() != int64(6) {
		t.Errorf("triple(2) returned %v, want 6", v)
	}
	f.Release()
	_, err := other.Function("triple", tvmffi.OwnFunctions())
	runtimetest.WantError(t, err, tvmffi.ErrAttribute, "no function triple")
	runtimetest.WantError(t, m.Import(other), tvmffi.ErrRuntime, "Cyclic dependency detected during import")
	runtimetest.WantError(t, m.Import(m), tvmffi.ErrRuntime, "Cyclic dependency detected during import")
	runtimetest.WantError(t, m.Import(nil), tvmffi.ErrType, "the module to import is nil")
	if err := other.ClearImports(); err != nil {
		t.Fatal(err)
	}
	if imports := runtimetest.Must[[]*tvmffi.Module](t)(other.Imports()); len(imports) != 0 || runtimetest.Must[bool](t)(other.Has("triple")) {
		t.Error("imports are left")
	}
	other.Release()
	m.Release()
	_, err = m.Imports()
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "was released")
	_, err = m.Has("triple")
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "was released")
	var none *tvmffi.Module
	_, err = none.Kind()
	runtimetest.WantError(t, err, tvmffi.ErrType, "the receiver is nil")
	_, err = none.Imports()
	runtimetest.WantError(t, err, tvmffi.ErrRuntime, "is nil")
}

func TestLoadModuleRefuses(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the texts of other loaders are not tested")
	}
	runtimetest.Load(t)
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.so")
	if err := os.WriteFile(broken, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "pipe.so")
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Fatal(err)
	}
	runtimetest.WantError(t, tvmffi.LoadLibrary(""), tvmffi.ErrValue, "the path of a library is empty")
	runtimetest.WantError(t, tvmffi.LoadLibrary(pipe), tvmffi.ErrNotFound, "is a named pipe")
	for path, want := range map[string]struct {
		kind error
		text string
	}{
		filepath.Join(dir, "absent.so"):    {tvmffi.ErrInternal, "Failed to load dynamic shared library " + dir + "/absent.so"},
		broken:                             {tvmffi.ErrInternal, "Failed to load dynamic shared library " + broken},
		"":                                 {tvmffi.ErrValue, "the path of a module is empty"},
		nativetest.Testing(t) + "\x00.txt": {tvmffi.ErrValue, "which has a zero byte"},
		dir:                                {tvmffi.ErrNotFound, dir + " is a folder: name the file in it"},
		pipe:                               {tvmffi.ErrNotFound, pipe + " is a named pipe"},
		filepath.Join(dir, "x.foo"):        {tvmffi.ErrRuntime, "Loader for `.foo` files is not registered"},
		filepath.Join(dir, "absent"):       {tvmffi.ErrRuntime, "Failed to get file format from " + dir + "/absent"},
	} {
		_, err := tvmffi.LoadModule(path)
		runtimetest.WantError(t, err, want.kind, want.text)
	}
}

// outlived builds a library whose code has no symbols that would keep it by themselves.
func outlived(t *testing.T) string {
	t.Helper()
	return nativetest.BuildText(t, "outlived", `
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
using namespace tvm::ffi;
struct Own { int64_t x; };
Array<Any> Items(int64_t x) { return {x, Array<Any>{x}, Function::FromTyped([o = Own{x}] { return o.x; })}; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(items, Items);
TVM_FFI_STATIC_INIT_BLOCK() {
  reflection::GlobalDef().def("outlived.water", [](Any plant) {
    Function::GetGlobalRequired("garden.count")(plant);
    return Function::GetGlobalRequired("garden.water")(plant, 1.0);
  });
}
`, nativetest.Flags("-fno-gnu-unique"))
}

// Functions and other results may outlive their module.
func TestModuleResultsOutlive(t *testing.T) {
	runtimetest.Balanced(t)
	m := module(t)
	f := runtimetest.Must[*tvmffi.Function](t)(m.Function("triple"))
	b := runtimetest.MakeBox(t, 3)
	m.Release()
	if v := runtimetest.Must[tvmffi.Any](t)(f.Call(3)); v.Value() != int64(9) || b.I64() != 3 {
		t.Errorf("after Release triple(3) returned %v, want 9; the box has %d, want 3", v, b.I64())
	}
	f.Release()
	b.Release()
	// Handles that are left to the collector end in any order: the library stays.
	m = runtimetest.Must[*tvmffi.Module](t)(tvmffi.LoadModule(outlived(t)))
	f = runtimetest.Must[*tvmffi.Function](t)(m.Function("items"))
	items := runtimetest.Must[*tvmffi.Array[any]](t)(tvmffi.As[*tvmffi.Array[any]](runtimetest.Must[tvmffi.Any](t)(f.Call(3))))
	m.Release()
	f.Release()
	runtime.GC()
	if v := runtimetest.Must[tvmffi.Any](t)(items.At(2).(*tvmffi.Function).Call()); v.Value() != int64(3) {
		t.Errorf("a function that outlives its module returned %v, want 3", v)
	}
	items.Release()
	// Each load is a module of its own.
	a, c := module(t), module(t)
	if tvmffi.Same(a, c) {
		t.Error("one module for two loads")
	}
	a.Release()
	c.Release()
}

// TestLoadModule_again loads a module that the process has, and does not list all functions again.
func TestLoadModule_again(t *testing.T) {
	runtimetest.Load(t)
	path := nativetest.Build(t, "shed")
	if allocations := testing.AllocsPerRun(5, func() {
		runtimetest.Must[*tvmffi.Module](t)(tvmffi.LoadModule(path)).Release()
	}); allocations > 40 {
		t.Errorf("loading a module again makes %.0f allocations, want 40 at most", allocations)
	}
}

func TestSystemLib(t *testing.T) {
	runtimetest.Load(t)
	a, b := runtimetest.Must[*tvmffi.Module](t)(tvmffi.SystemLib("")), runtimetest.Must[*tvmffi.Module](t)(tvmffi.SystemLib(""))
	if !tvmffi.Same(a, b) {
		t.Error("one module for each prefix")
	}
	other := runtimetest.Must[*tvmffi.Module](t)(tvmffi.SystemLib("prefix_"))
	if tvmffi.Same(a, other) {
		t.Error("a prefix has a module of its own")
	}
	if has := runtimetest.Must[bool](t)(a.Has("absent")); has {
		t.Error("nothing is registered")
	}
	_, err := other.Function("absent")
	runtimetest.WantError(t, err, tvmffi.ErrAttribute)
	for _, m := range []*tvmffi.Module{a, b, other} {
		m.Release()
	}
}
