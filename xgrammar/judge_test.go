//go:build clients

package xgrammar_test

import (
	"bufio"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/xgrammar"
)

// judge is a process that asks Python's package jsonschema.
type judge struct {
	testing.TB
	in  io.Writer
	out *bufio.Reader
}

func newJudge(t testing.TB) judge {
	cmd := exec.CommandContext(t.Context(), nativetest.PythonWith(t, "jsonschema", "testdata/jsonschema_requirements.txt"), "testdata/judge.py")
	in := must(cmd.StdinPipe())(t)
	out := must(cmd.StdoutPipe())(t)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait() // it may have ended with the context of the test
	})
	return judge{t, in, bufio.NewReader(out)}
}

// follow says which documents follow a schema, nil if the package does not read it.
func (j judge) follow(schema string, documents []string) (follow []bool) {
	line := must(json.Marshal(map[string]any{"schema": schema, "documents": documents}))(j)
	_ = must(j.in.Write(append(line, '\n')))(j)
	if err := json.Unmarshal(must(j.out.ReadBytes('\n'))(j), &follow); err != nil {
		j.Fatal(err)
	}
	return follow
}

// each says "true" or "false" of each document, and "" where the package has no answer: it goes in circles, or a number is too large.
func (j judge) each(schema string, documents []string) []string {
	all, answers := j.follow(schema, documents), make([]string, len(documents))
	for i, text := range documents {
		if one := all; all == nil {
			if one = j.follow(schema, []string{text}); one != nil {
				answers[i] = strconv.FormatBool(one[0])
			}
			continue
		}
		answers[i] = strconv.FormatBool(all[i])
	}
	return answers
}

// TestCheck_python: where a grammar allows a document against a random schema, by Python's package jsonschema, Check has said so, also
// where it speaks of other parts of the schema; and where a grammar forbids one that follows the schema.
// TVMFFI_TEST_JUDGE is how long it goes on, with schemas that are new each time.
func TestCheck_python(t *testing.T) {
	v, c := compilerOf(t, xgrammar.CompilerOptions{})
	mask := must(v.NewMask())(t)
	defer mask.Release()
	j := newJudge(t)
	shown, offered := 0, 0
	n := eachRandom(t, func(r *rand.Rand) {
		s := randomOf(t, r)
		g, err := c.Compile(t.Context(), s)
		if err != nil {
			return // XGrammar refuses it
		}
		documents, allowed := written(t, r, g, mask)
		g.Release()
		if compare(t, j, s, documents, allowed, true) {
			shown++
		}
		if equal(t, j, s, documents) {
			offered++
		}
	})
	if shown < n/4 {
		t.Errorf("only %d of %d schemas show a difference", shown, n)
	}
	t.Logf("%d schemas show a difference, and %d have an equal one", shown, offered)
}

// TestInstead_python: by Python's package jsonschema, the same documents follow a random schema and the one that Instead returns, and
// what a grammar allows against the second one, Check says of it.
// TVMFFI_TEST_JUDGE is how long it goes on, as in TestCheck_python.
func TestInstead_python(t *testing.T) {
	v, c := compilerOf(t, xgrammar.CompilerOptions{})
	mask := must(v.NewMask())(t)
	defer mask.Release()
	j := newJudge(t)
	offered, followed := 0, 0
	n := eachRandom(t, func(r *rand.Rand) {
		some := [][]string{
			{"type", "allOf", "allOf", "anyOf", "oneOf", "$ref", "minimum", "maximum", "required", "properties", "properties", "additionalProperties", "enum", "const", "title"},
			{"type", "type", "allOf", "anyOf", "oneOf", "items", "prefixItems", "minItems", "maxItems", "multipleOf", "minimum", "exclusiveMaximum", "maximum", "not", "contains", "minContains", "if", "then"},
			{"type", "required", "properties", "patternProperties", "propertyNames", "additionalProperties", "minProperties", "maxProperties", "unevaluatedProperties", "allOf", "$ref"},
			{"enum", "const", "type", "oneOf", "oneOf", "anyOf", "minLength", "maxLength", "pattern", "minimum", "not", "if", "then", "dependentRequired", "allOf"},
		}[r.IntN(4)]
		s := randomOf(t, r, some...)
		better, _ := must2(s.Instead())(t)
		if better.Text == s.Text {
			return
		}
		g, err := c.Compile(t.Context(), better)
		if err != nil {
			return // XGrammar refuses it
		}
		documents, allowed := written(t, r, g, mask)
		g.Release()
		if equal(t, j, s, documents) {
			offered++
		}
		compare(t, j, better, documents, allowed, false)
		if all := must(better.Check())(t); !slices.ContainsFunc(all, func(d xgrammar.Difference) bool { return d.Effect != xgrammar.Narrower }) {
			followed++
		}
	})
	if offered < n/8 || followed < n/16 {
		t.Errorf("only %d of %d schemas have an equal one, and %d one that is followed", offered, n, followed)
	}
	t.Logf("%d schemas have an equal one, and %d one that is followed", offered, followed)
}

// eachRandom calls f until the time of TVMFFI_TEST_JUDGE is over, and returns how often.
func eachRandom(t *testing.T, f func(*rand.Rand)) (n int) {
	seed, least, end := uint64(1), 200, time.Now()
	if text := os.Getenv("TVMFFI_TEST_JUDGE"); text != "" {
		seed, end = rand.Uint64(), end.Add(must(time.ParseDuration(text))(t))
	}
	r := rand.New(rand.NewPCG(seed, 2))
	for ; (n < least || time.Now().Before(end)) && !t.Failed(); n++ {
		f(r)
	}
	t.Logf("%d schemas with the seed %d", n, seed)
	return n
}

func randomOf(t *testing.T, r *rand.Rand, some ...string) xgrammar.JSONSchema {
	return xgrammar.JSONSchema{Text: string(must(json.Marshal(randomRoot(r, 1+r.IntN(2), some...)))(t)), Loose: r.IntN(2) == 0, AnyOrder: r.IntN(6) == 0}
}

// equal compares a schema with the one that Instead returns, and reports whether there is another one.
func equal(t *testing.T, j judge, s xgrammar.JSONSchema, documents []string) bool {
	better, rest := must2(s.Instead())(t)
	if better.Text == s.Text {
		return false
	}
	if all := must(better.Check())(t); !slices.Equal(all, rest) {
		t.Errorf("%s: %v remain, and %v are in %s", s.Text, rest, all, better.Text)
	}
	was, now, asked := j.each(s.Text, documents), j.each(better.Text, documents), 0
	for i, text := range documents {
		if was[i] == "" || now[i] == "" {
			continue
		}
		if asked++; was[i] != now[i] {
			t.Errorf("%s follows %s: %s, and %s: %s", text, s.Text, was[i], better.Text, now[i])
			break
		}
	}
	return asked > 0
}

// written returns documents that a grammar allows, and others.
func written(t *testing.T, r *rand.Rand, g *xgrammar.Grammar, mask *xgrammar.Mask) (documents []string, allowed []bool) {
	m := must(g.NewMatcher(xgrammar.MatcherOptions{}))(t)
	defer m.Release()
	for i := range 60 {
		text, ok := "", true
		if i < 25 {
			text, ok = walk(t, r, m, mask)
		} else {
			text = randomDocument(r, 2)
		}
		if ok {
			documents, allowed = append(documents, text), append(allowed, i < 25 || must(m.AcceptText(text))(t) && must(m.Complete())(t))
		}
		if err := m.Reset(); err != nil {
			t.Fatal(err)
		}
	}
	return documents, allowed
}

// walk writes a short text by chance.
func walk(t *testing.T, r *rand.Rand, m *xgrammar.Matcher, mask *xgrammar.Mask) (text string, ended bool) {
	const favourites = "\"}]ab14, :x"
	for range 60 {
		_ = must(m.Fill(mask))(t)
		may := func(token int32) bool { return mask.Words()[token/32]>>(token%32)&1 == 1 }
		if may(0) && (r.IntN(2) == 0 || len(text) > 30) {
			return text, true
		}
		var all []int32 // tokens of one character
		for token := int32(' ') + 1; token < 0x7f; token++ {
			if may(token) {
				all = append(all, token)
			}
		}
		if len(all) == 0 {
			return text, may(0)
		}
		next := all[r.IntN(len(all))]
		if token := int32(favourites[r.IntN(len(favourites))]) + 1; may(token) {
			next = token
		}
		if !must(m.Accept(next))(t) {
			t.Fatalf("%q is in the mask and was not accepted", tokens[next])
		}
		text += tokens[next]
	}
	return text, false
}

// What is so for every schema.
var (
	byForm  = regexp.MustCompile(`-(29|30|31)|\b0\d+\.|\.0\d`)               // a date or an address that has only the form of one
	oneWay  = regexp.MustCompile(`\d\.0|1e`)                                 // an integer with a fraction or an exponent
	spelled = regexp.MustCompile(`"(enum|const)":(\[|\{|\[[^\]]*[[{])[^]]*`) // a constant that is written in one way
)

// compare compares documents, and reports whether one shows a difference. With all, it also looks at what is forbidden, as the documents
// have the order of the schema, and at the schema without the parts that are not followed.
func compare(t *testing.T, j judge, s xgrammar.JSONSchema, documents []string, allowed []bool, all bool) (shown bool) {
	follow := j.follow(s.Text, documents)
	if follow == nil {
		return false
	}
	found := must(s.Check())(t)
	looser := len(found) > 0 && found[0].Effect != xgrammar.Narrower
	narrower := slices.ContainsFunc(found, func(d xgrammar.Difference) bool { return d.Effect == xgrammar.Narrower })
	rest, reduced := follow, ""
	if all && looser && !strings.Contains(s.Text, "unevaluated") && !strings.Contains(s.Text, "patternProperties") && !strings.Contains(s.Text, "propertyNames") { // they say other things without the rest
		reduced = without(t, s.Text, found)
		if rest = j.follow(reduced, documents); rest == nil {
			rest, reduced = follow, "" // the package does not read it
		}
	}
	for i, text := range documents {
		if t.Failed() {
			return shown
		}
		switch shown = shown || allowed[i] && !follow[i]; {
		case byForm.MatchString(text):
		case allowed[i] && !follow[i] && !looser:
			t.Errorf("%s, loose %v, any order %v: %s is allowed, and the differences are %v", s.Text, s.Loose, s.AnyOrder, text, found)
		case allowed[i] && !follow[i] && !rest[i] && reduced != "":
			t.Errorf("%s, loose %v, any order %v: %s is allowed, also by %s, without the differences %v", s.Text, s.Loose, s.AnyOrder, text, reduced, found)
		case !allowed[i] && follow[i] && all && s.Loose && !narrower && !oneWay.MatchString(text) && !spelled.MatchString(s.Text):
			t.Errorf("%s, loose %v, any order %v: %s is forbidden, and the differences are %v", s.Text, s.Loose, s.AnyOrder, text, found)
		}
	}
	return shown
}

// without returns a schema without the parts that are not followed.
func without(t *testing.T, schema string, all []xgrammar.Difference) string {
	var root any
	if err := json.Unmarshal([]byte(schema), &root); err != nil {
		t.Fatal(err)
	}
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b xgrammar.Difference) int { return strings.Compare(b.Pointer, a.Pointer) }) // the last of an array first
	for _, d := range all {
		if d.Effect != xgrammar.Narrower && d.Pointer != "" {
			root = cut(root, strings.Split(d.Pointer, "/")[1:])
		}
	}
	return string(must(json.Marshal(root))(t))
}

// cut returns a value without the part that a JSON pointer names.
func cut(v any, path []string) any {
	name := strings.NewReplacer("~1", "/", "~0", "~").Replace(path[0])
	switch v := v.(type) {
	case map[string]any:
		inner, ok := v[name]
		if name == "oneOf" && len(path) > 1 && (ok || v["anyOf"] != nil) { // its schemas may be apart by what is cut
			if ok {
				delete(v, name)
				v["anyOf"] = inner
			}
			name, inner, ok = "anyOf", v["anyOf"], true
		}
		switch {
		case len(path) > 1 && ok:
			v[name] = cut(inner, path[1:])
		case ok:
			delete(v, name)
			if name == "oneOf" && !slices.ContainsFunc([]string{"$ref", "const", "enum", "anyOf"}, func(lead string) bool { _, ok := v[lead]; return ok }) {
				v["anyOf"] = inner
			}
		case name == "type": // of propertyNames, whose values are not texts
			return true
		}
	case []any:
		i, err := strconv.Atoi(name)
		switch {
		case err != nil || i >= len(v):
		case len(path) > 1:
			v[i] = cut(v[i], path[1:])
		default:
			return slices.Delete(v, i, i+1)
		}
	}
	return v
}
