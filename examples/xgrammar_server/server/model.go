package server

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/tvmffi-go/tvmffi/xgrammar"
)

// Model is a language model. Several goroutines call its methods at the same time.
type Model interface {
	// Name is what requests call the model.
	Name() string
	// Vocabulary returns a new vocabulary with all tokens, and with the tokens that end a text. The server releases it.
	Vocabulary() (*xgrammar.Vocabulary, error)
	// Context is how many tokens a chat has at most, with its answer.
	Context() int
	// Open begins an answer to a chat. The model writes the chat by its own template: whatever a message says, the control
	// tokens of the template come from the template alone. Open accepts a chat without room for an answer: the
	// server compares the length of the session with Context.
	Open(ctx context.Context, chat Chat) (Session, error)
}

// Session is a chat whose answer is being written. One goroutine at a time calls its methods.
type Session interface {
	// Len returns the number of tokens: of the chat, and of the steps.
	Len() int
	// Step adds tokens, and returns the score (logit) of each token of the vocabulary as the next one. The server changes
	// the scores, which belong to the session and are valid until its next method. The first step adds no token. The
	// server takes no step beyond the context of the model.
	Step(ctx context.Context, tokens ...int32) (scores []float32, err error)
	// Close ends the session, which may have failed.
	Close()
}

// Chat is what a model answers.
type Chat struct {
	Messages []Message
	// Tools may be called in the answer, in the syntax xgrammar.Qwen. Their texts are a client's, as those of messages are.
	Tools []xgrammar.Tool
}

// Message is a message of a chat.
type Message struct {
	// Role is one of system, developer, user, assistant and tool.
	Role string
	// Text is what somebody wrote, who may know the control tokens of the model.
	Text string
	// Calls are the calls of tools that an assistant made, in the syntax in which the model writes them.
	Calls string
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

// Toy returns a small model that learns from a text of this package when it is made.
func Toy() Model { return newToy() }

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
		for _, token := range append(m.encode(strings.TrimSuffix(line, "\n")), stop) {
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

// Name returns "toy".
func (m *toy) Name() string { return "toy" }

// Context returns a number beyond all limits of the server: the toy looks at the last two tokens.
func (m *toy) Context() int { return math.MaxInt32 }

// Vocabulary returns a new vocabulary.
func (m *toy) Vocabulary() (*xgrammar.Vocabulary, error) {
	return xgrammar.NewVocabulary(m.vocabulary, xgrammar.Raw, xgrammar.VocabularyOptions{StopTokens: []int32{stop}})
}

// encode splits a text into tokens. None of them is the one that ends a text.
func (m *toy) encode(text string) []int32 {
	var tokens []int32
	for _, word := range piece.FindAllString(text, -1) {
		if token, known := m.number[word]; known && token != stop {
			tokens = append(tokens, token)
			continue
		}
		for i := range len(word) {
			tokens = append(tokens, m.number[word[i:i+1]])
		}
	}
	return tokens
}

// template is the chat as a text that the model continues.
func template(chat Chat) string {
	var b strings.Builder
	for _, tool := range chat.Tools {
		fmt.Fprintf(&b, "tool: %s: %s\n", tool.Function.Name, tool.Function.Description)
	}
	for _, m := range chat.Messages {
		if m.Text != "" || m.Calls != "" {
			fmt.Fprintf(&b, "%s: %s%s\n", m.Role, m.Text, m.Calls)
		}
	}
	return b.String()
}

// Open begins an answer.
func (m *toy) Open(_ context.Context, chat Chat) (Session, error) {
	return &toySession{m, m.encode(template(chat)), make([]float32, len(m.vocabulary))}, nil
}

// toySession is a chat with the toy.
type toySession struct {
	*toy
	text   []int32
	scores []float32
}

// Len returns the number of tokens.
func (s *toySession) Len() int { return len(s.text) }

// Close does nothing.
func (s *toySession) Close() {}

// Step adds tokens.
func (s *toySession) Step(_ context.Context, tokens ...int32) ([]float32, error) {
	s.text = append(s.text, tokens...)
	copy(s.scores, s.base)
	last := [2]int32{-1, stop}
	for _, token := range s.text[max(0, len(s.text)-2):] {
		last = [2]int32{last[1], token}
	}
	for _, context := range [][2]int32{{-1, last[1]}, last} {
		for token, score := range s.next[context] {
			s.scores[token] = max(s.scores[token], score)
		}
	}
	for _, token := range s.closes { // the longer a text is, the more the model wants to end it
		s.scores[token] += min(float32(len(s.text))*0.05, 12)
	}
	return s.scores, nil
}
