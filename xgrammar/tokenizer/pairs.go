package tokenizer

import "math/rand/v2"

// pairs are the merges of pairs of tokens. The library's map takes twice as long, which is most of the time of an encoding.
type pairs struct {
	slots []pair
	shift uint
	seed  uint64 // so that no file can choose pairs that meet
}

type pair struct {
	left, right int32 // left is -1 in an empty slot
	merge
}

func newPairs(n int) *pairs {
	p := &pairs{shift: 63, seed: rand.Uint64() | 1}
	for 1<<(64-p.shift) < 2*n {
		p.shift--
	}
	p.slots = make([]pair, 1<<(64-p.shift))
	for i := range p.slots {
		p.slots[i].left = -1
	}
	return p
}

func (p *pairs) slot(left, right int32) *pair {
	key := uint64(uint32(left))<<32 | uint64(uint32(right))
	key ^= key >> 29
	for at := key * p.seed >> p.shift; ; at++ {
		s := &p.slots[at&uint64(len(p.slots)-1)]
		if s.left < 0 || s.left == left && s.right == right {
			return s
		}
	}
}

// put adds a merge. Of two merges of a pair, the latter counts.
func (p *pairs) put(left, right int32, m merge) { *p.slot(left, right) = pair{left, right, m} }

// get returns the merge of a pair, and whether there is one.
func (p *pairs) get(left, right int32) (merge, bool) {
	s := p.slot(left, right)
	return s.merge, s.left >= 0
}
