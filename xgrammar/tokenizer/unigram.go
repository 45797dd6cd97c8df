package tokenizer

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/xgrammar/internal/tokenfile"
)

// unigram takes the tokens whose scores have the greatest sum.
type unigram struct {
	trie    *trie
	ids     map[string]int32
	scores  []float64
	bytes   [256]int32 // -1 without one
	back    bool
	unknown int32
	missing float64 // the score of a rune without a token
}

// newUnigram reads the model. No text has a token of control, unless the list of added tokens finds it.
func newUnigram(m *tokenfile.Model, control map[string]bool) (*unigram, error) {
	u := &unigram{ids: make(map[string]int32, len(m.Pieces)), back: m.ByteFallback, unknown: int32(m.UnknownID), missing: math.Inf(1)}
	texts := make([]string, len(m.Pieces))
	for i, piece := range m.Pieces {
		u.scores = append(u.scores, piece.Score)
		u.missing = min(u.missing, piece.Score)
		if !control[piece.Text] {
			texts[i] = piece.Text
			u.ids[piece.Text] = int32(i)
		}
	}
	u.missing -= 10
	if m.UnknownID < 0 || m.UnknownID >= len(m.Pieces) {
		return nil, fmt.Errorf("model.unk_id is %d, want the number of one of the %d tokens, which stands for what has no token", m.UnknownID, len(m.Pieces))
	}
	for i := range u.bytes {
		u.bytes[i] = -1
		if id, ok := u.ids[fmt.Sprintf("<0x%02X>", i)]; ok {
			u.bytes[i] = id
		}
	}
	u.trie = newTrie(texts)
	return u, nil
}

// reached is the best way to a place of a text: the token that ends there, and the sum of the scores up to there.
type reached struct {
	score float64
	start int32 // -1 without a way
	id    int32
}

func (u *unigram) append(ids []int32, s *scratch, text []byte) []int32 {
	if len(text) == 0 {
		return ids
	}
	s.ways = s.ways[:0]
	for range len(text) + 1 {
		s.ways = append(s.ways, reached{start: -1})
	}
	ways := s.ways
	for at := 0; at < len(text); {
		score := ways[at].score
		_, n := utf8.DecodeRune(text[at:])
		single := false
		try := func(end int, id int32, candidate float64) {
			if w := &ways[end]; w.start < 0 || candidate > w.score {
				*w = reached{candidate, int32(at), id}
			}
		}
		node := u.trie.root(text[at])
		for i := at + 1; node != 0; i++ {
			if id := u.trie.nodes[node].value; id >= 0 {
				// The last of several with this text.
				try(i, id, u.scores[id]+score)
				single = single || i-at == n
			}
			if i == len(text) {
				break
			}
			node = u.trie.next(node, text[i])
		}
		if !single {
			try(at+n, u.unknown, u.missing+score)
		}
		at += n
	}
	s.found = s.found[:0]
	for end := len(text); end > 0; end = int(ways[end].start) {
		w := ways[end]
		if last := len(s.found) - 1; last >= 0 && w.id == u.unknown && s.found[last].id == u.unknown {
			s.found[last].start = w.start // neighbours without a token are one
			continue
		}
		s.found = append(s.found, piece{w.id, w.start, int32(end)})
	}
	for i := len(s.found) - 1; i >= 0; i-- {
		p := s.found[i]
		if p.id != u.unknown {
			ids = append(ids, p.id)
			continue
		}
		if id, ok := u.ids[string(text[p.start:p.end])]; ok {
			ids = append(ids, id)
		} else {
			ids = u.without(ids, text[p.start:p.end])
		}
	}
	return ids
}

// piece is a token of a text.
type piece struct{ id, start, end int32 }

// without adds the tokens of a text that has none: those of its bytes, or the unknown token.
func (u *unigram) without(ids []int32, text []byte) []int32 {
	if !u.back {
		return append(ids, u.unknown)
	}
	for _, b := range text {
		if u.bytes[b] < 0 {
			return append(ids, u.unknown)
		}
	}
	for _, b := range text {
		ids = append(ids, u.bytes[b])
	}
	return ids
}
