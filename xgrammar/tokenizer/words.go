package tokenizer

import (
	"fmt"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/xgrammar/internal/tokenfile"
)

// words takes the longest token at each place of a word, or the unknown token for all of it; with whole, only words that are
// tokens.
type words struct {
	ids     map[string]int32
	unknown int32
	prefix  string
	longest int // runes
	whole   bool
}

func newWords(m *tokenfile.Model) (*words, error) {
	w := &words{ids: make(map[string]int32, len(m.Vocab)), prefix: m.Prefix, longest: m.MaxRunes, whole: m.Type == "WordLevel"}
	for text, id := range m.Vocab {
		w.ids[text] = int32(id)
	}
	unknown, ok := w.ids[m.Unknown]
	if !ok {
		return nil, fmt.Errorf("model.unk_token is %q, which is not in model.vocab", m.Unknown)
	}
	w.unknown = unknown
	return w, nil
}

func (w *words) append(ids []int32, s *scratch, word []byte) []int32 {
	if len(word) == 0 {
		return ids
	}
	if w.whole {
		if id, ok := w.ids[string(word)]; ok {
			return append(ids, id)
		}
		return append(ids, w.unknown)
	}
	start := len(ids)
	if utf8.RuneCount(word) > w.longest {
		return append(ids, w.unknown)
	}
	for at := 0; at < len(word); {
		found, end := int32(-1), len(word)
		for end > at {
			s.affix = s.affix[:0]
			if at > 0 {
				s.affix = append(s.affix, w.prefix...)
			}
			s.affix = append(s.affix, word[at:end]...)
			if id, ok := w.ids[string(s.affix)]; ok {
				found = id
				break
			}
			_, n := utf8.DecodeLastRune(word[at:end])
			end -= n
		}
		if found < 0 {
			return append(ids[:start], w.unknown)
		}
		ids = append(ids, found)
		at = end
	}
	return ids
}
