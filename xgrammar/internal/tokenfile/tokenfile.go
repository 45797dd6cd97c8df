// Package tokenfile reads tokenizer.json, the file of Hugging Face's tokenizers. Vocabularies of package xgrammar and encoders
// of package tokenizer stand on it, so a token has the same number in both.
package tokenfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
)

// File is what a file says.
type File struct {
	Tokens []string // in the order of their numbers, "" where there is none
	Added  []Added
	Model  Model

	Normalizer, PreTokenizer, PostProcessor, Decoder json.RawMessage // nil without one
}

// Added is a token that texts are searched for before everything else.
type Added struct {
	ID         int
	Content    string
	SingleWord bool `json:"single_word"`
	LStrip     bool
	RStrip     bool
	Normalized bool
	Special    bool
}

// Model has the vocabulary and what goes with it.
type Model struct {
	Type   string // BPE, Unigram, WordPiece or WordLevel
	Vocab  map[string]int
	Pieces []Piece  // of Unigram, in place of Vocab
	Merges []string // of BPE: two texts for each merge, the first merge first

	Unknown      string // "" if there is none
	UnknownID    int    // of Unigram, -1 if there is none
	Prefix       string // of what continues a word
	Suffix       string // of what ends a word
	FuseUnknown  bool
	ByteFallback bool
	IgnoreMerges bool
	Dropout      float64
	MaxRunes     int // of a word, for WordPiece
}

// Piece is a token of Unigram.
type Piece struct {
	Text  string
	Score float64
}

// maxTokens bounds the numbers of n tokens: a vocabulary is as large as they are. Numbers without a token are few in real files.
func maxTokens(n int) int { return 4*n + 1<<16 }

// Read reads a file. Its errors name the place in the file.
//
// A number may have no token. A number with two texts is an error, unless one of them is of added_tokens, which then counts.
// A text with two numbers is an error, except in the list of Unigram, where the latter counts. A key that is twice in one
// object is an error. The largest number is at most 65535 and four times as many as there are tokens.
func Read(text []byte) (*File, error) {
	var in struct {
		Model struct {
			Type         string
			Vocab        json.RawMessage
			Merges       json.RawMessage
			Unknown      *string `json:"unk_token"`
			UnknownID    *int    `json:"unk_id"`
			Prefix       *string `json:"continuing_subword_prefix"`
			Suffix       string  `json:"end_of_word_suffix"`
			FuseUnknown  bool    `json:"fuse_unk"`
			ByteFallback bool    `json:"byte_fallback"`
			IgnoreMerges bool    `json:"ignore_merges"`
			Dropout      float64
			MaxRunes     *int `json:"max_input_chars_per_word"`
		}
		Added []struct {
			Added
			ID      *int
			Content *string
		} `json:"added_tokens"`
		Normalizer    json.RawMessage `json:"normalizer"`
		PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
		PostProcessor json.RawMessage `json:"post_processor"`
		Decoder       json.RawMessage `json:"decoder"`
	}
	if err := jsonlines.Unmarshal(text, &in); err != nil {
		return nil, err
	}
	f := &File{Added: make([]Added, len(in.Added)), Normalizer: given(in.Normalizer), PreTokenizer: given(in.PreTokenizer), PostProcessor: given(in.PostProcessor), Decoder: given(in.Decoder)}
	for i, token := range in.Added {
		if token.ID == nil || token.Content == nil {
			return nil, fmt.Errorf("added_tokens[%d]: want the id and the content of a token", i)
		}
		f.Added[i] = token.Added
		f.Added[i].ID, f.Added[i].Content = *token.ID, *token.Content
	}
	m := &f.Model
	*m = Model{Type: in.Model.Type, Suffix: in.Model.Suffix, UnknownID: -1, FuseUnknown: in.Model.FuseUnknown, ByteFallback: in.Model.ByteFallback,
		IgnoreMerges: in.Model.IgnoreMerges, Dropout: in.Model.Dropout, MaxRunes: 100}
	if m.Type == "WordPiece" {
		m.Prefix, m.Unknown = "##", "[UNK]"
	}
	for _, set := range []struct{ to, from *string }{{&m.Unknown, in.Model.Unknown}, {&m.Prefix, in.Model.Prefix}} {
		if set.from != nil {
			*set.to = *set.from
		}
	}
	for _, set := range []struct{ to, from *int }{{&m.UnknownID, in.Model.UnknownID}, {&m.MaxRunes, in.Model.MaxRunes}} {
		if set.from != nil {
			*set.to = *set.from
		}
	}
	if err := m.readVocab(in.Model.Vocab); err != nil {
		return nil, err
	}
	if m.Type == "" {
		// Old files do not name the model.
		switch {
		case m.Pieces != nil:
			m.Type = "Unigram"
		case in.Model.Merges != nil:
			m.Type = "BPE"
		}
	}
	if err := m.readMerges(in.Model.Merges); err != nil {
		return nil, err
	}
	return f, f.Number()
}

// given returns nil for null.
func given(text json.RawMessage) json.RawMessage {
	if string(text) == "null" {
		return nil
	}
	return text
}

// null finds what may be null in place of a number.
var null = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`:\s*null`) })

func (m *Model) readVocab(text json.RawMessage) error {
	if bytes.HasPrefix(text, []byte("[")) {
		var pieces [][]json.RawMessage
		if err := json.Unmarshal(text, &pieces); err != nil {
			return fmt.Errorf("model.vocab has neither the numbers nor the scores of tokens: %w", err)
		}
		m.Pieces = make([]Piece, len(pieces))
		for id, piece := range pieces {
			p := &m.Pieces[id]
			if len(piece) != 2 || json.Unmarshal(piece[0], &p.Text) != nil || json.Unmarshal(piece[1], &p.Score) != nil || string(piece[1]) == "null" {
				return fmt.Errorf("model.vocab[%d] is %.80s: want the text of a token and its score", id, piece)
			}
			p.Score = number(string(piece[1]), p.Score)
		}
		return nil
	}
	if text == nil {
		return errors.New("model.vocab has neither the numbers nor the scores of tokens")
	}
	var ok bool
	if m.Vocab, ok = numbers(string(text)); ok {
		return nil
	}
	err := json.Unmarshal(text, &m.Vocab)
	if err == nil && null().Match(text) {
		err = jsonlines.Check(text, &m.Vocab)
	}
	if err != nil {
		return fmt.Errorf("model.vocab has neither the numbers nor the scores of tokens: %w", err)
	}
	return nil
}

// numbers reads the JSON of an object of numbers of up to nine digits, which is valid. It reports false for any other. A large object takes
// encoding/json several times as long.
func numbers(text string) (map[string]int, bool) {
	all := make(map[string]int, strings.Count(text, ":"))
	rest, ok := strings.CutPrefix(text, "{")
	if rest = spaceless(rest); rest == "}" {
		return all, true
	}
	for ok {
		var name string
		if name, rest, ok = quoted(rest); !ok {
			break
		}
		rest = spaceless(strings.TrimPrefix(spaceless(rest), ":"))
		n, digits := 0, 0
		for ; digits < len(rest) && digits < 10 && '0' <= rest[digits] && rest[digits] <= '9'; digits++ {
			n = 10*n + int(rest[digits]-'0')
		}
		rest = spaceless(rest[digits:])
		if digits == 0 || digits > 9 || rest == "" || rest[0] != ',' && rest[0] != '}' {
			break // a sign, a fraction, or no number
		}
		if all[name] = n; rest[0] == '}' {
			return all, true
		}
		rest = spaceless(rest[1:])
	}
	return nil, false
}

// texts reads the JSON of a list of texts, as numbers does.
func texts(text string) ([]string, bool) {
	all := make([]string, 0, strings.Count(text, ",")+1)
	rest, ok := strings.CutPrefix(text, "[")
	if rest = spaceless(rest); rest == "]" {
		return all, true
	}
	for ok {
		var one string
		if one, rest, ok = quoted(rest); !ok {
			break
		}
		all = append(all, one)
		if rest = spaceless(rest); rest == "" || rest[0] != ',' {
			return all, rest == "]"
		}
		rest = spaceless(rest[1:])
	}
	return nil, false
}

// quoted returns the text that the JSON begins with, and what follows it.
func quoted(text string) (value, rest string, ok bool) {
	if text == "" || text[0] != '"' {
		return "", text, false
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
			ok = true // it has an escape
		case '"':
			if ok {
				ok = json.Unmarshal([]byte(text[:i+1]), &value) == nil
				return value, text[i+1:], ok
			}
			return text[1:i], text[i+1:], true
		}
	}
	return "", text, false
}

// spaceless returns a text without the spaces of JSON at its beginning.
func spaceless(text string) string {
	for text != "" && strings.IndexByte(" \t\r\n", text[0]) >= 0 {
		text = text[1:]
	}
	return text
}

// number returns a score as the JSON of Rust reads it, which may be a unit in the last place off. Sums of scores that are equal
// otherwise differ by that, and then another token is the better one.
func number(text string, exact float64) float64 {
	digits, ok := strings.CutPrefix(text, "-")
	digits, fraction, _ := strings.Cut(digits, ".")
	digits += fraction
	whole, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || len(fraction) > 22 {
		return exact // with an exponent, or with more digits than 64 bits
	}
	value := float64(whole)
	if value /= math.Pow10(len(fraction)); ok {
		return -value
	}
	return value
}

func (m *Model) readMerges(text json.RawMessage) error {
	if given(text) == nil {
		return nil
	}
	lines, ok := texts(string(text))
	if ok || json.Unmarshal(text, &lines) == nil {
		m.Merges = make([]string, 0, 2*len(lines))
		for i, line := range lines {
			left, right, ok := strings.Cut(line, " ")
			if !ok || strings.Contains(right, " ") {
				return fmt.Errorf("model.merges[%d] is %q: want two texts with a space between them", i, line)
			}
			m.Merges = append(m.Merges, left, right)
		}
		return nil
	}
	var pairs [][]string
	if err := jsonlines.Unmarshal(text, &pairs); err != nil {
		return fmt.Errorf("model.merges: want pairs of texts: %w", err)
	}
	m.Merges = make([]string, 0, 2*len(pairs))
	for i, pair := range pairs {
		if len(pair) != 2 {
			return fmt.Errorf("model.merges[%d] has %d texts, want 2", i, len(pair))
		}
		m.Merges = append(m.Merges, pair[0], pair[1])
	}
	return nil
}

// Number sets Tokens of the vocabulary and the added tokens. Read has done so.
func (f *File) Number() error {
	limit := maxTokens(len(f.Model.Vocab) + len(f.Model.Pieces) + len(f.Added))
	put := func(token string, id int) error {
		if id < 0 || id >= limit {
			return fmt.Errorf("the number of the token %q is %d, want 0 to %d", token, id, limit-1)
		}
		f.Tokens = append(f.Tokens, make([]string, max(id+1-len(f.Tokens), 0))...)
		if other := f.Tokens[id]; other != "" && other != token {
			return fmt.Errorf("the tokens %q and %q both have the number %d", min(other, token), max(other, token), id)
		}
		f.Tokens[id] = token
		return nil
	}
	for id, piece := range f.Model.Pieces {
		if err := put(piece.Text, id); err != nil {
			return err
		}
	}
	for token, id := range f.Model.Vocab {
		if put(token, id) == nil {
			continue
		}
		f.Tokens = nil // again in order, so that the error is the same at each run
		for _, token := range slices.Sorted(maps.Keys(f.Model.Vocab)) {
			if err := put(token, f.Model.Vocab[token]); err != nil {
				return err
			}
		}
	}
	if id, known := f.Model.Vocab[""]; known && f.Tokens[id] != "" {
		return fmt.Errorf("the tokens %q and %q both have the number %d", "", f.Tokens[id], id)
	}
	added, numbers, pieces := map[int]string{}, map[string]int{}, make(map[string]int, len(f.Model.Pieces))
	for id, piece := range f.Model.Pieces {
		pieces[piece.Text] = id
	}
	for _, token := range f.Added {
		if other, twice := added[token.ID]; twice && other != token.Content {
			return fmt.Errorf("added_tokens has %q and %q with the number %d", other, token.Content, token.ID)
		}
		added[token.ID] = token.Content
		if other, twice := numbers[token.Content]; twice && other != token.ID {
			return fmt.Errorf("the token %q has the numbers %d and %d in added_tokens", token.Content, other, token.ID)
		}
		numbers[token.Content] = token.ID
		for _, vocab := range []map[string]int{f.Model.Vocab, pieces} {
			if of, known := vocab[token.Content]; known && of != token.ID {
				return fmt.Errorf("the token %q has the number %d in added_tokens and %d in model.vocab", token.Content, token.ID, of)
			}
		}
		if token.ID >= 0 && token.ID < len(f.Tokens) {
			f.Tokens[token.ID] = ""
		}
		if err := put(token.Content, token.ID); err != nil {
			return err
		}
	}
	return nil
}
