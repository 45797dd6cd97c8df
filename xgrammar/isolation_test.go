package xgrammar_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/generated/xgrammar/config"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/xgrammar"
)

// isolation returns limits for a compiler, where there are such processes.
func isolation(t *testing.T, limits xgrammar.Isolation) xgrammar.CompilerOptions {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Go passes no files to a process on Windows")
	}
	return xgrammar.CompilerOptions{Isolation: &limits}
}

// TestIsolation_windows: where there are no such processes, the error says so.
func TestIsolation_windows(t *testing.T) {
	if runtime.GOOS != "windows" {
		return
	}
	v, _ := compilerOf(t, xgrammar.CompilerOptions{})
	_, err := xgrammar.NewCompiler(v, xgrammar.CompilerOptions{Isolation: &xgrammar.Isolation{}})
	if err == nil || !strings.Contains(err.Error(), "a compiler with Isolation") || !strings.Contains(err.Error(), "Linux and macOS only") {
		t.Errorf("got %v", err)
	}
}

// nested returns the schema of arrays of arrays. To compile 1000 takes more than 30 s.
func nested(levels int) xgrammar.Source {
	return xgrammar.JSONSchema{Text: strings.Repeat(`{"type": "array", "items": `, levels) + "{}" + strings.Repeat("}", levels)}
}

// TestIsolation: a source that is too slow, too large or too deep is an error, and the next one is compiled.
func TestIsolation(t *testing.T) {
	depth := must(config.GetMaxRecursionDepth())(t)
	if err := config.SetMaxRecursionDepth(999_999); err != nil {
		t.Fatal(err)
	}
	defer config.SetMaxRecursionDepth(depth)
	_, quick := compilerOf(t, isolation(t, xgrammar.Isolation{MaxTime: 2 * time.Second}))
	_, small := compilerOf(t, isolation(t, xgrammar.Isolation{MaxMemory: 256 << 20}))
	for _, x := range []struct {
		c      *xgrammar.Compiler
		source xgrammar.Source
		want   string
	}{
		{quick, nested(1000), "it takes more time than 2s (MaxTime)"},
		{small, xgrammar.EBNF{Text: "root ::= " + strings.Repeat("(", 1<<21)}, "it takes more memory than 256 MiB (MaxMemory)"},
		{small, nested(100_000), "it takes more memory than 256 MiB (MaxMemory), or is too deep: its process crashed: exit status 2: "},
	} {
		_, err := x.c.Compile(t.Context(), x.source)
		if limit := (*xgrammar.LimitError)(nil); !errors.As(err, &limit) || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v, want %s", err, x.want)
		}
		m := matcherOf(t, x.c, xgrammar.Regex("ab?"))
		if !must(m.AcceptText("a"))(t) {
			t.Error("a is refused")
		}
		m.Release()
	}
}

// TestIsolation_accepted: a source that is odd, and that XGrammar compiles, is compiled.
func TestIsolation_accepted(t *testing.T) {
	_, c := compilerOf(t, isolation(t, xgrammar.Isolation{}))
	for _, text := range []string{
		"{\"const\": \"\xff\"}",
		`{"type": "string", "maxLength": 100000000}`,
		`{"uniqueItems": true, "not": {}, "unknown": 3}`,
	} {
		g, err := c.Compile(t.Context(), xgrammar.JSONSchema{Text: text})
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		g.Release()
	}
	for _, text := range []string{ // which version 0.2.8 compiled
		`{"$ref": "#"}`,
		`{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}`,
	} {
		if _, err := c.Compile(t.Context(), xgrammar.JSONSchema{Text: text}); err == nil || !strings.Contains(err.Error(), "Circular $ref chain") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestIsolation_cancel: the end of a context ends the process that tries its source.
func TestIsolation_cancel(t *testing.T) {
	_, c := compilerOf(t, isolation(t, xgrammar.Isolation{}))
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errTest)
	defer cancel()
	if _, err := c.Compile(ctx, nested(1000)); !errors.Is(err, errTest) {
		t.Errorf("got %v", err)
	}
	g, err := c.Compile(t.Context(), xgrammar.JSON{})
	if err != nil {
		t.Fatal(err)
	}
	g.Release()
}

// TestIsolation_known: a source that has passed is not tried again, so it does not wait for a process that is free.
func TestIsolation_known(t *testing.T) {
	_, c := compilerOf(t, isolation(t, xgrammar.Isolation{}))
	compile := func() {
		ctx, cancel := context.WithTimeout(t.Context(), nativetest.Patience(20*time.Second))
		defer cancel()
		g := must(c.Compile(ctx, xgrammar.JSON{}))(t)
		g.Release()
	}
	compile()
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error)
	go func() {
		_, err := c.Compile(ctx, nested(1000))
		done <- err
	}()
	time.Sleep(50 * time.Millisecond)
	compile()
	cancel(errTest)
	if err := <-done; !errors.Is(err, errTest) {
		t.Errorf("got %v", err)
	}
}
