package tokenizer

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/xgrammar/internal/pattern"
	"github.com/tvmffi-go/tvmffi/xgrammar/internal/tokenfile"
)

// span is a part of a text, as bytes.
type span struct{ start, end int }

// added are tokens that a text is searched for before everything else.
type added struct {
	tokens []tokenfile.Added
	plain  []bool // which are found in all texts
	trie   *trie
}

func newAdded(tokens []tokenfile.Added, texts []string, plain map[string]bool) *added {
	if len(tokens) == 0 {
		return nil
	}
	a := &added{tokens: tokens, trie: newTrie(texts)}
	for _, token := range tokens {
		a.plain = append(a.plain, plain[token.Content] || isPlain(token.Content))
	}
	return a
}

// isPlain reports whether an added token is ordinary text, such as a run of spaces.
func isPlain(text string) bool {
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '▁' }) == ""
}

var word, space = pattern.NewClass(pattern.Words(), false), pattern.NewClass(pattern.Space, false)

// next returns the first token in text from at on that counts, the part of the text that it stands for, and where to look for
// the one after it. done is where the part of the one before ended. The token is -1 at the end.
func (a *added) next(text []byte, control []span, at, done int) (token, from, to, after int) {
	for {
		token, start, end := a.find(text, control, at)
		if token < 0 {
			return token, end, end, end
		}
		if from, to, ok := a.widen(token, text, start, end, done); ok {
			return token, from, to, end
		}
		at = end
	}
}

// find returns the first token in text from at on, which begins and ends there. Tokens that are not plain lie in control.
func (a *added) find(text []byte, control []span, at int) (token int, start, end int) {
	for ; at < len(text); at++ {
		node := a.trie.root(text[at])
		token = -1
		for i := at + 1; node != 0; i++ {
			if value := a.trie.nodes[node].value; value >= 0 && (a.plain[value] || within(control, at, i)) {
				token, end = int(value), i
			}
			if i == len(text) {
				break
			}
			node = a.trie.next(node, text[i])
		}
		if token >= 0 {
			return token, at, end
		}
	}
	return -1, len(text), len(text)
}

func within(all []span, start, end int) bool {
	for _, s := range all {
		if s.start <= start && end <= s.end {
			return true
		}
	}
	return false
}

// widen returns the part of the text that a token stands for, and whether it counts; done is where the one before ended.
func (a *added) widen(token int, text []byte, start, end, done int) (int, int, bool) {
	t := &a.tokens[token]
	if t.SingleWord {
		before, _ := utf8.DecodeLastRune(text[:start])
		after, _ := utf8.DecodeRune(text[end:])
		if start > 0 && word.Has(before) || end < len(text) && word.Has(after) {
			return 0, 0, false
		}
	}
	for t.LStrip && start > done {
		r, n := utf8.DecodeLastRune(text[:start])
		if !space.Has(r) {
			break
		}
		start -= n
	}
	for t.RStrip && end < len(text) {
		r, n := utf8.DecodeRune(text[end:])
		if !space.Has(r) {
			break
		}
		end += n
	}
	return max(start, done), end, true
}
