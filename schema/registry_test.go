package schema

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// registry is what a live registry with libtvm_ffi and its testing library
// said, recorded for two releases: the older writes signatures as args, the
// newer as named_args.
type registry struct {
	ABI       [3]int
	Functions map[string]string
	Types     map[string]struct {
		Ancestors, Attrs []string
		Meta             struct {
			Creator   bool
			Doc       string
			SEH       int
			TotalSize int `json:"total_size"`
		}
		Fields []struct {
			Name, Doc, Metadata        string
			Align, Flags, Offset, Size int
			StaticTI                   int `json:"static_ti"`
		}
		Methods []struct {
			Name, Doc, Metadata string
			Flags               int
		}
	}
}

const (
	newRelease = "0.1.15.post2"
	oldRelease = "0.1.14.post1"
)

func readRegistry(t testing.TB, release string) registry {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "registry-"+release+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var r registry
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// realSchema builds the schema of a recorded registry.
func realSchema(t testing.TB, release string) Schema {
	t.Helper()
	r := readRegistry(t, release)
	s := Schema{
		Format:    FormatVersion,
		ABI:       Version{r.ABI[0], r.ABI[1], r.ABI[2]},
		Libraries: []Library{{File: "libtvm_ffi.so", Role: RoleCore}, {File: "libtvm_ffi_testing.so", Role: RoleBound}},
	}
	parse := func(item, text string) Metadata {
		m, err := ParseMetadata(text)
		if err != nil {
			t.Errorf("%s %s: %v", release, item, err)
		}
		if !m.HasType {
			t.Errorf("%s %s: no type", release, item)
		}
		return m
	}
	for name, text := range r.Functions {
		m := parse(name, text)
		s.Functions = append(s.Functions, Function{Name: name, Source: SourceGlobal, Library: "libtvm_ffi_testing.so", Signature: m.Type.Func, Metadata: m.Extra})
	}
	for key, x := range r.Types {
		typ := Type{Key: key, Ancestors: x.Ancestors, Attributes: x.Attrs, Doc: x.Meta.Doc, TotalSize: x.Meta.TotalSize,
			HasCreator: x.Meta.Creator, StructuralEqHashKind: x.Meta.SEH, HasMetadata: x.Meta.TotalSize > 0, Library: "libtvm_ffi_testing.so"}
		for _, f := range x.Fields {
			m := parse(key+"."+f.Name, f.Metadata)
			typ.Fields = append(typ.Fields, Field{Name: f.Name, Type: m.Type, Doc: f.Doc, Offset: f.Offset, Size: f.Size, Alignment: f.Align,
				Flags: Flags(f.Flags), StaticTypeIndex: f.StaticTI, Metadata: m.Extra})
		}
		for _, f := range x.Methods {
			m := parse(key+"."+f.Name, f.Metadata)
			typ.Methods = append(typ.Methods, Method{Name: f.Name, Signature: m.Type.Func, Doc: f.Doc, Flags: Flags(f.Flags), Metadata: m.Extra})
		}
		s.Types = append(s.Types, typ)
	}
	s.Sort()
	return s
}

func function(t *testing.T, s Schema, name string) Function {
	t.Helper()
	for _, f := range s.Functions {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no function %s", name)
	return Function{}
}

func TestRealRegistry(t *testing.T) {
	s := realSchema(t, newRelease)
	if f, ty := len(s.Functions), len(s.Types); f != 159 || ty != 74 {
		t.Errorf("%d functions and %d types, want 159 and 74", f, ty)
	}
	fields, methods, packed := 0, 0, 0
	for _, ty := range s.Types {
		fields += len(ty.Fields)
		methods += len(ty.Methods)
	}
	for _, f := range s.Functions {
		if f.Signature == nil {
			packed++
		}
	}
	if fields != 101 || methods != 31 || packed != 11 {
		t.Errorf("%d fields, %d methods, %d packed functions, want 101, 31, 11", fields, methods, packed)
	}
	for name, want := range map[string]string{
		"testing.schema_id_int":              "(int) -> int",
		"testing.schema_no_args_no_return":   "() -> None",
		"testing.schema_arr_map_opt":         "(ffi.Array<Optional<int>>, ffi.Map<ffi.String, ffi.Array<int>>, Optional<ffi.String>) -> ffi.Map<ffi.String, ffi.Array<int>>",
		"testing.schema_id_func_typed":       "((int, float, ffi.Function) -> None) -> (int, float, ffi.Function) -> None",
		"testing.schema_id_dltensor":         "(DLTensor*) -> DLTensor*",
		"ffi.StructuralWalk":                 "(Any, ffi.Array<Tuple<int, ffi.Function>>, ffi.Array<Tuple<int, ffi.Function>>, int) -> Optional<ffi.VisitInterrupt>",
		"testing.schema_packed":              "",
		"testing.schema_variant_mix":         "(Variant<int, ffi.String, ffi.Array<int>>) -> Variant<int, ffi.String, ffi.Array<int>>",
		"ffi.FunctionListGlobalNamesFunctor": "() -> ffi.Function",
	} {
		if got := function(t, s, name).Signature.String(); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	meta := function(t, s, "testing.schema_id_int").Metadata
	if meta["bool_attr"] != true || meta["int_attr"] != int64(1) || meta["str_attr"] != "hello" {
		t.Errorf("metadata of schema_id_int: %v", meta)
	}
}

// Both releases describe the same functions, each in its own format: the
// canonical text must not tell them apart.
func TestFormatsAgree(t *testing.T) {
	old, same := realSchema(t, oldRelease), 0
	for _, f := range realSchema(t, newRelease).Functions {
		for _, g := range old.Functions {
			if f.Name == g.Name {
				same++
				if f.Signature.String() != g.Signature.String() {
					t.Errorf("%s: %s against %s", f.Name, f.Signature, g.Signature)
				}
			}
		}
	}
	if same < 150 {
		t.Errorf("only %d functions in both releases", same)
	}
}

func TestRoundTripRealSignatures(t *testing.T) {
	for _, release := range []string{newRelease, oldRelease} {
		s := realSchema(t, release)
		check := func(sig *Signature) {
			text := sig.String()
			back, err := ParseSignature(text)
			if err != nil {
				t.Errorf("%s: %v", text, err)
			} else if got := back.String(); got != text {
				t.Errorf("%s became %s", text, got)
			}
		}
		for _, f := range s.Functions {
			check(f.Signature)
		}
		for _, ty := range s.Types {
			for _, m := range ty.Methods {
				check(m.Signature)
			}
			for _, f := range ty.Fields {
				back, err := ParseType(f.Type.String())
				if err != nil || back.String() != f.Type.String() {
					t.Errorf("%s: %s, %v", f.Type, back, err)
				}
			}
		}
	}
}
