package xgrammar_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	bind "github.com/tvmffi-go/tvmffi/generated/xgrammar"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
	"github.com/tvmffi-go/tvmffi/xgrammar"
)

// tokens are the bytes and some words.
var tokens = func() []string {
	all := []string{"</s>"}
	for b := range 256 {
		all = append(all, string([]byte{byte(b)}))
	}
	return append(all, strings.Fields(`{" "} ": ", [" "] }, ]} true false null name age 20 2026- red green äö 猫 <tool_call>`)...)
}()

// compilerOf returns a compiler for tokens. When the test ends, nothing may be left.
func compilerOf(t testing.TB, o xgrammar.CompilerOptions) (*xgrammar.Vocabulary, *xgrammar.Compiler) {
	t.Helper()
	nativetest.Library(t)
	nativetest.Pinned(t, "xgrammar")
	if t, ok := t.(*testing.T); ok {
		leaktest.Check(t)
	}
	v := must(xgrammar.NewVocabulary(tokens, xgrammar.Raw, xgrammar.VocabularyOptions{StopTokens: []int32{0}}))(t)
	t.Cleanup(v.Release)
	c := must(xgrammar.NewCompiler(v, o))(t)
	t.Cleanup(c.Release)
	return v, c
}

// rawCompiler returns a compiler of the bindings for tokens.
func rawCompiler(t testing.TB) *bind.GrammarCompiler {
	raw := must(bind.NewTokenizerInfo(tvmffi.Of(tokens...), bind.VocabTypeRaw, bind.StopTokenIDs(tvmffi.Of[int64](0))))(t)
	defer raw.Release()
	compiler := must(bind.NewGrammarCompiler(raw, bind.MaxThreads(1)))(t)
	t.Cleanup(compiler.Release)
	return compiler
}

func must[T any](x T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
}

// must2 is must for two results.
func must2[A, B any](a A, b B, err error) func(testing.TB) (A, B) {
	return func(t testing.TB) (A, B) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return a, b
	}
}

func matcherOf(t testing.TB, c *xgrammar.Compiler, s xgrammar.Source) *xgrammar.Matcher {
	t.Helper()
	g := must(c.Compile(t.Context(), s))(t)
	defer g.Release()
	return must(g.NewMatcher(xgrammar.MatcherOptions{}))(t)
}

// TestMasks follows texts under each kind of source, alone and in a batch, with the masks of the bindings.
func TestMasks(t *testing.T) {
	v, c := compilerOf(t, xgrammar.CompilerOptions{Threads: 1})
	compiler := rawCompiler(t)
	const schema = `{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name"]}`
	tag := must(xgrammar.Format{Type: "sequence", Elements: []xgrammar.Format{
		{Type: "const_string", Value: new("A: ")}, {Type: "regex", Pattern: "[a-z]{2,4}"}}}.Tag())(t)
	type compiled = *bind.CompiledGrammar
	for _, s := range []struct {
		source xgrammar.Source
		text   string
		raw    func() (compiled, error)
	}{
		{xgrammar.JSON{}, `[1, {"a": null}]`, func() (compiled, error) { return compiler.CompileBuiltinJSONGrammar() }},
		{xgrammar.Regex("(yes|no), [a-z]+"), "no, thanks", func() (compiled, error) { return compiler.CompileRegex("(yes|no), [a-z]+") }},
		{xgrammar.EBNF{Text: `start ::= "(" start ")" | [a-c]`, Root: "start"}, "((b))", func() (compiled, error) {
			return compiler.CompileEBNF(`start ::= "(" start ")" | [a-c]`, bind.RootRuleName("start"))
		}},
		{xgrammar.EBNF{Text: `root ::= "a"`}, "a", func() (compiled, error) { return compiler.CompileEBNF(`root ::= "a"`) }},
		{xgrammar.Lark(`start: "a" "b"`), "ab", func() (compiled, error) { return compiler.CompileLark(`start: "a" "b"`, nil, nil) }},
		{tag, "A: red", func() (compiled, error) { return compiler.CompileStructuralTag(string(tag)) }},
		{xgrammar.JSONSchema{Text: schema}, `{"name" : "猫",  "age": 7}`, func() (compiled, error) { return compiler.CompileJSONSchema(schema) }},
		{xgrammar.JSONSchema{Text: schema, Compact: true, Separators: [2]string{",", ":"}}, `{"name":"x","age":7}`, func() (compiled, error) {
			return compiler.CompileJSONSchema(schema, bind.AnyWhitespace(false), bind.Separators(tvmffi.Tuple2[string, string]{A: ",", B: ":"}))
		}},
		{xgrammar.JSONSchema{Text: schema, Compact: true, Indent: 2}, "{\n  \"name\": \"x\"\n}", func() (compiled, error) {
			return compiler.CompileJSONSchema(schema, bind.AnyWhitespace(false), bind.Indent(2))
		}},
		{xgrammar.JSONSchema{Text: schema, Loose: true, AnyOrder: true, MaxWhitespace: 2}, `{"b": [], "age": 7, "name": ""}`, func() (compiled, error) {
			return compiler.CompileJSONSchema(schema, bind.StrictMode(false), bind.AnyOrder(true), bind.MaxWhitespaceCnt(2))
		}},
	} {
		m := matcherOf(t, c, s.source)
		defer m.Release()
		fork := must(m.Fork())(t)
		defer fork.Release()
		batch := must(v.NewBatch(3, 2))(t)
		defer batch.Release()
		batch.Set(2, fork) // row 1 has no matcher
		g := must(s.raw())(t)
		defer g.Release()
		want := must(bind.NewGrammarMatcher(g))(t)
		defer want.Release()
		mask, bits := must(v.NewMask())(t), make([]int32, (len(tokens)+31)/32)
		defer mask.Release()
		tensor := must(tvmffi.FromSlice(bits, 1, int64(len(bits))))(t)
		defer tensor.Release()
		for i := range len(s.text) {
			must(m.Fill(mask))(t)
			must(want.FillNextTokenBitmask(tensor))(t)
			if err := batch.Fill(); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(mask.Words(), bits) || !slices.Equal(batch.Mask(2).Words(), bits) || batch.Mask(1).Count() != len(tokens) {
				t.Fatalf("%#v after %q: %x and %x in a batch, want %x", s.source, s.text[:i], mask.Words(), batch.Mask(2).Words(), bits)
			}
			token := int32(s.text[i]) + 1
			ok := make([]bool, 3)
			if err := batch.Accept([]int32{0, 0, token}, ok); err != nil || !ok[0] || !ok[2] {
				t.Fatalf("%#v: %q and then %q: %v %v", s.source, s.text[:i], s.text[i], ok, err)
			}
			if !must(m.Accept(token))(t) || !must(want.AcceptToken(int64(token)))(t) {
				t.Fatalf("%#v: %q and then %q is refused", s.source, s.text[:i], s.text[i])
			}
		}
		if !must(m.Complete())(t) || must(m.Ended())(t) || !must(m.Accept(0))(t) || !must(m.Ended())(t) {
			t.Errorf("%#v: %q does not end", s.source, s.text)
		}
		if _, err := m.Fill(mask); err == nil || !strings.HasPrefix(err.Error(), "xgrammar: Matcher.Fill: the text has ended, so no token may come: ask Ended after each Accept; Reset") {
			t.Errorf("after the end: %v", err)
		}
	}
}

// TestSchemas: what XGrammar does not check of a schema, as the docs say. If a line fails, XGrammar has become better.
func TestSchemas(t *testing.T) {
	_, c := compilerOf(t, xgrammar.CompilerOptions{})
	for _, x := range []struct {
		schema, text string
		want         bool
	}{
		{`{"type": "array", "items": {"type": "integer"}, "uniqueItems": true}`, "[1, 1]", true},
		{`{"type": "string", "not": {"const": "a"}}`, `"a"`, true},
		{`{"oneOf": [{"type": "integer"}, {"type": "number"}]}`, "1", true},
		{`{"type": "string", "minLength": 1}`, "\"\t\"", true},
		{`{"type": "string"}`, "\"\t\"", false},
		{`{"type": "string", "format": "date"}`, `"2026-02-31"`, true},
		{`{"type": "string", "format": "date"}`, `"2026-02-3"`, false},
	} {
		m := matcherOf(t, c, xgrammar.JSONSchema{Text: x.schema})
		if ok := must(m.AcceptText(x.text))(t) && must(m.Complete())(t); ok != x.want {
			t.Errorf("%s: %s is allowed: %v", x.schema, x.text, ok)
		}
		m.Release()
	}
}

// TestLayouts: a fixed layout allows no other white space, and separators stand for the commas and colons.
func TestLayouts(t *testing.T) {
	_, c := compilerOf(t, xgrammar.CompilerOptions{})
	texts := []string{`{"a":[1,2],"b":3}`, `{"a": [1, 2], "b": 3}`, "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": 3\n}", `{"a":[1;2];"b":3}`, `{"a" : [1 ; 2] ; "b" : 3}`, `{"a": [1;2];"b": 3}`, `{"a"=[1,2],"b" = 3}`, `{"a"=[1, 2], "b"=3}`}
	for _, x := range []struct {
		s    xgrammar.JSONSchema
		want []int
	}{
		{xgrammar.JSONSchema{}, []int{0, 1, 2}},
		{xgrammar.JSONSchema{MaxWhitespace: 1}, []int{0, 1}},
		{xgrammar.JSONSchema{Separators: [2]string{",", ":"}}, []int{0, 1, 2}},
		{xgrammar.JSONSchema{Separators: [2]string{";", ""}}, []int{3, 4, 5}},
		{xgrammar.JSONSchema{Separators: [2]string{"", "="}}, []int{6, 7}},
		{xgrammar.JSONSchema{Compact: true}, []int{1}},
		{xgrammar.JSONSchema{Compact: true, Indent: 2}, []int{2}},
		{xgrammar.JSONSchema{Compact: true, Separators: [2]string{",", ":"}}, []int{0}},
		{xgrammar.JSONSchema{Compact: true, Separators: [2]string{";", ""}}, []int{5}},
		{xgrammar.JSONSchema{Compact: true, Separators: [2]string{"", "="}}, []int{7}},
	} {
		x.s.Text = `{"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}, "b": {"type": "integer"}}}`
		var got []int
		for i, text := range texts {
			m := matcherOf(t, c, x.s)
			if must(m.AcceptText(text))(t) && must(m.Complete())(t) {
				got = append(got, i)
			}
			m.Release()
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%+v allows the texts %d, want %d", x.s, got, x.want)
		}
	}
}

func TestMatcher(t *testing.T) {
	_, c := compilerOf(t, xgrammar.CompilerOptions{CacheBytes: -1})
	g := must(c.Compile(t.Context(), xgrammar.Regex("abc[de]")))(t)
	defer g.Release()
	if n := must(g.Bytes())(t); n <= 0 {
		t.Errorf("%d bytes", n)
	}
	m := must(g.NewMatcher(xgrammar.MatcherOptions{EndsByItself: true, StopTokens: []int32{5}}))(t)
	defer m.Release()
	if next := must(m.Next())(t); next != "abc" {
		t.Errorf("next is %q", next)
	}
	if must(m.AcceptText("x"))(t) || must(m.Accept('x'+1))(t) || !must(m.AcceptText("ab"))(t) {
		t.Error("x is accepted, or ab is not")
	}
	if !must(m.Accept('c'+1))(t) || m.Rollback(1) != nil || must(m.Next())(t) != "c" {
		t.Error("no rollback")
	}
	if err := m.Rollback(-1); err == nil || err.Error() != "xgrammar: Matcher.Rollback: the number of tokens is -1, want 0 or more" {
		t.Errorf("a negative number: %v", err)
	}
	if err := m.Rollback(1 << 31); err == nil || err.Error() != "xgrammar: Matcher.Rollback: the number of tokens is 2147483648, want at most 2147483647" {
		t.Errorf("rolled 2^31 tokens back: %v", err)
	}
	if err := m.Rollback(9); err == nil || !strings.HasPrefix(err.Error(), "xgrammar: Matcher.Rollback: ") {
		t.Errorf("too far: %v", err)
	}
	if !must(m.AcceptText("cd"))(t) || !must(m.Ended())(t) || m.Reset() != nil || must(m.Ended())(t) {
		t.Error("the text did not end, or did not start again")
	}
	if stop := must(m.Raw().StopTokenIDs())(t); stop.Len() != 1 || stop.At(0) != 5 {
		t.Error("other stop tokens")
	} else {
		stop.Release()
	}
	named := matcherOf(t, c, xgrammar.Lark("start: head \"!\"\nhead[capture]: /[a-z]+/"))
	defer named.Release()
	must(named.AcceptText("ab!"))(t)
	if got := must(named.Captures())(t); len(got) != 1 || got[0].A != "head" || string(got[0].B) != "ab" {
		t.Errorf("captures %v", got)
	}
}

func TestMask(t *testing.T) {
	v, c := compilerOf(t, xgrammar.CompilerOptions{})
	mask := must(v.NewMask())(t)
	defer mask.Release()
	if mask.Count() != v.Size() || len(slices.Collect(mask.Allowed())) != v.Size() {
		t.Errorf("a new mask allows %d of %d", mask.Count(), v.Size())
	}
	m := matcherOf(t, c, xgrammar.Regex("[ab]"))
	defer m.Release()
	if !must(m.Fill(mask))(t) || !slices.Equal(slices.Collect(mask.Allowed()), []int32{'a' + 1, 'b' + 1}) || mask.Count() != 2 {
		t.Errorf("%v are allowed", slices.Collect(mask.Allowed()))
	}
	for range mask.Allowed() {
		break
	}
	scores := make([]float32, v.Size())
	if err := mask.Apply(scores); err != nil {
		t.Fatal(err)
	}
	for i, score := range scores {
		if allowed := i == 'a'+1 || i == 'b'+1; allowed != (score == 0) || !allowed && !math.IsInf(float64(score), -1) {
			t.Errorf("token %d has the score %v", i, score)
		}
	}
	if err := mask.Apply(scores[1:]); err == nil || !strings.Contains(err.Error(), "Mask.Apply: there are 276 scores, want 277") {
		t.Errorf("got %v", err)
	}
}

// TestNoAllocations: a step of a model makes nothing on the heap, alone and in a batch, with one thread and with two.
func TestNoAllocations(t *testing.T) {
	nativetest.NeedOptimised(t)
	v, c := compilerOf(t, xgrammar.CompilerOptions{})
	m := matcherOf(t, c, xgrammar.Regex("a*"))
	defer m.Release()
	mask, scores := must(v.NewMask())(t), make([]float32, v.Size())
	defer mask.Release()
	for threads := 1; threads <= 2; threads++ {
		batch := must(v.NewBatch(16, threads))(t)
		defer batch.Release()
		next, ok := make([]int32, 16), make([]bool, 16)
		for row := range 15 {
			f := must(m.Fork())(t)
			defer f.Release()
			batch.Set(row, f)
			next[row] = 'a' + 1
		}
		if n := testing.AllocsPerRun(100, func() {
			if err := errors.Join(batch.Fill(), batch.Accept(next, ok), batch.Mask(3).Apply(scores)); err != nil || slices.Contains(ok, false) {
				t.Fatal(ok, err)
			}
		}); n != 0 {
			t.Errorf("a batch with %d threads: %v allocations", threads, n)
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		must(m.Fill(mask))(t)
		for token := range mask.Allowed() {
			if token != 0 && !must(m.Accept(token))(t) {
				t.Fatal(token)
			}
		}
		if err := mask.Apply(scores); err != nil || m.Reset() != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("one text: %v allocations", n)
	}
}

func TestBatch_errors(t *testing.T) {
	v, c := compilerOf(t, xgrammar.CompilerOptions{})
	batch := must(v.NewBatch(2, 1))(t)
	defer batch.Release()
	m := matcherOf(t, c, xgrammar.Regex("a"))
	defer m.Release()
	batch.Set(1, m)
	ok := make([]bool, 2)
	for _, token := range []int32{'b' + 1, 'a' + 1, 0} {
		if err := batch.Accept([]int32{7, token}, ok); err != nil || !ok[0] || ok[1] != (token != 'b'+1) {
			t.Errorf("%d: %v %v", token, ok, err)
		}
	}
	if err := batch.Fill(); err == nil || !strings.Contains(err.Error(), "xgrammar: Batch.Fill, row 1: the text has ended") {
		t.Errorf("after the end: %v", err)
	}
	batch.Set(1, nil)
	if err := batch.Fill(); err != nil || batch.Mask(1).Count() != v.Size() {
		t.Errorf("without a matcher: %v, %d are allowed", err, batch.Mask(1).Count())
	}
	if err := batch.Accept(nil, ok); err == nil || !strings.Contains(err.Error(), "0 tokens and 2 results for 2 rows") {
		t.Errorf("got %v", err)
	}
	for _, n := range [][2]int{{-1, 1}, {1, -1}} {
		if _, err := v.NewBatch(n[0], n[1]); err == nil || !strings.Contains(err.Error(), "xgrammar: NewBatch: it has "+strconv.Itoa(n[0])+" rows and "+strconv.Itoa(n[1])+" threads, want 0 or more of each") {
			t.Errorf("got %v", err)
		}
	}
	threads := must(v.NewBatch(2, 2))(t)
	threads.Release()
	threads.Release()
	if err := threads.Fill(); err == nil || err.Error() != "xgrammar: Batch.Fill: the batch was released" {
		t.Errorf("after Release: %v", err)
	}
}

// TestErrors: an error names its source and wraps XGrammar's; its reason has neither.
func TestErrors(t *testing.T) {
	_, c := compilerOf(t, xgrammar.CompilerOptions{})
	options := xgrammar.CompilerOptions{Isolation: &xgrammar.Isolation{}}
	if runtime.GOOS == "windows" { // see TestIsolation_windows
		options.Isolation = nil
	}
	_, isolated := compilerOf(t, options)
	tag := must(xgrammar.Format{Type: "no"}.Tag())(t)
	zero := must(xgrammar.Format{Type: "star", Content: &xgrammar.Format{Type: "grammar", EBNF: "root ::= \"a\"\x00 ((("}}.Tag())(t)
	for _, e := range []struct {
		source       xgrammar.Source
		kind         error
		item, reason string
	}{
		{xgrammar.JSONSchema{Text: `{"type": "wrong"}`}, xgrammar.ErrGrammar, "JSONSchema `{\"type\": \"wrong\"}`", `Unsupported type "wrong"`},
		{xgrammar.JSONSchema{Text: "{"}, xgrammar.ErrGrammar, "JSONSchema `{`", "Failed to parse JSON: syntax error at line 1"},
		{xgrammar.JSONSchema{Text: `{"type": "integer", "minimum": 1e400}`}, xgrammar.ErrGrammar, "JSONSchema `{\"type\": \"integer\", \"minimum\": 1e400}`", "line 1, column 32: the number 1e400 is outside the range of float64 in minimum"},
		{xgrammar.JSONSchema{Text: "{\"const\": \"\x00\"}"}, xgrammar.ErrGrammar, `JSONSchema "{\"const\": \"\x00\"}"`, "it has a zero byte"},
		{xgrammar.JSONSchema{Text: `{"const": 1, "const": 2}`}, xgrammar.ErrGrammar, "JSONSchema `{\"const\": 1", `line 1, column 14: the key "const" occurs twice: remove one`},
		{xgrammar.JSONSchema{Text: `{"const": "\ud800"}`}, xgrammar.ErrGrammar, "JSONSchema `{\"const\": ", `\ud800 is half of a surrogate pair`},
		{xgrammar.StructuralTag(`{"format": {"type": "json_schema", "json_schema": {"properties": {"a": {}, "\u0061": {}}}}}`), xgrammar.ErrJSON, "StructuralTag `{", `the key "a" occurs twice in format.json_schema.properties`},
		{xgrammar.EBNF{Text: "root ::= \"a\"\x00 ((("}, xgrammar.ErrGrammar, `EBNF "root`, "it has a zero byte"},
		{xgrammar.Lark("start: \"a\"\x00"), xgrammar.ErrLark, `Lark "start`, "it has a zero byte"},
		{zero, xgrammar.ErrStructuralTag, "StructuralTag `{", "it has a zero byte"},
		{xgrammar.StructuralTag("{}\x00"), xgrammar.ErrJSON, `StructuralTag "{}`, "it has a zero byte"},
		{xgrammar.JSONSchema{Text: strings.Repeat(`{"items":`, 20000)}, xgrammar.ErrGrammar, "JSONSchema `" + strings.Repeat(`{"items":`, 8) + "{\"items\"`...", "Failed to parse JSON: RecursionGuard: Maximum recursion depth"},
		{xgrammar.Regex("("), xgrammar.ErrGrammar, "Regex `(`", "Regex parsing error at position 2"},
		{xgrammar.EBNF{Text: "a ::= b"}, xgrammar.ErrGrammar, "EBNF `a ::= b`", "EBNF parser error at line 1"},
		{xgrammar.Lark("start: ("), xgrammar.ErrLark, "Lark `start: (`", "Lark error at line 1, column 9: expected ')' after group"},
		{xgrammar.StructuralTag("{"), xgrammar.ErrJSON, "StructuralTag `{`", "Invalid JSON error"},
		{xgrammar.Regex(`a{4294967298}`), xgrammar.ErrGrammar, "Regex `a{4294967298}`", "a repetition has the number 4294967298, want at most 2147483647"},
		{xgrammar.Regex(`[{9999999999}]\{9999999999}a{1,99999999999999999999}`), xgrammar.ErrGrammar, "Regex `", "a repetition has the number 99999999999999999999"},
		{xgrammar.EBNF{Text: "root ::= \"{9999999998}\" [{9999999997}] # {9999999996}\n \"a\"{2147483648,}"}, xgrammar.ErrGrammar, `EBNF "root`, "a repetition has the number 2147483648"},
		{xgrammar.Lark("start: \"{9999999999}\" /a{4294967298}/ // {9999999999}"), xgrammar.ErrLark, "Lark `", "a repetition has the number 4294967298"},
		{xgrammar.JSONSchema{Text: `{"properties": {"a": {"type": "string", "pattern": "a{,4294967298}"}}}`}, xgrammar.ErrGrammar, "JSONSchema `", "a repetition has the number 4294967298"},
		{xgrammar.JSONSchema{Text: `{"patternProperties": {"a{4294967298}": {}}}`}, xgrammar.ErrGrammar, "JSONSchema `", "a repetition has the number 4294967298"},
		{xgrammar.StructuralTag(`{"format": {"type": "grammar", "grammar": "root ::= \"a\"{4294967298}"}}`), xgrammar.ErrStructuralTag, "StructuralTag `", "a repetition has the number 4294967298"},
		{xgrammar.JSONSchema{Text: `{}`, MaxWhitespace: 1 << 31}, xgrammar.ErrGrammar, "JSONSchema `{}`", "MaxWhitespace is 2147483648, want at most 2147483647"},
		{xgrammar.JSONSchema{Text: `{}`, Indent: 1 << 31}, xgrammar.ErrGrammar, "JSONSchema `{}`", "Indent is 2147483648, want at most 2147483647"},
		{xgrammar.JSONSchema{Text: `{}`, MaxWhitespace: -1}, xgrammar.ErrGrammar, "JSONSchema `{}`", "MaxWhitespace is -1, want 0 or more"},
		{xgrammar.JSONSchema{Text: `{}`, Compact: true, Indent: -1}, xgrammar.ErrGrammar, "JSONSchema `{}`", "Indent is -1, want 0 or more"},
		{xgrammar.JSONSchema{Text: `{}`, Indent: 2}, xgrammar.ErrGrammar, "JSONSchema `{}`", "Indent is 2 without Compact, by which white space may stand anywhere: set Compact, or leave it out"},
		{xgrammar.JSONSchema{Text: `{}`, Compact: true, MaxWhitespace: 2}, xgrammar.ErrGrammar, "JSONSchema `{}`", "MaxWhitespace is 2 with Compact, which fixes all white space: leave one of the two out"},
		{tag, xgrammar.ErrStructuralTag, "StructuralTag `{", "Format type not recognized: no"},
	} {
		for _, c := range []*xgrammar.Compiler{c, isolated} {
			g, err := c.Compile(t.Context(), e.source)
			var our *xgrammar.Error
			var native *tvmffi.Error
			if g != nil || !errors.As(err, &our) || !errors.As(err, &native) || !errors.Is(err, e.kind) || !strings.HasPrefix(our.Item, e.item) || err.Error() != "xgrammar: "+our.Item+": "+our.Reason() {
				t.Errorf("%.50v: %v, want one of %v and %v", e.source, err, e.item, e.kind)
				continue
			}
			if r := our.Reason(); !strings.Contains(r, e.reason) || strings.Contains(r, ".cc:") || strings.ContainsRune(r, '\n') || len(r) > 300 {
				t.Errorf("%.50v: the reason is %q, want %q", e.source, r, e.reason)
			}
		}
	}
	v, _ := compilerOf(t, xgrammar.CompilerOptions{})
	for want, o := range map[string]xgrammar.CompilerOptions{
		"a compiler: Threads is 4294967297, want at most 2147483647": {Threads: 1<<32 + 1},
		"a compiler: Threads is -1, want 0 or more":                  {Threads: -1},
		"a compiler: CacheBytes is -2, want -1 or more":              {CacheBytes: -2},
		"a compiler: Isolation.Processes is -1, want 0 or more":      {Isolation: &xgrammar.Isolation{Processes: -1}},
		"a compiler: Isolation.MaxMemory is -1, want 0 or more":      {Isolation: &xgrammar.Isolation{MaxMemory: -1}},
		"a compiler: Isolation.MaxTime is -1ns, want 0s or more":     {Isolation: &xgrammar.Isolation{MaxTime: -1}},
	} {
		if _, err := xgrammar.NewCompiler(v, o); err == nil || err.Error() != "xgrammar: "+want {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errTest)
	if _, err := c.Compile(ctx, xgrammar.JSON{}); !errors.Is(err, errTest) || err.Error() != "xgrammar: JSON: test" {
		t.Errorf("after the end of the context: %v", err)
	}
}

// TestNil: nil, and a mask of another vocabulary, are errors. A pointer to a source is a source.
func TestNil(t *testing.T) {
	options := xgrammar.CompilerOptions{Isolation: &xgrammar.Isolation{}}
	if runtime.GOOS == "windows" { // see TestIsolation_windows
		options.Isolation = nil
	}
	v, c := compilerOf(t, options)
	other := must(xgrammar.NewVocabulary(tokens[:9], xgrammar.Raw, xgrammar.VocabularyOptions{StopTokens: []int32{0}}))(t)
	defer other.Release()
	small := must(other.NewMask())(t)
	defer small.Release()
	regex := xgrammar.Regex("a")
	m := matcherOf(t, c, &regex)
	defer m.Release()
	_, err1 := xgrammar.NewCompiler(nil, xgrammar.CompilerOptions{})
	_, err2 := c.Compile(t.Context(), nil)
	_, err3 := c.Compile(t.Context(), (*xgrammar.Regex)(nil))
	_, err4 := m.Fill(nil)
	_, err5 := m.Fill(small)
	for i, want := range []string{"a compiler: the vocabulary is nil", "a source: it is nil, want", "a source: it is nil, want", "Matcher.Fill: the mask is nil", "Matcher.Fill: the mask is of a vocabulary with 9 tokens, want 277"} {
		if err := []error{err1, err2, err3, err4, err5}[i]; err == nil || !strings.HasPrefix(err.Error(), "xgrammar: "+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, token := range []int32{-1, int32(v.Size()), math.MaxInt32} {
		if must(m.Accept(token))(t) {
			t.Errorf("token %d is accepted", token)
		}
	}
}

var errTest = errors.New("test")
