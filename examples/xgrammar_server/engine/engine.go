// Package engine writes texts with a language model, many at the same time. Each step scores the
// next tokens of all texts in one call of the model, masks those that a grammar forbids with
// one call of XGrammar, and takes one token or more for each text.
package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/metrics"
	"github.com/tvmffi-go/tvmffi/generated/xgrammar"
)

// Model is a language model. The engine calls Score and Draft from one goroutine, Encode from
// several.
type Model interface {
	// Vocabulary returns the bytes of each token, in the order of their numbers; "" is a
	// token that is in no text. The texts of others follow from it, so it has a token for
	// each byte.
	Vocabulary() []string
	// Stop returns the token that ends a text.
	Stop() int32
	// Encode splits a text into tokens.
	Encode(text string) []int32
	// Score writes the score (logit) of each next token: scores[i][t] is that of token t
	// after texts[i].
	Score(texts [][]int32, scores [][]float32) error
	// Draft proposes up to n tokens that may follow a text. A draft costs nothing but
	// time if it is wrong; a model without a draft returns nil.
	Draft(text []int32, n int) []int32
}

// Options are the sizes of an Engine.
type Options struct {
	Batch   int           // texts that are written at the same time
	Queue   int           // texts that wait
	Draft   int           // tokens that the model may propose in one step; 0 for none
	Threads int           // threads of XGrammar for the masks of one step
	Jump    bool          // write forced text without the model
	Step    time.Duration // a text whose masks take longer is ended
}

// DefaultOptions returns the options of a server on a small machine.
func DefaultOptions() Options {
	return Options{Batch: 32, Queue: 256, Draft: 3, Threads: 1, Jump: true, Step: 50 * time.Millisecond}
}

// Request is a text to write.
type Request struct {
	Prompt      string
	Matcher     *xgrammar.GrammarMatcher // nil for a text without a constraint
	JSON        bool                     // the text is JSON: control characters are not allowed in it
	MaxTokens   int                      // with those that are forced
	Temperature float64                  // 0 takes the best token
	Seed        uint64                   // the same seed writes the same text
}

// Engine writes texts. Close ends it.
type Engine struct {
	model   Model
	options Options
	size    int // of the vocabulary
	batch   *batch
	join    chan *Text
	stop    chan struct{} // is closed to end the loop
	ended   chan struct{} // is closed when the loop has ended
	once    sync.Once
	beat    atomic.Int64 // when the loop began its step, in Unix nanoseconds; 0 while it waits

	// What the engine did so far. Sampled tokens came from the model, Forced ones from the
	// grammar; Drafted ones were proposed, and Accepted of them were right.
	Sampled, Forced, Drafted, Accepted, Masks, Steps, RolledBack metrics.Counter
	FillTime, ModelTime, StepTime                                metrics.Histogram
	active, waiting                                              atomic.Int64
}

// Errors of Start and of Text.Wait.
var (
	ErrFull    = errors.New("too many texts wait")
	ErrStopped = errors.New("the server stops")
	ErrSlow    = errors.New("the mask of a token took too long")
	ErrDead    = errors.New("the grammar allows no token here")
)

// New starts an engine.
func New(model Model, options Options) (*Engine, error) {
	if options.Batch < 1 || options.Queue < 0 || options.Draft < 0 || options.Threads < 1 {
		return nil, fmt.Errorf("engine: a batch of %d, a queue of %d, a draft of %d and %d threads; expected 1, 0, 0 and 1 at least",
			options.Batch, options.Queue, options.Draft, options.Threads)
	}
	b, err := newBatch(model, options)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		model: model, options: options, size: len(model.Vocabulary()), batch: b,
		join: make(chan *Text, options.Queue), stop: make(chan struct{}), ended: make(chan struct{}),
	}
	go e.loop()
	return e, nil
}

// Close ends all texts with ErrStopped, waits for the step that runs, and releases everything.
func (e *Engine) Close() {
	e.once.Do(func() { close(e.stop) })
	<-e.ended
}

// Start begins a text. It takes over the matcher, whatever it returns. The text ends early
// when ctx does. The caller reads Text.Parts until it is closed, or leaves it: the engine
// never waits for a reader.
func (e *Engine) Start(ctx context.Context, r Request) (*Text, error) {
	t := newText(ctx, e, r)
	select {
	case <-e.stop:
		t.release()
		return nil, ErrStopped
	default:
	}
	e.waiting.Add(1)
	select {
	case e.join <- t:
		// The loop may have ended between the two: nobody would take t then.
		select {
		case <-e.ended:
			e.drain()
		default:
		}
		return t, nil
	default:
		e.waiting.Add(-1)
		t.release()
		return nil, ErrFull
	}
}

// drain ends the texts that wait.
func (e *Engine) drain() {
	for {
		select {
		case t := <-e.join:
			e.waiting.Add(-1)
			t.end(ErrStopped)
		default:
			return
		}
	}
}

// Load returns how many texts are being written, and how many wait.
func (e *Engine) Load() (active, waiting int) {
	return int(e.active.Load()), int(e.waiting.Load())
}

// Check reports what is wrong: the loop has ended, or a step takes longer than limit.
func (e *Engine) Check(limit time.Duration) error {
	select {
	case <-e.ended:
		return ErrStopped
	default:
	}
	if began := e.beat.Load(); began != 0 {
		if d := time.Since(time.Unix(0, began)); d > limit {
			return fmt.Errorf("a step has been running for %v; %v at most", d.Round(time.Second), limit)
		}
	}
	return nil
}

// loop owns the batch and all texts in it.
func (e *Engine) loop() {
	var texts []*Text
	defer func() {
		for _, t := range texts {
			t.end(ErrStopped)
		}
		e.active.Store(0)
		e.batch.release()
		close(e.ended)
		e.drain()
	}()
	for {
		if len(texts) == 0 {
			select {
			case t := <-e.join:
				e.waiting.Add(-1)
				texts = append(texts, t)
			case <-e.stop:
				return
			}
		}
		for more := true; more && len(texts) < e.options.Batch; {
			select {
			case t := <-e.join:
				e.waiting.Add(-1)
				texts = append(texts, t)
			default:
				more = false
			}
		}
		select {
		case <-e.stop:
			return
		default:
		}
		e.active.Store(int64(len(texts)))
		start := time.Now()
		e.beat.Store(start.UnixNano())
		err := e.step(texts)
		e.beat.Store(0)
		e.Steps.Add(1)
		e.StepTime.Since(start)
		if err != nil { // of the model or of XGrammar, not of one text
			for _, t := range texts {
				t.end(fmt.Errorf("a step of the engine: %w", err))
			}
		}
		kept := texts[:0]
		for _, t := range texts {
			if !t.over {
				kept = append(kept, t)
			}
		}
		clear(texts[len(kept):])
		texts = kept
		e.active.Store(int64(len(texts)))
	}
}
