package reflection_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/reflection"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/schema"
)

// withoutMetadata is a module whose functions have no metadata.
const withoutMetadata = `
#include <tvm/ffi/tvm_ffi.h>
#include <cstdlib>
namespace ffi = tvm::ffi;
int64_t Seven() { return 7; }
double Scale(double x, ffi::TensorView t) { return x; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(seven, Seven)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(scale, Scale)
extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_packed(void*, const TVMFFIAny*, int32_t n, TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->v_int64 = n;
  return 0;
}
// It refuses calls as a typed function does, but counts them before.
int64_t calls = 0;
extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_counts(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  calls = calls + 1;
  return __tvm_ffi_scale(self, args, n, result);
}
int64_t Calls() { return calls; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(calls, Calls)
extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_leaves(void*, const TVMFFIAny*, int32_t, TVMFFIAny*) { _Exit(3); }
extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_trusts(void*, const TVMFFIAny* args, int32_t, TVMFFIAny* result) {
  *result = **static_cast<TVMFFIAny**>(args[1].v_ptr);
  return 0;
}
`

func reported(t testing.TB) string {
	return nativetest.BuildText(t, "reported", withoutMetadata, nativetest.Flags("-UTVM_FFI_DLL_EXPORT_INCLUDE_METADATA"))
}

func library(path string, role schema.Role) reflection.Source {
	return reflection.Source{Path: path, Library: schema.Library{File: filepath.Base(path), Role: role}}
}

var (
	readOnce nativetest.Once
	readAll  schema.Schema
)

// One process has one registry, so all is read in one go.
func read(t testing.TB) schema.Schema {
	t.Helper()
	readOnce.Do(t, func() {
		s, err := reflection.Read(context.Background(), []reflection.Source{
			library(nativetest.Library(t), schema.RoleCore),
			library(nativetest.Testing(t), schema.RoleBound),
			library(nativetest.Build(t, "garden"), schema.RoleBound),
			library(nativetest.Build(t, "hostile/metadata"), schema.RoleBound),
			library(nativetest.Build(t, "overloads"), schema.RoleBound),
			library(reported(t), schema.RoleBound),
		})
		readAll = must(t, s, err)
	})
	return readAll
}

// calls asks the library how often its function "counts" was called.
func calls(t *testing.T) int64 {
	t.Helper()
	module, err := tvmffi.LoadModule(reported(t))
	defer must(t, module, err).Release()
	f, err := module.Function("calls")
	defer must(t, f, err).Release()
	result, err := f.Call()
	n, err2 := tvmffi.As[int64](must(t, result, err))
	return must(t, n, err2)
}

func TestRead(t *testing.T) {
	s := read(t)
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, l := range s.Libraries[1:] {
		if !slices.Equal(l.Needs, []string{s.Libraries[0].File}) {
			t.Errorf("%s needs %q, want libtvm_ffi", l.File, l.Needs)
		}
	}
	core, testing := s.Libraries[0].File, strings.Replace(s.Libraries[0].File, "tvm_ffi.", "tvm_ffi_testing.", 1)
	functions, types := map[string]int{}, map[string]int{}
	for _, f := range s.Functions {
		functions[f.Library+" "+string(f.Source)]++
	}
	for _, typ := range s.Types {
		types[typ.Library]++
	}
	if nativetest.Version() == "0.1.15.post2" {
		// LIBRARIES: 100 functions and 39 types of libtvm_ffi, 59 and 35 of its testing library.
		if functions[core+" global"] != 100 || functions[testing+" global"] != 59 {
			t.Errorf("functions: %v", functions)
		}
		if types[core] != 39 || types[testing] != 35 {
			t.Errorf("types: %v", types)
		}
	}
	function := func(library, name string) *schema.Function {
		i := slices.IndexFunc(s.Functions, func(f schema.Function) bool { return f.Library == library && f.Name == name })
		if i < 0 {
			t.Fatalf("%s has no function %s", library, name)
		}
		return &s.Functions[i]
	}
	for _, c := range []struct{ library, name, want string }{
		{testing, "testing.add_one", "(int) -> int"},
		{testing, "testing.echo", ""},
		{"libgarden.so", "garden.water", "(garden.Plant, float) -> None"},
		{"libgarden.so", "area", "(float, float) -> float"},
		{"libreported.so", "seven", "() -> int"},
		{"libreported.so", "scale", "(float, DLTensor*) -> float"},
		{"libreported.so", "packed", ""},
		{"libreported.so", "counts", ""},
		{"libreported.so", "calls", "() -> int"},
		{"libreported.so", "leaves", ""},
		{"libreported.so", "trusts", ""},
	} {
		f := function(c.library, c.name)
		if runtime.GOOS == "windows" && c.library == "libreported.so" {
			c.want = "" // there memory is not read, so they stay packed
		}
		if got := f.Signature.String(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if f.Reported != (c.library == "libreported.so" && c.want != "") {
			t.Errorf("%s: Reported is %v", c.name, f.Reported)
		}
	}
	if n := calls(t); n != 0 {
		t.Errorf("to read the library, a function was called %d times", n)
	}
	if doc := function("libgarden.so", "area").Doc; doc == "" {
		t.Error("the doc of an export is lost")
	}
	if m := function(testing, "testing.schema_id_int").Metadata; m["int_attr"] != int64(1) || m["bool_attr"] != true || m["str_attr"] != "hello" {
		t.Errorf("metadata of the user: %v", m)
	}
	rose := s.Types[slices.IndexFunc(s.Types, func(typ schema.Type) bool { return typ.Key == "garden.Rose" })]
	if !slices.Equal(rose.Ancestors, []string{"ffi.Object", "garden.Plant"}) || rose.Doc == "" || rose.TotalSize <= 24 || !slices.Contains(rose.Attributes, "__ffi_init__") && atLeast(11) {
		t.Errorf("garden.Rose: %+v", rose)
	}
	petals := rose.Fields[slices.IndexFunc(rose.Fields, func(f schema.Field) bool { return f.Name == "petals" })]
	if petals.Type.String() != "int" || petals.Flags&schema.FlagHasDefault == 0 || petals.Offset < 24 || petals.Size != 8 {
		t.Errorf("garden.Rose.petals: %+v", petals)
	}
	if len(s.Flaws) == 0 || !slices.ContainsFunc(s.Flaws, func(f schema.Flaw) bool {
		return f.Name == "metadata.Broken" && f.Library == "libmetadata.so" && strings.Contains(f.Reason, "json")
	}) {
		t.Errorf("flaws: %q", s.Flaws)
	}
	// Metadata that cannot be read leaves a packed function, not none.
	if f := function("libmetadata.so", "metadata.half"); f.Signature != nil || !strings.Contains(f.Flaw, "json") {
		t.Errorf("%s: signature %v, flaw %q", f.Name, f.Signature, f.Flaw)
	}

	data, err := schema.Encode(s)
	if err != nil {
		t.Error(err)
	}
	if atLeast(15) && !bytes.Contains(data, []byte(`"core": "`)) {
		t.Error(`files do not leave out the items of this libtvm_ffi: write them with "tvmffi-bind dump -o schema/core/VERSION.json", without a library`)
	}
}

func TestRead_errors(t *testing.T) {
	core := library(nativetest.Library(t), schema.RoleCore)
	text := filepath.Join(t.TempDir(), "libtext.so")
	if err := os.WriteFile(text, []byte("no library at all\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(t.TempDir(), "libnone.so"): "libnone.so",
		text:                                     "libtext.so: this is not a shared library",
	} {
		_, err := reflection.Read(context.Background(), []reflection.Source{core, library(path, schema.RoleBound)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := reflection.Read(canceled, []reflection.Source{core}); err == nil {
		t.Error("a cancelled context is ignored")
	}
}

// TestReadOverloads finds each overload of a method with its signature, and reflection has them too.
func TestReadOverloads(t *testing.T) {
	if v := nativetest.Version(); v == "0.1.9" || v == "0.1.12" {
		t.Skipf("the headers of %s register the first overload alone", v)
	}
	s := read(t)
	box := s.Types[slices.IndexFunc(s.Types, func(t schema.Type) bool { return t.Key == "over.Box" })]
	var got []string
	for _, m := range box.Methods {
		got = append(got, m.Name+m.Params())
	}
	want := []string{"__ffi_init__(int)", "__ffi_init__(ffi.String, ffi.String)", "at(int)", "at(ffi.String)", "of(int)", "of(int, ffi.String)"}
	if !slices.Equal(got, want) {
		t.Errorf("the methods are %q, want %q", got, want)
	}
	typ := typeByKey(t, "over.Box")
	if n := len(typ.Methods()); n != len(want) {
		t.Errorf("reflection has %d methods, want %d", n, len(want))
	}
	m, err := typ.MethodByName("of")
	three, err := must(t, m, err).Call(nil, int64(1), "ab")
	if n, _ := tvmffi.As[int64](three); err != nil || n != 3 {
		t.Errorf("the second overload returns %d, %v, want 3", n, err)
	}
}
