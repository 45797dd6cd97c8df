package rustface

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// everything is a library with each Kind in each place, and with names that collide.
func everything() *face.Library {
	integer := &face.Type{Kind: crossing.KindInt, Bits: 64}
	text := &face.Type{Kind: crossing.KindString}
	base := &face.Class{Name: "Option", Key: "all.Option", Doc: "Option [x] <b> `\n\n\tlet x = broken(;\n\nSee https://go.dev and */ */ ///.", Repr: true, Equal: true, Hash: true, Compare: true}
	child := &face.Class{Name: "String", Key: "all.String", Parent: base, Frozen: true}
	opaque := &face.Class{Name: "Self", Key: "all.Self", Opaque: true}
	made := &face.Class{Name: "Vec", Key: "all.Vec", ParentKey: "other.Base"}
	color := &face.Enum{Name: "Result", Kind: crossing.KindInt, Members: []face.Member{
		{GoName: "ResultRed", Name: "RED", Doc: "Red is red.", Value: face.Value{Kind: crossing.KindInt, Text: "-16"}},
		{GoName: "Resultred", Name: "RED_", Value: face.Value{Kind: crossing.KindInt, Text: "2"}},
	}}
	mode := &face.Enum{Name: "Ok", Kind: crossing.KindString, Members: []face.Member{
		{GoName: "OkFast", Name: "FAST", Value: face.Value{Kind: crossing.KindString, Text: "a \"b\"\n\u202e\\"}},
	}}
	access := &face.Enum{Name: "Access", Kind: crossing.KindInt, Members: []face.Member{
		{GoName: "Read", Name: "READ", Value: face.Value{Kind: crossing.KindInt, Text: "1"}}, {GoName: "Write", Name: "WRITE", Value: face.Value{Kind: crossing.KindInt, Text: "2"}},
		{GoName: "Run", Name: "RUN", Value: face.Value{Kind: crossing.KindInt, Text: "4"}},
	}}
	record := &face.Record{Name: "Box"}
	types := []*face.Type{
		{Kind: crossing.KindAny}, {Kind: crossing.KindBool}, integer, {Kind: crossing.KindInt, Bits: 8}, {Kind: crossing.KindInt, Bits: 64, Unsigned: true}, {Kind: crossing.KindInt, Bits: 16, Unsigned: true},
		{Kind: crossing.KindFloat, Bits: 32}, {Kind: crossing.KindFloat, Bits: 64}, {Kind: crossing.KindBigInt}, {Kind: crossing.KindDuration},
		{Kind: crossing.KindTime, Elems: []*face.Type{integer, integer, integer}}, {Kind: crossing.KindComplex, Elems: []*face.Type{{Kind: crossing.KindFloat, Bits: 64}, {Kind: crossing.KindFloat, Bits: 64}}},
		{Kind: crossing.KindComplex, Elems: []*face.Type{{Kind: crossing.KindFloat, Bits: 32}, {Kind: crossing.KindFloat, Bits: 32}}},
		{Kind: crossing.KindSet, Elems: []*face.Type{text}}, {Kind: crossing.KindSet, Elems: []*face.Type{{Kind: crossing.KindInt, Bits: 8}}}, {Kind: crossing.KindSet, Elems: []*face.Type{{Kind: crossing.KindEnum, Enum: color}}}, text, {Kind: crossing.KindBytes}, {Kind: crossing.KindDataType}, {Kind: crossing.KindDevice},
		{Kind: crossing.KindPointer}, {Kind: crossing.KindTuple, Elems: []*face.Type{integer, text}},
		{Kind: crossing.KindRecord, Record: record}, {Kind: crossing.KindList, Elems: []*face.Type{integer}}, {Kind: crossing.KindDict, Elems: []*face.Type{text, integer}},
		{Kind: crossing.KindArray, Elems: []*face.Type{text}}, {Kind: crossing.KindArray}, {Kind: crossing.KindMap, Elems: []*face.Type{text, {Kind: crossing.KindArray, Elems: []*face.Type{integer}}}}, {Kind: crossing.KindMap},
		{Kind: crossing.KindShape}, {Kind: crossing.KindTensor}, {Kind: crossing.KindTensor, Lent: true, Elems: []*face.Type{{Kind: crossing.KindFloat, Bits: 32}}}, {Kind: crossing.KindModule},
		{Kind: crossing.KindObject}, {Kind: crossing.KindClass, Class: base}, {Kind: crossing.KindClass, Class: opaque},
		{Kind: crossing.KindEnum, Enum: color}, {Kind: crossing.KindEnum, Enum: mode}, {Kind: crossing.KindError},
		{Kind: crossing.KindCallable, Elems: []*face.Type{text, integer, {Kind: crossing.KindClass, Class: base}}}, {Kind: crossing.KindCallable, Elems: []*face.Type{{Kind: crossing.KindNone}}},
		{Kind: crossing.KindFunction}, {Kind: crossing.KindIterator, Elems: []*face.Type{text}},
		{Kind: crossing.KindIterator, Elems: []*face.Type{{Kind: crossing.KindTuple, Elems: []*face.Type{text, integer}}}},
	}
	l := &face.Library{Name: "All", Prefix: "all.", Path: "example.com/all", Classes: []*face.Class{base, child, opaque, made}, Enums: []*face.Enum{mode, color, access}}
	one := func(name string, t *face.Type) *face.Function {
		return &face.Function{Name: name, GoName: name, Symbol: name, Params: []face.Param{{Name: "x", Type: t}}, Results: []face.Result{{Type: t}}}
	}
	for i, t := range types {
		l.Functions = append(l.Functions,
			one(fmt.Sprintf("plain%d", i), t),
			one(fmt.Sprintf("optional%d", i), &face.Type{Kind: crossing.KindOptional, Elems: []*face.Type{t}}),
			one(fmt.Sprintf("sequence%d", i), &face.Type{Kind: crossing.KindSequence, Elems: []*face.Type{t}}),
			one(fmt.Sprintf("mapping%d", i), &face.Type{Kind: crossing.KindMapping, Elems: []*face.Type{text, {Kind: crossing.KindSequence, Elems: []*face.Type{t}}}}),
			one(fmt.Sprintf("callable%d", i), &face.Type{Kind: crossing.KindCallable, Elems: []*face.Type{t, t}}))
		if t.Kind != crossing.KindIterator {
			if t.Kind != crossing.KindRecord { // Go has no struct that holds itself
				record.Fields = append(record.Fields, face.Field{Name: fmt.Sprintf("f%d", i), Type: t})
			}
			base.Fields = append(base.Fields, face.Field{Name: fmt.Sprintf("f%d", i), Type: t})
		}
	}
	self := &face.Type{Kind: crossing.KindOptional, Elems: []*face.Type{{Kind: crossing.KindRecord, Record: &face.Record{Name: "Some"}}}}
	some := self.Elems[0].Record
	some.Fields = []face.Field{{Name: "next", Type: self, Default: &face.Value{Kind: crossing.KindNone}}, {Name: "type", Type: text}, {Name: "Type", Type: integer}}
	l.Functions = append(l.Functions, one("chain", self), one("Chain", self))
	opaque.Constructor = options("NewSelf", color, mode)
	opaque.Methods = []*face.Function{
		one("clone", text), one("new", text), one("deref", integer), options("match", color, mode),
		{Name: "close", GoName: "Close", Fails: true}, {Name: "len", GoName: "Len", Results: []face.Result{{Type: integer}}},
		{Name: "string", GoName: "String", Results: []face.Result{{Type: text}}},
		{Name: "all", GoName: "All", Results: []face.Result{{Type: &face.Type{Kind: crossing.KindIterator, Elems: []*face.Type{text}}}}},
	}
	opaque.Close, opaque.Len, opaque.String, opaque.All = opaque.Methods[4], opaque.Methods[5], opaque.Methods[6], opaque.Methods[7]
	opaque.Properties = []*face.Function{{Name: "len_", GoName: "Length", Results: []face.Result{{Type: integer}}}}
	child.Fields = []face.Field{
		{Name: "norm", Type: text, HasDefault: true}, {Name: "fn", Type: integer, Default: &face.Value{Kind: crossing.KindInt, Text: "16"}, HasDefault: true, Doc: "a `doc"},
		{Name: "ago", Type: &face.Type{Kind: crossing.KindDuration}, Default: &face.Value{Kind: crossing.KindDuration, Text: "-1"}, HasDefault: true},
		{Name: "hidden", Type: integer, NoInit: true}, {Name: "set_x", Type: integer, ReadOnly: true}, {Name: "x", Type: integer},
	}
	child.Methods = []*face.Function{one("norm", text), one("Norm", text)}
	l.Functions = append(l.Functions, options("self", color, mode), options("load", color, mode), &face.Function{Name: "any", GoName: "Any", Symbol: "any", Packed: true})
	// All defaults are Rust's.
	l.Functions = append(l.Functions, &face.Function{Name: "same", GoName: "Same", Symbol: "same", Params: []face.Param{
		{Name: "d", Type: &face.Type{Kind: crossing.KindOptional, Elems: []*face.Type{integer}}, Default: &face.Value{Kind: crossing.KindNone}},
	}})
	l.Errors = []*face.Error{{Name: "Error", Kind: "all.Error", Base: "KeyError", Fields: []face.Field{{Name: "code", Type: integer}, {Name: "value", Type: text}, {Name: "wait", Type: &face.Type{Kind: crossing.KindDuration}, Default: &face.Value{Kind: crossing.KindDuration, Text: "-1"}}}}}
	return l
}

// options returns a function with defaults of all kinds, several results and a variadic
// parameter, which runs asynchronously too.
func options(name string, color, mode *face.Enum) *face.Function {
	integer, text := &face.Type{Kind: crossing.KindInt, Bits: 64}, &face.Type{Kind: crossing.KindString}
	value := func(kind crossing.Kind, text string) *face.Value { return &face.Value{Kind: kind, Text: text} }
	return &face.Function{
		Name: name, GoName: name, Symbol: name, Doc: "Docs [brackets] of " + name + ".\n\n# Heading\n\n  - one\n  - two", Fails: true, Context: true,
		Params: []face.Param{
			{Name: "options", Type: text}, {Name: "FUNCTION", Type: integer}, {Name: "self", Type: integer}, {Name: "Self", Type: integer}, {Name: "Größe", Type: integer}, {Name: "Ω", Type: integer}, {Name: "ﬁ", Type: integer},
			{Name: "type", Type: integer, Default: value(crossing.KindInt, "-9223372036854775808")},
			{Name: "Type", Type: text, Default: value(crossing.KindString, "a \"quoted\"\n\u202e{}\\")},
			{Name: "f", Type: &face.Type{Kind: crossing.KindFloat, Bits: 32}, Default: value(crossing.KindFloat, "+Inf")},
			{Name: "inf", Type: &face.Type{Kind: crossing.KindFloat, Bits: 64}, Default: value(crossing.KindFloat, "-Inf")},
			{Name: "nan", Type: &face.Type{Kind: crossing.KindFloat, Bits: 64}, Default: value(crossing.KindFloat, "NaN")},
			{Name: "flag", Type: &face.Type{Kind: crossing.KindBool}, Default: value(crossing.KindBool, "true")},
			{Name: "t", Type: &face.Type{Kind: crossing.KindDataType}, Default: value(crossing.KindDataType, "float32")},
			{Name: "maybe", Type: &face.Type{Kind: crossing.KindOptional, Elems: []*face.Type{integer}}, Default: value(crossing.KindNone, "")},
			{Name: "wait", Type: &face.Type{Kind: crossing.KindDuration}, Default: value(crossing.KindDuration, "5400000000000")},
			{Name: "back", Type: &face.Type{Kind: crossing.KindDuration}, Default: value(crossing.KindDuration, "-1")},
			{Name: "color", Type: &face.Type{Kind: crossing.KindEnum, Enum: color}, Default: value(crossing.KindInt, "1")},
			{Name: "mode", Type: &face.Type{Kind: crossing.KindEnum, Enum: mode}, Default: value(crossing.KindString, "fast")},
			{Name: "args", Type: text, Variadic: true},
		},
		Results: []face.Result{{Name: "quotient", Type: integer}, {Name: "text", Type: text}},
	}
}

// TestKinds checks that each Kind has a type and both conversions.
func TestKinds(t *testing.T) {
	l := everything()
	seen := map[crossing.Kind]bool{crossing.KindNone: true}
	var note func(*face.Type)
	note = func(t *face.Type) {
		seen[t.Kind] = true
		for _, e := range t.Elems {
			note(e)
		}
	}
	l.Each(note)
	for k := range crossing.Exported {
		if !seen[k] {
			t.Errorf("the library of the test has nothing of kind %d", k)
		}
	}
	text := source(t, Write(l, "v0", ""), "src/lib.rs")
	for _, want := range []string{
		"pub struct Option {", "pub struct Self_ {", "pub fn self_(", "pub fn r#match(&self", "pub fn chain(", "pub fn chain_(", "pub fn load_async(",
		"impl ::std::ops::Deref", "r#type: i64", "type_: ::std::string::String", "ω: i64", "ufb01: i64", "größe: i64", "pub r#fn: i64",
		"::std::option::Option<::std::boxed::Box<Some>>", `f64::NEG_INFINITY`, "(i64, ::std::string::String,)", "The results are `quotient`, `text`.",
		"pub const RED: Self = Self(-16);", "library::bits!(Access);", `a \"b\"\n\u{202e}\\`, "/// The default is `1h30m0s`.\n    pub wait: ::std::time::Duration,", "Options, back: ::std::time::Duration", "pub ago: ::std::option::Option<::std::time::Duration>", "value: ::std::string::String, wait: ::std::time::Duration)", "```text\n/// let x = broken(;\n/// ```", `\[x]`,
	} {
		// The macro for parents writes Deref.
		if want == "impl ::std::ops::Deref" {
			if !strings.Contains(support, want) {
				t.Errorf("library.rs has no %q", want)
			}
			continue
		}
		if !strings.Contains(text, want) {
			t.Errorf("lib.rs has no %q", want)
		}
	}
}

func source(t *testing.T, files []face.File, path string) string {
	t.Helper()
	for _, f := range files {
		if f.Path == path {
			return string(f.Content)
		}
	}
	t.Fatalf("there is no file %s", path)
	return ""
}

func TestSemantic(t *testing.T) {
	for version, want := range map[string]string{
		"": "0.0.0", "1": "1.0.0", "2!1.2": "1.2.0", "1.2.3.4": "1.2.3", "1.2rc1": "1.2.0-rc.1", "1.2.0.dev4": "1.2.0-dev.4",
		"1.2b2.post3.dev4": "1.2.0-b.2.post.3.dev.4", "1.2.post1+ubuntu.2": "1.2.0+post.1.ubuntu.2", "1.2.3+a.1": "1.2.3+a.1",
	} {
		if got := semantic(version); got != want {
			t.Errorf("semantic(%q) is %q, want %q", version, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{"AddOne": "add_one", "HTTPGet": "http_get", "x": "x", "word_count": "word_count", "ÜberGröße": "über_größe", "ID": "id", "A1B": "a1_b"} {
		if got := snake(name); got != want {
			t.Errorf("snake(%q) is %q, want %q", name, got, want)
		}
	}
	// The letters at both ends of the ranges of changes, and others beside them, which stay.
	const changed, same = "\u0374\u037A\u0E33\u0EB3\u1F71\u1FFC\u2102\u214E\uF900\uFDFB\uFE70\uFEFC\uFF9E\uFF9F\U0002F800\U0002FA1D", "\u0373\u037B\u0E32\u0EB2\u1F70\uFF9D\uFFA0"
	if got, want := spelt(changed), "u0374u037au0e33u0eb3u1f71u1ffcu2102u214euf900ufdfbufe70ufefcuff9euff9fu2f800u2fa1d"; got != want {
		t.Errorf("%s is spelt %s, want %s", changed, got, want)
	}
	if got := spelt(same); got != same {
		t.Errorf("%s is spelt %s", same, got)
	}
	s := newScope()
	if got := s.takeAll([]string{"Foo", "foo", "FOO", "type", "Self", "crate"}, snake); strings.Join(got, " ") != "foo_ foo foo__ r#type self_ crate_" {
		t.Errorf("names %v", got)
	}
	for name, want := range map[string]string{"stats": "stats", "match": "match_go", "test": "test_go", "MyLib": "my_lib", "library": "library_go"} {
		if got := CrateName(name); got != want {
			t.Errorf("CrateName(%q) is %q, want %q", name, got, want)
		}
	}
}
