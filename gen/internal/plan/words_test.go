package plan

import (
	"go/token"
	"testing"
)

func TestCamel(t *testing.T) {
	cases := map[string]string{
		"add_one":           "AddOne",
		"nvshmem_get_uid":   "NvshmemGetUID",
		"BitwiseAnd":        "BitwiseAnd",
		"from_json_schema":  "FromJSONSchema",
		"stop_token_ids":    "StopTokenIDs",
		"kv_state_popn":     "KVStatePopn",
		"rocm":              "ROCm",
		"opencl":            "OpenCL",
		"mutate_irmodule":   "MutateIRModule",
		"print_fsms":        "PrintFSMs",
		"conv2d_transpose":  "Conv2DTranspose",
		"i64d":              "I64D",
		"to_dlpack":         "ToDLPack",
		"http":              "HTTP",
		"HttpServer":        "HttpServer",
		"v_i64":             "VI64",
		"_extend":           "Extend",
		"_":                 "X5f",
		"_2d":               "X2d",
		"__len__":           "Len",
		"2d_conv":           "X2dConv",
		"a-b.c d":           "ABCD",
		"größe":             "Größe",
		"数":                 "X数",
		"":                  "X",
		"+":                 "X2b",
		"a\xffb":            "AB",
		"x\n//go:linkname":  "XGoLinkname",
		"type":              "Type",
		"nil":               "Nil",
		"TestCxxAutoInit":   "TestCxxAutoInit",
		"load_from_file.so": "LoadFromFileSo",
	}
	for in, want := range cases {
		if got := Camel(in); got != want {
			t.Errorf("Camel(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzCamel(f *testing.F) {
	for _, s := range []string{"add_one", "_x", "9", "-0", "-_0", "数", "\xff", "ǆ", "a\u0301"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if name := Camel(s); !token.IsIdentifier(name) || !token.IsExported(name) {
			t.Errorf("Camel(%q) = %q is not an exported identifier", s, name)
		}
		if name := "X_" + Verbatim(s); !token.IsIdentifier(name) {
			t.Errorf("Verbatim(%q) = %q cannot stand in an identifier", s, name)
		}
		if name := LowerCamel(s); token.IsExported(name) {
			t.Errorf("LowerCamel(%q) = %q is exported", s, name)
		}
		for _, r := range Segment(s) {
			if (r < 'a' || r > 'z') && (r < '0' || r > '9') {
				t.Errorf("Segment(%q) = %q holds %q", s, Segment(s), r)
			}
		}
		if name := Segment(s); !token.IsIdentifier(name) || awkwardSegments[name] {
			t.Errorf("Segment(%q) = %q is not a good package name", s, name)
		}
	})
}

func TestLowerFirst(t *testing.T) {
	for in, want := range map[string]string{"Plant": "plant", "IRModule": "irModule", "ID": "id", "X2b": "x2b", "JSON": "json", "ABTest": "abTest"} {
		if got := LowerFirst(in); got != want {
			t.Errorf("LowerFirst(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestLowerCamel(t *testing.T) {
	for in, want := range map[string]string{"ids": "ids", "ids_of": "idsOf", "tvm_id": "tvmID", "IRModule": "irModule", "_hidden": "hidden",
		"v_i64": "vI64", "2d": "x2d", "opencl": "opencl", "": "x"} {
		if got := LowerCamel(in); got != want {
			t.Errorf("LowerCamel(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestSegment(t *testing.T) {
	cases := map[string]string{
		"relax": "relax", "grammar_functor": "grammarfunctor", "Module": "module", "internal": "internalpkg",
		"vendor": "vendorpkg", "testdata": "testdatapkg", "main": "mainpkg", "init": "initpkg", "type": "typepkg",
		"string": "stringpkg", "_private": "xprivate", "3d": "x3d", "été": "u00e9tu00e9", "": "x", "..": "u002eu002e",
		"a/b": "au002fb", "con": "conpkg", "linux": "linux",
	}
	for in, want := range cases {
		if got := Segment(in); got != want {
			t.Errorf("Segment(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestVerbatimLosesNothing(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"a_b", "a-b", "a.b", "a b", "a\xffb", "a\ufffdb", "ab", "a/b", "a\nb", "Ab"} {
		v := Verbatim(name)
		if other, taken := seen[v]; taken {
			t.Errorf("Verbatim makes %q of both %q and %q", v, name, other)
		}
		seen[v] = name
	}
}
