package generated_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/reflection"
	"github.com/tvmffi-go/tvmffi/schema"
)

func equalCounts(t *testing.T, got, want map[string]int) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("the report counts %v, want %v", got, want)
	}
}

// inRuntime reports whether package tvmffi implements a type, so that it has no generated
// binding: the root, values that are not objects, containers and similar types.
func inRuntime(typ schema.Type) bool {
	return len(typ.Ancestors) == 0 || slices.Contains([]string{
		"ffi.String", "ffi.Bytes", "ffi.Error", "ffi.Function", "ffi.Shape", "ffi.Tensor", "ffi.Array",
		"ffi.Map", "ffi.Module", "ffi.OpaquePyObject", "ffi.List", "ffi.Dict", "ffi.Unchanged", "ffi.BigInt",
	}, typ.Key)
}

// TestCounts reads the two libraries, counts their items, and compares the numbers with
// the report of the tool and with those written here, which a release of TVM-FFI that
// adds items changes.
func TestCounts(t *testing.T) {
	core, testing := nativetest.Library(t), nativetest.Testing(t)
	s, err := reflection.Read(t.Context(), []reflection.Source{
		{Path: core, Library: schema.Library{File: "libtvm_ffi.so", Role: schema.RoleBound}},
		{Path: testing, Library: schema.Library{File: "libtvm_ffi_testing.so", Role: schema.RoleBound}},
	})
	if err != nil {
		t.Fatal(err)
	}
	pinned := map[string]map[string]int{
		"ffi": {
			"function generated": 100, "type generated": 11, "type runtime": 28,
			"constructor generated": 2, "method generated": 11, "field generated": 17, "field runtime": 1,
		},
		"testing": {
			"function generated": 61, "type generated": 35, "constructor generated": 28,
			"method generated": 9, "field generated": 83,
		},
	}
	if nativetest.Version() != "0.1.15.post2" {
		t.Logf("version %s: compared with its own schema only", nativetest.Version())
		pinned = nil
	}
	m := newConsumer(t, "empty.txtar")
	for folder, file := range map[string]string{"ffi": "libtvm_ffi.so", "testing": "libtvm_ffi_testing.so"} {
		counted := count(s, file)
		if pinned != nil {
			equalCounts(t, counted, pinned[folder])
		}
		path := map[string]string{"ffi": core, "testing": testing}[folder]
		m.Bind("gen", "--lib", path, "--package", "lib", "--out", "./"+folder, "--report", "report.json")
		reported := readReport(t, m.Read("report.json")).counts()
		if n := reported["type weakened"]; file == "libtvm_ffi_testing.so" && n != 3 {
			t.Errorf("%d weakened types, want the three of libtvm_ffi that the signatures mention", n)
		}
		delete(reported, "type weakened") // they are not asked for
		equalCounts(t, reported, counted)
	}
}

// count counts the items that the tool should generate for a library.
func count(s schema.Schema, file string) map[string]int {
	n := map[string]int{}
	add := func(kind string, owner bool, number int) {
		status := " generated"
		if owner {
			status = " runtime"
		}
		if number > 0 {
			n[kind+status] += number
		}
	}
	for _, f := range s.Functions {
		if f.Library == file {
			add("function", false, 1)
		}
	}
	for _, typ := range s.Types {
		if typ.Library != file {
			continue
		}
		owned := inRuntime(typ)
		constructors := 0
		for _, m := range typ.Methods {
			if m.Name == "__ffi_init__" {
				constructors++
			}
		}
		add("type", owned, 1)
		add("field", owned, len(typ.Fields))
		add("method", owned, len(typ.Methods)-constructors)
		// Without a declared constructor, the library makes one from the fields.
		if constructors == 0 && slices.Contains(typ.Attributes, "__ffi_init__") {
			constructors = 1
		}
		add("constructor", owned, constructors)
	}
	return n
}
