package grammar

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/metrics"
	"github.com/tvmffi-go/tvmffi/generated/xgrammar"
	"github.com/tvmffi-go/tvmffi/generated/xgrammar/config"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// recursion is how deep XGrammar may recurse. Its own default, 10000, needs more stack than
// a thread of 1 MB has.
const recursion = 1000

// raw is the type of a vocabulary whose tokens are the bytes that they stand for.
const raw = 0

// Compiler compiles constraints for one vocabulary and keeps the results. Several goroutines
// may use it. Close releases what it holds.
type Compiler struct {
	limits    Limits
	tokenizer *xgrammar.TokenizerInfo
	native    *xgrammar.GrammarCompiler
	words     int
	slots     chan struct{} // one for each compilation that may run
	running   sync.WaitGroup

	mu      sync.Mutex
	cache   *cache
	flights map[Spec]*flight
	closed  bool

	// Seconds are those of compilations, with the trial. Refused counts constraints that
	// XGrammar or the trial refused.
	Seconds         metrics.Histogram
	Refused, Missed metrics.Counter
}

// flight is one compilation that several requests may wait for.
type flight struct {
	done chan struct{}
	err  error
	at   time.Time

	// The lock of the Compiler guards these. The last one who waits releases compiled, which
	// stays even if the cache drops the grammar at once.
	waiting  int
	compiled *xgrammar.CompiledGrammar
}

// NewCompiler makes a compiler for the tokens of a model, in the order of their numbers. Each
// token is the bytes that it stands for, "" if no text has it. The token stop ends a text.
func NewCompiler(vocabulary []string, stop int64, limits Limits) (*Compiler, error) {
	if err := config.SetMaxRecursionDepth(recursion); err != nil {
		return nil, err
	}
	tokenizer, err := xgrammar.NewTokenizerInfo(tvmffi.Of(vocabulary...), raw, nil, tvmffi.Of(stop), false)
	if err != nil {
		return nil, err
	}
	// One thread for each compilation: limits.Compilations of them run at once.
	native, err := xgrammar.NewGrammarCompiler(tokenizer, 1, true, limits.CacheBytes)
	if err != nil {
		tokenizer.Release()
		return nil, err
	}
	return &Compiler{
		limits: limits, tokenizer: tokenizer, native: native,
		words: (len(vocabulary) + 31) / 32,
		slots: make(chan struct{}, limits.Compilations),
		cache: newCache(limits.CacheEntries, limits.CacheBytes), flights: map[Spec]*flight{},
	}, nil
}

// Close waits for the compilations that run, until ctx ends, and releases everything. If one
// still runs, the result is an error, and what it uses stays.
func (c *Compiler) Close(ctx context.Context) error {
	c.mu.Lock()
	already := c.closed
	c.closed = true
	c.mu.Unlock()
	if already {
		return nil
	}
	idle := make(chan struct{})
	go func() { c.running.Wait(); close(idle) }()
	select {
	case <-idle:
	case <-ctx.Done():
		return errors.New("xgrammar_server: a compilation did not end in time; its memory is not released")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cache.clear()
	c.native.Release()
	c.tokenizer.Release()
	return nil
}

// Matcher returns a matcher at the start of a text, which the caller owns, and whether the
// grammar was in the cache. It compiles a new grammar, for at most the time of the limits or until ctx ends;
// the compilation goes on then, and a later request finds the result. The error is an *Error
// if the constraint was refused.
func (c *Compiler) Matcher(ctx context.Context, s Spec) (m *xgrammar.GrammarMatcher, cached bool, err error) {
	if m, err := c.fromCache(s); m != nil || err != nil {
		return m, true, err
	}
	if err := c.limits.Check(s); err != nil {
		c.Refused.Add(1)
		return nil, false, err
	}
	c.Missed.Add(1)
	f, err := c.flight(s)
	if err != nil {
		return nil, false, err
	}
	defer c.leave(f)
	timer := time.NewTimer(c.limits.Compile)
	defer timer.Stop()
	select {
	case <-f.done:
	case <-ctx.Done():
		return nil, false, ctx.Err()
	case <-timer.C:
		return nil, false, &Error{TimedOut, string(s.Kind), fmt.Sprintf("no result in %v", c.limits.Compile), "a simpler one, or another try"}
	}
	if f.err != nil {
		return nil, false, f.err
	}
	m, err = newMatcher(f.compiled)
	return m, false, err
}

// leave ends the wait for a compilation.
func (c *Compiler) leave(f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.waiting--; f.waiting == 0 && f.compiled != nil {
		f.compiled.Release()
		f.compiled = nil
	}
}

// fromCache returns a matcher of a grammar in the cache, nil if it is not there.
func (c *Compiler) fromCache(s Spec) (*xgrammar.GrammarMatcher, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, &Error{Busy, "server", "it stops", "another server"}
	}
	compiled := c.cache.get(s)
	if compiled == nil {
		c.mu.Unlock()
		return nil, nil
	}
	// A reference of our own: the cache may release its own as soon as the lock is free.
	compiled = tvmffi.Retain(compiled)
	c.mu.Unlock()
	defer compiled.Release()
	return newMatcher(compiled)
}

func newMatcher(compiled *xgrammar.CompiledGrammar) (*xgrammar.GrammarMatcher, error) {
	return xgrammar.NewGrammarMatcher(compiled, nil, false, -1, nil)
}

// flight joins the compilation of a constraint, or starts it. The caller calls leave.
func (c *Compiler) flight(s Spec) (*flight, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, &Error{Busy, "server", "it stops", "another server"}
	}
	if f := c.flights[s]; f != nil {
		f.waiting++
		return f, nil
	}
	// Another request may have compiled it since this one looked into the cache.
	if compiled := c.cache.get(s); compiled != nil {
		landed := &flight{done: make(chan struct{}), at: time.Now(), waiting: 1, compiled: tvmffi.Retain(compiled)}
		close(landed.done)
		return landed, nil
	}
	// Each flight is a goroutine and a source in memory.
	if most := 32 * cap(c.slots); len(c.flights) >= most {
		return nil, &Error{Busy, string(s.Kind), fmt.Sprintf("%d grammars wait to be compiled", most), "another try"}
	}
	f := &flight{done: make(chan struct{}), at: time.Now(), waiting: 1}
	c.flights[s] = f
	c.running.Add(1)
	go func() {
		defer c.running.Done()
		c.slots <- struct{}{}
		compiled, size, err := c.compile(s)
		<-c.slots
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.flights, s)
		if f.err = err; err == nil {
			if f.waiting > 0 {
				f.compiled = tvmffi.Retain(compiled)
			}
			c.cache.put(s, compiled, size)
		} else {
			c.Refused.Add(1)
		}
		close(f.done)
	}()
	return f, nil
}

// compile compiles a constraint and tries the result. The caller owns it.
func (c *Compiler) compile(s Spec) (*xgrammar.CompiledGrammar, int64, error) {
	defer c.Seconds.Since(time.Now())
	compiled, err := c.call(s)
	if err != nil {
		return nil, 0, refused(s, err)
	}
	size, err := compiled.MemorySizeBytes()
	if err == nil && size > c.limits.Compiled {
		err = &Error{TooLarge, string(s.Kind), fmt.Sprintf("%d bytes when compiled", size), fmt.Sprintf("%d at most", c.limits.Compiled)}
	}
	if err == nil {
		err = c.try(s, compiled)
	}
	if err != nil {
		compiled.Release()
		return nil, 0, err
	}
	return compiled, size, nil
}

func (c *Compiler) call(s Spec) (*xgrammar.CompiledGrammar, error) {
	switch s.Kind {
	case JSON:
		return c.native.CompileBuiltinJSONGrammar()
	case Regex:
		return c.native.CompileRegex(s.Source)
	case EBNF:
		return c.native.CompileEBNF(s.Source, "root")
	case StructuralTag:
		return c.native.CompileStructuralTag(s.Source)
	}
	const strict, anyOrder = true, false
	var longest *int64
	if s.Whitespace {
		longest = new(int64(8)) // characters in one place: a model may not write spaces without an end
	}
	return c.native.CompileJSONSchema(s.Source, s.Whitespace, nil, nil, strict, longest, anyOrder)
}

// refused makes an error of XGrammar one for the client: without the place in its sources.
func refused(s Spec, err error) error {
	text := err.Error()
	var native *tvmffi.Error
	if errors.As(err, &native) {
		text = native.Message
	}
	if _, rest, ok := strings.Cut(text, ".cc:"); ok && strings.HasPrefix(text, "[") {
		_, text, _ = strings.Cut(rest, ": ")
	}
	if _, rest, ok := strings.Cut(text, " is false: "); ok {
		text = rest
	}
	const most = 300
	if len(text) > most {
		text = text[:most] + "..."
	}
	return &Error{Invalid, string(s.Kind), strings.ToValidUTF8(strings.TrimSpace(text), "\uFFFD"), ""}
}

// Stats are the numbers of the cache.
type Stats struct {
	Entries, Hits, Evicted, Compiling int
	Bytes, NativeBytes                int64
	// Oldest is how long the oldest compilation has been running or waiting.
	Oldest time.Duration
}

// Stats returns the numbers of the cache and of the cache of XGrammar.
func (c *Compiler) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Stats{Entries: len(c.cache.entries), Hits: c.cache.hits, Evicted: c.cache.evicted, Bytes: c.cache.bytes, Compiling: len(c.flights)}
	for _, f := range c.flights {
		s.Oldest = max(s.Oldest, time.Since(f.at))
	}
	if !c.closed {
		s.NativeBytes, _ = c.native.GetCacheSizeBytes()
	}
	return s
}
