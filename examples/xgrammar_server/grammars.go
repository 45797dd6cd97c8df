package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tvmffi-go/tvmffi/generated/xgrammar"
	"github.com/tvmffi-go/tvmffi/generated/xgrammar/config"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// constraint is what a text must follow. Its kind is the name of a field of a question.
type constraint struct {
	kind, source string
	whitespace   bool // of a schema: wherever JSON allows it
}

// grammars compiles constraints for the tokens of a model. XGrammar keeps those that were used last.
type grammars struct {
	tokenizer *xgrammar.TokenizerInfo
	compiler  *xgrammar.GrammarCompiler
	slots     chan struct{} // one for each compilation that may run
}

func newGrammars(m Model, compilations int) (*grammars, error) {
	// The default, 10000, needs more stack than a thread of 1 MB has.
	if err := config.SetMaxRecursionDepth(1000); err != nil {
		return nil, err
	}
	stop := xgrammar.StopTokenIDs(tvmffi.Of(int64(m.Stop())))
	tokenizer, err := xgrammar.NewTokenizerInfo(tvmffi.Of(m.Vocabulary()...), xgrammar.VocabTypeRaw, stop)
	if err != nil {
		return nil, err
	}
	compiler, err := xgrammar.NewGrammarCompiler(tokenizer, xgrammar.MaxThreads(1), xgrammar.CacheLimitBytes(64<<20))
	if err != nil {
		tokenizer.Release()
		return nil, err
	}
	return &grammars{tokenizer: tokenizer, compiler: compiler, slots: make(chan struct{}, compilations)}, nil
}

// close waits for the compilations that run, and releases everything. What runs for longer than late
// keeps its memory.
func (g *grammars) close(late time.Duration) error {
	timer := time.NewTimer(late)
	defer timer.Stop()
	for range cap(g.slots) {
		select {
		case g.slots <- struct{}{}: // stays: nothing is compiled any more
		case <-timer.C:
			return fmt.Errorf("a compilation did not end in %v; its memory is not released", late)
		}
	}
	g.compiler.Release()
	g.tokenizer.Release()
	return nil
}

// matcher returns a matcher at the start of a text, which the caller releases. Nothing can stop a call of
// XGrammar: if ctx ends first, the compilation goes on, and its slot is taken until it ends.
func (g *grammars) matcher(ctx context.Context, c constraint) (*xgrammar.GrammarMatcher, error) {
	select {
	case g.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	type result struct {
		matcher *xgrammar.GrammarMatcher
		err     error
	}
	done := make(chan result)
	go func() {
		defer func() { <-g.slots }()
		m, err := g.compile(c)
		select {
		case done <- result{m, err}:
		case <-ctx.Done():
			if m != nil {
				m.Release()
			}
		}
	}()
	select {
	case r := <-done:
		return r.matcher, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (g *grammars) compile(c constraint) (*xgrammar.GrammarMatcher, error) {
	compiled, err := g.call(c)
	if err != nil {
		return nil, &problem{Code: "invalid", Message: c.kind + ": " + said(err)}
	}
	defer compiled.Release()
	return xgrammar.NewGrammarMatcher(compiled)
}

func (g *grammars) call(c constraint) (*xgrammar.CompiledGrammar, error) {
	switch c.kind {
	case "json":
		return g.compiler.CompileBuiltinJSONGrammar()
	case "regex":
		return g.compiler.CompileRegex(c.source)
	case "grammar":
		return g.compiler.CompileEBNF(c.source)
	case "structural_tag":
		return g.compiler.CompileStructuralTag(c.source)
	}
	if !c.whitespace {
		return g.compiler.CompileJSONSchema(c.source, xgrammar.AnyWhitespace(false))
	}
	// A model may not write spaces without an end: at most 8 in one place.
	return g.compiler.CompileJSONSchema(c.source, xgrammar.MaxWhitespaceCnt(8))
}

// said is an error of XGrammar without the place in its sources.
func said(err error) string {
	text := err.Error()
	var native *tvmffi.Error
	if errors.As(err, &native) {
		text = native.Message
	}
	if _, rest, found := strings.Cut(text, ".cc:"); found && strings.HasPrefix(text, "[") {
		_, text, _ = strings.Cut(rest, ": ")
	}
	if _, rest, found := strings.Cut(text, " is false: "); found {
		text = rest
	}
	return strings.ToValidUTF8(strings.TrimSpace(text[:min(len(text), 300)]), "\uFFFD")
}
