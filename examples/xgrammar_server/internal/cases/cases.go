// Package cases has constraints for tests of the server, and a checker of JSON schemas that
// knows nothing of XGrammar. Only tests import it.
package cases

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/grammar"
)

//go:embed cases.json
var document []byte

// Case is a constraint.
type Case struct {
	Name string
	Spec grammar.Spec
}

// All returns the constraints: more than 50 schemas, then others.
func All(t testing.TB) []Case {
	t.Helper()
	var list []struct {
		Name       string
		Kind       grammar.Kind
		Source     json.RawMessage
		Whitespace bool
	}
	if err := json.Unmarshal(document, &list); err != nil {
		t.Fatal(err)
	}
	var all []Case
	for _, c := range list {
		source := ""
		if c.Kind == "" {
			c.Kind = grammar.JSONSchema
			compact, err := grammar.Compact(c.Source)
			if err != nil {
				t.Fatal(err)
			}
			source = compact
		} else if err := json.Unmarshal(c.Source, &source); err != nil {
			t.Fatal(err)
		}
		all = append(all, Case{c.Name, grammar.Spec{Kind: c.Kind, Source: source, Whitespace: c.Whitespace}})
	}
	return all
}

// byHand are the grammars in EBNF, as regular expressions of Go; the recursive one as deep as
// the tests can write it.
var byHand = map[string]*regexp.Regexp{
	"EBNF of sums":        regexp.MustCompile(`^[1-9][0-9]{0,2}( \+ [1-9][0-9]{0,2}){1,3}$`),
	"EBNF with recursion": regexp.MustCompile(`^[(\[]*[a-c][)\]]*$`),
}

// Check returns an error if a whole text does not follow the constraint.
func (c Case) Check(output string) error {
	switch c.Spec.Kind {
	case grammar.JSON:
		return Valid([]byte("true"), []byte(output))
	case grammar.JSONSchema:
		return Valid([]byte(c.Spec.Source), []byte(output))
	case grammar.Regex:
		return match(regexp.MustCompile("^(?:"+c.Spec.Source+")$"), output)
	}
	if err := match(byHand[c.Name], output); err != nil {
		return err
	}
	return balanced(output)
}

// balanced checks that brackets match, which no regular expression does.
func balanced(s string) error {
	var open []byte
	closer := map[byte]byte{'(': ')', '[': ']'}
	for i := range len(s) {
		if end, ok := closer[s[i]]; ok {
			open = append(open, end)
		} else if s[i] == ')' || s[i] == ']' {
			if len(open) == 0 || open[len(open)-1] != s[i] {
				return wrong("", "%q has a bracket that was not opened", s)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return wrong("", "%q has brackets that are open", s)
	}
	return nil
}

func match(r *regexp.Regexp, output string) error {
	if !r.MatchString(output) {
		return wrong("", "%q does not match %s", output, r)
	}
	return nil
}

// decode reads one JSON value, with numbers as they are written. It refuses a key that comes twice.
func decode(doc []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	v, err := element(d)
	if err == nil && strings.TrimSpace(string(doc[d.InputOffset():])) != "" {
		err = wrong("", "there is text after the value")
	}
	return v, err
}

func element(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := element(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	case json.Delim('{'):
		object := map[string]any{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			if object[key.(string)], err = element(d); err != nil {
				return nil, err
			}
		}
		_, err = d.Token()
		return object, err
	}
	return token, nil
}
