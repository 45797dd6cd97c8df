package pattern

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Version is the version of Unicode whose categories classes have.
const Version = "16.0.0"

// names are the categories in the order of their numbers in the table.
var names = []string{"Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po",
	"Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co"}

// scripts are those that patterns of tokenizers name.
var scripts = map[string][]Range{
	"Han": {{0x2e80, 0x2e99}, {0x2e9b, 0x2ef3}, {0x2f00, 0x2fd5}, {0x3005, 0x3005}, {0x3007, 0x3007}, {0x3021, 0x3029}, {0x3038, 0x303b},
		{0x3400, 0x4dbf}, {0x4e00, 0x9fff}, {0xf900, 0xfa6d}, {0xfa70, 0xfad9}, {0x16fe2, 0x16fe3}, {0x16ff0, 0x16ff1}, {0x20000, 0x2a6df},
		{0x2a700, 0x2b739}, {0x2b740, 0x2b81d}, {0x2b820, 0x2cea1}, {0x2ceb0, 0x2ebe0}, {0x2ebf0, 0x2ee5d}, {0x2f800, 0x2fa1d},
		{0x30000, 0x3134a}, {0x31350, 0x323af}},
}

// Range has the runes from Low to High.
type Range struct{ Low, High rune }

// runs returns the runes of each category.
var runs = sync.OnceValue(func() [][]Range {
	packed, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, strings.NewReader(strings.ReplaceAll(categories, "\n", ""))))
	if err != nil {
		panic(err)
	}
	z, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(err)
	}
	table, err := io.ReadAll(z)
	if err != nil {
		panic(err)
	}
	all, at := make([][]Range, len(names)), rune(0)
	for len(table) > 0 {
		n, width := binary.Uvarint(table[1:])
		all[table[0]] = append(all[table[0]], Range{at, at + rune(n) - 1})
		at, table = at+rune(n), table[1+width:]
	}
	return all
})

// Category returns the runes of a category such as Lu, or of all those that begin with a letter such as L; nil if there is
// none of that name.
func Category(name string) (all []Range) {
	for i, n := range names {
		if n == name || len(name) == 1 && n[:1] == name {
			all = append(all, runs()[i]...)
		}
	}
	return all
}

// Class is a set of runes. The zero value is empty.
type Class struct {
	ascii [2]uint64
	page  [(unicode.MaxRune + 1) >> 8]uint16 // in pages; 0 is empty, 1 is full
	pages [][4]uint64
	first [256]bool // the bytes with which a rune of the class begins
}

// NewClass makes a Class.
func NewClass(ranges []Range, not bool) *Class {
	if not {
		ranges = invert(ranges)
	}
	set := make([]uint64, (unicode.MaxRune+1)/64)
	for _, r := range ranges {
		for at := r.Low; at <= r.High; {
			if at&63 == 0 && at+63 <= r.High {
				set[at>>6] = ^uint64(0)
				at += 64
				continue
			}
			set[at>>6] |= 1 << (at & 63)
			at++
		}
	}
	c := &Class{ascii: [2]uint64{set[0], set[1]}, pages: [][4]uint64{{}, {^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}}}
	known := map[[4]uint64]uint16{c.pages[1]: 1}
	var bytes [utf8.UTFMax]byte
	for i := range c.page {
		page := [4]uint64(set[4*i:])
		if page == c.pages[0] {
			continue
		}
		at, ok := known[page]
		if !ok {
			at = uint16(len(c.pages))
			known[page], c.pages = at, append(c.pages, page)
		}
		c.page[i] = at
		for r := rune(i) << 8; r < rune(i+1)<<8; r++ {
			if page[r>>6&3]>>(r&63)&1 == 0 {
				continue
			}
			utf8.EncodeRune(bytes[:], r)
			c.first[bytes[0]] = true
			if r >= utf8.RuneSelf {
				r |= 63 // these share the first byte
			}
		}
	}
	return c
}

// Has reports whether a rune is in the class.
func (c *Class) Has(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 0 && c.ascii[r>>6]>>(r&63)&1 != 0
	}
	return r <= unicode.MaxRune && c.pages[c.page[r>>8]][r>>6&3]>>(r&63)&1 != 0
}

// next returns the length of the rune at the start of text if it is in the class, and 0 otherwise.
func (c *Class) next(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	if b := text[0]; b < utf8.RuneSelf {
		return int(c.ascii[b>>6] >> (b & 63) & 1)
	}
	if r, n := utf8.DecodeRune(text); c.Has(r) {
		return n
	}
	return 0
}

// Space has the runes with the property White_Space.
var Space = []Range{{'\t', '\r'}, {' ', ' '}, {0x85, 0x85}, {0xa0, 0xa0}, {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029},
	{0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}}

// Words are what \w matches in Rust's regular expressions.
var Words = sync.OnceValue(func() (all []Range) {
	for _, name := range []string{"L", "M", "Nd", "Nl", "Pc"} {
		all = append(all, Category(name)...)
	}
	return append(all, Range{0x24b6, 0x24e9}, Range{0x1f130, 0x1f149}, Range{0x1f150, 0x1f169}, Range{0x1f170, 0x1f189}, Range{0x200c, 0x200d})
})
