package server

import (
	"context"
	_ "embed"
	"math"
	"regexp"
	"strings"
)

// Model is a language model. Several goroutines call its methods at the same time.
type Model interface {
	// Vocabulary returns the bytes that each token stands for, "" for a token that is in no text.
	Vocabulary() []string
	// Stop returns the token that ends a text.
	Stop() int32
	// Encode splits a text into tokens.
	Encode(text string) []int32
	// Score writes the score (logit) of each token after a text.
	Score(ctx context.Context, text []int32, scores []float32) error
}

//go:embed corpus.txt
var corpus string

// toy is a model that learns from a small text which words follow which. Its tokens are the words of that
// text and all bytes, so some of its tokens are not valid UTF-8, as in a real model.
type toy struct {
	vocabulary []string
	number     map[string]int32
	base       []float32                      // scores without a text before
	next       map[[2]int32]map[int32]float32 // scores after two tokens, or after -1 and one
	closes     []int32                        // tokens that end a string, an array, an object or the text
}

const stop = 0

var piece = regexp.MustCompile(`(?s) ?\pL+|.`)

func newToy() *toy {
	m := &toy{vocabulary: []string{"</s>"}, number: map[string]int32{}, closes: []int32{stop}}
	add := func(token string) {
		if _, known := m.number[token]; known {
			return
		}
		m.number[token] = int32(len(m.vocabulary))
		if strings.Trim(token, `"}])`) == "" {
			m.closes = append(m.closes, m.number[token])
		}
		m.vocabulary = append(m.vocabulary, token)
	}
	for b := range 256 {
		add(string([]byte{byte(b)}))
	}
	for _, word := range piece.FindAllString(corpus, -1) {
		add(word)
	}
	m.base, m.next = make([]float32, len(m.vocabulary)), map[[2]int32]map[int32]float32{}
	for i := range m.base {
		m.base[i] = -12
	}
	for line := range strings.Lines(corpus) {
		last := [2]int32{-1, stop}
		for _, token := range append(m.Encode(strings.TrimSuffix(line, "\n")), stop) {
			m.base[token] = -8
			for _, context := range [][2]int32{{-1, last[1]}, last} {
				if m.next[context] == nil {
					m.next[context] = map[int32]float32{}
				}
				m.next[context][token]++
			}
			last = [2]int32{last[1], token}
		}
	}
	for context, counts := range m.next {
		sum, bonus := 0.0, 0.0
		for _, n := range counts {
			sum += float64(n)
		}
		if context[0] >= 0 {
			bonus = 2
		}
		for token, n := range counts {
			counts[token] = float32(math.Log(float64(n)/sum) + bonus)
		}
	}
	return m
}

// Vocabulary returns the bytes that each token stands for.
func (m *toy) Vocabulary() []string { return m.vocabulary }

// Stop returns the token that ends a text.
func (m *toy) Stop() int32 { return stop }

// Encode splits a text into tokens.
func (m *toy) Encode(text string) []int32 {
	var tokens []int32
	for _, word := range piece.FindAllString(text, -1) {
		if token, known := m.number[word]; known {
			tokens = append(tokens, token)
			continue
		}
		for i := range len(word) {
			tokens = append(tokens, m.number[word[i:i+1]])
		}
	}
	return tokens
}

// Score writes the score of each token after a text.
func (m *toy) Score(_ context.Context, text []int32, scores []float32) error {
	copy(scores, m.base)
	last := [2]int32{-1, stop}
	for _, token := range text[max(0, len(text)-2):] {
		last = [2]int32{last[1], token}
	}
	for _, context := range [][2]int32{{-1, last[1]}, last} {
		for token, score := range m.next[context] {
			scores[token] = max(scores[token], score)
		}
	}
	for _, token := range m.closes { // the longer a text is, the more the model wants to end it
		scores[token] += min(float32(len(text))*0.05, 12)
	}
	return nil
}
