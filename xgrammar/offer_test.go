package xgrammar_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/xgrammar"
)

// offers are schemas that XGrammar does not follow, with equal ones that it follows.
var offers = []struct{ schema, instead string }{
	{`{"allOf": [{"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]}, {"type": "object", "properties": {"a": {"type": "string"}}}]}`, `{"type": "object", "properties": {"b": {"type": "integer"}, "a": {"type": "string"}}, "required": ["b"]}`},
	{`{"allOf": [{"$ref": "#/$defs/a"}, {"properties": {"n": {"type": "integer", "minimum": 3}}, "required": ["n"]}], "$defs": {"a": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}}}}`, `{"type": "object", "properties": {"n": {"type": "integer", "maximum": 9, "minimum": 3}}, "required": ["n"], "$defs": {"a": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}}}}`},
	{`{"allOf": [{"type": "object", "properties": {"a": {}, "b": {}}}, {"properties": {"a": {}}, "additionalProperties": false}]}`, `{"type": "object", "properties": {"a": {}}, "additionalProperties": false}`},
	{`{"allOf": [{"type": "array", "prefixItems": [{"type": "integer"}], "maxItems": 4}, {"items": {"type": ["integer", "null"]}, "maxItems": 3}]}`, `{"type": "array", "prefixItems": [{"type": "integer"}], "maxItems": 3, "items": {"type": ["integer", "null"]}}`},
	{`{"type": "object", "properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}`, `{"anyOf": [{"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"]}, {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"]}]}`},
	{`{"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "oneOf": [{"properties": {"k": {"const": 1}}, "required": ["k"]}, {"properties": {"k": {"const": 2}}, "required": ["k"]}]}`, `{"oneOf": [{"type": "object", "properties": {"x": {"type": "integer"}, "k": {"const": 1}}, "required": ["x", "k"]}, {"type": "object", "properties": {"x": {"type": "integer"}, "k": {"const": 2}}, "required": ["x", "k"]}]}`},
	{`{"anyOf": [{"type": "integer"}, {"type": "string"}], "minimum": 2, "maxLength": 0, "title": "t"}`, `{"anyOf": [{"minimum": 2, "maxLength": 0, "type": "integer"}, {"minimum": 2, "maxLength": 0, "type": "string"}], "title": "t"}`},
	{`{"type": "array", "items": {"$ref": "#/$defs/n", "minimum": 5}, "$defs": {"n": {"type": "integer"}}}`, `{"type": "array", "items": {"minimum": 5, "type": "integer"}, "$defs": {"n": {"type": "integer"}}}`},
	{`{"$ref": "#n", "$defs": {"n": {"$anchor": "n", "type": "integer"}}}`, `{"$ref": "#/$defs/n", "$defs": {"n": {"$anchor": "n", "type": "integer"}}}`},
	{`{"oneOf": [{"enum": [1, 2]}, {"enum": [2, 3]}]}`, `{"enum": [1, 3]}`},
	{`{"enum": ["a", 3, "abc"], "type": "string", "maxLength": 2}`, `{"const": "a"}`},
	{`{"type": "integer", "minimum": 1, "exclusiveMaximum": 5, "not": {"const": 3}}`, `{"enum": [1, 2, 4]}`},
	{`{"type": ["boolean", "null"], "not": {"const": false}}`, `{"enum": [true, null]}`},
	{`{"type": ["string", "null"], "not": {"type": "null"}}`, `{"type": "string"}`},
	{`{"minimum": 3}`, `{"type": ["string", "number", "boolean", "null", "array", "object"], "minimum": 3, "additionalProperties": {}, "items": {}}`},
	{`{"type": "object", "properties": {"b": {}}, "required": ["b", "a"], "additionalProperties": {"type": "integer"}}`, `{"type": "object", "properties": {"b": {}, "a": {"type": "integer"}}, "required": ["b", "a"], "additionalProperties": {"type": "integer"}}`},
	{`{"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a", "b"], "additionalProperties": {}, "minProperties": 2}`, `{"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a", "b"], "additionalProperties": {}}`},
	{`{"type": "object", "properties": {"a": {}, "ab": {}}, "propertyNames": {"maxLength": 1}}`, `{"type": "object", "properties": {"a": {}}, "propertyNames": {"maxLength": 1}}`},
	{`{"type": "object", "propertyNames": {"pattern": "^a$"}, "additionalProperties": false}`, `{"type": "object", "additionalProperties": false}`},
	{`{"type": "object", "propertyNames": {"type": ["string", "null"]}}`, `{"type": "object", "propertyNames": {"type": "string"}}`},
	{`{"type": "string", "pattern": "^[a-z]+$", "maxLength": 5, "minLength": 2}`, `{"type": "string", "pattern": "^[a-z]{2,5}$"}`},
	{`{"type": "integer", "multipleOf": 2.5}`, `{"type": "integer", "multipleOf": 5}`},
	{`{"type": "object", "properties": {"a": {"multipleOf": 2, "anyOf": [{"type": "integer", "minimum": 1, "maximum": 4, "not": {"const": 3}}, {"type": "string"}]}, "a-b": {"type": "integer", "multipleOf": 2.5}, "id": {"type": "integer"}}}`, `{"type": "object", "properties": {"a": {"anyOf": [{"enum": [2, 4]}, {"multipleOf": 2, "type": "string"}]}, "a-b": {"type": "integer", "multipleOf": 5}, "id": {"type": "integer"}}}`},
	{`{"type": ["number", "null"], "multipleOf": 3}`, `{"type": ["integer", "null"], "multipleOf": 3}`},
}

// kept are schemas without an equal one that XGrammar follows, or for which nobody has shown that it is equal.
var kept = []string{
	`{"type": "array", "items": {}, "uniqueItems": true}`,
	`{"type": "string", "minLength": 1}`, // a pattern has quotes, or does not
	`{"type": "string", "format": "date", "pattern": "^2"}`,
	`{"type": "string", "pattern": "^(ab)+$", "maxLength": 4}`,
	`{"type": "string", "pattern": "^a+$", "maxLength": 0}`, // nothing follows it
	`{"type": "number", "multipleOf": 0.5}`,
	`{"type": "object", "required": ["a"], "additionalProperties": false}`,
	`{"type": "object", "required": ["xa"], "patternProperties": {"^x.*$": {}}, "additionalProperties": {"type": "integer"}}`,
	`{"type": "object", "required": ["a"], "allOf": [{"unevaluatedProperties": false}]}`, // it looks at properties beside it
	`{"type": "object", "properties": {"a": {}}, "required": ["b"], "unevaluatedProperties": {"type": "integer"}}`,
	`{"allOf": [{"type": "string"}, {"type": "integer"}]}`,
	`{"allOf": [{"type": "string", "pattern": "^a$"}, {"pattern": "^b$"}]}`,
	`{"allOf": [{"type": "array", "items": {}, "contains": {"const": 1}}, {"minItems": 1}]}`,
	`{"allOf": [{"type": "object", "patternProperties": {"^x$": {}}}, {"additionalProperties": {"type": "integer"}}]}`,
	`{"allOf": [{"$ref": "#"}, {"type": "integer"}]}`,
	`{"type": "object", "properties": {"a": {"$ref": "#", "minProperties": 1}}}`,                                                                 // it would be in itself
	`{"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/n", "minimum": 3, "definitions": {"n": {"type": "integer"}}}`, // which is ignored there
	`{"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}}, {"type": "object", "properties": {"b": {"$ref": "#/allOf/0/properties/a"}}}]}`,
	`{"allOf": [{"type": "object", "properties": {"a": {"$anchor": "n", "type": "integer"}}}, {"type": "object", "properties": {"b": {}}}]}`,
	`{"oneOf": [{"type": "integer"}, {"type": "integer", "minimum": 5}]}`,
	`{"anyOf": [{"type": "integer"}, {"type": "null"}], "oneOf": [{"minimum": 3}, {"type": "string"}]}`,
	`{"anyOf": [{"type": "array", "items": {}}, {"type": "null"}], "uniqueItems": true}`,
	`{"enum": [0.1000000000000000055, 2], "maximum": 1}`, // a validator has it rounded
	`{"if": {"type": "string"}, "then": {"maxLength": 0}}`,
}

// TestInstead: an offer is an equal schema, and XGrammar follows it. The docs have it.
func TestInstead(t *testing.T) {
	_, c := compilerOf(t, xgrammar.CompilerOptions{})
	r := rand.New(rand.NewPCG(1, 2))
	var table strings.Builder
	table.WriteString("| schema | equal schema |\n|---|---|\n")
	for _, x := range offers {
		s := xgrammar.JSONSchema{Text: x.schema, Loose: !strings.Contains(x.schema, "propertyNames")} // XGrammar looks at them for other properties
		before := must(s.Check())(t)
		better, rest := must2(s.Instead())(t)
		if better.Text != x.instead || better.Loose != s.Loose {
			t.Errorf("%s has the equal schema\n%s, want\n%s", x.schema, better.Text, x.instead)
			continue
		}
		for _, d := range rest {
			if d.Effect != xgrammar.Narrower && !d.Control && !strings.HasPrefix(d.Pointer, "/propertyNames") {
				t.Errorf("%s: %v remains in %s", x.schema, d, better.Text)
			}
		}
		if !slices.ContainsFunc(before, func(d xgrammar.Difference) bool {
			return d.Instead != "" && json.Valid([]byte(d.Instead)) && strings.Contains(better.Text, d.Instead) && strings.HasPrefix(d.Pointer, d.Place)
		}) {
			t.Errorf("%s: the offers are %v", x.schema, before)
		}
		m := matcherOf(t, c, better)
		for range 2000 {
			text := randomDocument(r, 2)
			follows, _ := valid(t, x.schema, text)
			now, _ := valid(t, better.Text, text)
			if follows != now {
				t.Errorf("%s follows %s: %v, and %s: %v", text, x.schema, follows, better.Text, now)
			}
			if !follows && must(m.AcceptText(text))(t) && must(m.Complete())(t) {
				t.Errorf("%s is allowed by %s", text, better.Text)
			}
			if err := m.Reset(); err != nil {
				t.Fatal(err)
			}
		}
		m.Release()
		fmt.Fprintf(&table, "| %s | %s |\n", code(x.schema), code(better.Text))
	}
	inDocs(t, "TestInstead", table.String())
}

// TestInstead_kept: nothing is offered that is not equal, or not followed.
func TestInstead_kept(t *testing.T) {
	for _, text := range kept {
		s := xgrammar.JSONSchema{Text: text}
		all := must(s.Check())(t)
		better, rest := must2(s.Instead())(t)
		if better.Text != text || !slices.Equal(all, rest) || len(all) == 0 || slices.ContainsFunc(all, func(d xgrammar.Difference) bool { return d.Instead != "" }) {
			t.Errorf("%s has the equal schema %s, and the differences %v", text, better.Text, all)
		}
	}
}

// TestInstead_loose: with Loose, unevaluatedProperties is written as additionalProperties where they say the same.
func TestInstead_loose(t *testing.T) {
	for text, want := range map[string]string{
		`{"type": "object", "properties": {"a": {}}, "unevaluatedProperties": false}`:                                  `{"type": "object", "properties": {"a": {}}, "additionalProperties": false}`,
		`{"type": "object", "properties": {"a": {}}, "if": {"properties": {"b": {}}}, "unevaluatedProperties": false}`: "",
	} {
		s := xgrammar.JSONSchema{Text: text, Loose: true}
		if better, _ := must2(s.Instead())(t); better.Text != want && (want != "" || better.Text != text) {
			t.Errorf("%s has the equal schema %s", text, better.Text)
		}
	}
}

// TestInstead_odd: a keyword with a value of a wrong type stops nothing.
func TestInstead_odd(t *testing.T) {
	keywords := []string{
		"required", "minContains", "contains", "type", "enum", "const", "properties", "items", "prefixItems", "minimum", "multipleOf", "pattern",
		"maxLength", "not", "oneOf", "anyOf", "allOf", "$ref", "$id", "propertyNames", "patternProperties", "additionalProperties", "uniqueItems", "$defs",
	}
	for _, name := range keywords {
		for _, value := range []string{`{}`, `[]`, `[{}]`, `[[1], {}]`, `"a"`, `1.5`, `null`, `true`} {
			odd := fmt.Sprintf(`{"type": "object", "contains": {}, %q: %s}`, name, value)
			s := xgrammar.JSONSchema{Text: fmt.Sprintf(`{"allOf": [%s, %s, {"minProperties": 1, %[3]q: 1}]}`, odd, strings.Replace(odd, "1.5", "2.5", 1), name)}
			if strings.Count(odd, `"type"`) > 1 || strings.Count(odd, `"contains"`) > 1 {
				s.Text = strings.NewReplacer(`"type": "object", `, "", `"contains": {}, `, "").Replace(s.Text)
			}
			better, _ := must2(s.Instead())(t)
			if !json.Valid([]byte(better.Text)) {
				t.Errorf("%s has the equal schema %s", s.Text, better.Text)
			}
		}
	}
}

// TestInstead_remains: a schema of many parts keeps what has no offer, in its order.
func TestInstead_remains(t *testing.T) {
	s := xgrammar.JSONSchema{Text: `{"type": "object", "properties": {"z": {"allOf": [{"type": "integer"}, {"minimum": 3}]}, "m": {"type": "array", "items": {"type": "number", "multipleOf": 2}, "uniqueItems": true}, "<a/b>": {"type": "string", "not": {"type": "null"}}}, "required": ["z"]}`}
	const want = `{"type": "object", "properties": {"z": {"type": "integer", "minimum": 3}, "m": {"type": "array", "items": {"type": "integer", "multipleOf": 2}, "uniqueItems": true}, "<a/b>": {"type": "string", "not": {"type": "null"}}}, "required": ["z"]}`
	better, rest := must2(s.Instead())(t)
	if better.Text != want || len(rest) != 1 || rest[0].Pointer != "/properties/m/uniqueItems" {
		t.Errorf("%s, and %v remain", better.Text, rest)
	}
	if _, _, err := (xgrammar.JSONSchema{Text: "{"}).Instead(); err == nil {
		t.Error("a broken schema has an equal one")
	}
}
