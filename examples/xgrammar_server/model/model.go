// Package model is a language model that runs anywhere: it learns a vocabulary and the order
// of tokens from a small text that is part of the program, in a few milliseconds. It stands
// in for a real model and has the same traits: tokens that are parts of words, tokens that
// are not valid UTF-8, a token for each byte, a token that ends a text.
package model

import (
	_ "embed"
	"math"
	"slices"
	"strings"
)

//go:embed corpus.txt
var corpus string

// The first tokens. After them come the 256 bytes, then parts of words.
const (
	start = 0 // is in no text; fills the context before the first token
	stop  = 1
	bytes = 2
)

const (
	// Size is the number of tokens.
	Size    = 1024
	longest = 12 // bytes of a token
	order   = 3  // tokens of context
)

// Model is a language model of n-grams. It does not change, so several goroutines may use it.
type Model struct {
	vocabulary []string
	number     map[string]int32
	base       []float32 // the score of each token without context
	next       map[context][]continuation
	closes     []int32 // tokens that end a string, an array, an object or the text
}

// context is the last tokens of a text, start where there are fewer.
type context [order]int32

type continuation struct {
	token int32
	score float32
}

// New learns a model from the text of the package.
func New() *Model {
	m := &Model{number: map[string]int32{}, next: map[context][]continuation{}}
	m.learnTokens()
	m.learnOrder()
	return m
}

// learnTokens takes the parts of words that save the most tokens. A part is a string of bytes, so
// that it may end within a character.
func (m *Model) learnTokens() {
	m.vocabulary = append(m.vocabulary, "", "</s>")
	for b := range 256 {
		m.vocabulary = append(m.vocabulary, string([]byte{byte(b)}))
	}
	gains := map[string]int{}
	for _, word := range words(corpus) {
		for from := range len(word) {
			for to := from + 2; to <= min(len(word), from+longest); to++ {
				gains[word[from:to]] += to - from - 1
			}
		}
	}
	parts := make([]string, 0, len(gains))
	for part := range gains {
		parts = append(parts, part)
	}
	slices.SortFunc(parts, func(a, b string) int {
		if gains[a] != gains[b] {
			return gains[b] - gains[a]
		}
		return strings.Compare(a, b)
	})
	m.vocabulary = append(m.vocabulary, parts[:Size-len(m.vocabulary)]...)
	for i, token := range m.vocabulary {
		if i >= bytes {
			m.number[token] = int32(i)
		}
		if i == stop || i >= bytes && strings.Trim(token, `"}])`) == "" {
			m.closes = append(m.closes, int32(i))
		}
	}
}

// words splits a text where the kind of character changes; a space begins a word.
func words(text string) []string {
	kind := func(b byte) int {
		switch {
		case b == ' ':
			return 0
		case b == '\n':
			return 1
		case '0' <= b && b <= '9':
			return 2
		case 'a' <= b|0x20 && b|0x20 <= 'z' || b >= 0x80:
			return 3
		}
		return 4
	}
	var list []string
	from := 0
	for i := 1; i <= len(text); i++ {
		if i == len(text) || kind(text[i]) != kind(text[i-1]) && text[i-1] != ' ' {
			list = append(list, text[from:i])
			from = i
		}
	}
	return list
}

// learnOrder counts which token follows each context of the text. Each line is a text.
func (m *Model) learnOrder() {
	counts := map[context]map[int32]int{}
	single := make([]int, Size)
	total := 0
	for line := range strings.Lines(corpus) {
		tokens := append(m.Encode(strings.TrimSuffix(line, "\n")), stop)
		for i, t := range tokens {
			single[t]++
			total++
			for n := 1; n <= order; n++ {
				c := contextOf(tokens[:i], n)
				if counts[c] == nil {
					counts[c] = map[int32]int{}
				}
				counts[c][t]++
			}
		}
	}
	m.base = make([]float32, Size)
	for i, n := range single {
		m.base[i] = float32(math.Log((float64(n) + 0.1) / float64(total)))
	}
	m.base[start] = float32(math.Inf(-1))
	for c, follow := range counts {
		m.next[c] = continuations(c, follow)
	}
}

// continuations makes scores of counts. A longer context counts more.
func continuations(c context, follow map[int32]int) []continuation {
	known, sum := 0, 0
	for _, t := range c {
		if t >= 0 {
			known++
		}
	}
	for _, n := range follow {
		sum += n
	}
	var list []continuation
	for t, n := range follow {
		list = append(list, continuation{t, float32(math.Log(float64(n)/float64(sum))) + 2*float32(known)})
	}
	slices.SortFunc(list, func(a, b continuation) int { return int(a.token - b.token) })
	return list
}

// contextOf returns the last n tokens of a text; the rest is -1, which stands for any token.
func contextOf(tokens []int32, n int) context {
	c := context{-1, -1, -1}
	for i := range n {
		c[order-1-i] = start
		if at := len(tokens) - 1 - i; at >= 0 {
			c[order-1-i] = tokens[at]
		}
	}
	return c
}

// Vocabulary returns the bytes of each token. The caller must not change it.
func (m *Model) Vocabulary() []string { return m.vocabulary }

// Stop returns the token that ends a text.
func (m *Model) Stop() int32 { return stop }

// Encode splits a text into tokens, each the longest that fits. Any bytes have tokens.
func (m *Model) Encode(text string) []int32 {
	tokens := make([]int32, 0, len(text)/2)
	for len(text) > 0 {
		n := min(len(text), longest)
		t, ok := m.number[text[:n]]
		for !ok {
			n--
			t, ok = m.number[text[:n]]
		}
		tokens, text = append(tokens, t), text[n:]
	}
	return tokens
}

// Score writes the score of each next token, for several texts at once: scores[i][t] is that
// of token t after texts[i].
func (m *Model) Score(texts [][]int32, scores [][]float32) error {
	for i, text := range texts {
		row := scores[i]
		copy(row, m.base)
		for n := 1; n <= order; n++ {
			for _, c := range m.next[contextOf(text, n)] {
				row[c.token] = max(row[c.token], c.score)
			}
		}
		// The longer a text is, the more the model wants to end what it has begun.
		for _, t := range m.closes {
			row[t] += min(float32(len(text))*0.03, 12)
		}
	}
	return nil
}

// Draft proposes up to n tokens that may come next, for speculative decoding. It only looks at
// the most frequent continuation of the longest context that the text has.
func (m *Model) Draft(text []int32, n int) []int32 {
	tail := slices.Clone(text[max(0, len(text)-order):])
	var draft []int32
	for len(draft) < n {
		var best continuation
		for size := order; size > 1 && best.token == 0; size-- {
			for _, c := range m.next[contextOf(tail, size)] {
				if best.token == 0 || c.score > best.score {
					best = c
				}
			}
		}
		if best.token == 0 || best.token == stop {
			break
		}
		draft, tail = append(draft, best.token), append(tail, best.token)
	}
	return draft
}
