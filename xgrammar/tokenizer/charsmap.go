package tokenizer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// charsmap is the table of SentencePiece: a double array of texts, and what they become.
type charsmap struct {
	units []uint32
	texts []byte // each ends with a 0
}

func readCharsmap(text []byte) (*charsmap, error) {
	if len(text) < 4 {
		return nil, errors.New("want the size of a table, and the table")
	}
	size := binary.LittleEndian.Uint32(text)
	if size%4 != 0 || int(size) > len(text)-4 {
		return nil, errors.New("the table is larger than the text")
	}
	c := &charsmap{texts: text[4+size:]}
	for at := 4; at < 4+int(size); at += 4 {
		c.units = append(c.units, binary.LittleEndian.Uint32(text[at:]))
	}
	if !utf8.Valid(c.texts) {
		return nil, errors.New("its texts are not UTF-8")
	}
	return c, nil
}

// find returns what the shortest text of the table with which a text begins becomes.
func (c *charsmap) find(text []byte) ([]byte, bool) {
	unit := func(at uint32) uint32 {
		if int(at) < len(c.units) {
			return c.units[at]
		}
		return 1 << 31 // no child has this label
	}
	offset := func(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }
	at := offset(unit(0))
	for _, b := range text {
		if b == 0 {
			break
		}
		at ^= uint32(b)
		u := unit(at)
		if u&(1<<31|0xff) != uint32(b) {
			return nil, false
		}
		at ^= offset(u)
		if u>>8&1 != 0 {
			start := int(unit(at) & (1<<31 - 1))
			if start >= len(c.texts) {
				return nil, false
			}
			end := bytes.IndexByte(c.texts[start:], 0)
			if end < 0 {
				end = len(c.texts) - start
			}
			return c.texts[start : start+end], true
		}
	}
	return nil, false
}

// apply replaces clusters of up to 5 bytes as a whole, if the table has their start, and the runes of others one by one.
func (c *charsmap) apply(to, text []byte, _ *scratch) []byte {
	state := -1
	for len(text) > 0 {
		var cluster []byte
		if len(text) > 1 && text[0] < utf8.RuneSelf && text[0] != '\r' && text[1] < utf8.RuneSelf {
			cluster, text, state = text[:1], text[1:], -1
		} else {
			cluster, text, _, state = uniseg.FirstGraphemeCluster(text, state)
		}
		if len(cluster) < 6 {
			if by, ok := c.find(cluster); ok {
				to = append(to, by...)
				continue
			}
		}
		for len(cluster) > 0 {
			_, n := utf8.DecodeRune(cluster)
			if by, ok := c.find(cluster[:n]); ok {
				to = append(to, by...)
			} else {
				to = append(to, cluster[:n]...)
			}
			cluster = cluster[n:]
		}
	}
	return to
}
