package cases

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/grammar"
)

func TestAll(t *testing.T) {
	schemas := 0
	for _, c := range All(t) {
		if c.Spec.Kind == grammar.JSONSchema {
			schemas++
		}
		if err := grammar.DefaultLimits().Check(c.Spec); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	if schemas < 50 {
		t.Errorf("there are %d schemas, want 50", schemas)
	}
}

// TestValid has documents that the checker has to tell apart: the load test believes it.
func TestValid(t *testing.T) {
	for _, c := range []struct{ schema, right, wrong string }{
		{`{"type":"null"}`, `null`, `0`},
		{`{"type":"integer"}`, `-3`, `1.5`},
		{`{"type":["string","null"]}`, `null`, `1`},
		{`{"minimum":2,"maximum":3}`, `2`, `1`},
		{`{"exclusiveMinimum":2,"exclusiveMaximum":4}`, `3`, `4`},
		{`{"multipleOf":7}`, `21`, `22`},
		{`{"minLength":2,"maxLength":3}`, `"äöü"`, `"ä"`},
		{`{"pattern":"^a+$"}`, `"aa"`, `"ab"`},
		{`{"format":"date"}`, `"2026-11-22"`, `"2026-13-22"`},
		{`{"format":"uuid"}`, `"00000000-0000-0000-0000-000000000000"`, `"0"`},
		{`{"format":"time"}`, `"10:00:00Z"`, `"10:00"`},
		{`{"enum":[1,"a"]}`, `"a"`, `"b"`},
		{`{"const":{"a":[1]}}`, `{"a":[1]}`, `{"a":[2]}`},
		{`{"items":{"type":"null"},"minItems":1,"maxItems":2}`, `[null]`, `[]`},
		{`{"items":{"type":"null"}}`, `[]`, `[1]`},
		{`{"prefixItems":[{"type":"null"}],"items":false}`, `[null]`, `[null,null]`},
		{`{"properties":{"a":{"type":"null"}},"required":["a"]}`, `{"a":null}`, `{}`},
		{`{"properties":{"a":{"type":"null"}}}`, `{}`, `{"a":1}`},
		{`{"properties":{"a":true},"additionalProperties":false}`, `{"a":1}`, `{"b":1}`},
		{`{"patternProperties":{"^a":{"type":"null"}}}`, `{"ab":null,"b":1}`, `{"ab":1}`},
		{`{"propertyNames":{"maxLength":1}}`, `{"a":1}`, `{"ab":1}`},
		{`{"maxProperties":1}`, `{"a":1}`, `{"a":1,"b":2}`},
		{`{"anyOf":[{"type":"null"},{"type":"string"}]}`, `""`, `1`},
		{`{"oneOf":[{"type":"number"},{"type":"integer"}]}`, `1.5`, `1`},
		{`{"allOf":[{"minimum":1},{"maximum":2}]}`, `1`, `3`},
		{`{"$defs":{"n":{"type":"null"}},"items":{"$ref":"#/$defs/n"}}`, `[null]`, `[1]`},
		{`true`, `{}`, `{`},
		{`true`, `"a"`, "\"\t\""},
		{`true`, `1`, `1 2`},
	} {
		if err := Valid([]byte(c.schema), []byte(c.right)); err != nil {
			t.Errorf("%s: %s is valid: %v", c.schema, c.right, err)
		}
		if Valid([]byte(c.schema), []byte(c.wrong)) == nil {
			t.Errorf("%s: %s is not valid", c.schema, c.wrong)
		}
	}
}

func TestCheck(t *testing.T) {
	right := map[string]string{"EBNF of sums": "1 + 22", "EBNF with recursion": "([b])", "regex of dates": "2026-01-02"}
	wrong := map[string]string{"EBNF of sums": "1 +", "EBNF with recursion": "([b)]", "regex of dates": "x2026-01-02"}
	for _, c := range All(t) {
		if text, ok := right[c.Name]; ok && c.Check(text) != nil {
			t.Errorf("%s: %q: %v", c.Name, text, c.Check(text))
		}
		if text, ok := wrong[c.Name]; ok && c.Check(text) == nil {
			t.Errorf("%s: %q is right", c.Name, text)
		}
	}
}
