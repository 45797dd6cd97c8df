package xgrammar

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

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
	size  int    // of the vocabulary
	trial *trial // nil without Isolation
}

// NewCompiler returns a compiler for the tokens of v.
func NewCompiler(v *Vocabulary, o CompilerOptions) (c *Compiler, err error) {
	if v == nil {
		return nil, failed("a compiler", errors.New("the vocabulary is nil: NewVocabulary makes one"))
	}
	if err := cmp.Or(fits("Threads", o.Threads), atLeast(-1, "CacheBytes", o.CacheBytes), fitStack()); err != nil {
		return nil, failed("a compiler", err)
	}
	options := []bind.GrammarCompilerOption{bind.CacheEnabled(o.CacheBytes >= 0)}
	if o.Threads > 0 {
		options = append(options, bind.MaxThreads(int64(o.Threads)))
	}
	if o.CacheBytes > 0 {
		options = append(options, bind.CacheLimitBytes(o.CacheBytes))
	}
	if limits := o.Isolation; limits != nil {
		if err := cmp.Or(fits("Isolation.Processes", limits.Processes), atLeast(0, "Isolation.MaxMemory", limits.MaxMemory), atLeast(0, "Isolation.MaxTime", limits.MaxTime)); err != nil {
			return nil, failed("a compiler", err)
		}
	}
	c = &Compiler{size: v.size}
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

// Compile compiles a source. Without [Isolation], ctx is checked once, before the compilation, which then runs to its end.
// With Isolation, the end of ctx also ends the trial of the source and the wait for it.
func (c *Compiler) Compile(ctx context.Context, s Source) (*Grammar, error) {
	v := reflect.Indirect(reflect.ValueOf(s))
	if !v.IsValid() {
		return nil, failed("a source", errors.New("it is nil, want a JSONSchema, JSON, Regex, EBNF, Lark or StructuralTag"))
	}
	s = v.Interface().(Source)
	err := cmp.Or(whole(s), numbers(s), exact(s))
	if err == nil {
		err = context.Cause(ctx)
	}
	if err == nil && c.trial != nil {
		var leave func()
		if leave, err = c.trial.pass(ctx, s); err == nil {
			defer leave()
		}
	}
	if err != nil {
		return nil, failed(item(s), err)
	}
	raw, err := s.compile(c.raw)
	if err != nil {
		return nil, failed(item(s), err)
	}
	return &Grammar{raw, c.size}, nil
}

// Release gives the memory back and ends the processes.
func (c *Compiler) Release() {
	if c.trial != nil {
		c.trial.pool.Close()
	}
	c.raw.Release()
}

// Isolation tries each new source in another process, which has limits. A source that reaches a limit, or that crashes
// XGrammar, ends that process; the error is a [*LimitError]. A source that passes is compiled in this process too, which takes
// about the same time and memory again. The other processes run this program, so its main must call [Main] first.
// On Windows, NewCompiler returns an error: Go cannot pass open files to a process there.
type Isolation struct {
	// Processes is how many sources are tried at the same time, and how many are then compiled here at the same time. The
	// default is 1.
	Processes int
	// MaxMemory is how many bytes a process may take beyond its start. Only Linux enforces it. The default is 1 GiB.
	MaxMemory int64
	// MaxTime is how long the trial of one source may take. The default is 30 s. A process that must start before may take as
	// long again, or 30 s if that is longer.
	MaxTime time.Duration
}

// LimitError is the error of a source that reached a limit of [Isolation], or crashed its process.
type LimitError struct {
	// MaxTime is the limit of time if the source reached it, and 0 otherwise.
	MaxTime time.Duration
	// MaxMemory is the limit of memory if the source reached it or crashed its process, and 0 otherwise.
	MaxMemory int64
	// Crash says how the process ended, if it crashed: for want of memory, or because the source is nested too deeply.
	Crash string
}

// Error names the limit.
func (e *LimitError) Error() string { return (*child.LimitError)(e).Error() }

// Main prepares this program for [Isolation]. Call it once, as the first thing in main or TestMain; only the loading of the
// library from a place of your own comes before it. It returns at once, except in a process that tries sources: there it does
// not return. A program that calls rpc.Main or disco.Main does not need it.
func Main() { child.Main(nil) }

func init() { child.Answers("xgrammar", begin) }

// begin prepares the process. The setup is what setup makes.
func begin(setup string) (func(request string) (string, error), error) {
	number, vocabulary, _ := strings.Cut(setup, "\n")
	depth, err1 := strconv.ParseInt(number, 10, 64)
	info, err2 := bind.TokenizerInfoDeserializeJSON(vocabulary)
	if err := errors.Join(err1, err2, config.SetMaxRecursionDepth(depth)); err != nil {
		return nil, err
	}
	c, err := bind.NewGrammarCompiler(info, bind.MaxThreads(1), bind.CacheEnabled(false))
	return func(request string) (string, error) {
		source, err := decodeSource(request)
		if err != nil {
			return refusal("InternalError", err.Error()), nil
		}
		g, err := source.compile(c)
		if err == nil {
			g.Release()
			return "", nil
		}
		kind, text := "RuntimeError", err.Error()
		if native := (*tvmffi.Error)(nil); errors.As(err, &native) {
			kind, text = native.Kind, native.Message
		}
		if !strings.Contains(text, "bad_alloc") {
			err = nil
		}
		return refusal(kind, text), err
	}, err
}

// setup is what the process needs first. Depth bounds the recursion.
func setup(vocabulary string, depth int64) string { return fmt.Sprintf("%d\n%s", depth, vocabulary) }

// refusal is the reply with XGrammar's error; without one the reply is empty.
func refusal(kind, text string) string { return kind + "\n" + text }

// trial decides which sources are compiled in this process.
type trial struct {
	pool   *child.Pool
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
	pool, err := child.NewPool("xgrammar", setup(text, depth), child.Limits(limits))
	return &trial{pool: pool, slots: make(chan struct{}, max(limits.Processes, 1))}, err
}

// pass tries a source that has not passed before, and waits for a place to compile it here. The caller leaves it.
func (t *trial) pass(ctx context.Context, s Source) (leave func(), err error) {
	key := sha256.Sum256(fmt.Appendf(nil, "%#v", s))
	if _, known := t.passed.Load(key); !known {
		request, err := encodeSource(s)
		if err != nil {
			return nil, err
		}
		reply, err := t.pool.Call(ctx, request)
		if kind, text, refused := strings.Cut(reply, "\n"); err == nil && refused {
			err = tvmffi.NewError(kind, text)
		}
		if limit := (*child.LimitError)(nil); errors.As(err, &limit) {
			err = (*LimitError)(limit)
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
	ErrGrammar       = tvmffi.ErrInternal                            // a JSONSchema, Regex or EBNF that XGrammar cannot compile, also a schema that is not JSON
	ErrJSON          = tvmffi.KindError("InvalidJSONError")          // a StructuralTag that is not JSON
	ErrStructuralTag = tvmffi.KindError("InvalidStructuralTagError") // a StructuralTag that is JSON of another form
	ErrLark          = tvmffi.KindError("XGrammarError")             // a Lark that XGrammar cannot compile
)

// Error is an error of this package.
type Error struct {
	Item string // what it is about, such as Regex `(`
	Err  error  // a [tvmffi.Error] if XGrammar says so
}

func failed(item string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{item, err}
}

// wrap names the item of an error, if there is one.
func wrap[T any](x T, err error) func(item string) (T, error) {
	return func(item string) (T, error) { return x, failed(item, err) }
}

// item returns the kind of a source and the first part of its text.
func item(s Source) string {
	v, kind := reflect.ValueOf(s), reflect.TypeOf(s).Name()
	if v.Kind() == reflect.Struct && v.NumField() > 0 {
		v = v.Field(0)
	}
	if v.Kind() != reflect.String {
		return kind
	}
	text, more := cut(v.String(), 80)
	return fmt.Sprintf("%s %#q%s", kind, text, more)
}

// cut returns the first n bytes of a text without half a character, and "..." if there are more.
func cut(text string, n int) (first, more string) {
	if len(text) > n {
		text, more = text[:n], "..."
	}
	return strings.ToValidUTF8(text, ""), more
}

// Error returns the item and the reason.
func (e *Error) Error() string { return "xgrammar: " + e.Item + ": " + e.Reason() }

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
		text = places().ReplaceAllString(text, "")
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	text, more := cut(text, 297)
	return cmp.Or(text+more, "XGrammar refuses it without a reason")
}

// places are where XGrammar has found an error.
var places = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\[[0-9:]+\] \S+:[0-9]+: (Check failed: \(.*?\) is false: )?`)
})
