package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/xgrammar"
)

// write continues the prompt and calls emit with whole characters. finish is "stop" if the text follows the whole
// format, or "length" if it is the beginning of one that does.
func (s *server) write(ctx context.Context, q *request, matcher *xgrammar.Matcher, emit func(text string) error) (finish string, used usage, err error) {
	mask, err := s.vocabulary.NewMask()
	if err != nil {
		return "", used, err
	}
	defer mask.Release()
	chance := rand.New(rand.NewPCG(rand.Uint64(), 0))
	if q.Seed != nil {
		chance = rand.New(rand.NewPCG(*q.Seed, 0))
	}
	text, scores := s.model.Encode(q.prompt()), make([]float32, s.vocabulary.Size())
	used.Prompt = len(text)
	defer func() {
		used.Total = used.Prompt + used.Completion
		s.tokens.Add(float64(used.Completion))
	}()
	var pending []byte // of a character that is not complete
	for used.Completion < *q.MaxTokens {
		if ctx.Err() != nil {
			return "", used, context.Cause(ctx)
		}
		if matcher != nil {
			if _, err := matcher.Fill(mask); err != nil {
				return "", used, err
			}
			if len(q.Tools) == 0 {
				for i := range s.plain { // JSON has no control characters, which XGrammar allows in strings with a length
					mask.Words()[i] &= s.plain[i]
				}
			}
		}
		if err := s.model.Score(ctx, text, scores); err != nil {
			return "", used, err
		}
		if err := mask.Apply(scores); err != nil {
			return "", used, err
		}
		token := sample(scores, *q.Temperature, chance)
		if math.IsInf(float64(scores[token]), -1) {
			return "", used, &problem{http.StatusUnprocessableEntity, "no text follows the format: it allows no token here", "invalid_request_error", nil, "unmatchable"}
		}
		if matcher != nil {
			if accepted, err := matcher.Accept(token); err != nil || !accepted {
				return "", used, errors.Join(err, fmt.Errorf("token %d is in the mask and was not accepted", token))
			}
		}
		if token == s.model.Stop() {
			return "stop", used, nil
		}
		text = append(text, token)
		used.Completion++
		pending = append(pending, s.vocabulary.Text(token)...)
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

// sample returns the token with the best score if the temperature is 0, otherwise one by chance.
func sample(scores []float32, temperature float64, chance *rand.Rand) (token int32) {
	for t, score := range scores {
		if score > scores[token] {
			token = int32(t)
		}
	}
	top := float64(scores[token])
	if temperature == 0 || math.IsInf(top, 0) {
		return token
	}
	sum := 0.0
	for t, score := range scores { // each token takes the place of those before it with the probability that is right
		weight := math.Exp((float64(score) - top) / temperature)
		sum += weight
		if chance.Float64()*sum < weight {
			token = int32(t)
		}
	}
	return token
}
