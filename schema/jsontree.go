package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
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
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	n, err := readNode(dec, 1)
	if err == nil {
		if _, end := dec.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("unexpected text after the value")
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the text ends too early")
	}
	if err != nil {
		return node{}, fmt.Errorf("json, byte %d: %w", dec.InputOffset(), err)
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

func readNode(dec *json.Decoder, depth int) (node, error) {
	if depth > maxJSONDepth {
		return node{}, fmt.Errorf("values nest deeper than %d levels", maxJSONDepth)
	}
	token, err := dec.Token()
	if err != nil {
		return node{}, err
	}
	switch token {
	case json.Delim('['):
		items := []node{}
		for dec.More() {
			n, err := readNode(dec, depth+1)
			if err != nil {
				return node{}, err
			}
			items = append(items, n)
		}
		_, err = dec.Token()
		return node{items}, err
	case json.Delim('{'):
		members := []member{}
		seen := map[string]bool{}
		for dec.More() {
			token, err := dec.Token()
			if err != nil {
				return node{}, err
			}
			name, ok := token.(string)
			if !ok {
				return node{}, errors.New("expected the name of a member")
			}
			if seen[name] {
				return node{}, fmt.Errorf("the key %q occurs twice", name)
			}
			seen[name] = true
			n, err := readNode(dec, depth+1)
			if err != nil {
				return node{}, err
			}
			members = append(members, member{name, n})
		}
		_, err = dec.Token()
		return node{members}, err
	}
	return node{token}, nil
}

// numberValue turns a number into int64 if it is written as an int that fits, otherwise into float64. -0 is a float.
func numberValue(n json.Number) (any, error) {
	i, err := n.Int64()
	if err == nil && n != "-0" {
		return i, nil
	}
	f, err := jsonlines.Float(n.String(), 64)
	if err == nil && !strings.ContainsAny(n.String(), ".eE") { // an int
		if exact, ok := new(big.Int).SetString(n.String(), 10); ok {
			if back, _ := new(big.Float).SetFloat64(f).Int(nil); back.Cmp(exact) != 0 {
				err = strconv.ErrRange // it would be rounded
			}
		}
	}
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
