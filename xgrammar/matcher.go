package xgrammar

import (
	"errors"
	"fmt"

	bind "github.com/tvmffi-go/tvmffi/generated/xgrammar"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Grammar is a compiled grammar. Several goroutines may use it at once. The caller releases it; its matchers live on.
type Grammar struct {
	raw  *bind.CompiledGrammar
	size int // of the vocabulary
}

// MatcherOptions are what a matcher has beside the grammar. The zero value has the defaults.
type MatcherOptions struct {
	StopTokens   []int32 // instead of the vocabulary's
	EndsByItself bool    // the text ends with the grammar, without a stop token
}

// NewMatcher returns a matcher at the start of a text.
func (g *Grammar) NewMatcher(o MatcherOptions) (*Matcher, error) {
	options := []bind.GrammarMatcherOption{bind.TerminateWithoutStopToken(o.EndsByItself)}
	if o.StopTokens != nil {
		options = append(options, bind.OverrideStopTokens(tvmffi.Of(convert[int32, int64](o.StopTokens)...)))
	}
	raw, err := bind.NewGrammarMatcher(g.raw, options...)
	return &Matcher{raw, g.size}, failed("a matcher", err)
}

// Bytes returns about how much memory the grammar takes.
func (g *Grammar) Bytes() (int64, error) { return wrap(g.raw.MemorySizeBytes())("Grammar.Bytes") }

// Release gives the memory back, unless a matcher or the cache of a compiler uses it.
func (g *Grammar) Release() { g.raw.Release() }

// Matcher follows one text under a grammar. One goroutine uses it at a time. The caller releases it.
type Matcher struct {
	raw  *bind.GrammarMatcher
	size int // of the vocabulary
}

// Fill writes the tokens that may come next into the mask, and reports whether any is forbidden. It is an error if the
// text has ended, or if the mask is of a vocabulary with another size.
func (m *Matcher) Fill(mask *Mask) (restricts bool, err error) {
	return wrap(m.fill(mask))("Matcher.Fill")
}

func (m *Matcher) fill(mask *Mask) (restricts bool, err error) {
	if mask == nil {
		return false, errors.New("the mask is nil: Vocabulary.NewMask makes one")
	}
	if mask.size != m.size {
		return false, fmt.Errorf("the mask is of a vocabulary with %d tokens, want %d: make it by NewMask of the vocabulary of the compiler", mask.size, m.size)
	}
	restricts, err = m.raw.FillNextTokenBitmask(mask.tensor)
	if err != nil {
		if ended, _ := m.raw.IsTerminated(); ended {
			err = errors.New("the text has ended, so no token may come: ask Ended after each Accept; Reset starts a new text")
		}
	}
	return restricts, err
}

// Accept appends a token to the text, and reports whether the grammar allows it. If not, the text stays as it was.
// No grammar allows a token that is not in the vocabulary, or any token after the end; XGrammar warns of them on standard error.
func (m *Matcher) Accept(token int32) (ok bool, err error) {
	return wrap(m.raw.AcceptToken(int64(token)))("Matcher.Accept")
}

// AcceptText appends characters to the text, and reports whether the grammar allows them.
func (m *Matcher) AcceptText(text string) (ok bool, err error) {
	return wrap(m.raw.AcceptString(text))("Matcher.AcceptText")
}

// Next returns the text that must follow, "" if there is a choice. A model need not be asked for it.
func (m *Matcher) Next() (string, error) { return wrap(m.raw.FindJumpForwardString())("Matcher.Next") }

// Rollback removes the last tokens from the text. A negative number is an error.
func (m *Matcher) Rollback(tokens int) error {
	if err := fits("the number of tokens", tokens); err != nil {
		return failed("Matcher.Rollback", err)
	}
	return failed("Matcher.Rollback", m.raw.Rollback(int64(tokens)))
}

// Reset goes back to the start of the text.
func (m *Matcher) Reset() error { return failed("Matcher.Reset", m.raw.Reset()) }

// Fork returns a second matcher at the same place.
func (m *Matcher) Fork() (*Matcher, error) {
	raw, err := m.raw.Fork()
	return &Matcher{raw, m.size}, failed("Matcher.Fork", err)
}

// Ended reports whether the text has ended, by a stop token or by itself.
func (m *Matcher) Ended() (bool, error) { return wrap(m.raw.IsTerminated())("Matcher.Ended") }

// Complete reports whether the text may end here.
func (m *Matcher) Complete() (bool, error) { return wrap(m.raw.IsCompleted())("Matcher.Complete") }

// Captures returns the parts of the text to which the grammar gives names, as names and texts.
func (m *Matcher) Captures() ([]tvmffi.Tuple2[string, []byte], error) {
	return wrap(values(m.raw.GetCaptures()))("Matcher.Captures")
}

// Raw returns the matcher of the bindings, which has more methods. It belongs to m.
func (m *Matcher) Raw() *bind.GrammarMatcher { return m.raw }

// Release gives the memory back.
func (m *Matcher) Release() { m.raw.Release() }
