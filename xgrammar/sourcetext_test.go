package xgrammar

import (
	"reflect"
	"testing"
)

// TestSourceText writes sources for the other process and reads them. Each field of a schema has a value.
func TestSourceText(t *testing.T) {
	full := JSONSchema{"{\xff}\n", true, true, true, 3, true, 2, [2]string{" ,\n", "\x00: "}}
	for i := range reflect.TypeFor[JSONSchema]().NumField() {
		if reflect.ValueOf(full).Field(i).IsZero() {
			t.Errorf("field %d has no value here", i)
		}
	}
	odd := "a\nb\x00\xff"
	for _, s := range []Source{full, JSONSchema{}, JSONSchema{MaxWhitespace: -1}, JSON{}, Regex(odd), Regex(""), Lark(odd), StructuralTag(odd), EBNF{odd, "r\n"}, EBNF{Text: odd}} {
		text, err := encodeSource(s)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodeSource(text); got != s || err != nil {
			t.Errorf("%#v arrived as %#v, %v", s, got, err)
		}
	}
	if _, err := encodeSource(nil); err == nil {
		t.Error("nil is a source")
	}
	for _, text := range []string{"", "Other\n\n", "EBNF\n\nx", "EBNF\n9\nx", "EBNF\n-1\nx", "JSONSchema\ntrue\n", "JSONSchema\ntrue true true 0 true 0 9 0\nx"} {
		if s, err := decodeSource(text); err == nil {
			t.Errorf("%q is %#v", text, s)
		}
	}
}
