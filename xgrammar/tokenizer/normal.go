package tokenizer

import (
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// inert has runes that came to Unicode after the tables of Hugging Face's tokenizers, which are those of Unicode 12.0. They
// have decompositions, combine with others, or change places, and there they do not. The test against that library finds
// what a newer version of it changes.
var inert = []rune32{{0x558, 0x558}, {0x58b, 0x58c}, {0x5c8, 0x5c9}, {0x7fd, 0x7fd}, {0x897, 0x89f}, {0x8ca, 0x8d3}, {0x9fe, 0x9fe},
	{0xc3c, 0xc3c}, {0xd3b, 0xd3c}, {0xeba, 0xeba}, {0x1715, 0x1715}, {0x1abf, 0x1af0}, {0x1df6, 0x1dfa}, {0x209d, 0x209f}, {0x32ff, 0x32ff},
	{0xa7f1, 0xa7f4}, {0xa82c, 0xa82c}, {0xab69, 0xab69}, {0x105c9, 0x105c9}, {0x105d2, 0x105d2}, {0x105da, 0x105da}, {0x105e4, 0x105e4},
	{0x10781, 0x10785}, {0x10787, 0x107b0}, {0x107b2, 0x107bf}, {0x10d24, 0x10d27}, {0x10d69, 0x10d6d}, {0x10eab, 0x10eac}, {0x10ecb, 0x10ecf},
	{0x10ef0, 0x10efb}, {0x10efd, 0x10eff}, {0x10f46, 0x10f50}, {0x10f82, 0x10f85}, {0x11070, 0x11070}, {0x1133b, 0x1133b}, {0x11382, 0x11385},
	{0x1138b, 0x1138b}, {0x1138e, 0x1138e}, {0x11390, 0x11391}, {0x113c2, 0x113c8}, {0x113ce, 0x113d0}, {0x1145e, 0x1145e}, {0x11839, 0x1183a},
	{0x11930, 0x11930}, {0x11935, 0x11935}, {0x11938, 0x11938}, {0x1193d, 0x1193e}, {0x11943, 0x11943}, {0x119e0, 0x119e0}, {0x11a34, 0x11a34},
	{0x11a47, 0x11a47}, {0x11a99, 0x11a99}, {0x11d42, 0x11d42}, {0x11d44, 0x11d45}, {0x11d97, 0x11d97}, {0x11f41, 0x11f42}, {0x1611e, 0x1612f},
	{0x16d63, 0x16d6a}, {0x16ff0, 0x16ff1}, {0x1b123, 0x1b126}, {0x1ccd6, 0x1ccf9}, {0x1d127, 0x1d128}, {0x1d250, 0x1d252}, {0x1d25b, 0x1d25c},
	{0x1d25f, 0x1d25f}, {0x1d280, 0x1d281}, {0x1d6a6, 0x1d6a6}, {0x1df95, 0x1df95}, {0x1dfcd, 0x1dfff}, {0x1e030, 0x1e06d}, {0x1e08f, 0x1e08f},
	{0x1e130, 0x1e136}, {0x1e2ae, 0x1e2ae}, {0x1e2ec, 0x1e2ef}, {0x1e4ec, 0x1e4ef}, {0x1e5ee, 0x1e5ef}, {0x1e6e3, 0x1e6e3}, {0x1e6e6, 0x1e6e6},
	{0x1e6ee, 0x1e6ef}, {0x1e6f5, 0x1e6f5}, {0x1f16c, 0x1f16c}, {0x1fbf0, 0x1fbf9}}

type rune32 struct{ low, high rune }

func isInert(r rune) bool {
	if r < inert[0].low {
		return false
	}
	_, found := slices.BinarySearchFunc(inert, r, func(in rune32, r rune) int {
		switch {
		case in.high < r:
			return -1
		case in.low > r:
			return 1
		}
		return 0
	})
	return found
}

// form is one of the four normal forms of Unicode.
type form struct {
	whole      norm.Form // of the form
	decomposed norm.Form // NFD, or NFKD
	compose    bool
}

var forms = map[string]form{
	"NFC": {norm.NFC, norm.NFD, true}, "NFKC": {norm.NFKC, norm.NFKD, true},
	"NFD": {norm.NFD, norm.NFD, false}, "NFKD": {norm.NFKD, norm.NFKD, false},
}

// maxMarks is the number of marks in a row up to which the library of Go does not add a joiner between them.
const maxMarks = 12

func (f form) apply(to, text []byte, s *scratch) []byte {
	// The library does it, except for inert runes and for more marks in a row than it takes.
	start, marks := 0, 0
	for at := 0; at < len(text); {
		if text[at] < utf8.RuneSelf {
			marks = 0
			at++
			continue
		}
		r, n := utf8.DecodeRune(text[at:])
		if isInert(r) {
			to = f.library(to, text[start:at], s)
			to = append(to, text[at:at+n]...)
			start, marks = at+n, 0
		} else if f.decomposed.Properties(text[at:]).CCC() != 0 {
			if marks++; marks > maxMarks {
				return f.slowly(to, text[start:], s)
			}
		} else {
			marks = 0
		}
		at += n
	}
	return f.library(to, text[start:], s)
}

func (f form) library(to, text []byte, s *scratch) []byte {
	if f.whole.IsNormal(text) {
		return append(to, text...)
	}
	s.normal = f.whole.Append(s.normal[:0], text...)
	return append(to, s.normal...)
}

// mark is a rune and its class, 0 for one that does not change places.
type mark struct {
	r     rune
	class uint8
}

// slowly is the algorithm of Unicode without a limit of marks.
func (f form) slowly(to, text []byte, s *scratch) []byte {
	s.marks = s.marks[:0]
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRune(text[at:])
		if isInert(r) {
			s.marks = append(s.marks, mark{r, 0})
		} else {
			for _, r := range string(f.decomposed.Bytes(text[at : at+n])) {
				s.marks = append(s.marks, mark{r, f.decomposed.PropertiesString(string(r)).CCC()})
			}
		}
		at += n
	}
	all := s.marks
	for start := 0; start < len(all); start++ {
		end := start
		for end < len(all) && all[end].class != 0 {
			end++
		}
		slices.SortStableFunc(all[start:end], func(a, b mark) int { return int(a.class) - int(b.class) })
		start = max(start, end)
	}
	if f.compose {
		all = composed(all)
	}
	for _, m := range all {
		to = utf8.AppendRune(to, m.r)
	}
	return to
}

// composed joins what Unicode has one rune for.
func composed(all []mark) []mark {
	out, starter, last := all[:0], -1, uint8(0)
	for _, m := range all {
		if starter >= 0 && (len(out)-1 == starter || last < m.class && last != 0) && !isInert(m.r) && !isInert(out[starter].r) {
			pair := []rune(norm.NFC.String(string([]rune{out[starter].r, m.r})))
			if len(pair) == 1 && !isInert(pair[0]) {
				out[starter].r = pair[0]
				continue
			}
		}
		if last = m.class; m.class == 0 {
			starter = len(out)
		}
		out = append(out, m)
	}
	return out
}
