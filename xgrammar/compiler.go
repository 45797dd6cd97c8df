package xgrammar

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"strings"

	bind "github.com/tvmffi-go/tvmffi/generated/xgrammar"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// CompilerOptions are what a compiler has beside the vocabulary. The zero value has the defaults.
type CompilerOptions struct {
	// Threads of one compilation; the default is 8.
	Threads int
	// CacheBytes bounds what the compiler keeps of the grammars that were used last. 0 means any number, and -1 means no cache.
	CacheBytes int64
}

// Compiler compiles grammars for one vocabulary, and keeps them. Several goroutines may use it at once. The caller
// releases it when no Compile runs; grammars live on.
type Compiler struct{ raw *bind.GrammarCompiler }

// NewCompiler returns a compiler.
func NewCompiler(v *Vocabulary, o CompilerOptions) (c *Compiler, err error) {
	options := []bind.GrammarCompilerOption{bind.CacheEnabled(o.CacheBytes >= 0)}
	if o.Threads > 0 {
		options = append(options, bind.MaxThreads(int64(o.Threads)))
	}
	if o.CacheBytes > 0 {
		options = append(options, bind.CacheLimitBytes(o.CacheBytes))
	}
	c = &Compiler{}
	if c.raw, err = bind.NewGrammarCompiler(v.info, options...); err != nil {
		return nil, failed("a compiler", err)
	}
	return c, nil
}

// Compile compiles a source, unless ctx has ended. Nothing can stop a call of XGrammar.
func (c *Compiler) Compile(ctx context.Context, s Source) (*Grammar, error) {
	err := context.Cause(ctx)
	if err != nil {
		return nil, failed(name(s), err)
	}
	raw, err := s.compile(c.raw)
	if err != nil {
		return nil, failed(name(s), err)
	}
	return &Grammar{raw}, nil
}

// Release gives the memory back.
func (c *Compiler) Release() { c.raw.Release() }

// The kinds of errors of XGrammar, for [errors.Is].
var (
	ErrGrammar       = tvmffi.ErrInternal                            // a source that XGrammar cannot compile
	ErrJSON          = tvmffi.KindError("InvalidJSONError")          // a text that is not JSON
	ErrStructuralTag = tvmffi.KindError("InvalidStructuralTagError") // JSON that is not a structural tag
	ErrLark          = tvmffi.KindError("XGrammarError")             // a Lark grammar that XGrammar cannot compile
)

// Error is an error of this package.
type Error struct {
	Item string // what it is about, such as Regex("(")
	Err  error  // a [tvmffi.Error] if XGrammar says so
}

func failed(item string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{strings.ToValidUTF8(item[:min(len(item), 80)], ""), err}
}

// Error names the item.
func (e *Error) Error() string { return "xgrammar: " + e.Item + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Reason returns what is wrong, in a line for the one who wrote the source: without the item, the kind, and the places
// in XGrammar's own code.
func (e *Error) Reason() string {
	text := e.Err.Error()
	if native := (*tvmffi.Error)(nil); errors.As(e.Err, &native) {
		text = native.Message
	}
	if strings.HasPrefix(text, "[") {
		text = places.ReplaceAllString(text, "")
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return cmp.Or(strings.ToValidUTF8(text[:min(len(text), 300)], ""), "XGrammar refuses it without a reason")
}

// places are where XGrammar has found an error.
var places = regexp.MustCompile(`\[[0-9:]+\] \S+:[0-9]+: (Check failed: \(.*?\) is false: )?`)
