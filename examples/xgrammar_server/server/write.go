package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/xgrammar"
)

// write writes a choice of an answer in a session and calls emit with whole characters. finish is "stop" if the text follows the whole
// format or one of the stops of the request came, "tool_calls" if it also has calls, or "length" if it is the beginning of a text that
// follows the format.
func (s *server) write(ctx context.Context, q *request, choice int, session Session, matcher *xgrammar.Matcher, emit func([]part) error) (finish string, used usage, err error) {
	mask, err := s.vocabulary.NewMask()
	if err != nil {
		return "", used, err
	}
	defer mask.Release()
	stops := s.vocabulary.StopTokens()
	chance, split, worth := q.sampler(choice), q.splitter(), newWorth(q, s.vocabulary)
	end := func(finish string) (string, usage, error) {
		parts, finish := split.rest(finish)
		return finish, used, emit(worth.of(parts))
	}
	var text []int32 // the answer
	used.Prompt = session.Len()
	limit := min(*q.MaxTokens, s.model.Context()-used.Prompt)
	turn := newTurn(s.line, session)
	defer turn.leave()
	turn.next()
	defer func() { s.tokens.Add(float64(used.Completion)) }()
	var pending []byte // of a character that is not complete
	for used.Completion < limit {
		if matcher != nil { // while the model takes its step
			if _, err := matcher.Fill(mask); err != nil {
				return "", used, err
			}
			if len(q.Tools) == 0 {
				for i := range s.plain { // JSON has no control characters, which XGrammar allows in strings with a length
					mask.Words()[i] &= s.plain[i]
				}
			}
		}
		scores, err := turn.scores(ctx)
		if err != nil {
			return "", used, err
		}
		if len(scores) != s.vocabulary.Size() {
			return "", used, fmt.Errorf("the model has %d scores, and its vocabulary %d tokens", len(scores), s.vocabulary.Size())
		}
		worth.keep(scores)
		chance.adjust(scores, text)
		if err := mask.Apply(scores); err != nil {
			return "", used, err
		}
		token := chance.sample(scores)
		if math.IsInf(float64(scores[token]), -1) {
			return "", used, &problem{http.StatusUnprocessableEntity, "no text follows the format: it allows no token here", "invalid_request_error", nil, "unmatchable"}
		}
		if matcher != nil {
			if accepted, err := matcher.Accept(token); err != nil || !accepted {
				return "", used, errors.Join(err, fmt.Errorf("token %d is in the mask and was not accepted", token))
			}
		}
		if slices.Contains(stops, token) {
			turn.leave()
			return end("stop")
		}
		text = append(text, token)
		used.Completion++
		pending = append(pending, s.vocabulary.Text(token)...)
		var whole []rune
		for len(pending) > 0 && utf8.FullRune(pending) {
			r, n := utf8.DecodeRune(pending)
			whole, pending = append(whole, r), pending[n:]
		}
		parts, stopped := split.add(string(whole))
		if !stopped && used.Completion < limit {
			turn.next(token)
		} else {
			turn.leave()
		}
		worth.add(token, len(string(whole))) // while the model takes the next step
		if err := emit(worth.of(parts)); err != nil {
			return "", used, err
		}
		if stopped {
			return end("stop")
		}
	}
	return end("length")
}

// tail is the end of a text, which may be the beginning of a stop.
type tail struct {
	stops []string
	text  string
}

// add returns the text before it that is in no stop, and reports whether a stop is there. That is not part of the text.
func (t *tail) add(text string) (part string, stopped bool) {
	t.text += text
	first := -1
	for _, stop := range t.stops {
		if i := strings.Index(t.text, stop); i >= 0 && (first < 0 || i < first) {
			first = i
		}
	}
	if first >= 0 {
		return t.text[:first], true
	}
	keep := 0
	for _, stop := range t.stops {
		keep = max(keep, held(t.text, stop))
	}
	part = t.text[:len(t.text)-keep]
	t.text = t.text[len(part):]
	return part, false
}
