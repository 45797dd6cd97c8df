package server

import (
	"math"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/xgrammar"
)

// logProbs is what the tokens of an answer were worth to the model.
type logProbs struct {
	Content []tokenLogProb `json:"content"`
	Refusal *string        `json:"refusal"`
}

// logProb is a token with the logarithm of its probability.
type logProb struct {
	Token   string  `json:"token"` // with U+FFFD for what is part of a character
	LogProb float64 `json:"logprob"`
	Bytes   []int   `json:"bytes"`
}

// tokenLogProb is a token of an answer, and the most probable ones in its place.
type tokenLogProb struct {
	logProb
	Top []logProb `json:"top_logprobs"`

	begin, end int // of its text in the answer, in bytes
}

// unlikely is what OpenAI has for a token without a probability.
const unlikely = -9999.0

// worth computes the probabilities of the tokens of an answer, by the scores that the model returns: before a bias, penalties, the
// temperature and what the format of the answer forbids, as OpenAI defines them. A nil worth does nothing.
type worth struct {
	vocabulary *xgrammar.Vocabulary
	top        int
	scores     []float32
	waiting    []tokenLogProb // whose text was not emitted yet
	text       int            // bytes
}

func newWorth(q *request, v *xgrammar.Vocabulary) *worth {
	if !q.LogProbs {
		return nil
	}
	return &worth{vocabulary: v, top: q.TopLogProbs}
}

// keep keeps the scores of the model for the next token.
func (w *worth) keep(scores []float32) {
	if w != nil {
		w.scores = append(w.scores[:0], scores...)
	}
}

// add adds the token that was chosen, after which the text has so many more bytes.
func (w *worth) add(token int32, bytes int) {
	if w == nil {
		return
	}
	best, sum := slices.Max(w.scores), 0.0
	for _, s := range w.scores {
		sum += math.Exp(float64(s - best))
	}
	all := float64(best) + math.Log(sum)
	of := func(token int32) logProb {
		p := logProb{LogProb: max(float64(w.scores[token])-all, unlikely), Bytes: []int{}}
		text := w.vocabulary.Text(token)
		p.Token = strings.ToValidUTF8(string(text), "\ufffd")
		for _, b := range text {
			p.Bytes = append(p.Bytes, int(b))
		}
		return p
	}
	t := tokenLogProb{logProb: of(token), Top: []logProb{}, begin: w.text, end: w.text + bytes}
	w.text = t.end
	var top []int32 // by their scores
	for i, s := range w.scores {
		if len(top) < w.top || w.top > 0 && s > w.scores[top[w.top-1]] {
			at, _ := slices.BinarySearchFunc(top, s, func(t int32, s float32) int {
				if w.scores[t] >= s {
					return -1
				}
				return 1
			})
			top = slices.Insert(top, at, int32(i))
			top = top[:min(len(top), w.top)]
		}
	}
	for _, token := range top {
		t.Top = append(t.Top, of(token))
	}
	w.waiting = append(w.waiting, t)
}

// of gives the parts of a message their tokens: those whose text ends in the content, and those that begin in it where it is cut. Tokens of
// calls are in none, as OpenAI's are. Content without a text and without tokens is left out.
func (w *worth) of(parts []part) []part {
	for i := range parts {
		p := &parts[i]
		if w == nil || p.Content == nil {
			continue
		}
		calls := 0
		for ; calls < len(w.waiting) && w.waiting[calls].begin < p.from; calls++ {
		}
		n := calls
		for ; n < len(w.waiting) && (w.waiting[n].end <= p.end || p.cut && w.waiting[n].begin < p.end); n++ {
		}
		p.tokens, w.waiting = w.waiting[calls:n:n], w.waiting[n:]
	}
	return slices.DeleteFunc(parts, func(p part) bool { return p.Content != nil && *p.Content == "" && len(p.tokens) == 0 })
}

// logProbs returns the member of a choice, or of a part of one, if the request wants it.
func (r *request) logProbs(tokens []tokenLogProb) *logProbs {
	if !r.LogProbs {
		return nil
	}
	return &logProbs{Content: append([]tokenLogProb{}, tokens...)}
}
