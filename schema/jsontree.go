package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxJSONDepth bounds the nesting of JSON input. One level of a type expression
// takes up to four levels of JSON.
const maxJSONDepth = 5*MaxDepth + 20

// node is a JSON value with the order of members kept.
type node struct {
	// value is nil, bool, json.Number, string, []node or []member.
	value any
}

type member struct {
	name  string
	value node
}

// get returns the member of an object.
func (n node) get(name string) (node, bool) {
	members, _ := n.value.([]member)
	for _, m := range members {
		if m.name == name {
			return m.value, true
		}
	}
	return node{}, false
}

// kind names the JSON type of the value for messages.
func (n node) kind() string {
	switch n.value.(type) {
	case nil:
		return "null"
	case bool:
		return "a bool"
	case json.Number:
		return "a number"
	case string:
		return "a string"
	case []node:
		return "an array"
	}
	return "an object"
}

// parseJSON reads one JSON value and refuses what encoding/json lets pass:
// invalid UTF-8, duplicate keys, deep nesting and text after the value.
func parseJSON(text string) (node, error) {
	if !utf8.ValidString(text) {
		return node{}, fmt.Errorf("byte %d is not valid UTF-8", invalidUTF8(text))
	}
	r := jsonReader{text: text}
	n, err := r.value(1)
	if err == nil && (r.next() != 0 || r.at < len(text)) {
		err = errors.New("unexpected text after the value")
	}
	if err != nil {
		return node{}, fmt.Errorf("json, byte %d: %w", r.at, err)
	}
	return n, nil
}

func invalidUTF8(text string) int {
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return i
			}
		}
	}
	return len(text)
}

// jsonReader reads JSON values, in a quarter of the time that tokens of encoding/json take.
type jsonReader struct {
	text string // valid UTF-8
	at   int
}

// next skips spaces and returns the byte after them, 0 at the end of the text.
func (r *jsonReader) next() byte {
	for ; r.at < len(r.text); r.at++ {
		if c := r.text[r.at]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
	}
	return 0
}

// unexpected is the error for text that is not what is wanted.
func (r *jsonReader) unexpected(wanted string) error {
	if r.at == len(r.text) {
		return errors.New("the text ends too early")
	}
	c, _ := utf8.DecodeRuneInString(r.text[r.at:])
	return fmt.Errorf("expected %s, got %q", wanted, c)
}

func (r *jsonReader) value(depth int) (node, error) {
	if depth > maxJSONDepth {
		return node{}, fmt.Errorf("values nest deeper than %d levels", maxJSONDepth)
	}
	switch r.next() {
	case '[':
		items := []node{}
		err := r.list(']', func() error {
			n, err := r.value(depth + 1)
			items = append(items, n)
			return err
		})
		return node{items}, err
	case '{':
		members, seen := []member{}, map[string]bool{}
		err := r.list('}', func() error {
			m, err := r.member(depth + 1)
			if err == nil && seen[m.name] {
				err = fmt.Errorf("the key %q occurs twice", m.name)
			}
			members, seen[m.name] = append(members, m), true
			return err
		})
		return node{members}, err
	case '"':
		text, err := r.string()
		return node{text}, err
	}
	start := r.at
	for r.at < len(r.text) && !strings.ContainsRune(" \t\n\r,:]}[{\"", rune(r.text[r.at])) {
		r.at++
	}
	switch word := r.text[start:r.at]; word {
	case "null":
		return node{}, nil
	case "true", "false":
		return node{word == "true"}, nil
	default:
		if word != "" && json.Valid([]byte(word)) {
			return node{json.Number(word)}, nil
		}
		r.at = start
		return node{}, r.unexpected("a value")
	}
}

// list reads what one brings, between commas, up to the closing bracket.
func (r *jsonReader) list(closing byte, one func() error) error {
	r.at++ // the opening bracket
	if r.next() == closing {
		r.at++
		return nil
	}
	for {
		if err := one(); err != nil {
			return err
		}
		switch r.next() {
		case ',':
			r.at++
		case closing:
			r.at++
			return nil
		default:
			return r.unexpected(fmt.Sprintf("a comma or %q", closing))
		}
	}
}

func (r *jsonReader) member(depth int) (m member, err error) {
	if r.next() != '"' {
		return m, r.unexpected("the name of a member")
	}
	if m.name, err = r.string(); err != nil {
		return m, err
	}
	if r.next() != ':' {
		return m, r.unexpected("a colon")
	}
	r.at++
	m.value, err = r.value(depth)
	return m, err
}

// string reads a string. Without escapes it is a part of the text.
func (r *jsonReader) string() (string, error) {
	start, plain := r.at, true
	for r.at++; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; {
		case c == '"':
			r.at++
			if plain {
				return r.text[start+1 : r.at-1], nil
			}
			var s string
			err := json.Unmarshal([]byte(r.text[start:r.at]), &s)
			return s, err
		case c == '\\':
			plain = false
			r.at++
		case c < ' ':
			return "", r.unexpected("a character of a string")
		}
	}
	r.at = len(r.text)
	return "", r.unexpected("")
}

// numberValue turns a number into int64 if it fits, otherwise into float64.
func numberValue(n json.Number) (any, error) {
	if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		return i, nil
	}
	f, err := strconv.ParseFloat(n.String(), 64)
	if err != nil {
		return nil, fmt.Errorf("the number %s does not fit", abbreviate(n.String()))
	}
	return f, nil
}

// compact writes the value as JSON without spaces.
func (n node) compact(b *strings.Builder) {
	switch v := n.value.(type) {
	case []node:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			item.compact(b)
		}
		b.WriteByte(']')
	case []member:
		b.WriteByte('{')
		for i, m := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			node{m.name}.compact(b)
			b.WriteByte(':')
			m.value.compact(b)
		}
		b.WriteByte('}')
	default:
		text, err := json.Marshal(v) // a scalar that came from JSON cannot fail
		if err == nil {
			b.Write(text)
		}
	}
}
