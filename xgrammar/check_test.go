package xgrammar_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tvmffi-go/tvmffi/xgrammar"
)

var update = flag.Bool("update", false, "rewrite the table in docs/SCHEMAS.md")

// differences are schemas that XGrammar does not follow. The text shows it: XGrammar allows it and the schema does not, or it is
// not JSON, or the schema allows it and XGrammar does not.
var differences = []struct {
	schema, pointer string
	effect          xgrammar.Effect
	text            string
}{
	{`{"type": "integer", "not": {"const": 3}}`, "/not", xgrammar.Looser, `3`},
	{`{"type": "string", "if": {"const": "a"}, "then": false}`, "/if", xgrammar.Looser, `"a"`},
	{`{"type": "object", "properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"]}}`, "/dependentRequired", xgrammar.Looser, `{"a": 1}`},
	{`{"type": "object", "properties": {"a": {}, "b": {}}, "dependentSchemas": {"a": {"required": ["b"]}}}`, "/dependentSchemas", xgrammar.Looser, `{"a": 1}`},
	{`{"type": "array", "items": {"type": "integer"}, "contains": {"const": 3}}`, "/contains", xgrammar.Looser, `[1]`},
	{`{"type": "array", "items": {"type": "integer"}, "uniqueItems": true}`, "/uniqueItems", xgrammar.Looser, `[1, 1]`},
	{`{"type": "array", "items": {"type": "integer"}, "minContains": 1}`, "/minContains", xgrammar.Narrower, `[]`},
	{`{"allOf": [{"type": "object", "properties": {"a": {}}}, {"type": "object", "properties": {"b": {}}}]}`, "/allOf", xgrammar.Looser, `7`},
	{`{"type": "object", "properties": {"a": {}}, "required": ["a"], "allOf": [{"type": "object", "properties": {"b": {}}}]}`, "/required", xgrammar.Looser, `{}`},
	{`{"minimum": 3, "anyOf": [{"type": "integer"}]}`, "/minimum", xgrammar.Looser, `1`},
	{`{"type": "object", "required": ["a"], "oneOf": [{"type": "object", "properties": {"a": {}}}]}`, "/required", xgrammar.Looser, `{}`},
	{`{"type": "object", "properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}`, "/anyOf/0/required", xgrammar.Looser, `3`},
	{`{"oneOf": [{"type": "integer"}, {"type": "integer", "minimum": 5}]}`, "/oneOf", xgrammar.Looser, `7`},
	{`{"oneOf": [{"type": "object", "properties": {"k": {"const": 1}}}, {"type": "object", "properties": {"k": {"const": 2}}}]}`, "/oneOf", xgrammar.Looser, `{}`},
	{`{"$ref": "#/$defs/n", "minimum": 5, "$defs": {"n": {"type": "integer"}}}`, "/minimum", xgrammar.Looser, `3`},
	{`{"$ref": "#n", "$defs": {"n": {"$anchor": "n", "type": "integer"}}}`, "/$ref", xgrammar.Looser, `"a"`},
	{`{"$ref": "#/$defs/n", "$defs": {"n": {"type": "array", "items": {"type": "integer"}, "uniqueItems": true}}}`, "/$defs/n/uniqueItems", xgrammar.Looser, `[1, 1]`},
	{`{"enum": [1, 2], "minimum": 2}`, "/minimum", xgrammar.Looser, `1`},
	{`{"const": "ab", "maxLength": 1}`, "/maxLength", xgrammar.Looser, `"ab"`},
	{`{"type": "string", "enum": ["a", 3]}`, "/type", xgrammar.Looser, `3`},
	{`{"minimum": 3}`, "/minimum", xgrammar.Looser, `1`},
	{`{"required": ["a"]}`, "/required", xgrammar.Looser, `{}`},
	{`{"properties": {"a": {}}}`, "", xgrammar.Narrower, `3`},
	{`{"items": {"type": "integer"}}`, "", xgrammar.Narrower, `3`},
	{`{"type": "object", "required": ["a"]}`, "/required/0", xgrammar.Looser, `{}`},
	{`{"type": "object", "properties": {"a": {}}, "required": ["a", "b"], "additionalProperties": true}`, "/required/1", xgrammar.Looser, `{"a": 1}`},
	{`{"type": "object", "properties": {"a": {}}, "patternProperties": {"^x$": {"type": "integer"}}, "additionalProperties": true}`, "/patternProperties", xgrammar.Looser, `{"a": 1, "x": "s"}`},
	{`{"type": "object", "properties": {"a": {}}, "patternProperties": {"^x": {"type": "integer"}}}`, "/patternProperties/^x", xgrammar.Narrower, `{"a": 1, "xy": 3}`},
	{`{"type": "object", "patternProperties": {"^x.*$": {"type": "integer"}, "^.*y$": {"type": "string"}}}`, "/patternProperties", xgrammar.Looser, `{"xy": 1}`},
	{`{"type": "object", "patternProperties": {"^x$": {}}, "additionalProperties": {"type": "integer"}}`, "", xgrammar.Narrower, `{"y": 1}`},
	{`{"type": "object", "properties": {"ab": {}}, "propertyNames": {"maxLength": 1}}`, "/propertyNames", xgrammar.Looser, `{"ab": 1}`},
	{`{"type": "object", "propertyNames": {"pattern": "a"}, "additionalProperties": true}`, "/propertyNames/pattern", xgrammar.Narrower, `{"xa": 1}`},
	{`{"type": "string", "format": "date", "maxLength": 2}`, "/maxLength", xgrammar.Looser, `"2020-01-01"`},
	{`{"type": "string", "format": "ipv4", "pattern": "^1"}`, "/pattern", xgrammar.Looser, `"2.2.2.2"`},
	{`{"type": "string", "pattern": "^a+$", "maxLength": 2}`, "/maxLength", xgrammar.Looser, `"aaa"`},
	{`{"type": "string", "pattern": "^a(?!b).$"}`, "/pattern", xgrammar.Looser, `"ab"`},
	{`{"type": "string", "pattern": "a^b"}`, "/pattern", xgrammar.Looser, `"ab"`},
	{`{"type": "string", "pattern": "a"}`, "/pattern", xgrammar.Narrower, `"bab"`},
	{`{"type": "string", "pattern": "^a|b$"}`, "/pattern", xgrammar.Narrower, `"ax"`},
	{`{"type": "string", "pattern": "^a\"b$"}`, "/pattern", xgrammar.NotJSON, `"a"b"`},
	{`{"type": "string", "pattern": "^[\\\\]$"}`, "/pattern", xgrammar.NotJSON, `"\"`},
	{`{"type": "string", "maxLength": 5}`, "/maxLength", xgrammar.NotJSON, "\"\t\""},
	{`{"type": "string", "minLength": 1}`, "/minLength", xgrammar.Narrower, `"\""`},
	{`{"type": "number", "multipleOf": 0.5}`, "/multipleOf", xgrammar.Looser, `0.3`},
	{`{"type": "integer", "multipleOf": 2.5}`, "/multipleOf", xgrammar.Looser, `3`},
	{`{"type": "number", "minimum": 0}`, "/minimum", xgrammar.Narrower, `1e3`},
	{`{"type": "number", "exclusiveMaximum": 1}`, "/exclusiveMaximum", xgrammar.Narrower, `0.1234567`},
	{`{"type": "array", "items": {"type": ["string", "null"], "maxLength": 2}}`, "/items/maxLength", xgrammar.Narrower, `["\""]`},
	{`{"type": "object", "properties": {"a/b": {"type": "array", "prefixItems": [{"type": "number", "multipleOf": 2}]}}}`, "/properties/a~1b/prefixItems/0/multipleOf", xgrammar.Looser, `{"a/b": [3]}`},
}

// followed are schemas without a difference.
var followed = []string{
	`true`, `{}`, `{"title": "t", "description": "d", "default": 3, "examples": [1], "type": "integer"}`,
	`{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"$ref": "#/properties/a"}}, "required": ["a"], "minProperties": 1, "maxProperties": 2}`,
	`{"type": "array", "prefixItems": [{"const": 0.1}], "items": {"enum": ["a", null]}, "minItems": 1, "maxItems": 3}`,
	`{"type": "integer", "minimum": 1, "exclusiveMaximum": 9, "multipleOf": 2}`, `{"type": "integer", "format": "int32"}`,
	`{"type": "string", "pattern": "^[a-z]{2}$"}`, `{"type": "string", "pattern": "^a$|^b$"}`, `{"type": "string", "pattern": "^\\$\\^[$^]$"}`, `{"type": "string", "pattern": "^[^\"\\\\\\n]$"}`,
	`{"type": "string", "format": "date"}`, `{"type": "string", "minLength": 0}`, `{"type": "string", "format": "color"}`,
	`{"type": "string", "enum": ["a", "b"], "maxLength": 2, "pattern": "^.$"}`, `{"type": "integer", "const": 3, "minimum": 1}`,
	`{"type": "object", "anyOf": [{"type": "object", "properties": {"a": {}}}, {"$ref": "#/$defs/o"}], "$defs": {"o": {"type": "object", "properties": {}}}}`,
	`{"oneOf": [{"type": "integer"}, {"type": ["string", "null"]}, {"enum": [[1], {}]}]}`,
	`{"oneOf": [{"type": "object", "properties": {"k": {"const": 1}}, "required": ["k"]}, {"type": "object", "properties": {"k": {"enum": [2, 3]}}, "required": ["k"]}]}`,
	`{"allOf": [{"type": "integer"}]}`, `{"type": "array", "items": {"type": "integer"}, "uniqueItems": false}`, `{"if": {}, "type": "null"}`,
	`{"type": "object", "patternProperties": {"^x.*$": {}}}`, `{"type": "object", "propertyNames": {"enum": ["a"]}, "additionalProperties": {"type": "integer"}}`,
	`{"type": "object", "properties": {"x": {"$ref": "#"}}, "additionalProperties": false}`,
	`{"type": "integer", "$defs": {"unused": {"not": {}}}}`,
}

// valid reports whether a text is a document that follows a schema.
func valid(t testing.TB, schema, text string) (follows, isJSON bool) {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(schema), &s); err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	if s.Pattern == "^a(?!b).$" { // package regexp has no lookaheads
		s.Pattern = "^a[^b]$"
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return false, false
	}
	return resolved.Validate(v) == nil, true
}

// allows reports whether the grammar of a schema allows a text.
func allows(t testing.TB, c *xgrammar.Compiler, s xgrammar.JSONSchema, text string) bool {
	t.Helper()
	m := matcherOf(t, c, s)
	defer m.Release()
	return must(m.AcceptText(text))(t) && must(m.Complete())(t)
}

// TestCheck: each difference is there, is reported, and is in the docs; Exact refuses it unless it is narrower.
func TestCheck(t *testing.T) {
	_, c := compilerOf(t, xgrammar.CompilerOptions{})
	var table strings.Builder
	table.WriteString("| schema | place | effect | because | shown by |\n|---|---|---|---|---|\n")
	for _, x := range differences {
		s := xgrammar.JSONSchema{Text: x.schema}
		follows, isJSON := valid(t, x.schema, x.text)
		allowed := allows(t, c, s, x.text)
		if allowed != (x.effect != xgrammar.Narrower) || follows == allowed || isJSON == (x.effect == xgrammar.NotJSON) {
			t.Errorf("%s: %s follows the schema: %v, XGrammar allows it: %v", x.schema, x.text, follows, allowed)
		}
		all := must(s.Check())(t)
		i := slices.IndexFunc(all, func(d xgrammar.Difference) bool { return d.Pointer == x.pointer && d.Effect == x.effect })
		if i < 0 {
			t.Errorf("%s has the differences %v, want one that is %s at %q", x.schema, all, x.effect, x.pointer)
			continue
		}
		s.Exact = true
		g, err := c.Compile(t.Context(), s)
		if err == nil {
			g.Release()
		}
		narrower := !slices.ContainsFunc(all, func(d xgrammar.Difference) bool { return d.Effect != xgrammar.Narrower })
		if e := (*xgrammar.Error)(nil); narrower != (err == nil) || err != nil && (!errors.As(err, &e) || !strings.Contains(e.Reason(), "XGrammar does not follow it exactly: ") || x.effect != xgrammar.Narrower && !strings.Contains(e.Reason(), fmt.Sprintf("%q: %s", x.pointer, all[i].Text))) {
			t.Errorf("%s, exact: %v", x.schema, err)
		}
		code := func(text string) string {
			return "`` " + strings.ReplaceAll(strings.ReplaceAll(text, "|", `\|`), "\t", "TAB") + " ``"
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %s | %s |\n", code(x.schema), code(x.pointer), x.effect, strings.ReplaceAll(all[i].Text, "|", `\|`), code(x.text))
	}
	const path, begin, end = "../docs/SCHEMAS.md", "<!-- made by go test ./xgrammar -run TestCheck -update -->\n\n", "\n<!-- end -->"
	page := string(must(os.ReadFile(path))(t))
	before, rest, ok := strings.Cut(page, begin)
	_, after, ended := strings.Cut(rest, end)
	if want := before + begin + table.String() + end + after; !ok || !ended {
		t.Errorf("%s has no place for the table", path)
	} else if want != page && *update {
		if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if want != page {
		t.Errorf("the table in %s is not that of the rows: run go test ./xgrammar -run TestCheck -update", path)
	}
}

// TestCheck_followed: what XGrammar follows is not a difference, and Exact compiles it.
func TestCheck_followed(t *testing.T) {
	_, c := compilerOf(t, xgrammar.CompilerOptions{})
	for _, text := range followed {
		s := xgrammar.JSONSchema{Text: text, Exact: true}
		if all := must(s.Check())(t); len(all) > 0 {
			t.Errorf("%s has the differences %v", text, all)
		}
		matcherOf(t, c, s).Release()
	}
	// What the docs offer for a length.
	short := xgrammar.JSONSchema{Text: `{"type": "string", "pattern": "^[^\"\\\\\\x00-\\x1f]{1,5}$"}`, Exact: true}
	for text, want := range map[string]bool{`"abcdé"`: true, `""`: false, `"abcdef"`: false, "\"\t\"": false, `"""`: false, `"\"`: false} {
		if got := allows(t, c, short, text); got != want {
			t.Errorf("%s is allowed: %v", text, got)
		}
	}
	for text, want := range map[string]string{"{": "unexpected EOF", "{} 3": "there is text after the schema", "[1]": "it is neither an object nor true or false", "": "EOF"} {
		if _, err := (xgrammar.JSONSchema{Text: text}).Check(); err == nil || !regexp.MustCompile(`^xgrammar: JSONSchema .*: `+want+`$`).MatchString(err.Error()) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
