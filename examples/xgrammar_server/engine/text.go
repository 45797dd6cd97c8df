package engine

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/generated/xgrammar"
)

// Part is a token of a text.
type Part struct {
	Token int32
	// Text is what the token adds. It is valid UTF-8: bytes of a character that is not
	// complete come with the token that completes it.
	Text string
	// Forced is set if the grammar allowed nothing else, so that the model was not asked.
	Forced bool
	// Drafted is set if the model proposed the token before it was asked for it.
	Drafted bool
	// Allowed is how many tokens the grammar allowed here; 0 if Forced.
	Allowed int
}

// Finish is why a text ended.
type Finish string

// The values of Finish.
const (
	Stopped Finish = "stop"   // the model chose to end the text
	Length  Finish = "length" // MaxTokens were written
)

// Result is the end of a text.
type Result struct {
	Finish Finish
	// Complete is set if the text follows the whole grammar. A text that ended by
	// Stopped always does; one without a grammar is complete then.
	Complete                                 bool
	Prompt, Output, Forced, Drafted, Guessed int // tokens; Guessed of the Drafted ones were right
	Steps                                    int // of the model
}

// Text is a text that is being written.
type Text struct {
	// Parts has each token once. It is closed at the end of the text. It has room for
	// all of them, so that a slow reader does not stop the others.
	Parts <-chan Part

	parts   chan Part
	ctx     context.Context
	request Request
	matcher *xgrammar.GrammarMatcher // nil if there is none
	tokens  []int32                  // of the prompt and the output
	pending []byte                   // the beginning of a character
	over    bool
	slow    int // in how many steps in a row XGrammar took too long
	result  Result
	err     error

	// During a step:
	row     int     // the first one in the batch
	draft   []int32 // what the model proposes
	checked int     // how many of draft the grammar allows; the matcher is behind them
	forced  bool    // what comes after them is forced
	chosen  []choice
	spent   time.Duration // in XGrammar, if the batch is suspect
}

// rows returns how many tokens may be sampled: one after each token of the draft, and the first
// one. Where the text is forced, there is nothing to sample.
func (t *Text) rows() int {
	if t.forced {
		return t.checked
	}
	return t.checked + 1
}

// choice is what was sampled in one row.
type choice struct {
	token   int32
	allowed int
	drafted bool
}

func newText(ctx context.Context, e *Engine, r Request) *Text {
	parts := make(chan Part, r.MaxTokens)
	t := &Text{Parts: parts, parts: parts, ctx: ctx, request: r, matcher: r.Matcher, tokens: e.model.Encode(r.Prompt)}
	t.result.Prompt = len(t.tokens)
	return t
}

// Wait returns how the text ended. It blocks until then. The error is that of the context, or
// ErrStopped, ErrSlow, ErrDead, or one of the model or of XGrammar.
func (t *Text) Wait() (Result, error) {
	for range t.parts { // until it is closed
	}
	return t.result, t.err
}

// release releases the matcher.
func (t *Text) release() {
	if t.matcher != nil {
		t.matcher.Release()
		t.matcher = nil
	}
}

// end ends the text, with an error or nil. Only the loop calls it, or who has taken the text
// out of the queue. A second call does nothing.
func (t *Text) end(err error) {
	if t.over {
		return
	}
	t.over, t.err = true, err
	t.result.Complete = t.matcher == nil && t.result.Finish == Stopped
	if t.matcher != nil && err == nil {
		t.result.Complete, t.err = t.matcher.IsCompleted()
	}
	t.release()
	close(t.parts)
}

// left returns how many tokens may still be written.
func (t *Text) left() int { return t.request.MaxTokens - t.result.Output }

// write appends a token to the text.
func (t *Text) write(p Part, piece string) {
	t.tokens = append(t.tokens, p.Token)
	t.result.Output++
	if p.Forced {
		t.result.Forced++
	}
	p.Text = t.utf8(piece)
	t.parts <- p
}

// utf8 appends bytes and returns the characters that are complete. What cannot become a
// character becomes U+FFFD, as it may in a text without a grammar.
func (t *Text) utf8(piece string) string {
	t.pending = append(t.pending, piece...)
	var out strings.Builder
	for len(t.pending) > 0 && utf8.FullRune(t.pending) {
		r, n := utf8.DecodeRune(t.pending)
		out.WriteRune(r)
		t.pending = t.pending[n:]
	}
	return out.String()
}
