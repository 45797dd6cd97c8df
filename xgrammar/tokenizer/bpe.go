package tokenizer

import (
	"bytes"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/xgrammar/internal/tokenfile"
)

// bpe merges the pair of neighbours whose merge comes first in the file, again and again.
type bpe struct {
	ids     map[string]int32 // by text; of a byte-level model by the bytes themselves
	merges  *pairs
	bytes   [256]int32 // byte tokens: of byte-level models the bytes, else those of byte fallback; -1 without one
	ascii   [128]int32 // the tokens of one rune of ASCII, -1 without one
	raw     bool       // the text of a token is its bytes
	unknown int32      // -1 without one
	fuse    bool
	direct  bool // a word that is a token has no merges
	back    bool
	prefix  string
	suffix  string
}

type merge struct{ rank, id int32 }

// newBPE reads the model. If raw, a word comes as bytes and not as the letters that stand for them.
func newBPE(m *tokenfile.Model, raw bool) (*bpe, error) {
	if m.Dropout != 0 {
		return nil, fmt.Errorf("model.dropout is %g: want none, since it is for training", m.Dropout)
	}
	b := &bpe{ids: make(map[string]int32, len(m.Vocab)), merges: newPairs(len(m.Merges) / 2), raw: raw, unknown: -1, fuse: m.FuseUnknown,
		direct: m.IgnoreMerges, back: m.ByteFallback, prefix: m.Prefix, suffix: m.Suffix}
	for i := range b.bytes {
		b.bytes[i] = -1
		text := fmt.Sprintf("<0x%02X>", i)
		if raw {
			text = letters[i]
		}
		if id, ok := m.Vocab[text]; ok {
			b.bytes[i] = int32(id)
		}
	}
	if m.Unknown != "" {
		id, ok := m.Vocab[m.Unknown]
		if !ok {
			return nil, fmt.Errorf("model.unk_token is %q, which is not in model.vocab", m.Unknown)
		}
		b.unknown = int32(id)
	}
	for i := range b.ascii {
		b.ascii[i] = -1
		if id, ok := m.Vocab[string(rune(i))]; ok {
			b.ascii[i] = int32(id)
		}
	}
	var letter []byte
	for text, id := range m.Vocab {
		if raw {
			var ok bool
			if letter, ok = appendBytes(letter[:0], text); !ok {
				continue // no text has these letters
			}
			text = string(letter)
		}
		b.ids[text] = int32(id)
	}
	for i := 0; i < len(m.Merges); i += 2 {
		left, right := m.Merges[i], m.Merges[i+1]
		if len(right) < len(m.Prefix) {
			return nil, fmt.Errorf("model.merges[%d] has %q, which is shorter than continuing_subword_prefix %q", i/2, right, m.Prefix)
		}
		both := left + right[len(m.Prefix):]
		var ids [3]int32
		for j, text := range []string{left, right, both} {
			id, ok := m.Vocab[text]
			if !ok {
				return nil, fmt.Errorf("model.merges[%d] has %q, which is not in model.vocab", i/2, text)
			}
			ids[j] = int32(id)
		}
		b.merges.put(ids[0], ids[1], merge{int32(i / 2), ids[2]})
	}
	return b, nil
}

// symbol is a token of a word while it is merged. Its merge is that with the next one.
type symbol struct {
	id         int32
	rank       int32 // of the merge, none without one
	merged     int32 // what the merge makes
	prev, next int32 // for long words
}

const none = math.MaxInt32

func (b *bpe) append(ids []int32, s *scratch, word []byte) []int32 {
	if len(word) == 0 {
		return ids
	}
	if b.direct {
		if id, ok := b.ids[string(word)]; ok {
			return append(ids, id)
		}
	}
	slot := s.cache.slot(word)
	if slot != nil && slot.is(word) {
		return append(ids, slot.ids[:slot.count]...)
	}
	b.symbols(s, word)
	if len(s.symbols) > 48 {
		b.mergeLong(s)
	} else {
		b.mergeShort(s)
	}
	start := len(ids)
	for i := range s.symbols {
		ids = append(ids, s.symbols[i].id)
	}
	if slot != nil {
		slot.set(word, ids[start:])
	}
	return ids
}

// symbols makes the symbols of the runes of a word, or of its bytes.
func (b *bpe) symbols(s *scratch, word []byte) {
	s.symbols = s.symbols[:0]
	add := func(id int32) { s.symbols = append(s.symbols, symbol{id: id}) }
	waits := false // an unknown token
	for at := 0; at < len(word); {
		n := 1
		if !b.raw {
			_, n = utf8.DecodeRune(word[at:])
		}
		text := word[at : at+n]
		id, ok := int32(-1), false
		if b.raw {
			id = b.bytes[text[0]]
			ok = id >= 0
		} else {
			if b.prefix != "" && at > 0 || b.suffix != "" && at+n == len(word) {
				s.affix = s.affix[:0]
				if at > 0 {
					s.affix = append(s.affix, b.prefix...)
				}
				s.affix = append(s.affix, text...)
				if at+n == len(word) {
					s.affix = append(s.affix, b.suffix...)
				}
				text = s.affix
			}
			if len(text) == 1 && text[0] < utf8.RuneSelf {
				id = b.ascii[text[0]]
				ok = id >= 0
			} else {
				id, ok = b.ids[string(text)]
			}
		}
		at += n
		switch {
		case ok:
			if waits {
				add(b.unknown)
			}
			waits = false
			add(id)
		case b.back && !b.raw && b.fallback(s, text):
		case b.unknown >= 0:
			if waits && !b.fuse {
				add(b.unknown)
			}
			waits = true
		}
	}
	if waits {
		add(b.unknown)
	}
}

// fallback makes the symbols of bytes, if all of them have one.
func (b *bpe) fallback(s *scratch, text []byte) bool {
	for _, c := range text {
		if b.bytes[c] < 0 {
			return false
		}
	}
	for _, c := range text {
		s.symbols = append(s.symbols, symbol{id: b.bytes[c]})
	}
	return true
}

// look sets the merge of a symbol with the next one.
func (b *bpe) look(left, right *symbol) {
	left.rank = none
	if m, ok := b.merges.get(left.id, right.id); ok {
		left.rank, left.merged = m.rank, m.id
	}
}

// mergeShort looks at all symbols for each merge.
func (b *bpe) mergeShort(s *scratch) {
	all := s.symbols
	for i := range len(all) - 1 {
		b.look(&all[i], &all[i+1])
	}
	for len(all) > 1 {
		best, at := int32(none), -1
		for i := range all[:len(all)-1] {
			if all[i].rank < best {
				best, at = all[i].rank, i
			}
		}
		if at < 0 {
			break
		}
		all[at].id = all[at].merged
		all = append(all[:at+1], all[at+2:]...)
		if at+1 < len(all) {
			b.look(&all[at], &all[at+1])
		}
		if at > 0 {
			b.look(&all[at-1], &all[at])
		}
	}
	s.symbols = all
}

// candidate is a merge that may be made: it is stale if its symbols have changed.
type candidate struct {
	rank, at    int32
	left, right int32
}

func (c candidate) before(d candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.at < d.at
}

// mergeLong keeps the merges in a heap, so that its time is n log n.
func (b *bpe) mergeLong(s *scratch) {
	all := s.symbols
	s.heap = s.heap[:0]
	push := func(at int32) {
		left := &all[at]
		right := &all[left.next]
		if b.look(left, right); left.rank != none {
			s.push(candidate{left.rank, at, left.id, right.id})
		}
	}
	for i := range all {
		all[i].prev, all[i].next = int32(i)-1, int32(i)+1
	}
	last := int32(len(all))
	for i := range last - 1 {
		push(i)
	}
	for len(s.heap) > 0 {
		c := s.pop()
		left := &all[c.at]
		if left.id != c.left || left.next == last || all[left.next].id != c.right {
			continue
		}
		right := &all[left.next]
		m, _ := b.merges.get(c.left, c.right)
		left.id, left.next = m.id, right.next
		right.id = -1
		if left.next != last {
			all[left.next].prev = c.at
			push(c.at)
		}
		if left.prev >= 0 {
			push(left.prev)
		}
	}
	to := 0
	for i := int32(0); i != last; i = all[i].next {
		all[to] = all[i]
		to++
	}
	s.symbols = all[:to]
}

func (s *scratch) push(c candidate) {
	s.heap = append(s.heap, c)
	for i := len(s.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !s.heap[i].before(s.heap[up]) {
			break
		}
		s.heap[i], s.heap[up] = s.heap[up], s.heap[i]
		i = up
	}
}

func (s *scratch) pop() candidate {
	top, n := s.heap[0], len(s.heap)-1
	s.heap[0] = s.heap[n]
	s.heap = s.heap[:n]
	for i := 0; ; {
		down := 2*i + 1
		if down >= n {
			break
		}
		if down+1 < n && s.heap[down+1].before(s.heap[down]) {
			down++
		}
		if !s.heap[down].before(s.heap[i]) {
			break
		}
		s.heap[i], s.heap[down] = s.heap[down], s.heap[i]
		i = down
	}
	return top
}

// cache remembers the tokens of words, one word in each slot.
type cache [1 << 12]slot

type slot struct {
	length, count uint8
	word          [32]byte
	ids           [12]int32
}

// slot returns the place of a word, or nil if it is too long.
func (c *cache) slot(word []byte) *slot {
	if c == nil || len(word) < 2 || len(word) > len(c[0].word) {
		return nil
	}
	hash := uint32(2166136261)
	for _, b := range word {
		hash = (hash ^ uint32(b)) * 16777619
	}
	return &c[(hash^hash>>15)%uint32(len(c))]
}

func (s *slot) is(word []byte) bool { return bytes.Equal(s.word[:s.length], word) }

func (s *slot) set(word []byte, ids []int32) {
	if len(ids) <= len(s.ids) {
		s.length, s.count = uint8(copy(s.word[:], word)), uint8(copy(s.ids[:], ids))
	}
}
