package jsonlines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// CheckKeys returns an error if an object in JSON text has a key twice, of which encoding/json would drop one without an
// error, and other readers the other. The error names the key, the line, the column, and where the object stands. The text
// must be valid JSON: call CheckKeys after it was read. It returns nil for other text.
func CheckKeys(data []byte) error {
	if !json.Valid(data) {
		return nil
	}
	k := keys{data: data}
	k.value()
	return k.err
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
			k.at++
		}
	}
	k.at++
	return k.data[start:k.at]
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
			k.err = json.Unmarshal(text, &name)
		}
		if seen[name] {
			before := k.data[:start]
			where := ""
			if len(k.path) > 0 {
				where = " in " + strings.Join(k.path, ".")
			}
			k.err = fmt.Errorf("line %d, column %d: the key %q occurs twice%s: remove one", bytes.Count(before, []byte("\n"))+1, start-bytes.LastIndexByte(before, '\n'), name, where)
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
