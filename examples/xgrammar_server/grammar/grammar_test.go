package grammar_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/grammar"
	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/model"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
)

// languageModel learns once for all tests.
var languageModel = sync.OnceValue(model.New)

func newCompiler(t *testing.T, change ...func(*grammar.Limits)) *grammar.Compiler {
	t.Helper()
	nativetest.Library(t)
	nativetest.Pinned(t, "xgrammar")
	limits := grammar.DefaultLimits()
	limits.Step = 2 * time.Second // the machine of a test may be busy
	limits.Compile = time.Minute
	for _, f := range change {
		f(&limits)
	}
	m := languageModel()
	c, err := grammar.NewCompiler(m.Vocabulary(), int64(m.Stop()), limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func schema(source string) grammar.Spec {
	return grammar.Spec{Kind: grammar.JSONSchema, Source: source}
}

func regex(source string) grammar.Spec { return grammar.Spec{Kind: grammar.Regex, Source: source} }

func ebnf(source string) grammar.Spec { return grammar.Spec{Kind: grammar.EBNF, Source: source} }

func tag(source string) grammar.Spec {
	return grammar.Spec{Kind: grammar.StructuralTag, Source: source}
}

// TestRefused has what a client can send wrong or with bad intent: each gets an error with a
// code, quickly, and the compiler works afterwards.
func TestRefused(t *testing.T) {
	leaktest.Check(t)
	c := newCompiler(t)
	r := strings.Repeat
	chain := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"$defs":{`)
		for i := range n {
			fmt.Fprintf(&b, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i+1)
		}
		return b.String() + fmt.Sprintf(`"d%d":{"type":"null"}},"$ref":"#/$defs/d0"}`, n)
	}
	for name, x := range map[string]struct {
		spec       grammar.Spec
		code, text string
	}{
		"not JSON":               {schema(`{"type": `), grammar.Invalid, "expected JSON"},
		"two values":             {schema(`{} {}`), grammar.Invalid, "text after the first"},
		"a number":               {schema(`3`), grammar.Invalid, "an object or a boolean"},
		"false":                  {schema(`false`), grammar.Invalid, "cannot accept any value"},
		"unknown type":           {schema(`{"type":"text"}`), grammar.Invalid, `"text"`},
		"a key twice":            {schema(`{"type":"string","type":"null"}`), grammar.Invalid, `"type" twice`},
		"arrays":                 {schema(r(`[`, 100_000)), grammar.TooLarge, "bytes"},
		"arrays within bytes":    {schema(r(`[`, 10_000)), grammar.TooDeep, "nesting"},
		"nested const":           {schema(`{"const":` + r(`[`, 5000) + r(`]`, 5000) + `}`), grammar.TooDeep, "levels"},
		"nested objects":         {schema(r(`{"type":"object","properties":{"a":`, 200) + `{}` + r(`}}`, 200)), grammar.TooDeep, "levels"},
		"nested anyOf":           {schema(r(`{"anyOf":[`, 200) + `{}` + r(`]}`, 200)), grammar.TooDeep, "levels"},
		"a chain of references":  {schema(chain(400)), grammar.TooLarge, "200 at most"},
		"many values":            {schema(`{"enum":[` + r(`1,`, 3000) + `1]}`), grammar.TooLarge, "2000 at most"},
		"many alternatives":      {schema(`{"enum":[` + r(`1,`, 600) + `1]}`), grammar.TooLarge, "500 at most"},
		"reference to nothing":   {schema(`{"$ref":"#/$defs/x"}`), grammar.Invalid, "which is not there"},
		"reference to the net":   {schema(`{"$ref":"https://example.com/s"}`), grammar.Unsupported, "into this schema"},
		"reference to itself":    {schema(`{"$ref":"#"}`), grammar.Unmatchable, "without an end"},
		"an endless object":      {schema(`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`), grammar.Unmatchable, "without an end"},
		"an endless part":        {schema(`{"$defs":{"a":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"required":["a"]}},"type":"object","properties":{"x":{"$ref":"#/$defs/a"}}}`), grammar.Unmatchable, "without an end"},
		"an endless rule":        {ebnf("root ::= \"b\" | a\na ::= \"x\" a"), grammar.Unmatchable, "rule a"},
		"a long forced text":     {ebnf("root ::= a a a a a a a a\na ::= b b b b b b b b\nb ::= c c c c c c c c\nc ::= d d d d d d d d\nd ::= \"x\" \"y\""), grammar.TooLarge, "8192 bytes"},
		"a long forced array":    {schema(`{"type":"array","items":{"const":"0123456789"},"minItems":90000}`), grammar.TooLarge, "in the shortest text"},
		"a long forced pattern":  {schema(`{"type":"string","pattern":"a{900}b{900}c{900}d{900}e{900}"}`), grammar.TooLarge, "in the shortest text"},
		"a long forced regex":    {regex(`a{900}b{900}c{900}d{900}e{900}`), grammar.TooLarge, "4500 bytes"},
		"reference to no schema": {schema(`{"type":"array","items":{"$ref":"#/default"},"default":{"not":{}}}`), grammar.Invalid, "not a schema"},
		"reference past a slash": {schema(`{"type":"object","properties":{"a":{"type":"null","default":{"not":{}}},"a/default":{},"c":{"$ref":"#/properties/a/default"}}}`), grammar.Invalid, "not a schema"},
		"ignored beside ref":     {schema(`{"$defs":{"a":{}},"$ref":"#/$defs/a","minimum":1}`), grammar.Unsupported, `"minimum"`},
		"ignored keyword":        {schema(`{"type":"array","uniqueItems":true}`), grammar.Unsupported, `"uniqueItems"`},
		"not":                    {schema(`{"not":{"type":"null"}}`), grammar.Unsupported, `"not"`},
		"allOf of two":           {schema(`{"allOf":[{"type":"null"},{"type":"null"}]}`), grammar.Unsupported, "one"},
		"keyword of other type":  {schema(`{"type":"string","minimum":1}`), grammar.Unsupported, `"minimum"`},
		"no type":                {schema(`{"maxLength":3}`), grammar.Unsupported, "without a type"},
		"pattern and length":     {schema(`{"type":"string","pattern":"a","maxLength":3}`), grammar.Unsupported, "one of them"},
		"unknown format":         {schema(`{"type":"string","format":"color"}`), grammar.Unsupported, `"color"`},
		"multiple in range":      {schema(`{"type":"integer","multipleOf":3,"minimum":1}`), grammar.Unsupported, "multipleOf"},
		"fraction of integer":    {schema(`{"type":"integer","multipleOf":0.5}`), grammar.Invalid, "whole number"},
		"required is unknown":    {schema(`{"type":"object","properties":{},"required":["a"]}`), grammar.Unsupported, `"a"`},
		"open with properties":   {schema(`{"type":"object","properties":{"a":{}},"additionalProperties":true}`), grammar.Unsupported, "twice"},
		"negative length":        {schema(`{"type":"string","minLength":-1}`), grammar.Invalid, "whole number"},
		"huge length":            {schema(`{"type":"string","maxLength":99999999999}`), grammar.Invalid, "whole number"},
		"empty range":            {schema(`{"type":"integer","minimum":3,"maximum":2}`), grammar.Invalid, "minimum greater than maximum"},
		"pattern in a schema":    {schema(`{"type":"string","pattern":"((a*)*)*"}`), grammar.TooExpensive, "/pattern"},
		"typed enum":             {schema(`{"type":"integer","enum":[1,"a"]}`), grammar.Invalid, "type string"},
		"bad regex":              {regex(`(a`), grammar.Invalid, ""},
		"long regex":             {regex(r("a", 1000)), grammar.TooLarge, "512 at most"},
		"nested groups":          {regex(r("(", 200) + "a" + r(")", 200)), grammar.TooDeep, "8 levels"},
		"nested stars":           {regex(`((a+)+)+`), grammar.TooExpensive, "unbounded"},
		"nested counts":          {regex(`((a{1,30}){1,30}){1,30}`), grammar.TooExpensive, "27000 repetitions"},
		"huge count":             {regex(`a{1000000}`), grammar.TooExpensive, "repetitions"},
		"count out of range":     {regex(`a{99999999999999999999}`), grammar.TooExpensive, "repetitions"},
		"a star of stars":        {regex(`(a*b*)*`), grammar.TooExpensive, "may be empty"},
		"counts of options":      {regex(`((a?){0,30}){0,30}`), grammar.TooExpensive, "may be empty"},
		"stars in rules":         {ebnf("root ::= a+\na ::= b+\nb ::= [x]+"), grammar.TooExpensive, "unbounded"},
		"empty rules":            {ebnf("root ::= a{0,9}\na ::= b b\nb ::= \"x\"?"), grammar.TooExpensive, "may be empty"},
		"counts in rules":        {ebnf("root ::= a{40}\na ::= b{40}\nb ::= [x]"), grammar.TooExpensive, "1600 repetitions"},
		"a rule twice":           {ebnf("root ::= [a]\nroot ::= [b]"), grammar.Invalid, "twice"},
		"many stars":             {regex(r("a*", 100)), grammar.TooExpensive, "unbounded quantifiers"},
		"look-ahead":             {regex(`(?=a)b`), grammar.Invalid, ""},
		"no root":                {ebnf(`start ::= "a"`), grammar.Invalid, "root"},
		"open parenthesis":       {ebnf(`root ::= ("a"`), grammar.Invalid, "Expect )"},
		"unknown rule":           {ebnf(`root ::= other`), grammar.Invalid, "other"},
		"nested parentheses":     {ebnf(`root ::= ` + r("(", 1000) + `"a"` + r(")", 1000)), grammar.TooDeep, "32 levels"},
		"many rules":             {ebnf(`root ::= "a"` + "\n" + r("a ::= b\n", 300)), grammar.TooLarge, "200 at most"},
		"a rule that is itself":  {ebnf(`root ::= root`), grammar.Unmatchable, "without an end"},
		"an empty text":          {ebnf(``), grammar.Invalid, "an empty text"},
		"a bad tag":              {tag(`{"type":"structural_tag"}`), grammar.Invalid, "tructural tag"},
		"a schema in a tag":      {tag(`{"type":"structural_tag","format":{"type":"json_schema","json_schema":{"not":{}}}}`), grammar.Unsupported, "/format/json_schema"},
		"an expression in a tag": {tag(`{"type":"structural_tag","format":{"type":"regex","pattern":"((a+)+)+"}}`), grammar.TooExpensive, "unbounded"},
		"a kind":                 {grammar.Spec{Kind: "lark", Source: "a"}, grammar.Invalid, "lark"},
	} {
		start := time.Now()
		m, _, err := c.Matcher(t.Context(), x.spec)
		took := time.Since(start)
		if m != nil {
			m.Release()
		}
		var e *grammar.Error
		switch {
		case x.code == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case x.code == "":
		case !errors.As(err, &e) || e.Code != x.code || !strings.Contains(err.Error(), x.text):
			t.Errorf("%s: got %v (%+v), want code %s with %q", name, err, e, x.code, x.text)
		case len(err.Error()) > 600 || strings.Contains(err.Error(), ".cc"):
			t.Errorf("%s: the error is not for a client: %v", name, err)
		}
		if took > 5*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
	m, _, err := c.Matcher(t.Context(), regex("[ab]+"))
	if err != nil {
		t.Fatalf("after all that: %v", err)
	}
	m.Release()
}

// TestTrial refuses a grammar whose masks take too long, here any.
func TestTrial(t *testing.T) {
	leaktest.Check(t)
	c := newCompiler(t, func(l *grammar.Limits) { l.Step = time.Nanosecond })
	m, _, err := c.Matcher(t.Context(), ebnf("root ::= ([a-z]+ [a-z]+)+ \"!\""))
	var e *grammar.Error
	if m != nil {
		m.Release()
	}
	if !errors.As(err, &e) || e.Code != grammar.TooExpensive {
		t.Errorf("got %v", err)
	}
}

// TestCompiled refuses a grammar that is too large when it is compiled.
func TestCompiled(t *testing.T) {
	leaktest.Check(t)
	c := newCompiler(t, func(l *grammar.Limits) { l.Compiled = 100 })
	m, _, err := c.Matcher(t.Context(), regex("[a-z]{20}"))
	var e *grammar.Error
	if m != nil {
		m.Release()
	}
	if !errors.As(err, &e) || e.Code != grammar.TooLarge || !strings.Contains(err.Error(), "when compiled") {
		t.Errorf("got %v", err)
	}
}

// TestCache drops the grammars that were not used for longest, and compiles a constraint once
// for requests that come at the same time.
func TestCache(t *testing.T) {
	leaktest.Check(t)
	c := newCompiler(t, func(l *grammar.Limits) { l.CacheEntries = 2 })
	get := func(source string) bool {
		t.Helper()
		m, cached, err := c.Matcher(t.Context(), regex(source))
		if err != nil {
			t.Fatal(err)
		}
		m.Release()
		return cached
	}
	for _, x := range []struct {
		source string
		cached bool
	}{{"a", false}, {"b", false}, {"a", true}, {"c", false}, {"a", true}, {"b", false}, {"b", true}} {
		if got := get(x.source); got != x.cached {
			t.Errorf("%s is in the cache: %t, want %t", x.source, got, x.cached)
		}
	}
	if s := c.Stats(); s.Entries != 2 || s.Evicted != 2 || s.Bytes <= 0 || s.NativeBytes <= 0 {
		t.Errorf("the numbers are %+v", s)
	}
	missed := c.Missed.Value()
	before := c.Seconds.Count()
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() { get("(d|e){100}") })
	}
	wait.Wait()
	if n := c.Seconds.Count() - before; n != 1 {
		t.Errorf("20 requests compiled %d times, want once (%d missed)", n, c.Missed.Value()-missed)
	}
}

// TestCacheBytes keeps the newest grammar even if it alone is too large.
func TestCacheBytes(t *testing.T) {
	leaktest.Check(t)
	c := newCompiler(t, func(l *grammar.Limits) { l.CacheBytes = 1 })
	for _, source := range []string{"a", "b"} {
		m, _, err := c.Matcher(t.Context(), regex(source))
		if err != nil {
			t.Fatal(err)
		}
		m.Release()
		if s := c.Stats(); s.Entries != 1 {
			t.Errorf("%d entries", s.Entries)
		}
	}
}

// TestCacheTooSmall has more constraints at a time than the cache keeps: each still gets its matcher.
func TestCacheTooSmall(t *testing.T) {
	leaktest.Check(t)
	c := newCompiler(t, func(l *grammar.Limits) { l.CacheEntries = 1 })
	var wait sync.WaitGroup
	for i := range 200 {
		wait.Go(func() {
			m, _, err := c.Matcher(t.Context(), regex(fmt.Sprintf("a{%d}", i%10+1)))
			if err != nil {
				t.Error(err)
				return
			}
			m.Release()
		})
	}
	wait.Wait()
}

// TestMatcherContext ends the wait of one request; the compilation goes on for the next one.
func TestMatcherContext(t *testing.T) {
	leaktest.Check(t)
	c := newCompiler(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	spec := schema(`{"type":"array","items":{"enum":["a","b","c"]},"maxItems":50}`)
	if m, cached, err := c.Matcher(ctx, spec); err == nil { // it was quicker than select
		m.Release()
		if cached {
			t.Error("a new constraint was in the cache")
		}
	} else if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	m, _, err := c.Matcher(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	m.Release()
}

// TestClosed refuses new grammars after Close.
func TestClosed(t *testing.T) {
	leaktest.Check(t)
	c := newCompiler(t)
	for range 2 {
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var e *grammar.Error
	if _, _, err := c.Matcher(t.Context(), regex("a")); !errors.As(err, &e) || e.Code != grammar.Busy {
		t.Errorf("got %v", err)
	}
}
