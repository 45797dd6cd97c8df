package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
	"github.com/tvmffi-go/tvmffi/xgrammar/internal/pattern"
)

// finder finds a text, an expression, or each rune of a class.
type finder struct {
	text  []byte
	expr  *pattern.Pattern
	class *pattern.Class
}

// readFinder reads a pattern of a file.
func readFinder(text json.RawMessage, what string) (finder, error) {
	var p struct {
		String *string
		Regex  *string
	}
	if jsonlines.Unmarshal(text, &p) != nil || (p.String == nil) == (p.Regex == nil) {
		return finder{}, fmt.Errorf("%s.pattern is %.80s: want a String or a Regex", what, text)
	}
	if p.String != nil {
		return finder{text: []byte(*p.String)}, nil
	}
	expr, err := pattern.Compile(*p.Regex)
	if err != nil {
		return finder{}, fmt.Errorf("%s.pattern: %w", what, err)
	}
	return finder{expr: expr}, nil
}

func (f *finder) find(text []byte, at int, m *pattern.Machine) (start, end int, found bool) {
	switch {
	case f.expr != nil:
		return f.expr.Find(m, text, at)
	case f.class != nil:
		for at < len(text) {
			r, n := utf8.DecodeRune(text[at:])
			if f.class.Has(r) {
				return at, at + n, true
			}
			at += n
		}
		return 0, 0, false
	}
	i := -1
	if len(f.text) > 0 {
		i = bytes.Index(text[at:], f.text)
	}
	return at + i, at + i + len(f.text), i >= 0
}

// A splitter divides the words of a text. It may write another text.
type splitter interface {
	split(s *scratch, text []byte, words []span, first bool) ([]byte, []span)
}

// behavior says what becomes of a match.
type behavior string

const (
	isolated     behavior = "Isolated"
	removed      behavior = "Removed"
	contiguous   behavior = "Contiguous"
	withPrevious behavior = "MergedWithPrevious"
	withNext     behavior = "MergedWithNext"
)

func (b behavior) check(what string) error {
	switch b {
	case isolated, removed, contiguous, withPrevious, withNext:
		return nil
	}
	return fmt.Errorf("%s.behavior is %q, want one of Isolated, Removed, Contiguous, MergedWithPrevious, MergedWithNext", what, b)
}

// matches divides words at the matches of a finder.
type matches struct {
	finder
	behavior
	invert bool
}

func (m *matches) split(s *scratch, text []byte, words []span, _ bool) ([]byte, []span) {
	out := s.other(words)
	for _, w := range words {
		out = m.one(s, text, w, out)
	}
	s.words[s.turn] = out
	return text, out
}

// one divides a word.
func (m *matches) one(s *scratch, text []byte, w span, out []span) []span {
	part := text[w.start:w.end]
	base, was, at := len(out), false, 0
	add := func(start, end int, match bool) {
		if start == end {
			return
		}
		match = match != m.invert
		join := false
		switch m.behavior {
		case removed:
			if match {
				return
			}
		case contiguous:
			join = match == was
		case withPrevious:
			join = match && !was
		case withNext:
			join = !match && was
		}
		was = match
		if join && len(out) > base {
			out[len(out)-1].end = w.start + end
			return
		}
		out = append(out, span{w.start + start, w.start + end})
	}
	for at < len(part) {
		start, end, ok := m.find(part, at, &s.machine)
		if !ok {
			break
		}
		add(at, start, false)
		add(start, end, true)
		at = end
	}
	add(at, len(part), false)
	return out
}

// metaspace writes a sign for each space and before the text, and divides before it.
type metaspace struct {
	sign   string
	before string // always, first or never
	divide bool
}

func (m *metaspace) split(s *scratch, text []byte, words []span, first bool) ([]byte, []span) {
	out, to := s.other(words), s.rewrite()
	for _, w := range words {
		start := len(to)
		if part := text[w.start:w.end]; m.before == "always" || m.before == "first" && first && w.start == 0 {
			if !bytes.HasPrefix(part, []byte(m.sign)) && !bytes.HasPrefix(part, []byte(" ")) {
				to = append(to, m.sign...)
			}
		}
		for _, b := range text[w.start:w.end] {
			if b != ' ' {
				to = append(to, b)
				continue
			}
			to = append(to, m.sign...)
		}
		if m.divide {
			for at := start; ; at += len(m.sign) {
				i := bytes.Index(to[at:], []byte(m.sign))
				if i < 0 {
					break
				}
				if at += i; at > start {
					out = append(out, span{start, at})
				}
				start = at
			}
		}
		if len(to) > start {
			out = append(out, span{start, len(to)})
		}
	}
	s.rewritten(to)
	s.words[s.turn] = out
	return to, out
}

// spaced puts a space before each word that has none.
type spaced struct{}

func (spaced) split(s *scratch, text []byte, words []span, _ bool) ([]byte, []span) {
	return s.each(text, words, func(to, word []byte) []byte {
		if word[0] != ' ' {
			to = append(to, ' ')
		}
		return append(to, word...)
	})
}

// lettered writes the letter of each byte.
type lettered struct{}

func (lettered) split(s *scratch, text []byte, words []span, _ bool) ([]byte, []span) {
	return s.each(text, words, appendLetters)
}

// each writes each word anew, by a func that appends it.
func (s *scratch) each(text []byte, words []span, write func(to, word []byte) []byte) ([]byte, []span) {
	out, to := s.other(words), s.rewrite()
	for _, w := range words {
		start := len(to)
		to = write(to, text[w.start:w.end])
		out = append(out, span{start, len(to)})
	}
	s.rewritten(to)
	s.words[s.turn] = out
	return to, out
}

// gpt2 is the expression of GPT-2, which ByteLevel uses.
const gpt2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// readSplitters reads the pre-tokenizers of a file, a sequence as its members.
func readSplitters(text json.RawMessage, what string, depth int) (all []splitter, err error) {
	if text == nil || string(text) == "null" {
		return nil, nil
	}
	var p struct {
		Type          string
		Pretokenizers []json.RawMessage
		Pattern       json.RawMessage
		Behavior      behavior
		Invert        bool
		PrefixSpace   *bool   `json:"add_prefix_space"`
		Regex         *bool   `json:"use_regex"`
		Replacement   string  `json:"replacement"`
		Scheme        *string `json:"prepend_scheme"`
		Split         *bool   `json:"split"`
		Individual    bool    `json:"individual_digits"`
		Delimiter     string
	}
	if err := jsonlines.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	one := func(f finder, b behavior, invert bool) []splitter { return []splitter{&matches{f, b, invert}} }
	switch p.Type {
	case "Sequence":
		if depth > maxNesting {
			return nil, fmt.Errorf("%s is deeper than %d", what, maxNesting)
		}
		if p.Pretokenizers == nil {
			return nil, absent(what, p.Type, "pretokenizers")
		}
		for i, text := range p.Pretokenizers {
			more, err := readSplitters(text, fmt.Sprintf("%s.pretokenizers[%d]", what, i), depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
		return all, nil
	case "Split":
		f, err := readFinder(p.Pattern, what)
		if err == nil {
			err = p.Behavior.check(what)
		}
		return one(f, p.Behavior, p.Invert), err
	case "ByteLevel":
		if p.PrefixSpace == nil || *p.PrefixSpace {
			all = append(all, spaced{})
		}
		if p.Regex == nil || *p.Regex {
			expr, err := pattern.Compile(gpt2)
			if err != nil {
				return nil, err
			}
			all = append(all, &matches{finder{expr: expr}, isolated, false})
		}
		return append(all, lettered{}), nil
	case "Metaspace":
		m := &metaspace{p.Replacement, "always", p.Split == nil || *p.Split}
		if p.Scheme != nil {
			m.before = *p.Scheme
		} else if p.PrefixSpace != nil && !*p.PrefixSpace {
			m.before = "never"
		}
		if m.before != "always" && m.before != "first" && m.before != "never" {
			return nil, fmt.Errorf("%s.prepend_scheme is %q, want always, first or never", what, m.before)
		}
		if utf8.RuneCountInString(m.sign) != 1 {
			return nil, fmt.Errorf("%s.replacement is %q, want one rune", what, m.sign)
		}
		return []splitter{m}, nil
	case "Whitespace":
		expr, err := pattern.Compile(`\p{_word}+|[^\p{_word}\s]+`)
		return one(finder{expr: expr}, removed, true), err
	case "WhitespaceSplit":
		return one(finder{class: space}, removed, false), nil
	case "Digits":
		b := contiguous
		if p.Individual {
			b = isolated
		}
		return one(finder{class: digits()}, b, false), nil
	case "Punctuation":
		if p.Behavior == "" {
			p.Behavior = isolated
		}
		return one(finder{class: punctuation()}, p.Behavior, false), p.Behavior.check(what)
	case "CharDelimiterSplit":
		if utf8.RuneCountInString(p.Delimiter) != 1 {
			return nil, fmt.Errorf("%s.delimiter is %q, want one rune", what, p.Delimiter)
		}
		return one(finder{text: []byte(p.Delimiter)}, removed, false), nil
	case "BertPreTokenizer":
		return append(one(finder{class: space}, removed, false), one(finder{class: punctuation()}, isolated, false)...), nil
	}
	return nil, unsupported(what, p.Type, "ByteLevel, Split, Metaspace, Whitespace, WhitespaceSplit, Digits, Punctuation, CharDelimiterSplit, BertPreTokenizer, Sequence")
}
