// Package jsonlines writes JSON with one item a line, so that a diff shows which items changed, and finds what would be lost in JSON: keys that occur twice, and characters.
package jsonlines

import (
	"bytes"
	"encoding/json"
)

// Marshal returns v as JSON. Each element of a list or an object in v is one line.
func Marshal(v any) ([]byte, error) {
	var indented, b bytes.Buffer
	enc := json.NewEncoder(&indented)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "\t")
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	for line := range bytes.Lines(indented.Bytes()) { // a text has no line end, only \n
		text := bytes.TrimLeft(line, "\t")
		depth := len(line) - len(text)
		if depth > 2 || depth == 2 && (text[0] == '}' || text[0] == ']') {
			b.Truncate(b.Len() - 1)
			if bytes.HasSuffix(b.Bytes(), []byte(",")) {
				b.WriteByte(' ')
			}
			line = text
		}
		b.Write(line)
	}
	return b.Bytes(), nil
}
