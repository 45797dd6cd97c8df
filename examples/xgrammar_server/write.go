package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/generated/xgrammar"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// masks are sets of tokens, with a bit for each.
type masks struct {
	all  []int32 // that texts may have
	json []int32 // without control characters, which JSON forbids and XGrammar allows in strings with a length
}

func newMasks(vocabulary []string) masks {
	m := masks{make([]int32, (len(vocabulary)+31)/32), make([]int32, (len(vocabulary)+31)/32)}
	for i, token := range vocabulary {
		if token != "" {
			m.all[i/32] |= 1 << (i % 32)
		}
		if !strings.ContainsFunc(token, func(r rune) bool { return r < ' ' }) {
			m.json[i/32] |= 1 << (i % 32)
		}
	}
	return m
}

// writing is one text.
type writing struct {
	model       Model
	masks       masks
	matcher     *xgrammar.GrammarMatcher // nil for a text without a constraint
	json        bool
	most        int // tokens
	temperature float64
	chance      *rand.Rand
}

// usage counts tokens.
type usage struct {
	Prompt int `json:"prompt_tokens"`
	Output int `json:"output_tokens"`
}

// run continues the prompt and calls emit with whole characters. finish is "stop" if the text follows the whole
// constraint, or "length" if it is the beginning of one that does.
func (w *writing) run(ctx context.Context, prompt string, emit func(text string) error) (finish string, used usage, err error) {
	text := w.model.Encode(prompt)
	used.Prompt = len(text)
	scores, mask := make([]float32, len(w.model.Vocabulary())), make([]int32, len(w.masks.all))
	tensor, err := tvmffi.FromSlice(mask, 1, int64(len(mask)))
	if err != nil {
		return "", used, err
	}
	defer tensor.Release()
	var pending []byte // of a character that is not complete
	for used.Output < w.most {
		if ctx.Err() != nil {
			return "", used, context.Cause(ctx)
		}
		if err := w.fill(mask, tensor); err != nil {
			return "", used, err
		}
		if err := w.model.Score(ctx, text, scores); err != nil {
			return "", used, err
		}
		token, found := w.sample(scores, mask)
		if !found {
			return "", used, &problem{Code: "unmatchable", Message: "no text follows the constraint: the grammar allows no token here"}
		}
		if w.matcher != nil {
			if accepted, err := w.matcher.AcceptToken(int64(token)); err != nil || !accepted {
				return "", used, errors.Join(err, fmt.Errorf("token %d is in the mask and was not accepted", token))
			}
		}
		if token == w.model.Stop() {
			return "stop", used, nil
		}
		text = append(text, token)
		used.Output++
		pending = append(pending, w.model.Vocabulary()[token]...)
		var whole []rune
		for len(pending) > 0 && utf8.FullRune(pending) {
			r, n := utf8.DecodeRune(pending)
			whole, pending = append(whole, r), pending[n:]
		}
		if err := emit(string(whole)); err != nil {
			return "", used, err
		}
	}
	return "length", used, nil
}

// fill writes the tokens that may come next into the mask, which the tensor shares.
func (w *writing) fill(mask []int32, tensor *tvmffi.Tensor) error {
	if w.matcher == nil {
		copy(mask, w.masks.all)
		return nil
	}
	if _, err := w.matcher.FillNextTokenBitmask(tensor); err != nil {
		return err
	}
	if w.json {
		for i := range mask {
			mask[i] &= w.masks.json[i]
		}
	}
	return nil
}

// sample returns the best token that the mask allows if the temperature is 0, otherwise one by chance.
func (w *writing) sample(scores []float32, mask []int32) (token int32, found bool) {
	top := math.Inf(-1)
	var allowed []int32
	for t, score := range scores {
		if mask[t/32]>>(t%32)&1 == 0 {
			continue
		}
		allowed = append(allowed, int32(t))
		if s := float64(score); s > top || len(allowed) == 1 {
			token, top = int32(t), s
		}
	}
	if w.temperature == 0 || math.IsInf(top, 0) {
		return token, len(allowed) > 0
	}
	weight := func(t int32) float64 { return math.Exp((float64(scores[t]) - top) / w.temperature) }
	sum := 0.0
	for _, t := range allowed {
		sum += weight(t)
	}
	rest := w.chance.Float64() * sum
	for _, t := range allowed {
		if rest -= weight(t); rest < 0 {
			return t, true
		}
	}
	return token, true
}
