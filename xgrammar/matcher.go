package xgrammar

import (
	bind "github.com/tvmffi-go/tvmffi/generated/xgrammar"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Grammar is a compiled grammar. Several goroutines may use it at once. The caller releases it; its matchers live on.
type Grammar struct{ raw *bind.CompiledGrammar }

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
	return &Matcher{raw}, failed("a matcher", err)
}

// Bytes returns about how much memory the grammar takes.
func (g *Grammar) Bytes() (int64, error) { return g.raw.MemorySizeBytes() }

// Release gives the memory back, unless a matcher or the cache of a compiler uses it.
func (g *Grammar) Release() { g.raw.Release() }

// Matcher follows one text under a grammar. One goroutine uses it at a time. The caller releases it.
type Matcher struct{ raw *bind.GrammarMatcher }

// Fill writes the tokens that may come next into the mask, and reports whether any is forbidden. It is an error if the
// text has ended.
func (m *Matcher) Fill(mask *Mask) (restricts bool, err error) {
	restricts, err = m.raw.FillNextTokenBitmask(mask.tensor)
	return restricts, failed("Matcher.Fill", err)
}

// Accept appends a token to the text, and reports whether the grammar allows it. If not, the text stays as it was.
func (m *Matcher) Accept(token int32) (ok bool, err error) {
	ok, err = m.raw.AcceptToken(int64(token))
	return ok, failed("Matcher.Accept", err)
}

// AcceptText appends characters to the text, and reports whether the grammar allows them.
func (m *Matcher) AcceptText(text string) (ok bool, err error) {
	ok, err = m.raw.AcceptString(text)
	return ok, failed("Matcher.AcceptText", err)
}

// Next returns the text that must follow, "" if there is a choice. A model need not be asked for it.
func (m *Matcher) Next() (string, error) { return m.raw.FindJumpForwardString() }

// Rollback removes the last tokens from the text.
func (m *Matcher) Rollback(tokens int) error {
	return failed("Matcher.Rollback", m.raw.Rollback(int64(tokens)))
}

// Reset goes back to the start of the text.
func (m *Matcher) Reset() error { return m.raw.Reset() }

// Fork returns a second matcher at the same place.
func (m *Matcher) Fork() (*Matcher, error) {
	raw, err := m.raw.Fork()
	return &Matcher{raw}, failed("Matcher.Fork", err)
}

// Ended reports whether the text has ended, by a stop token or by itself.
func (m *Matcher) Ended() (bool, error) { return m.raw.IsTerminated() }

// Complete reports whether the text may end here.
func (m *Matcher) Complete() (bool, error) { return m.raw.IsCompleted() }

// Captures returns the parts of the text to which the grammar gives names, as names and texts.
func (m *Matcher) Captures() ([]tvmffi.Tuple2[string, []byte], error) {
	captures, err := values(m.raw.GetCaptures())
	return captures, failed("Matcher.Captures", err)
}

// Raw returns the matcher of the bindings, which has more methods. It belongs to m.
func (m *Matcher) Raw() *bind.GrammarMatcher { return m.raw }

// Release gives the memory back.
func (m *Matcher) Release() { m.raw.Release() }
