package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
)

// answers asks for choices, as a whole and as a stream, which must have the same, and returns them.
func answers(t *testing.T, url, members string) answer {
	t.Helper()
	status, text, err := post(t.Context(), url, members)
	var whole answer
	if err != nil || status != http.StatusOK || json.Unmarshal([]byte(text), &whole) != nil {
		t.Fatalf("%s: %d %s %v", members, status, text, err)
	}
	status, events, err := post(t.Context(), url, members+`, "stream": true`)
	if err != nil || status != http.StatusOK || !strings.HasSuffix(events, "data: [DONE]\n\n") {
		t.Fatalf("%s: %d %s %v", members, status, events, err)
	}
	streamed := make([]choice, len(whole.Choices))
	for line := range strings.SplitSeq(strings.TrimSuffix(events, "data: [DONE]\n\n"), "\n\n") {
		var a answer
		if line != "" && json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &a) != nil {
			t.Fatalf("%q", line)
		}
		for _, part := range a.Choices {
			c := &streamed[part.Index]
			if c.Message == nil {
				c.Message, c.Index = &message{Role: part.Delta.Role, Content: new(content(""))}, part.Index
			}
			if c.Finish != nil {
				t.Errorf("%s: %q comes after the end of the choice", members, line)
			}
			if c.Finish = part.Finish; part.Delta.Content != nil {
				*c.Message.Content += *part.Delta.Content
			}
			if part.LogProbs != nil {
				if c.LogProbs == nil {
					c.LogProbs = &logProbs{}
				}
				c.LogProbs.Content = append(c.LogProbs.Content, part.LogProbs.Content...)
			}
		}
	}
	if a, b := asText(t, whole.Choices), asText(t, streamed); a != b {
		t.Errorf("%s: the stream has\n%s, the answer\n%s", members, b, a)
	}
	return whole
}

func asText(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestChoices: the first of several choices is the one that a request for one has, each is the same with the same seed, and they
// differ. The parts of a stream are the same.
func TestChoices(t *testing.T) {
	nativetest.Library(t)
	nativetest.Pinned(t, "xgrammar")
	leaktest.Check(t)
	var first []string
	for _, m := range []Model{newToy(), &batched{toy: newToy(), most: 3}} {
		_, url := startModel(t, m, defaults)
		for i, members := range []string{`"max_tokens": 20`, `"logprobs": true, "top_logprobs": 2, "max_tokens": 20, "temperature": 1.5`, formats[0].members, `"stop": ["e", " a"], "logprobs": true`} {
			members = `"seed": 3, ` + members
			one, several := answers(t, url, members), answers(t, url, members+`, "n": 5`)
			if asText(t, one.Choices[0]) != asText(t, several.Choices[0]) || len(several.Choices) != 5 {
				t.Errorf("%s: one choice is %+v, and the first of five %+v", members, one.Choices[0], several.Choices[0])
			}
			if several.Usage.Prompt != one.Usage.Prompt || several.Usage.Completion <= one.Usage.Completion {
				t.Errorf("%s: one choice has %+v, five %+v", members, one.Usage, several.Usage)
			}
			different := map[string]bool{}
			for _, c := range several.Choices {
				different[string(*c.Message.Content)] = true
			}
			if len(different) < 2 {
				t.Errorf("%s: the choices are %v", members, different)
			}
			if text := asText(t, several.Choices); len(first) == i {
				first = append(first, text)
			} else if text != first[i] {
				t.Errorf("%s: in a batch\n%s, alone\n%s", members, text, first[i])
			}
		}
	}
}

// few is a toy with so many sessions at once. Others wait, as with a model whose memory is fixed.
type few struct {
	*toy
	free chan struct{}
	open func() error
}

type fewSession struct {
	Session
	free chan struct{}
}

func (f few) Open(ctx context.Context, chat Chat) (Session, error) {
	if f.open != nil {
		if err := f.open(); err != nil {
			return nil, err
		}
	}
	select {
	case f.free <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	s, err := f.toy.Open(ctx, chat)
	return fewSession{s, f.free}, err
}

func (s fewSession) Close() { <-s.free }

// TestChoices_few: requests for more choices than the model has sessions do not wait for each other, and an error of one
// choice is that of its request.
func TestChoices_few(t *testing.T) {
	nativetest.Library(t)
	nativetest.Pinned(t, "xgrammar")
	leaktest.Check(t)
	m := few{toy: newToy(), free: make(chan struct{}, 2)}
	_, url := startModel(t, m, defaults)
	done := make(chan error)
	for range 4 {
		go func() {
			status, text, err := post(t.Context(), url, `"n": 8, "max_tokens": 10`)
			if status != http.StatusOK {
				err = errors.Join(err, fmt.Errorf("%d %s", status, text))
			}
			done <- err
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	opened := make(chan struct{}, 3)
	m.open = func() error {
		select {
		case opened <- struct{}{}:
			return nil
		default:
			return TooLong(3, 2)
		}
	}
	_, url = startModel(t, m, defaults)
	if status, text, err := post(t.Context(), url, `"n": 8, "max_tokens": 10`); err != nil || status != http.StatusBadRequest || !strings.Contains(text, "context_length_exceeded") {
		t.Errorf("%d %s %v", status, text, err)
	}
	if len(m.free) != 0 {
		t.Errorf("%d sessions are open", len(m.free))
	}
}

// TestWorth: the probabilities are those of the model, whatever a bias, the temperature and the format say, and tokens come with the
// text in which they end.
func TestWorth(t *testing.T) {
	nativetest.Library(t)
	nativetest.Pinned(t, "xgrammar")
	leaktest.Check(t)
	m := newToy()
	v, err := m.Vocabulary()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Release()
	w := newWorth(&request{LogProbs: true, TopLogProbs: 3}, v)
	scores := make([]float32, len(m.vocabulary))
	for i := range scores {
		scores[i] = float32(math.Inf(-1))
	}
	a, b, half := m.number["a"], m.number["b"], m.number["\xc3"]
	scores[a], scores[b], scores[half] = 1, 2, 2
	add := func(token int32, bytes int) {
		w.keep(scores)
		w.add(token, bytes)
	}
	all := math.Log(math.Exp(1) + 2*math.Exp(2))
	sent := 0
	got := func(text string, last bool) string {
		parts := w.of([]part{{message: message{Content: new(content(text))}, end: sent + len(text), cut: last}})
		if sent += len(text); len(parts) == 0 {
			return ""
		}
		text = ""
		for _, t := range parts[0].tokens {
			text += fmt.Sprintf("%s %.3f %v:", t.Token, t.LogProb, t.Bytes)
			for _, top := range t.Top {
				text += fmt.Sprintf(" %s %.3f", top.Token, top.LogProb)
			}
			text += "\n"
		}
		return text
	}
	same := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, expected %q", got, want)
		}
	}
	top := fmt.Sprintf(" b %.3f \ufffd %.3f a %.3f\n", 2-all, 2-all, 1-all)
	if b > half {
		top = fmt.Sprintf(" \ufffd %.3f b %.3f a %.3f\n", 2-all, 2-all, 1-all)
	}
	add(a, 1)
	same(got("", false), "")
	same(got("a", false), fmt.Sprintf("a %.3f [97]:%s", 1-all, top))
	add(half, 0) // the first byte of a character: its text comes with the next token
	same(got("", false), fmt.Sprintf("\ufffd %.3f [195]:%s", 2-all, top))
	add(b, 3)
	add(a, 1)
	add(a, 1)
	same(got("bb", false), "")
	same(got("b", true), fmt.Sprintf("b %.3f [98]:%s", 2-all, top)) // both a belong to a stop
	add(stop, 0)
	if n := len(w.waiting); n != 3 || w.waiting[2].LogProb != unlikely {
		t.Errorf("%d tokens are left: %+v", n, w.waiting)
	}
}
