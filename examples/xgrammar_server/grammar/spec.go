// Package grammar compiles what constrains a text: a JSON schema, a regular expression, EBNF,
// a structural tag, or "any JSON". It checks the source against Limits before XGrammar sees
// it, keeps what it has compiled, and gives out matchers.
package grammar

import (
	"encoding/json"
	"fmt"
	"time"
)

// Kind is the language of a Spec. Its text is the name of the field of the HTTP API.
type Kind string

// The kinds.
const (
	JSON          Kind = "json"           // any JSON document; the source is empty
	JSONSchema    Kind = "json_schema"    // a JSON schema
	Regex         Kind = "regex"          // a regular expression, which matches the whole text
	EBNF          Kind = "grammar"        // EBNF with a rule that is called root
	StructuralTag Kind = "structural_tag" // JSON that says where free and structured text alternate
)

// Spec is a constraint as a client sends it. It is the key of the cache.
type Spec struct {
	Kind   Kind
	Source string
	// Whitespace allows white space wherever JSON does, in a text under a JSON schema.
	// Otherwise the layout is fixed, so that more of the text is forced.
	Whitespace bool
}

// WritesJSON reports whether each text that follows the constraint is one JSON document.
func (s Spec) WritesJSON() bool { return s.Kind == JSON || s.Kind == JSONSchema }

// Limits bound the work that one constraint can cause, in bytes, levels and numbers of things.
// README.md says how the defaults were found.
type Limits struct {
	Source       int           // bytes of a source
	Nesting      int           // levels of a schema, of parentheses in EBNF, of a structural tag
	Values       int           // JSON values in a schema
	Properties   int           // properties of one object of a schema
	Alternatives int           // elements of enum, anyOf, oneOf and type
	Regex        int           // bytes of a regular expression, also in a pattern of a schema
	Groups       int           // nested groups of a regular expression
	Repeat       int           // the product of nested counts such as {2,40}
	Unbounded    int           // quantifiers of a regular expression that have no upper bound
	Rules        int           // rules of EBNF, different references of a schema
	Shortest     int           // bytes of the shortest text
	Compiled     int64         // bytes of one compiled grammar
	CacheEntries int           // compiled grammars that are kept
	CacheBytes   int64         // bytes of the compiled grammars that are kept
	Compilations int           // compilations at the same time
	Compile      time.Duration // how long a request waits for a compilation
	Step         time.Duration // how long one step of the trial of a new grammar may take
}

// DefaultLimits returns limits for a server that strangers use.
func DefaultLimits() Limits {
	return Limits{
		Source: 16 << 10, Nesting: 32, Values: 2000, Properties: 200, Alternatives: 500,
		Regex: 512, Groups: 8, Repeat: 1000, Unbounded: 12, Rules: 200, Shortest: 4096,
		Compiled: 16 << 20, CacheEntries: 256, CacheBytes: 64 << 20,
		Compilations: 2, Compile: 5 * time.Second, Step: 50 * time.Millisecond,
	}
}

// Error is a constraint that was refused. The client can mend it, or try again later.
type Error struct {
	Code     string // such as "too_deep", for programs
	Item     string // what was refused, such as `json_schema at /properties/a`
	Found    string
	Expected string
}

// Error returns the item, what was found, and what was expected.
func (e *Error) Error() string {
	text := e.Item + ": " + e.Found
	if e.Expected != "" {
		text += "; expected " + e.Expected
	}
	return text
}

// The values of Error.Code.
const (
	TooLarge     = "too_large"
	TooDeep      = "too_deep"
	TooExpensive = "too_expensive"
	Invalid      = "invalid"
	Unsupported  = "unsupported"
	Unmatchable  = "unmatchable"
	Busy         = "busy"
	TimedOut     = "compile_timeout"
)

// Check compares a constraint with the limits, without XGrammar. The error is an *Error.
func (l Limits) Check(s Spec) error {
	if len(s.Source) > l.Source {
		return &Error{TooLarge, string(s.Kind), fmt.Sprintf("%d bytes", len(s.Source)), fmt.Sprintf("%d at most", l.Source)}
	}
	if s.Kind != JSON && s.Source == "" {
		return &Error{Invalid, string(s.Kind), "an empty text", "a " + string(s.Kind)}
	}
	switch s.Kind {
	case JSON:
		return nil
	case JSONSchema:
		return l.checkSchema(s.Source)
	case Regex:
		return l.checkRegex("regex", s.Source)
	case EBNF:
		return l.checkEBNF(s.Source)
	case StructuralTag:
		return l.checkTag(s.Source)
	}
	return &Error{Invalid, "constraint", fmt.Sprintf("kind %q", s.Kind), "json, json_schema, regex, grammar or structural_tag"}
}

// checkTag checks a structural tag, and each schema, expression and grammar in it.
func (l Limits) checkTag(source string) error {
	p := &parser{limits: l, item: string(StructuralTag)}
	root, err := p.parse(source)
	if err != nil {
		return err
	}
	return l.walkTag(root, "")
}

func (l Limits) walkTag(v value, path string) error {
	for _, e := range v.list {
		if err := l.walkTag(e, path+"/[]"); err != nil {
			return err
		}
	}
	for _, m := range v.members {
		at := path + "/" + m.key
		var err error
		switch text, isText := m.value.text(); {
		case m.key == "json_schema":
			err = l.checkRoot("structural_tag at "+at, m.value)
		case m.key == "pattern" && isText:
			err = l.checkRegex("structural_tag at "+at, text)
		case m.key == "grammar" && isText:
			err = l.checkEBNF(text)
		default:
			err = l.walkTag(m.value, at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Compact returns the source of a JSON schema without white space, so that schemas that differ
// only in their layout share one entry of the cache. The order of properties stays: XGrammar
// writes them in that order.
func Compact(schema json.RawMessage) (string, error) {
	var p parser
	return p.compact(schema)
}
