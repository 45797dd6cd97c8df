package engine

import (
	"fmt"
	"time"

	"github.com/tvmffi-go/tvmffi/generated/xgrammar"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// batch is the memory of a step: for each text a row for the next token, and one after each
// token of a draft. Only the loop uses it.
type batch struct {
	words  int
	bits   []int32
	tensor *tvmffi.Tensor // over bits
	filler *xgrammar.BatchGrammarMatcher
	scores [][]float32

	any  []int32 // the mask of a text without a grammar
	json []int32 // the tokens that JSON may have anywhere

	// native is the time in XGrammar during this step. After a slow step, suspect is set: in
	// the next one there is a call for each text, to find the slow one.
	native  time.Duration
	suspect bool
}

func newBatch(model Model, o Options) (*batch, error) {
	vocabulary := model.Vocabulary()
	rows := o.Batch * (o.Draft + 1)
	b := &batch{words: (len(vocabulary) + 31) / 32, scores: make([][]float32, rows)}
	b.bits = make([]int32, rows*b.words)
	for i := range b.scores {
		b.scores[i] = make([]float32, len(vocabulary))
	}
	b.any, b.json = make([]int32, b.words), make([]int32, b.words)
	for i, token := range vocabulary {
		if token != "" {
			b.any[i/32] |= 1 << (i % 32)
		}
		// XGrammar allows most control characters in a string with a length, JSON allows
		// none. Between values, JSON does without them.
		if !hasControl(token) {
			b.json[i/32] |= 1 << (i % 32)
		}
	}
	var err error
	if b.filler, err = xgrammar.NewBatchGrammarMatcher(int64(o.Threads)); err != nil {
		return nil, err
	}
	if b.tensor, err = tvmffi.FromSlice(b.bits, int64(rows), int64(b.words)); err != nil {
		b.filler.Release()
		return nil, err
	}
	return b, nil
}

func hasControl(token string) bool {
	for i := range len(token) {
		if token[i] < 0x20 {
			return true
		}
	}
	return false
}

func (b *batch) release() {
	b.filler.Release()
	b.tensor.Release()
}

func (b *batch) row(i int) []int32 { return b.bits[i*b.words : (i+1)*b.words] }

// fill writes the masks of some texts, each into the row that is after its draft so far. A
// text whose mask takes too long ends.
func (e *Engine) fill(texts []*Text) error {
	b := e.batch
	var matchers []xgrammar.GrammarMatcherRef
	var rows []int64
	for _, t := range texts {
		if t.matcher == nil {
			copy(b.row(t.row+t.checked), b.any)
			continue
		}
		matchers, rows = append(matchers, t.matcher), append(rows, int64(t.row+t.checked))
	}
	if len(matchers) == 0 {
		return nil
	}
	start := time.Now()
	if err := e.masks(texts, matchers, rows); err != nil {
		return err
	}
	e.FillTime.Since(start)
	b.native += time.Since(start)
	e.Masks.Add(len(matchers))
	for _, t := range texts {
		if t.matcher != nil && t.request.JSON {
			row := b.row(t.row + t.checked)
			for i := range row {
				row[i] &= b.json[i]
			}
		}
	}
	return nil
}

func (e *Engine) masks(texts []*Text, matchers []xgrammar.GrammarMatcherRef, rows []int64) error {
	b := e.batch
	if !b.suspect {
		return b.filler.BatchFillNextTokenBitmask(tvmffi.Of(matchers...), b.tensor, tvmffi.Of(rows...), false)
	}
	for _, t := range texts {
		if t.matcher == nil {
			continue
		}
		start := time.Now()
		if _, err := t.matcher.FillNextTokenBitmask(b.tensor, int64(t.row+t.checked), false); err != nil {
			return err
		}
		t.spent += time.Since(start)
	}
	return nil
}

// judge ends the texts for which XGrammar took too long in three steps in a row: once may be the
// fault of a busy machine. Only a suspect batch knows the time of each text.
func (e *Engine) judge(texts []*Text) {
	if e.batch.suspect {
		for _, t := range texts {
			if t.spent <= e.options.Step {
				t.slow = 0
			} else if t.slow++; t.slow > 2 {
				t.end(ErrSlow)
			}
		}
	}
	e.batch.suspect = e.batch.native > e.options.Step
}

// accept moves the matchers of texts behind one token each, and ends the texts that do not
// allow it.
func (e *Engine) accept(texts []*Text, tokens []int64) error {
	if len(texts) == 0 {
		return nil
	}
	start := time.Now()
	ok, err := e.accepted(texts, tokens)
	e.batch.native += time.Since(start)
	for i, yes := range ok {
		if !yes {
			texts[i].end(fmt.Errorf("the mask allows token %d, the matcher does not", tokens[i]))
		}
	}
	return err
}

func (e *Engine) accepted(texts []*Text, tokens []int64) ([]bool, error) {
	list := make([]bool, len(texts))
	if e.batch.suspect {
		for i, t := range texts {
			start := time.Now()
			ok, err := t.matcher.AcceptToken(tokens[i], false)
			if err != nil {
				return nil, err
			}
			list[i] = ok
			t.spent += time.Since(start)
		}
		return list, nil
	}
	result, err := xgrammar.BatchGrammarMatcherAcceptToken(tvmffi.Of(matchersOf(texts)...), tvmffi.Of(tokens...), false)
	if err != nil {
		return nil, err
	}
	defer result.Release()
	for i, ok := range result.All() {
		list[i] = ok == 1
	}
	return list, nil
}

// rollback takes the last tokens of each text back.
func rollback(texts []*Text, counts []int64) error {
	if len(texts) == 0 {
		return nil
	}
	return xgrammar.BatchGrammarMatcherRollback(tvmffi.Of(matchersOf(texts)...), tvmffi.Of(counts...))
}

func matchersOf(texts []*Text) []xgrammar.GrammarMatcherRef {
	list := make([]xgrammar.GrammarMatcherRef, len(texts))
	for i, t := range texts {
		list[i] = t.matcher
	}
	return list
}
