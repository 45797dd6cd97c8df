package grammar_test

import (
	"errors"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/grammar"
)

// seeds are constraints of all kinds, some of which are wrong.
var seeds = []string{
	`{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"enum":[[{}]]}`, `{`, `\`, `[`, `{,}`,
	`{"type":"array","items":{"anyOf":[{"type":"string","pattern":"^a+$"},{"type":"integer","minimum":3}]},"maxItems":3}`,
	`{"$defs":{"a":{"type":"object","additionalProperties":{"$ref":"#/$defs/a"}}},"$ref":"#/$defs/a"}`,
	`(a|b){2,3}[^]]`, `([a-z]+,)*`, `(a{2,9}b?)+c`, `(?:x|y)?z{3}`, `[^"\\]+\d\w`,
	`root ::= "a" [b]* (c){1,}`, "root ::= a | b\na ::= \"x\" a | \"y\"\nb ::= [0-9]+ # digits\n", `root ::= ("a" | "b")+ "c"`,
	`{"type":"structural_tag","format":{"type":"sequence","elements":[{"type":"const_string","value":"a"},{"type":"regex","pattern":"[a-z]+"}]}}`,
}

var kinds = []grammar.Kind{grammar.JSON, grammar.JSONSchema, grammar.Regex, grammar.EBNF, grammar.StructuralTag}

// FuzzCheck looks for sources on which the checks panic, or that they refuse with another
// error than *Error.
func FuzzCheck(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	limits := grammar.DefaultLimits()
	f.Fuzz(func(t *testing.T, source string) {
		for _, kind := range kinds {
			err := limits.Check(grammar.Spec{Kind: kind, Source: source})
			var e *grammar.Error
			if err != nil && (!errors.As(err, &e) || e.Code == "" || e.Item == "") {
				t.Errorf("%s %q: %#v", kind, source, err)
			}
		}
	})
}

// FuzzCompile looks for sources that pass the checks and end the process in XGrammar, or keep it
// busy.
func FuzzCompile(f *testing.F) {
	for _, s := range seeds {
		for kind := range kinds {
			f.Add(kind, s)
		}
	}
	limits := grammar.DefaultLimits()
	f.Fuzz(func(t *testing.T, kind int, source string) {
		if kind < 0 || kind >= len(kinds) || limits.Check(grammar.Spec{Kind: kinds[kind], Source: source}) != nil {
			return
		}
		c := newCompiler(t)
		start := time.Now()
		m, _, err := c.Matcher(t.Context(), grammar.Spec{Kind: kinds[kind], Source: source})
		var e *grammar.Error
		switch {
		case err == nil:
			m.Release()
		case !errors.As(err, &e):
			t.Errorf("%s %q: %v", kinds[kind], source, err)
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("%s %q took %v", kinds[kind], source, took)
		}
	})
}
