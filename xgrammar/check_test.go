package xgrammar_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
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
	{`{"type": "array", "contains": {"type": "integer"}, "unevaluatedItems": false}`, "/unevaluatedItems", xgrammar.Narrower, `[1]`},
	{`{"type": "object", "if": {"properties": {"a": {"type": "integer"}}, "required": ["a"]}, "unevaluatedProperties": false}`, "/unevaluatedProperties", xgrammar.Narrower, `{"a": 1}`},
	{`{"allOf": [{"type": "object", "properties": {"a": {}}}, {"type": "object", "properties": {"b": {}}}]}`, "/allOf", xgrammar.Looser, `7`},
	{`{"type": "object", "properties": {"a": {}}, "required": ["a"], "allOf": [{"type": "object", "properties": {"b": {}}}]}`, "/required", xgrammar.Looser, `{}`},
	{`{"minimum": 3, "anyOf": [{"type": "integer"}]}`, "/minimum", xgrammar.Looser, `1`},
	{`{"type": "object", "required": ["a"], "oneOf": [{"type": "object", "properties": {"a": {}}}]}`, "/required", xgrammar.Looser, `{}`},
	{`{"type": "object", "properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}`, "/anyOf/0/required", xgrammar.Looser, `3`},
	{`{"oneOf": [{"type": "integer"}, {"type": "integer", "minimum": 5}]}`, "/oneOf", xgrammar.Looser, `7`},
	{`{"oneOf": [{"type": "object", "properties": {"k": {"const": 1}}}, {"type": "object", "properties": {"k": {"const": 2}}}]}`, "/oneOf", xgrammar.Looser, `{}`},
	{`{"oneOf": [{"const": "a"}, {"additionalProperties": {}}]}`, "/oneOf", xgrammar.Looser, `"a"`},
	{`{"$ref": "#/$defs/n", "minimum": 5, "$defs": {"n": {"type": "integer"}}}`, "/minimum", xgrammar.Looser, `3`},
	{`{"$ref": "#n", "$defs": {"n": {"$anchor": "n", "type": "integer"}}}`, "/$ref", xgrammar.Looser, `"a"`},
	{`{"$ref": "#/$defs/n", "$defs": {"n": {"type": "array", "items": {"type": "integer"}, "uniqueItems": true}}}`, "/$defs/n/uniqueItems", xgrammar.Looser, `[1, 1]`},
	{`{"enum": [1, 2], "minimum": 2}`, "/minimum", xgrammar.Looser, `1`},
	{`{"const": "ab", "maxLength": 1}`, "/maxLength", xgrammar.Looser, `"ab"`},
	{`{"type": "string", "enum": ["a", 3]}`, "/type", xgrammar.Looser, `3`},
	{`{"const": "ab", "if": {"type": "string"}, "then": {"maxLength": 1}}`, "/if", xgrammar.Looser, `"ab"`},
	{`{"enum": [[1, 2], [3]], "contains": {"type": "integer"}, "maxContains": 1}`, "/contains", xgrammar.Looser, `[1,2]`},
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
	{`{"type": "object", "properties": {"a": {}}, "patternProperties": {"^x*$": {}}, "propertyNames": {"maxLength": 1}}`, "/propertyNames", xgrammar.Looser, `{"a": 1, "xx": 1}`},
	{`{"type": "object", "properties": {"a": {"type": "integer"}}, "propertyNames": {"enum": ["a"]}, "additionalProperties": true}`, "/propertyNames", xgrammar.Looser, `{"a": "s"}`},
	{`{"type": "object", "propertyNames": {"type": ["string", "null"]}}`, "/propertyNames/type", xgrammar.NotJSON, `{null: 1}`},
	{`{"type": ["object", "null"], "propertyNames": {"type": ["integer"], "minimum": 3}}`, "/propertyNames/type", xgrammar.NotJSON, `{3: 1}`},
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
	{`{"type": "integer", "minimum": 0, "multipleOf": 5}`, "/multipleOf", xgrammar.Looser, `6`},
	{`{"type": "integer", "minimum": 0, "maximum": 10000, "multipleOf": 5}`, "/multipleOf", xgrammar.Looser, `6`},
	{`{"type": "integer", "multipleOf": 1025}`, "/multipleOf", xgrammar.Looser, `1`},
	{`{"type": "string", "const": null}`, "/type", xgrammar.Looser, `null`},
	{`{"type": "object", "allOf": []}`, "/type", xgrammar.Looser, `1`},
	{`{"type": "integer", "allOf": [{"type": "integer"}, {"type": "integer"}]}`, "/type", xgrammar.Looser, `"a"`},
	{`{"anyOf": [{"allOf": [{"type": "integer"}], "oneOf": [{"type": "string"}]}], "not": {"type": "string"}}`, "/not", xgrammar.Looser, `"a"`},
	{`{"type": "object", "properties": {"xa": {"type": "integer"}}, "patternProperties": {"^x.*$": {"type": "string"}}, "additionalProperties": false}`, "/patternProperties/^x.*$", xgrammar.Looser, `{"xa": 1}`},
	{`{"type": "object", "propertyNames": {"pattern": "^a$"}, "additionalProperties": false}`, "/additionalProperties", xgrammar.Looser, `{"a": 1}`},
	{`{"type": "object", "propertyNames": {}, "additionalProperties": false}`, "/additionalProperties", xgrammar.Looser, `{"a": 1}`},
	{`{"type": "object", "properties": {"a": {"type": "integer"}}, "propertyNames": {}, "additionalProperties": true}`, "/propertyNames", xgrammar.Looser, `{"a": "s"}`},
	{`{"type": "object", "propertyNames": {}, "minProperties": 2}`, "/minProperties", xgrammar.Looser, `{"a": 1, "a": 1}`},
	{`{"type": "object", "minProperties": 2, "additionalProperties": {"type": "integer"}}`, "/minProperties", xgrammar.Looser, `{"a": 1, "a": 1}`},
	{`{"type": "object", "properties": {"a": {"$id": "https://example.com/x", "$ref": "#/$defs/n", "$defs": {"n": {"type": "string"}}}}, "$defs": {"n": {"type": "integer"}}}`, "/properties/a/$id", xgrammar.Looser, `{"a": 1}`},
	{`{"type": "string", "pattern": "^(a$)b$"}`, "/pattern", xgrammar.Looser, `"ab"`},
	{`{"type": "string", "pattern": "^a:^b$"}`, "/pattern", xgrammar.Looser, `"a:b"`},
	{`{"type": "string", "pattern": "^[\\p{L}]$"}`, "/pattern", xgrammar.Looser, `"{"`},
	{`{"type": "string", "pattern": "^[+-\\d]$"}`, "/pattern", xgrammar.Looser, `","`},
	{`{"type": "string", "pattern": "^\\ud83d\\ude00$"}`, "/pattern", xgrammar.Narrower, `"😀"`},
	{`{"type": "string", "pattern": "^\\x22$"}`, "/pattern", xgrammar.NotJSON, `"""`},
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
	`{"type": "string", "pattern": "^[a-z]{2}$"}`, `{"type": "string", "pattern": "^a$|^b$"}`, `{"type": "string", "pattern": "^\\$\\^[$^]$"}`, `{"type": "string", "pattern": "^[^\"\\\\\\n]$"}`, `{"type": "string", "pattern": "^[\\w-][-\\d][^-\\d][\\w-.][a-c-\\d][\\w-\\d][+\\-\\d]\\u00e9[^\\ud83d]$"}`,
	`{"type": "string", "format": "date"}`, `{"type": "string", "minLength": 0}`, `{"type": "string", "format": "color"}`,
	`{"type": "string", "enum": ["a", "b"], "maxLength": 2, "pattern": "^.$"}`, `{"type": "integer", "const": 3, "minimum": 1}`,
	`{"type": "object", "anyOf": [{"type": "object", "properties": {"a": {}}}, {"$ref": "#/$defs/o"}], "$defs": {"o": {"type": "object", "properties": {}}}}`,
	`{"oneOf": [{"type": "integer"}, {"type": ["string", "null"]}, {"enum": [[1], {}]}]}`,
	`{"oneOf": [{"type": "object", "properties": {"k": {"const": 1}}, "required": ["k"]}, {"type": "object", "properties": {"k": {"enum": [2, 3]}}, "required": ["k"]}]}`,
	`{"minLength": 0, "required": [], "format": "color", "propertyNames": {}, "pattern": ""}`, `{"type": "string", "maxLength": 0}`,
	`{"type": "integer", "multipleOf": 1024}`, `{"type": "integer", "minimum": -5000, "maximum": 4999, "multipleOf": 5}`, `{"type": "array", "items": {}, "uniqueItems": true, "maxItems": 1}`,
	`{"required": ["k"], "oneOf": [{"type": "object", "properties": {"k": {"const": 1}}, "required": ["k"]}, {"type": "object", "properties": {"k": {"const": 2}}, "required": ["k"]}]}`,
	`{"oneOf": [{"allOf": [{"$ref": "#/$defs/a"}]}, {"type": "string"}], "$defs": {"a": {"type": "object", "properties": {"k": {}}, "required": ["k"]}}}`,
	`{"oneOf": [{"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": false}, {"type": "object", "properties": {"b": {}}, "required": ["b"], "additionalProperties": false}]}`,
	`{"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null}}}`, `{"type": "string", "pattern": "^(a|(b|c))$"}`,
	`{"enum": ["a", {"b": 1}], "minimum": 3, "properties": {"b": {"type": "integer"}}, "items": {"type": "null"}, "not": {"type": "null"}}`,
	`{"const": 4, "oneOf": [{"type": "integer"}, {"type": "string"}], "dependentSchemas": {"a": false}}`, `{"type": "string", "enum": ["a"], "contains": {"const": 1}}`,
	`{"anyOf": [{"type": "integer"}, {"type": "null"}], "pattern": "^a", "dependentRequired": {"a": ["b"]}, "not": {"type": "string"}}`, `{"type": "integer", "not": {"type": "string"}}`,
	`{"oneOf": [{"const": "auto"}, {"type": "string", "pattern": "^[0-9]+px$"}]}`, `{"oneOf": [{"anyOf": [{"type": "integer"}, {"type": "null"}]}, {"anyOf": [{"type": "string"}, {"type": "boolean"}]}]}`,
	`{"oneOf": [{"type": "object", "properties": {"k": {"const": "a", "default": "a"}, "x": {}}, "required": ["x"]}, {"type": "object", "properties": {"k": {"const": "b", "default": "b"}, "y": {}}, "required": ["y"]}]}`,
	`{"type": "object", "properties": {"a": {"type": "integer"}}, "propertyNames": {"pattern": "^[a-z]+$"}}`,
	`{"oneOf": [{"type": "integer", "maximum": 4}, {"type": "integer", "exclusiveMinimum": 4, "maximum": 9}, {"type": "integer", "minimum": 10}]}`,
	`{"allOf": [{"type": "integer"}]}`, `{"type": "array", "items": {"type": "integer"}, "uniqueItems": false}`, `{"if": {}, "type": "null"}`,
	`{"type": "object", "propertyNames": {"type": ["string"]}}`, `{"type": "object", "propertyNames": {"type": ["string", "null"], "enum": ["a"]}}`,
	`{"type": "object", "patternProperties": {"^x.*$": {}}}`, `{"type": "object", "propertyNames": {"enum": ["a"]}, "additionalProperties": {"type": "integer"}}`,
	`{"type": "object", "properties": {"x": {"$ref": "#"}}, "additionalProperties": false}`,
	`{"type": "integer", "$defs": {"unused": {"not": {}}}}`,
}

// inGo are patterns of JavaScript that package regexp does not take, in its words.
var inGo = map[string]string{`^a(?!b).$`: `^a[^b]$`, `^[+-\d]$`: `^[+\-\d]$`, `^\ud83d\ude00$`: `^\x{1F600}$`}

// valid reports whether a text is a document that follows a schema.
func valid(t testing.TB, schema, text string) (follows, isJSON bool) {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(schema), &s); err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	if same, ok := inGo[s.Pattern]; ok {
		s.Pattern = same
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
		fmt.Fprintf(&table, "| %s | %s | %s | %s | %s |\n", code(x.schema), code(x.pointer), x.effect, strings.ReplaceAll(all[i].Text, "|", `\|`), code(x.text))
	}
	inDocs(t, "TestCheck", table.String())
}

// code writes a text into a table.
func code(text string) string {
	return "`` " + strings.ReplaceAll(strings.ReplaceAll(text, "|", `\|`), "\t", "TAB") + " ``"
}

// inDocs compares a table with the one that the docs have of a test.
func inDocs(t *testing.T, name, table string) {
	const path, end = "../docs/SCHEMAS.md", "\n<!-- end -->"
	begin := "<!-- made by go test ./xgrammar -run " + name + " -update -->\n\n"
	page := string(must(os.ReadFile(path))(t))
	before, rest, ok := strings.Cut(page, begin)
	_, after, ended := strings.Cut(rest, end)
	if want := before + begin + table + end + after; !ok || !ended {
		t.Errorf("%s has no place for the table", path)
	} else if want != page && *update {
		if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if want != page {
		t.Errorf("the table in %s is not that of the rows: run go test ./xgrammar -run %s -update", path, name)
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

// TestCheck_rounded: a number that XGrammar rounds is another one for a reader with more digits than float64 has. Such a reader
// is not the judge of the table.
func TestCheck_rounded(t *testing.T) {
	_, c := compilerOf(t, xgrammar.CompilerOptions{})
	for _, x := range []struct{ schema, pointer, text string }{
		{`{"const": 9007199254740993.0}`, "/const", `9007199254740992`},
		{`{"const": 12345678901234567890}`, "/const", `1.2345678901234567e+19`},
		{`{"enum": [{"a": 0.1000000000000000055}]}`, "/enum", `{"a":0.1}`},
		{`{"type": "number", "minimum": 9007199254740993}`, "/minimum", `9007199254740992`},
		{`{"type": "number", "exclusiveMaximum": -9007199254740993}`, "/exclusiveMaximum", `-9007199254740993`},
		{`{"type": "integer", "minimum": 9007199254740993.0}`, "/minimum", `9007199254740992`},
		{`{"type": "number", "maximum": 9007199254740993}`, "", `9007199254740992`},
		{`{"type": "integer", "minimum": 9007199254740993}`, "", `9007199254740993`},
		{`{"enum": [1e2, 1.50, -0.0, 0.30000000000000004, 5e-324, 100000000000000000000.0]}`, "", `100`},
	} {
		s, found := xgrammar.JSONSchema{Text: x.schema}, ""
		for _, d := range must(s.Check())(t) {
			if d.Effect == xgrammar.Looser {
				found += d.Pointer
			}
		}
		if found != x.pointer || !allows(t, c, s, x.text) {
			t.Errorf("%s: Check names %q, want %q; %s is allowed: %v", x.schema, found, x.pointer, x.text, allows(t, c, s, x.text))
		}
	}
}

// TestCheck_anyOrder: with AnyOrder a grammar counts properties, and does not know them.
func TestCheck_anyOrder(t *testing.T) {
	_, c := compilerOf(t, xgrammar.CompilerOptions{})
	s := xgrammar.JSONSchema{Text: `{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"], "minProperties": 2}`, AnyOrder: true}
	if all := must(s.Check())(t); len(all) != 2 || all[0].Pointer != "/minProperties" || all[1].Pointer != "/required" || !allows(t, c, s, `{"a":1,"a":1}`) {
		t.Errorf("the differences are %v", all)
	}
	s.AnyOrder = false
	if all := must(s.Check())(t); len(all) != 0 {
		t.Errorf("in order, the differences are %v", all)
	}
}

// TestCheck_loose: with Loose, a grammar knows unevaluatedProperties only if it is a schema, or beside additionalProperties.
func TestCheck_loose(t *testing.T) {
	_, c := compilerOf(t, xgrammar.CompilerOptions{})
	for text, want := range map[string]bool{
		`{"type": "object", "properties": {"a": {}}, "unevaluatedProperties": false}`:                                             true,
		`{"type": ["object", "null"], "properties": {"a": {}}, "patternProperties": {"^x$": {}}, "unevaluatedProperties": false}`: true,
		`{"type": "object", "properties": {"a": {}}, "unevaluatedProperties": {"type": "string"}}`:                                false,
		`{"type": "object", "properties": {"a": {}}, "additionalProperties": false, "unevaluatedProperties": false}`:              false,
		`{"type": "object", "patternProperties": {"^x$": {}}, "unevaluatedProperties": false}`:                                    false,
	} {
		s := xgrammar.JSONSchema{Text: text, Loose: true}
		all := must(s.Check())(t)
		got := slices.ContainsFunc(all, func(d xgrammar.Difference) bool {
			return d.Pointer == "/unevaluatedProperties" && d.Effect == xgrammar.Looser
		})
		if allowed := allows(t, c, s, `{"b": 1}`); got != want || allowed != want {
			t.Errorf("%s: allowed is %v, the differences are %v", text, allowed, all)
		}
		if s.Loose = false; allows(t, c, s, `{"b": 1}`) {
			t.Errorf("%s allows it without Loose", text)
		}
	}
}

// TestSeparators: one separator of two leaves the other as it is.
func TestSeparators(t *testing.T) {
	_, c := compilerOf(t, xgrammar.CompilerOptions{})
	const schema = `{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}`
	for _, x := range []struct {
		separators [2]string
		indent     int
		text       string
	}{{[2]string{",", ""}, 0, `{"a": 1,"b": 2}`}, {[2]string{"", ":"}, 0, `{"a":1, "b":2}`}, {[2]string{"", ":"}, 1, "{\n \"a\":1,\n \"b\":2\n}"}} {
		s := xgrammar.JSONSchema{Text: schema, Compact: true, Separators: x.separators, Indent: x.indent}
		if !allows(t, c, s, x.text) {
			t.Errorf("%q and the indent %d do not allow %s", x.separators, x.indent, x.text)
		}
	}
}

// TestCheck_large: the steps of a check have a limit, and no keyword is followed in circles. Without these, each of the texts
// takes minutes, all memory, or the stack.
func TestCheck_large(t *testing.T) {
	many := `{"type": "integer", "anyOf": [{"$ref": "#/$defs/0"}], "$defs": {"12": {"type": "integer"}`
	for i := range 12 {
		next := fmt.Sprintf(`{"$ref": "#/$defs/%d"}`, i+1)
		many += fmt.Sprintf(`, "%d": {"anyOf": [%s]}`, i, strings.Join(slices.Repeat([]string{next}, 8), ", "))
	}
	many += "}}"
	for name, text := range map[string]string{
		"many":   many,
		"deep":   strings.Repeat(`{"items": `, 9000) + "{}" + strings.Repeat("}", 9000),
		"oneOf":  `{"oneOf": [` + strings.TrimSuffix(strings.Repeat(`{"type": "object", "properties": {"k": {"const": 3}}, "required": ["k"]},`, 4000), ",") + `]}`,
		"itself": `{"$ref": "#"}`,
		"circle": `{"const": 1, "not": {"$dynamicAnchor": "a", "not": {"$dynamicRef": "#a"}}}`,
		"pairs":  `{"oneOf": [{"enum": [` + numbers(0, 100000) + `]}, {"enum": [` + numbers(100000, 200000) + `]}]}`,
		"shared": `{"type": ["integer"], "anyOf": [` + strings.TrimSuffix(strings.Repeat(`{"$ref": "#/$defs/a"},`, 20000), ",") + `], "$defs": {"a": {"enum": [` + numbers(0, 20000) + `]}}}`,
		"wide":   `{"oneOf": [{"enum": [1e300, 1e-1000000]}, {"type": "integer", "multipleOf": 1e-1000000}]}`,
		"judged": `{"oneOf": [` + numbered(3000, `{"const": %d, "properties": {"a": {"type": "integer", "not": {"minimum": 3}}}}`) + `]}`,
		"ring":   `{"$ref": "#/$defs/a", "minimum": 3, "oneOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}], "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}`,
	} {
		all := must((xgrammar.JSONSchema{Text: text}).Check())(t)
		if large := len(all) == 1 && all[0].Text == "it is too large or too deep to be checked"; large != (name == "many" || name == "deep" || name == "shared" || name == "judged") {
			t.Errorf("%s: %v", name, all)
		}
	}
}

// numbered are texts with the numbers from 0 on, with commas.
func numbered(n int, format string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(all, ",")
}

// numbers are the numbers from low to high, with commas.
func numbers(low, high int) string {
	var b strings.Builder
	for i := low; i < high; i++ {
		fmt.Fprintf(&b, "%d,", i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

// FuzzCheck: no schema stops a check.
func FuzzCheck(f *testing.F) {
	for _, x := range differences {
		f.Add(x.schema)
	}
	for _, text := range followed {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := xgrammar.JSONSchema{Text: text}.Check()
		if again, _ := (xgrammar.JSONSchema{Text: text}).Check(); err == nil && !json.Valid([]byte(text)) || !slices.Equal(all, again) {
			t.Errorf("%q: %v, %v, and then %v", text, all, err, again)
		}
	})
}

// TestCheck_random: where a grammar allows a document against a random schema, Check has said so.
func TestCheck_random(t *testing.T) {
	_, c := compilerOf(t, xgrammar.CompilerOptions{})
	r := rand.New(rand.NewPCG(1, 2))
	documents := []string{"1", "4", "7.5", `"a"`, `"ab"`, `"b"`, "null", "true", "[]", "[1]", "[1, 1]", `[1, "a"]`, `["a", "a", 4]`, "{}", `{"a": 1}`, `{"a": 4, "b": "a"}`, `{"b": "ab"}`, `{"a": "a"}`, "7", `{"x1": "a", "a": 1}`, `{"a": 1, "a": 1}`, `{"x": 1}`, `{"a": 1, "x": 4}`}
	shown := 0
	for range 500 {
		text := string(must(json.Marshal(randomRoot(r, 2)))(t))
		if strings.Contains(text, `"$ref"`) {
			continue // it may go in circles, in which the validator does not return
		}
		s := xgrammar.JSONSchema{Text: text, Loose: r.IntN(2) == 0, AnyOrder: r.IntN(4) == 0}
		g, err := c.Compile(t.Context(), s)
		if err != nil {
			continue // XGrammar refuses it
		}
		all := must(s.Check())(t)
		looser := len(all) > 0 && all[0].Effect == xgrammar.Looser
		for _, d := range documents {
			m := must(g.NewMatcher(xgrammar.MatcherOptions{}))(t)
			allowed := must(m.AcceptText(d))(t) && must(m.Complete())(t)
			m.Release()
			follows, _ := valid(t, text, d)
			if allowed && !follows && !looser {
				t.Errorf("%s, loose %v: %s is allowed, and the differences are %v", text, s.Loose, d, all)
			}
			if allowed && !follows {
				shown++
			}
		}
		g.Release()
	}
	if shown < 100 {
		t.Errorf("only %d documents show a difference", shown)
	}
}

// randomRoot returns a schema whose references lead somewhere.
func randomRoot(r *rand.Rand, depth int, some ...string) map[string]any {
	s := randomSchema(r, depth, some...)
	s["$defs"] = map[string]any{"d": randomSchema(r, r.IntN(2), some...)}
	return s
}

// randomSchema returns a schema of a few keywords: of some, or of all that are here.
func randomSchema(r *rand.Rand, depth int, some ...string) map[string]any {
	sub := func() any {
		if depth == 0 {
			return []any{map[string]any{"type": []string{"integer", "string"}[r.IntN(2)]}, true, false, map[string]any{}}[max(0, r.IntN(8)-4)]
		}
		return randomSchema(r, depth-1, some...)
	}
	of := func(all ...any) func() any { return func() any { return all[r.IntN(len(all))] } }
	subs := func() any { return []any{sub(), sub()}[:1+r.IntN(2)] }
	keywords := map[string]func() any{
		"type": func() any {
			return []any{"integer", "number", "string", "array", "object", []string{"null", "integer"}, "boolean", []string{"object", "array", "string"}}[r.IntN(8)]
		},
		"enum": func() any {
			return []any{1, "a", nil, map[string]any{"a": 1}, []any{1, "a"}, 7.5, "ab"}[r.IntN(3):][:1+r.IntN(4)]
		},
		"const": of(4, "ab", true, nil, []any{1}, map[string]any{"a": 1}),
		"anyOf": subs, "oneOf": subs, "allOf": subs, "not": sub, "if": sub, "then": sub, "else": sub,
		"minimum": of(3, 0, -5, 1.5), "maximum": of(8, 20000, 7.5), "exclusiveMinimum": of(3, -1), "exclusiveMaximum": of(8, 0.5), "multipleOf": of(2, 2, 0.5, 3),
		"minLength": of(0, 1, 2), "maxLength": of(1, 2, 0), "pattern": of("^a", "a", "^a$", "^[ab]*$", "b$|^a", ""),
		"items": sub, "prefixItems": subs, "minItems": of(1, 2, 0), "maxItems": of(1, 2, 0), "uniqueItems": of(true, false), "contains": sub, "minContains": of(0, 1, 2), "maxContains": of(1),
		"properties": func() any { return map[string]any{"a": sub(), []string{"b", "x1"}[r.IntN(2)]: sub()} }, "required": func() any { return []string{"a", "x", "b"}[r.IntN(2):][:1+r.IntN(2)] },
		"additionalProperties": func() any { return []any{false, true, sub(), sub()}[r.IntN(4)] }, "unevaluatedProperties": func() any { return []any{false, sub()}[r.IntN(2)] }, "unevaluatedItems": func() any { return []any{false, sub()}[r.IntN(2)] },
		"minProperties": of(1, 2, 0), "maxProperties": of(1, 2, 0), "propertyNames": func() any {
			return []any{map[string]any{"maxLength": 1}, map[string]any{"pattern": "^a$"}, map[string]any{"enum": []string{"a", "x"}}, sub()}[r.IntN(4)]
		},
		"patternProperties": func() any { return map[string]any{[]string{"^x", "^x1?$", ".", "a"}[r.IntN(4)]: sub()} }, "dependentRequired": of(map[string]any{"a": []string{"b"}}), "dependentSchemas": func() any { return map[string]any{"a": sub()} },
		"format": of("color", "date", "ipv4"), "$ref": of("#", "#/$defs/d", "#/$defs/d"), "title": of("t"),
	}
	names := some
	if names == nil {
		names = slices.Sorted(maps.Keys(keywords))
	}
	s := map[string]any{}
	for range 1 + r.IntN(4) {
		name := names[r.IntN(len(names))]
		s[name] = keywords[name]()
	}
	return s
}

// randomDocument returns a document of constants that occur in random schemas.
func randomDocument(r *rand.Rand, depth int) string {
	atoms := []string{"1", "3", "4", "7.5", `"a"`, `"ab"`, `"b"`, `"\""`, "null", "true", "false", "0", "-1", "8", "20000", `""`, "2", "1e2", "{}", "[]"}
	if depth == 0 || r.IntN(3) == 0 {
		return atoms[r.IntN(len(atoms))]
	}
	var parts []string
	if r.IntN(2) == 0 {
		for range r.IntN(4) {
			parts = append(parts, randomDocument(r, depth-1))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	without := []string{"b", "x1"}[r.IntN(2)]                 // schemas have one of them, which comes before what they do not mention
	for _, name := range []string{"a", "b", "x1", "x", "y"} { // the order of the schemas
		if name != without && r.IntN(5) < 2 {
			parts = append(parts, fmt.Sprintf("%q: %s", name, randomDocument(r, depth-1)))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
