package face_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// TestClean has texts that would end a comment, or look like something else in it.
func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"one\n\ttwo größe 日本": "one\n\ttwo größe 日本",
		"a\rb\vc\x00d\x7fe":   "a b c d e",
		"a\u2028b\u2029c":     "a b c",
		"a\u202eb\u2066c":     "a b c",
		"a\xffb":              "a b",
	} {
		if got := face.Clean(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestExpand has elements that a type has and has not, and names that a scope gives out.
func TestExpand(t *testing.T) {
	word := func(t *face.Type, name string) string { return name + ":" + t.Kind.String() }
	m := &face.Type{Kind: crossing.KindMap, Elems: []*face.Type{{Kind: crossing.KindString}}}
	if got, want := face.Expand(m, "$of<$key0, $value1>", word), "of:Map<key:String, value:Any>"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s := face.NewScope(func(name string) string { return "x" + name }, "xa")
	if got := s.Claim("a") + s.Claim("a") + s.Claim("b"); got != "xa_xa__xb" {
		t.Errorf("names %s", got)
	}
}

// TestRecords_Hold has two structs that hold each other, and one that holds a list of itself.
func TestRecords_Hold(t *testing.T) {
	a, b, list := &face.Record{Name: "A"}, &face.Record{Name: "B"}, &face.Record{Name: "List"}
	optional := func(r *face.Record) *face.Type {
		return &face.Type{Kind: crossing.KindOptional, Elems: []*face.Type{{Kind: crossing.KindRecord, Record: r}}}
	}
	a.Fields, b.Fields = []face.Field{{Type: optional(b)}}, []face.Field{{Type: optional(a)}}
	list.Fields = []face.Field{{Type: &face.Type{Kind: crossing.KindSequence, Elems: []*face.Type{{Kind: crossing.KindRecord, Record: list}}}}}
	l := &face.Library{Functions: []*face.Function{{Params: []face.Param{{Type: optional(a)}, {Type: optional(list)}}}}}
	r := l.Records()
	if len(r.List) != 3 || r.List[0] != b || r.List[1] != a {
		t.Fatalf("records %v", r.List)
	}
	if r.Hold(a.Fields[0].Type, a) || !r.Hold(b.Fields[0].Type, b) || r.Hold(list.Fields[0].Type, list) {
		t.Error("A holds B, which is complete; B holds A, which is not; a list does not hold a struct in itself")
	}
}
