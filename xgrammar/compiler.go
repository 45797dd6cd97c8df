package xgrammar

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	bind "github.com/tvmffi-go/tvmffi/generated/xgrammar"
	"github.com/tvmffi-go/tvmffi/generated/xgrammar/config"
	"github.com/tvmffi-go/tvmffi/internal/child"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// CompilerOptions are what a compiler has beside the vocabulary. The zero value has the defaults.
type CompilerOptions struct {
	// Threads of one compilation; the default is 8.
	Threads int
	// CacheBytes bounds what the compiler keeps of the grammars that were used last. 0 means any number, and -1 means no cache.
	CacheBytes int64
	// Isolation tries sources of strangers in other processes; nil does not.
	Isolation *Isolation
}

// Compiler compiles grammars for one vocabulary, and keeps them. Several goroutines may use it at once. The caller
// releases it when no Compile runs; grammars live on.
type Compiler struct {
	raw   *bind.GrammarCompiler
	trial *trial // nil without Isolation
}

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
	if o.Isolation != nil {
		if c.trial, err = newTrial(v, *o.Isolation); err != nil {
			c.raw.Release()
			return nil, failed("a compiler with Isolation", err)
		}
	}
	return c, nil
}

// Compile compiles a source. Nothing can stop a call of XGrammar: ctx ends the wait before it, and with [Isolation]
// the trial, which bounds what comes after.
func (c *Compiler) Compile(ctx context.Context, s Source) (*Grammar, error) {
	err := context.Cause(ctx)
	if err == nil && c.trial != nil {
		var leave func()
		if leave, err = c.trial.pass(ctx, s); err == nil {
			defer leave()
		}
	}
	if err != nil {
		return nil, failed(name(s), err)
	}
	raw, err := s.compile(c.raw)
	if err != nil {
		return nil, failed(name(s), err)
	}
	return &Grammar{raw}, nil
}

// Release gives the memory back and ends the processes.
func (c *Compiler) Release() {
	if c.trial != nil {
		c.trial.pool.Close()
	}
	c.raw.Release()
}

// Isolation compiles each new source in another process first, which has limits. A source that takes too much memory or
// time, or that crashes XGrammar, ends that process, and the error is a [LimitError]. A source that passes is compiled here,
// in about the same time and memory, by as many goroutines at the same time as there are processes. The processes are this
// program again, so its main must call [Main] first.
type Isolation = child.Limits

// LimitError is the error of a source that took more than [Isolation] allows.
type LimitError = child.LimitError

// Main prepares this program for [Isolation]. Call it once and first in main, or in TestMain, but after loading the library
// from a place of your own. In the process that a user starts, it returns at once; in one that tries sources, it does not
// return. A program that calls rpc.Main or disco.Main does not need it.
func Main() { child.Main(nil) }

func init() {
	for _, s := range []Source{JSONSchema{}, JSON{}, Regex(""), EBNF{}, Lark(""), StructuralTag("")} {
		gob.Register(s)
	}
	child.Answers("xgrammar", begin)
}

// setup is what the process needs first.
type setup struct {
	Vocabulary string
	Depth      int64 // of recursion, at most
}

type request struct{ Source Source }

// refusal is XGrammar's error; without a Kind there was no error.
type refusal struct{ Kind, Message string }

// begin prepares the process.
func begin(s setup) (func(request) (refusal, error), error) {
	info, err := bind.TokenizerInfoDeserializeJSON(s.Vocabulary)
	if err := errors.Join(err, config.SetMaxRecursionDepth(s.Depth)); err != nil {
		return nil, err
	}
	c, err := bind.NewGrammarCompiler(info, bind.MaxThreads(1), bind.CacheEnabled(false))
	return func(r request) (refusal, error) {
		g, err := r.Source.compile(c)
		if err == nil {
			g.Release()
			return refusal{}, nil
		}
		v := refusal{"RuntimeError", err.Error()}
		if native := (*tvmffi.Error)(nil); errors.As(err, &native) {
			v = refusal{native.Kind, native.Message}
		}
		if !strings.Contains(v.Message, "bad_alloc") {
			err = nil
		}
		return v, err
	}, err
}

// trial decides which sources are compiled in this process.
type trial struct {
	pool   *child.Pool[request, refusal]
	slots  chan struct{} // for those
	passed sync.Map      // the hashes of sources
	number atomic.Int64  // of those
}

// maxPassed bounds the sources that are known to pass. Beyond it, all are forgotten.
const maxPassed = 1 << 15

func newTrial(v *Vocabulary, limits Isolation) (*trial, error) {
	depth, err1 := config.GetMaxRecursionDepth()
	text, err2 := v.info.SerializeJSON()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	pool, err := child.NewPool[setup, request, refusal]("xgrammar", setup{text, depth}, limits)
	return &trial{pool: pool, slots: make(chan struct{}, max(limits.Processes, 1))}, err
}

// pass tries a source that has not passed before, and waits for a place to compile it here. The caller leaves it.
func (t *trial) pass(ctx context.Context, s Source) (leave func(), err error) {
	key := sha256.Sum256([]byte(name(s)))
	if _, known := t.passed.Load(key); !known {
		v, err := t.pool.Call(ctx, request{s})
		if err == nil && v != (refusal{}) {
			err = tvmffi.NewError(v.Kind, v.Message)
		}
		if err != nil {
			return nil, err
		}
		if t.number.Add(1)%maxPassed == 0 {
			t.passed.Clear()
		}
		t.passed.Store(key, nil)
	}
	select {
	case t.slots <- struct{}{}:
		return func() { <-t.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

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
