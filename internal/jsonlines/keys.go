package jsonlines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Check returns an error if encoding/json would lose a part of JSON text without an error: a key that an object has twice, of
// which other readers may take the other one, and characters that it replaces, which are bytes that are not UTF-8 and halves of
// surrogate pairs. The error gives the line, the column, and where the object with the key stands. The text must be valid
// JSON: call Check after it was read. It returns nil for other text.
func Check(data []byte) error {
	if !json.Valid(data) {
		return nil
	}
	k := keys{data: data}
	if !utf8.Valid(data) {
		at := 0
		for r, size := utf8.DecodeRune(data); r != utf8.RuneError || size > 1; r, size = utf8.DecodeRune(data[at:]) {
			at += size
		}
		return k.errorf(at, "the byte %#x is not UTF-8", data[at])
	}
	k.value()
	return k.err
}

// errorf returns an error with a place in the text.
func (k *keys) errorf(at int, format string, args ...any) error {
	before := k.data[:at]
	return fmt.Errorf("line %d, column %d: %w", bytes.Count(before, []byte("\n"))+1, at-bytes.LastIndexByte(before, '\n'), fmt.Errorf(format, args...))
}

// keys goes through valid JSON text.
type keys struct {
	data []byte
	at   int
	path []string
	err  error
}

// next returns the next byte that is not a space.
func (k *keys) next() byte {
	for k.data[k.at] <= ' ' {
		k.at++
	}
	return k.data[k.at]
}

func (k *keys) value() {
	switch k.next() {
	case '"':
		k.text()
	case '{':
		k.object()
	case '[':
		k.at++
		for i := 0; k.next() != ']' && k.err == nil; i++ {
			if k.data[k.at] == ',' {
				k.at++
			}
			k.path = append(k.path, strconv.Itoa(i))
			k.value()
			k.path = k.path[:len(k.path)-1]
		}
		k.at++
	default:
		for k.at < len(k.data) && !bytes.ContainsRune([]byte(",]} \t\r\n"), rune(k.data[k.at])) {
			k.at++
		}
	}
}

// text skips a text and returns it with its quotes.
func (k *keys) text() []byte {
	start := k.at
	for k.at++; k.data[k.at] != '"'; k.at++ {
		if k.data[k.at] == '\\' {
			k.escape()
		}
	}
	k.at++
	return k.data[start:k.at]
}

// escape skips an escape sequence up to its last byte.
func (k *keys) escape() {
	start := k.at
	k.at++
	if k.data[k.at] != 'u' {
		return
	}
	k.at += 4
	if r := k.unit(start); utf16.IsSurrogate(r) {
		if utf16.DecodeRune(r, k.unit(k.at+1)) == utf8.RuneError {
			if k.err == nil {
				k.err = k.errorf(start, "%s is half of a surrogate pair, expected a character", k.data[start:start+6])
			}
			return
		}
		k.at += 6
	}
}

// unit returns the code unit of an escape sequence such as \u00e4 that begins at a place, 0 if there is none.
func (k *keys) unit(at int) rune {
	if at+6 > len(k.data) || k.data[at] != '\\' || k.data[at+1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(k.data[at+2:at+6]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(n)
}

func (k *keys) object() {
	k.at++
	seen := map[string]bool{}
	for k.next() != '}' {
		if k.data[k.at] == ',' {
			k.at++
			k.next()
		}
		start := k.at
		text := k.text()
		name := string(text[1 : len(text)-1])
		if strings.Contains(name, `\`) {
			if json.Unmarshal(text, &name) != nil {
				return // not valid JSON
			}
		}
		if seen[name] {
			where := ""
			if len(k.path) > 0 {
				where = " in " + strings.Join(k.path, ".")
			}
			k.err = k.errorf(start, "the key %q occurs twice%s: remove one", name, where)
			return
		}
		seen[name] = true
		k.next()
		k.at++ // the colon
		k.path = append(k.path, name)
		if k.value(); k.err != nil {
			return
		}
		k.path = k.path[:len(k.path)-1]
	}
	k.at++
}
