package grammar

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"time"

	"github.com/tvmffi-go/tvmffi/generated/xgrammar"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// trialSteps is how many tokens the trial writes.
const trialSteps = 48

// try writes the beginning of a text with a new grammar, and refuses the grammar if no text
// follows it or a step takes too long. An ambiguous grammar costs more with each token, and a call of
// XGrammar cannot be stopped: the trial finds the worst ones where they block one
// compilation, not all texts that are being written.
func (c *Compiler) try(s Spec, compiled *xgrammar.CompiledGrammar) error {
	m, err := newMatcher(compiled)
	if err != nil {
		return err
	}
	defer m.Release()
	mask := make([]int32, c.words)
	tensor, err := tvmffi.FromSlice(mask, 1, int64(c.words))
	if err != nil {
		return err
	}
	defer tensor.Release()
	chance := rand.New(rand.NewPCG(1, 2))
	slow := 0
	for step := range trialSteps {
		start := time.Now()
		if _, err := m.FillNextTokenBitmask(tensor, 0, false); err != nil {
			return err
		}
		token, allowed := pick(mask, chance)
		if allowed == 0 {
			return unmatchable(s, step)
		}
		ok, err := m.AcceptToken(token, false)
		if err != nil || !ok {
			return fmt.Errorf("%s: the mask allows token %d, accept does not: %w", s.Kind, token, err)
		}
		if done, err := m.IsTerminated(); done || err != nil {
			return err
		}
		if _, err := m.FindJumpForwardString(); err != nil {
			return err
		}
		took := time.Since(start)
		if took > c.limits.Step {
			slow++
		}
		// One slow step may be the fault of a busy machine.
		if slow > 2 || took > 20*c.limits.Step {
			return &Error{TooExpensive, string(s.Kind), fmt.Sprintf("%v for token %d", took.Round(time.Millisecond), step+1), fmt.Sprintf("%v at most", c.limits.Step)}
		}
	}
	return nil
}

func unmatchable(s Spec, step int) error {
	return &Error{Unmatchable, string(s.Kind), fmt.Sprintf("no token can follow after %d tokens", step), "a constraint that a text can follow"}
}

// pick returns a token that the mask allows, and how many it allows.
func pick(mask []int32, chance *rand.Rand) (token int64, allowed int) {
	for _, w := range mask {
		allowed += bits.OnesCount32(uint32(w))
	}
	if allowed == 0 {
		return 0, 0
	}
	nth := chance.IntN(allowed)
	for i, w := range mask {
		n := bits.OnesCount32(uint32(w))
		if nth >= n {
			nth -= n
			continue
		}
		for u := uint32(w); ; u &= u - 1 {
			if nth == 0 {
				return int64(i*32 + bits.TrailingZeros32(u)), allowed
			}
			nth--
		}
	}
	return 0, 0
}
