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

// write writes an answer in a session and calls emit with whole characters. finish is "stop" if the text follows the whole
// format or one of the stops of the request came, or "length" if it is the beginning of a text that follows the format.
func (s *server) write(ctx context.Context, q *request, session Session, matcher *xgrammar.Matcher, emit func(text string) error) (finish string, used usage, err error) {
	mask, err := s.vocabulary.NewMask()
	if err != nil {
		return "", used, err
	}
	defer mask.Release()
	stops := s.vocabulary.StopTokens()
	chance, next := q.sampler(), tail{stops: q.Stop, emit: emit}
	var text []int32 // the answer
	used.Prompt = session.Len()
	limit := min(*q.MaxTokens, s.model.Context()-used.Prompt)
	defer func() {
		used.Total = used.Prompt + used.Completion
		s.tokens.Add(float64(used.Completion))
	}()
	var pending []byte // of a character that is not complete
	for used.Completion < limit {
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
		scores, err := session.Step(ctx, text[max(0, len(text)-1):]...)
		if err != nil {
			return "", used, err
		}
		if len(scores) != s.vocabulary.Size() {
			return "", used, fmt.Errorf("the model has %d scores, and its vocabulary %d tokens", len(scores), s.vocabulary.Size())
		}
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
			return "stop", used, next.end()
		}
		text = append(text, token)
		used.Completion++
		pending = append(pending, s.vocabulary.Text(token)...)
		var whole []rune
		for len(pending) > 0 && utf8.FullRune(pending) {
			r, n := utf8.DecodeRune(pending)
			whole, pending = append(whole, r), pending[n:]
		}
		if stopped, err := next.add(string(whole)); err != nil || stopped {
			return "stop", used, err
		}
	}
	return "length", used, next.end()
}

// tail is the end of a text, which may be the beginning of a stop.
type tail struct {
	stops []string
	text  string
	emit  func(text string) error
}

// add emits the text before it that is in no stop, and reports whether a stop is there. That is not emitted.
func (t *tail) add(text string) (stopped bool, err error) {
	t.text += text
	first := -1
	for _, stop := range t.stops {
		if i := strings.Index(t.text, stop); i >= 0 && (first < 0 || i < first) {
			first = i
		}
	}
	if first >= 0 {
		return true, t.emit(t.text[:first])
	}
	keep := 0
	for _, stop := range t.stops {
		for n := min(len(stop)-1, len(t.text)); n > keep; n-- {
			if strings.HasSuffix(t.text, stop[:n]) {
				keep = n
			}
		}
	}
	ready := t.text[:len(t.text)-keep]
	t.text = t.text[len(ready):]
	return false, t.emit(ready)
}

// end emits what is left.
func (t *tail) end() error {
	if t.text == "" {
		return nil
	}
	return t.emit(t.text)
}
