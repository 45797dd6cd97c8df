package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
	"github.com/tvmffi-go/tvmffi/xgrammar/internal/pattern"
)

// A normalizer appends a text as the tokenizer wants it.
type normalizer interface {
	apply(to, text []byte, s *scratch) []byte
}

// unsupported says what is supported.
func unsupported(what, kind string, supported string) error {
	return fmt.Errorf("%s has the type %q, which is not supported: want one of %s", what, kind, supported)
}

// absent is the error of a part without a member that Hugging Face's library asks for.
func absent(what, kind, member string) error {
	return fmt.Errorf("%s has the type %s and no %s: want one, as Hugging Face's library does", what, kind, member)
}

// readNormalizers reads the normalizers of a file, a sequence as its members.
func readNormalizers(text json.RawMessage, what string, depth int) (all []normalizer, err error) {
	if text == nil || string(text) == "null" {
		return nil, nil
	}
	var n struct {
		Type        string
		Normalizers []json.RawMessage
		Pattern     json.RawMessage
		Content     *string
		Prepend     *string
		Left        *bool  `json:"strip_left"`
		Right       *bool  `json:"strip_right"`
		Charsmap    []byte `json:"precompiled_charsmap"`
		Clean       *bool  `json:"clean_text"`
		Chinese     *bool  `json:"handle_chinese_chars"`
		Accents     *bool  `json:"strip_accents"`
		Lower       *bool  `json:"lowercase"`
	}
	if err := jsonlines.Unmarshal(text, &n); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	is := func(b *bool, otherwise bool) bool { return b == nil && otherwise || b != nil && *b }
	switch n.Type {
	case "NFC", "NFD", "NFKC", "NFKD":
		return []normalizer{forms[n.Type]}, nil
	case "Sequence":
		if depth > maxNesting {
			return nil, fmt.Errorf("%s is deeper than %d", what, maxNesting)
		}
		if n.Normalizers == nil {
			return nil, absent(what, n.Type, "normalizers")
		}
		for i, text := range n.Normalizers {
			more, err := readNormalizers(text, fmt.Sprintf("%s.normalizers[%d]", what, i), depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
		return all, nil
	case "Lowercase":
		return []normalizer{lower{}}, nil
	case "Strip":
		return []normalizer{strip{is(n.Left, true), is(n.Right, true)}}, nil
	case "StripAccents":
		return []normalizer{removal{marks()}}, nil
	case "Prepend":
		if n.Prepend == nil {
			return nil, absent(what, n.Type, "prepend")
		}
		return []normalizer{prepend(*n.Prepend)}, nil
	case "Replace":
		if n.Content == nil {
			return nil, absent(what, n.Type, "content")
		}
		f, err := readFinder(n.Pattern, what)
		return []normalizer{replace{f, *n.Content}}, err
	case "ByteLevel":
		return []normalizer{byteLetters{}}, nil
	case "Precompiled":
		p, err := readCharsmap(n.Charsmap)
		if err != nil {
			err = fmt.Errorf("%s.precompiled_charsmap: %w", what, err)
		}
		return []normalizer{p}, err
	case "BertNormalizer":
		if is(n.Clean, true) {
			all = append(all, clean{controls()})
		}
		if is(n.Chinese, true) {
			all = append(all, apart{})
		}
		if is(n.Accents, is(n.Lower, true)) {
			all = append(all, forms["NFD"], removal{accents()})
		}
		if is(n.Lower, true) {
			all = append(all, lower{})
		}
		return all, nil
	}
	return nil, unsupported(what, n.Type, "NFC, NFD, NFKC, NFKD, Lowercase, Strip, StripAccents, Prepend, Replace, ByteLevel, Precompiled, BertNormalizer, Sequence")
}

// maxNesting bounds sequences in sequences.
const maxNesting = 20

// newer are runes in upper case that came after Unicode 15.0, with those in lower case.
var newer = []struct{ low, high, to rune }{{0x1c89, 0x1c89, 0x1c8a}, {0xa7cb, 0xa7cb, 0x264}, {0xa7cc, 0xa7cc, 0xa7cd}, {0xa7ce, 0xa7ce, 0xa7cf}, {0xa7d2, 0xa7d2, 0xa7d3},
	{0xa7d4, 0xa7d4, 0xa7d5}, {0xa7da, 0xa7da, 0xa7db}, {0xa7dc, 0xa7dc, 0x19b}, {0x10d50, 0x10d65, 0x10d70}, {0x16ea0, 0x16eb8, 0x16ebb}}

type lower struct{}

func (lower) apply(to, text []byte, _ *scratch) []byte {
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRune(text[at:])
		at += n
		l := unicode.ToLower(r)
		for _, m := range newer {
			if r >= m.low && r <= m.high {
				l = m.to + r - m.low
			}
		}
		if to = utf8.AppendRune(to, l); r == 'İ' {
			to = append(to, "\u0307"...)
		}
	}
	return to
}

type strip struct{ left, right bool }

func (s strip) apply(to, text []byte, _ *scratch) []byte {
	if s.left {
		text = bytes.TrimLeftFunc(text, space.Has)
	}
	if s.right {
		text = bytes.TrimRightFunc(text, space.Has)
	}
	return append(to, text...)
}

type removal struct{ class *pattern.Class }

func (w removal) apply(to, text []byte, _ *scratch) []byte {
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRune(text[at:])
		if !w.class.Has(r) {
			to = append(to, text[at:at+n]...)
		}
		at += n
	}
	return to
}

type prepend string

func (p prepend) apply(to, text []byte, _ *scratch) []byte {
	if len(text) > 0 {
		to = append(to, p...)
	}
	return append(to, text...)
}

type byteLetters struct{}

func (byteLetters) apply(to, text []byte, _ *scratch) []byte { return appendLetters(to, text) }

type replace struct {
	finder
	by string
}

func (r replace) apply(to, text []byte, s *scratch) []byte {
	at := 0
	for at < len(text) {
		start, end, ok := r.find(text, at, &s.machine)
		if !ok {
			break
		}
		to = append(to, text[at:start]...)
		to = append(to, r.by...)
		at = end
	}
	return append(to, text[at:]...)
}

// clean takes out controls and makes spaces of white space, as BERT does.
type clean struct{ controls *pattern.Class }

func (c clean) apply(to, text []byte, _ *scratch) []byte {
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRune(text[at:])
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			to = append(to, ' ')
		case r == 0 || r == utf8.RuneError || c.controls.Has(r):
		case space.Has(r):
			to = append(to, ' ')
		default:
			to = append(to, text[at:at+n]...)
		}
		at += n
	}
	return to
}

var chinese = pattern.NewClass([]pattern.Range{{Low: 0x4e00, High: 0x9fff}, {Low: 0x3400, High: 0x4dbf}, {Low: 0x20000, High: 0x2a6df}, {Low: 0x2a700, High: 0x2b73f},
	{Low: 0x2b740, High: 0x2b81f}, {Low: 0x2b920, High: 0x2ceaf}, {Low: 0xf900, High: 0xfaff}, {Low: 0x2f800, High: 0x2fa1f}}, false)

// apart puts spaces round Chinese letters.
type apart struct{}

func (apart) apply(to, text []byte, _ *scratch) []byte {
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRune(text[at:])
		if chinese.Has(r) {
			to = append(to, ' ')
			to = append(to, text[at:at+n]...)
			to = append(to, ' ')
		} else {
			to = append(to, text[at:at+n]...)
		}
		at += n
	}
	return to
}
