package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/engine"
	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/grammar"
	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/internal/cases"
	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/model"
	"github.com/tvmffi-go/tvmffi/generated/xgrammar"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
)

// parts is an engine with a compiler for its model.
type parts struct {
	*engine.Engine
	compiler *grammar.Compiler
}

func start(t *testing.T, change ...func(*engine.Options)) parts {
	t.Helper()
	nativetest.Library(t)
	nativetest.Pinned(t, "xgrammar")
	leaktest.Check(t)
	m := model.New()
	limits := grammar.DefaultLimits()
	limits.Step, limits.Compile = 2*time.Second, time.Minute // the machine of a test may be busy
	c, err := grammar.NewCompiler(m.Vocabulary(), int64(m.Stop()), limits)
	if err != nil {
		t.Fatal(err)
	}
	o := engine.DefaultOptions()
	o.Step = 2 * time.Second
	for _, f := range change {
		f(&o)
	}
	e, err := engine.New(m, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		e.Close()
		e.Close() // the second time does nothing
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return parts{e, c}
}

func (p parts) matcher(t *testing.T, s grammar.Spec) *xgrammar.GrammarMatcher {
	t.Helper()
	m, _, err := p.compiler.Matcher(t.Context(), s)
	if err != nil {
		t.Fatalf("%s: %v", s.Source, err)
	}
	return m
}

// endless is a constraint under which the model never writes the end by itself.
var endless = grammar.Spec{Kind: grammar.Regex, Source: "[a-z]+~"}

// write writes a text to its end.
func (p parts) write(t *testing.T, s grammar.Spec, seed uint64, most int) (string, engine.Result) {
	t.Helper()
	r := engine.Request{Prompt: "Write:", MaxTokens: most, Temperature: 1, Seed: seed, JSON: s.WritesJSON()}
	if s.Kind != "" {
		r.Matcher = p.matcher(t, s)
	}
	text, err := p.Start(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for part := range text.Parts {
		if !utf8.ValidString(part.Text) {
			t.Errorf("%q is not UTF-8", part.Text)
		}
		b.WriteString(part.Text)
	}
	result, err := text.Wait()
	if err != nil {
		t.Fatalf("%s: %v", s.Source, err)
	}
	return b.String(), result
}

// TestTexts checks texts under all constraints with a checker that knows nothing of XGrammar.
func TestTexts(t *testing.T) {
	p := start(t)
	whole, forced := 0, 0
	for _, c := range cases.All(t) {
		for seed := range uint64(8) {
			text, result := p.write(t, c.Spec, seed, 600)
			forced += result.Forced
			if result.Finish == engine.Stopped != result.Complete && result.Finish == engine.Stopped {
				t.Errorf("%s: %+v", c.Name, result)
			}
			if result.Finish != engine.Stopped {
				continue
			}
			whole++
			if err := c.Check(text); err != nil {
				t.Errorf("%s, seed %d: %v", c.Name, seed, err)
			}
		}
	}
	if all := 8 * len(cases.All(t)); whole < all*9/10 || forced == 0 {
		t.Errorf("%d of %d texts came to their end, %d tokens were forced", whole, all, forced)
	}
	if p.Accepted.Value() == 0 || p.RolledBack.Value() == 0 || p.Forced.Value() == 0 {
		t.Errorf("accepted %d tokens of drafts, rolled back %d, forced %d; want some of each", p.Accepted.Value(), p.RolledBack.Value(), p.Forced.Value())
	}
}

// TestSameTexts writes the same texts with and without drafts, alone and many at a time: a seed
// decides, and what is rolled back leaves no trace.
func TestSameTexts(t *testing.T) {
	all := cases.All(t)
	want := make([]string, len(all))
	for name, change := range map[string]func(*engine.Options){
		"no draft": func(o *engine.Options) { o.Draft = 0 },
		"draft":    func(o *engine.Options) { o.Draft = 5 },
		"two":      func(o *engine.Options) { o.Batch, o.Threads = 2, 2 },
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, change)
			got := make([]string, len(all))
			var wait sync.WaitGroup
			for i, c := range all {
				wait.Go(func() { got[i], _ = p.write(t, c.Spec, 3, 200) })
			}
			wait.Wait()
			for i, c := range all {
				if want[i] == "" {
					want[i] = got[i]
				} else if got[i] != want[i] {
					t.Errorf("%s: %q, want %q", c.Name, got[i], want[i])
				}
			}
		})
	}
}

// TestFree writes without a constraint; the model may write bytes that are not UTF-8.
func TestFree(t *testing.T) {
	p := start(t)
	text, result := p.write(t, grammar.Spec{}, 1, 40)
	if text == "" || result.Output == 0 || result.Output > 40 || result.Forced != 0 {
		t.Errorf("%q, %+v", text, result)
	}
}

// TestLength ends a text in the middle, within the text that is forced.
func TestLength(t *testing.T) {
	p := start(t)
	spec := grammar.Spec{Kind: grammar.Regex, Source: "(0123456789ü){20}"}
	for _, most := range []int{1, 7, 50} {
		text, result := p.write(t, spec, 1, most)
		if result.Output != most || result.Finish != engine.Length || result.Complete || !strings.HasPrefix(strings.Repeat("0123456789ü", 20), text) {
			t.Errorf("%d tokens: %q, %+v", most, text, result)
		}
	}
}

// TestControlCharacters is about a string with a length: XGrammar allows control characters in it,
// JSON does not.
func TestControlCharacters(t *testing.T) {
	p := start(t)
	s := grammar.Spec{Kind: grammar.JSONSchema, Source: `{"type":"string","minLength":100,"maxLength":300}`}
	for seed := range uint64(5) {
		r := engine.Request{Matcher: p.matcher(t, s), JSON: true, MaxTokens: 500, Temperature: 500, Seed: seed} // any token is as likely as any other
		text, err := p.Start(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for part := range text.Parts {
			b.WriteString(part.Text)
		}
		if i := strings.IndexFunc(b.String(), func(r rune) bool { return r < ' ' }); i >= 0 {
			t.Fatalf("there is a control character in %q", b.String())
		}
	}
}

// TestCancel ends one text by its context; the other goes on.
func TestCancel(t *testing.T) {
	p := start(t, func(o *engine.Options) { o.Draft = 0 })
	ctx, cancel := context.WithCancel(t.Context())
	one, err := p.Start(ctx, engine.Request{Matcher: p.matcher(t, endless), MaxTokens: 1 << 18})
	if err != nil {
		t.Fatal(err)
	}
	<-one.Parts
	cancel()
	if _, err := one.Wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, result := p.write(t, endless, 1, 50); result.Output != 50 {
		t.Errorf("%+v", result)
	}
}

// TestClose ends the texts that are being written and those that wait.
func TestClose(t *testing.T) {
	p := start(t, func(o *engine.Options) { o.Batch = 1 })
	var texts []*engine.Text
	for range 3 {
		text, err := p.Start(t.Context(), engine.Request{
			Matcher: p.matcher(t, endless), MaxTokens: 1 << 18,
		})
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	<-texts[0].Parts
	p.Close()
	ended := 0
	for _, text := range texts {
		if _, err := text.Wait(); errors.Is(err, engine.ErrStopped) {
			ended++
		} else if err != nil {
			t.Errorf("got %v", err)
		}
	}
	if ended == 0 {
		t.Error("no text was ended by Close")
	}
	m := p.matcher(t, grammar.Spec{Kind: grammar.Regex, Source: "a"})
	if _, err := p.Start(t.Context(), engine.Request{Matcher: m, MaxTokens: 1}); !errors.Is(err, engine.ErrStopped) {
		t.Errorf("after Close: %v", err)
	}
	if err := p.Check(time.Minute); !errors.Is(err, engine.ErrStopped) {
		t.Errorf("Check: %v", err)
	}
}

// TestFull refuses a text when as many wait as may.
func TestFull(t *testing.T) {
	p := start(t, func(o *engine.Options) { o.Batch, o.Queue = 1, 1 })
	full := 0
	ctx, cancel := context.WithCancel(t.Context())
	var texts []*engine.Text
	for range 20 {
		text, err := p.Start(ctx, engine.Request{Matcher: p.matcher(t, endless), MaxTokens: 1 << 18})
		if errors.Is(err, engine.ErrFull) {
			full++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	if full == 0 || p.Check(time.Minute) != nil {
		t.Errorf("%d texts were refused, want some; %v", full, p.Check(time.Minute))
	}
	cancel()
	for _, text := range texts {
		_, _ = text.Wait()
	}
	if active, waiting := p.Load(); active > 1 || waiting != 0 {
		t.Errorf("%d active, %d waiting", active, waiting)
	}
}

// TestSlow ends a text for which XGrammar takes too long, here any.
func TestSlow(t *testing.T) {
	p := start(t, func(o *engine.Options) { o.Step = time.Nanosecond })
	text, err := p.Start(t.Context(), engine.Request{Matcher: p.matcher(t, grammar.Spec{Kind: grammar.Regex, Source: "[a-z]{900}"}), MaxTokens: 900, Temperature: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := text.Wait(); !errors.Is(err, engine.ErrSlow) {
		t.Errorf("got %v", err)
	}
}

// TestAmbiguous ends a text of a grammar whose masks take longer with each token, but not the
// text beside it, although accepting a token is quick in both.
func TestAmbiguous(t *testing.T) {
	p := start(t, func(o *engine.Options) { o.Step = 20 * time.Millisecond })
	slow, err := p.Start(t.Context(), engine.Request{
		Matcher: p.matcher(t, grammar.Spec{Kind: grammar.EBNF, Source: "root ::= a \"~\"\na ::= (a a | \"x\")+"}), MaxTokens: 4000,
	})
	if err != nil {
		t.Fatal(err)
	}
	other, err := p.Start(t.Context(), engine.Request{Matcher: p.matcher(t, endless), MaxTokens: 3000})
	if err != nil {
		t.Fatal(err)
	}
	if result, err := slow.Wait(); !errors.Is(err, engine.ErrSlow) {
		t.Errorf("got %v after %d tokens", err, result.Output)
	}
	if result, err := other.Wait(); err != nil || result.Output != 3000 {
		t.Errorf("the other text: %v after %d tokens", err, result.Output)
	}
}

// TestOptions refuses sizes that make no sense.
func TestOptions(t *testing.T) {
	if _, err := engine.New(model.New(), engine.Options{}); err == nil || !strings.Contains(err.Error(), "a batch of 0") {
		t.Errorf("got %v", err)
	}
}
