package engine

import (
	"fmt"
	"math/bits"
	"time"
)

// step writes one token or more of each text:
//
//  1. the masks of the next tokens, in one call;
//  2. the tokens of the drafts, each accepted, with the mask after it;
//  3. the scores of all rows, in one call of the model;
//  4. a token for each row, until one differs from the draft;
//  5. the rest of the drafts rolled back, the tokens that differ accepted;
//  6. what has to follow, written without the model.
//
// An error is of the whole batch. A text that fails ends by itself.
func (e *Engine) step(all []*Text) error {
	texts := make([]*Text, 0, len(all))
	for i, t := range all {
		if err := t.ctx.Err(); err != nil {
			t.end(err)
			continue
		}
		t.row, t.checked, t.forced, t.chosen, t.spent = i*(e.options.Draft+1), 0, false, t.chosen[:0], 0
		texts = append(texts, t)
	}
	e.batch.native = 0
	defer e.judge(all)
	if err := e.fill(texts); err != nil {
		return err
	}
	texts = alive(texts)
	if err := e.draft(texts); err != nil {
		return err
	}
	texts = alive(texts)
	if err := e.score(texts); err != nil {
		return err
	}
	for _, t := range texts {
		e.choose(t)
	}
	texts = alive(texts)
	if err := e.settle(texts); err != nil {
		return err
	}
	for _, t := range alive(texts) {
		e.write(t)
		if err := e.jump(t); err != nil {
			return err
		}
		if !t.over && t.left() <= 0 {
			t.result.Finish = Length
			t.end(nil)
		}
	}
	return nil
}

func alive(texts []*Text) []*Text {
	kept := texts[:0]
	for _, t := range texts {
		if !t.over {
			kept = append(kept, t)
		}
	}
	return kept
}

// draft asks the model what it expects, and moves each matcher behind the tokens that the
// grammar allows.
func (e *Engine) draft(texts []*Text) error {
	for _, t := range texts {
		t.draft = nil
		if n := min(e.options.Draft, t.left()-1); n > 0 {
			t.draft = e.model.Draft(t.tokens, n)
		}
		t.result.Drafted += len(t.draft)
		e.Drafted.Add(len(t.draft))
	}
	for n := range e.options.Draft {
		var next, matched []*Text
		var tokens []int64
		for _, t := range texts {
			// The mask is stricter than the matcher in a text of JSON, so it decides.
			if t.over || t.forced || t.checked != n || len(t.draft) <= n || !allows(e.batch.row(t.row+n), t.draft[n]) {
				continue
			}
			next = append(next, t)
			if t.matcher != nil {
				matched, tokens = append(matched, t), append(tokens, int64(t.draft[n]))
			}
		}
		if err := e.accept(matched, tokens); err != nil {
			return err
		}
		if len(next) == 0 {
			return nil
		}
		next = alive(next)
		open := next[:0]
		for _, t := range next {
			t.checked++
			// A draft ends where the text is forced, as it does without a draft.
			text, err := e.follows(t)
			if err != nil {
				return err
			}
			if t.forced = text != ""; !t.forced {
				open = append(open, t)
			}
		}
		if err := e.fill(open); err != nil {
			return err
		}
	}
	return nil
}

func allows(row []int32, token int32) bool { return row[token/32]>>(token%32)&1 != 0 }

// score asks the model for the scores of all rows.
func (e *Engine) score(texts []*Text) error {
	var contexts [][]int32
	var scores [][]float32
	for _, t := range texts {
		// The draft stands behind the tokens only for this call.
		whole := append(t.tokens, t.draft[:t.checked]...)
		for i := range t.rows() {
			contexts = append(contexts, whole[:len(t.tokens)+i])
			scores = append(scores, e.batch.scores[t.row+i])
		}
		t.result.Steps++
	}
	if len(texts) == 0 {
		return nil
	}
	defer e.ModelTime.Since(time.Now())
	return e.model.Score(contexts, scores)
}

// choose samples a token for each row of a text, until one differs from the draft. The chance
// depends on the seed and the place in the text only, so that the text does not depend on drafts
// and on other texts.
func (e *Engine) choose(t *Text) {
	for i := range t.rows() {
		row := e.batch.row(t.row + i)
		allowed := 0
		for _, w := range row {
			allowed += bits.OnesCount32(uint32(w))
		}
		if allowed == 0 {
			if i == 0 {
				t.end(fmt.Errorf("%w, after %d tokens", ErrDead, t.result.Output))
			}
			return
		}
		token := sample(e.batch.scores[t.row+i], row, t.request.Temperature, t.request.Seed, uint64(t.result.Output+i))
		drafted := i < t.checked && token == t.draft[i]
		t.chosen = append(t.chosen, choice{token, allowed, drafted})
		if !drafted {
			return
		}
	}
}

// settle moves each matcher behind the tokens that were chosen: those of the draft that were
// right stay accepted, the rest is rolled back, and the last choice is accepted.
func (e *Engine) settle(texts []*Text) error {
	var back, ahead []*Text
	var counts, tokens []int64
	for _, t := range texts {
		right := 0
		for _, c := range t.chosen {
			if c.drafted {
				right++
			}
		}
		t.result.Guessed += right
		e.Accepted.Add(right)
		if t.matcher == nil {
			continue
		}
		if wrong := t.checked - right; wrong > 0 {
			back, counts = append(back, t), append(counts, int64(wrong))
			e.RolledBack.Add(wrong)
		}
		if last := t.chosen[len(t.chosen)-1]; !last.drafted {
			ahead, tokens = append(ahead, t), append(tokens, int64(last.token))
		}
	}
	if err := rollback(back, counts); err != nil {
		return err
	}
	return e.accept(ahead, tokens)
}

// write sends the tokens that were chosen.
func (e *Engine) write(t *Text) {
	for _, c := range t.chosen {
		if c.token == e.model.Stop() {
			t.result.Finish = Stopped
			t.end(nil)
			return
		}
		e.Sampled.Add(1)
		t.write(Part{Token: c.token, Drafted: c.drafted, Allowed: c.allowed}, e.model.Vocabulary()[c.token])
	}
}

// follows returns the text that has to follow, "" if there is none.
func (e *Engine) follows(t *Text) (string, error) {
	if t.matcher == nil || !e.options.Jump {
		return "", nil
	}
	start := time.Now()
	defer func() { e.batch.native += time.Since(start) }()
	return t.matcher.FindJumpForwardString()
}

// jump writes the text that has to follow, which needs no model.
func (e *Engine) jump(t *Text) error {
	if t.over || t.left() <= 0 {
		return nil
	}
	text, err := e.follows(t)
	if err != nil || text == "" {
		return err
	}
	tokens := e.model.Encode(text)
	tokens = tokens[:min(len(tokens), t.left())]
	end := 0
	for _, token := range tokens {
		end += len(e.model.Vocabulary()[token])
	}
	ok, err := t.matcher.AcceptString(text[:end], false)
	if err == nil && !ok {
		t.end(fmt.Errorf("the matcher forces %q and refuses it", text[:end]))
	}
	if err != nil || !ok {
		return err
	}
	for _, token := range tokens {
		t.write(Part{Token: token, Forced: true}, e.model.Vocabulary()[token])
	}
	e.Forced.Add(len(tokens))
	return nil
}
