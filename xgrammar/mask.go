package xgrammar

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"sync"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Mask is a set of tokens: those that may come next. One goroutine uses it at a time. The caller releases it.
type Mask struct {
	words  []int32 // a bit for each token, shared with the tensor
	size   int
	tensor *tvmffi.Tensor
}

// NewMask returns a mask that allows every token.
func (v *Vocabulary) NewMask() (*Mask, error) {
	words := make([]int32, (v.size+31)/32)
	tensor, err := tvmffi.FromSlice(words, 1, int64(len(words)))
	if err != nil {
		return nil, failed("a mask", err)
	}
	m := &Mask{words, v.size, tensor}
	m.AllowAll()
	return m, nil
}

// AllowAll allows every token.
func (m *Mask) AllowAll() {
	for i := range m.words {
		m.words[i] = -1
	}
}

// Words returns the mask's memory: bit i%32 of word i/32 is set if the token i is allowed. Kernels read it in this form.
func (m *Mask) Words() []int32 { return m.words }

// word returns a word without the bits beyond the last token.
func (m *Mask) word(i int) uint32 {
	beyond := max((i+1)*32-m.size, 0)
	return uint32(m.words[i]) << beyond >> beyond
}

// Count returns how many tokens are allowed.
func (m *Mask) Count() (n int) {
	for i := range m.words {
		n += bits.OnesCount32(m.word(i))
	}
	return n
}

// Allowed returns the allowed tokens in order.
func (m *Mask) Allowed() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for i := range m.words {
			for word := m.word(i); word != 0; word &= word - 1 {
				if !yield(int32(i*32 + bits.TrailingZeros32(word))) {
					return
				}
			}
		}
	}
}

// Apply sets the scores (logits) of forbidden tokens to minus infinity. There is one score for each token.
func (m *Mask) Apply(scores []float32) error {
	if len(scores) != m.size {
		return failed("Mask.Apply", fmt.Errorf("there are %d scores, want %d, one for each token of the vocabulary", len(scores), m.size))
	}
	never := float32(math.Inf(-1))
	for i, word := range m.words {
		if word == -1 {
			continue
		}
		row := scores[i*32 : min(i*32+32, len(scores))]
		for j := range row {
			if word>>j&1 == 0 {
				row[j] = never
			}
		}
	}
	return nil
}

// Release gives the memory back.
func (m *Mask) Release() { m.tensor.Release() }

// Batch follows several texts at once: a row for each, with a mask. Its memory is used again at each step. One goroutine
// uses it at a time. The caller releases it, and the matchers, which it does not own.
type Batch struct {
	matchers []*Matcher
	masks    []*Mask
	errs     []error
	rows     chan int // for goroutines that fill masks, nil if there is one thread
	filled   sync.WaitGroup
	released bool
}

// NewBatch returns a batch without matchers, whose masks are filled by as many threads. It is an error if a number is below 0.
func (v *Vocabulary) NewBatch(rows, threads int) (*Batch, error) {
	if rows < 0 || threads < 0 {
		return nil, failed("NewBatch", fmt.Errorf("it has %d rows and %d threads, want 0 or more of each", rows, threads))
	}
	b := &Batch{matchers: make([]*Matcher, rows), masks: make([]*Mask, rows), errs: make([]error, rows)}
	for i := range b.masks {
		var err error
		if b.masks[i], err = v.NewMask(); err != nil {
			b.masks = b.masks[:i]
			b.Release()
			return nil, err
		}
	}
	if threads > 1 {
		b.rows = make(chan int, rows)
		for range threads {
			go func() {
				for row := range b.rows {
					b.fill(row)
					b.filled.Done()
				}
			}()
		}
	}
	return b, nil
}

// Set lets a row follow a matcher. A row whose matcher is nil has a mask that allows every token.
func (b *Batch) Set(row int, m *Matcher) {
	b.matchers[row] = m
	b.masks[row].AllowAll()
}

// Mask returns the mask of a row. It belongs to the batch.
func (b *Batch) Mask(row int) *Mask { return b.masks[row] }

// Fill fills the mask of each row that has a matcher. It is an error if a text has ended: set its row to nil.
func (b *Batch) Fill() error {
	if b.released {
		return failed("Batch.Fill", errors.New("the batch was released"))
	}
	b.filled.Add(len(b.matchers))
	for row := range b.matchers {
		if b.rows != nil {
			b.rows <- row
			continue
		}
		b.fill(row)
		b.filled.Done()
	}
	b.filled.Wait()
	return b.err("Batch.Fill")
}

func (b *Batch) fill(row int) {
	if m := b.matchers[row]; m != nil {
		_, b.errs[row] = m.fill(b.masks[row])
	}
}

// Accept appends a token to the text of each row that has a matcher. ok reports for each row whether its grammar allows
// the token; a row without a matcher allows each.
func (b *Batch) Accept(tokens []int32, ok []bool) error {
	if len(tokens) != len(b.matchers) || len(ok) != len(b.matchers) {
		return failed("Batch.Accept", fmt.Errorf("it has %d tokens and %d results for %d rows", len(tokens), len(ok), len(b.matchers)))
	}
	for row, m := range b.matchers {
		if ok[row] = true; m != nil {
			ok[row], b.errs[row] = m.raw.AcceptToken(int64(tokens[row]))
		}
	}
	return b.err("Batch.Accept")
}

// err returns the error of the first row that has one, and forgets all.
func (b *Batch) err(item string) (err error) {
	for row, e := range b.errs {
		if e != nil && err == nil {
			err = failed(fmt.Sprintf("%s, row %d", item, row), e)
		}
		b.errs[row] = nil
	}
	return err
}

// Release gives the memory back, and ends the threads. A second one does nothing.
func (b *Batch) Release() {
	if b.released {
		return
	}
	if b.released = true; b.rows != nil {
		close(b.rows)
	}
	for _, m := range b.masks {
		m.Release()
	}
}
