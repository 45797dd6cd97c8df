package grammar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// value is a JSON value that keeps the order of members. One of the fields is set: members and
// list are not nil for an object and an array, scalar is the rest.
type value struct {
	members []member
	list    []value
	scalar  any // string, json.Number, bool or nil
	object  bool
	array   bool
}

type member struct {
	key   string
	value value
}

func (v value) text() (string, bool) { s, ok := v.scalar.(string); return s, ok }

// get returns the member of an object with a key.
func (v value) get(key string) (value, bool) {
	for _, m := range v.members {
		if m.key == key {
			return m.value, true
		}
	}
	return value{}, false
}

// kind names the JSON type of a value as a JSON schema does; whole numbers are integers.
func (v value) kind() string {
	switch s := v.scalar.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case json.Number:
		if !strings.ContainsAny(s.String(), ".eE") {
			return "integer"
		}
		return "number"
	}
	switch {
	case v.object:
		return "object"
	case v.array:
		return "array"
	}
	return "null"
}

// parser reads JSON from a client. It stops at the first level, value or member that is too
// many, so that it never recurses deeper than the limit.
type parser struct {
	limits Limits
	item   string
	values int
}

func (p *parser) parse(source string) (value, error) {
	d := json.NewDecoder(strings.NewReader(source))
	d.UseNumber()
	v, err := p.next(d, 0)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("there is text after the first JSON value")
		}
	}
	var refused *Error
	if err != nil && !errors.As(err, &refused) {
		err = &Error{Invalid, p.item, fmt.Sprintf("%v at byte %d", err, d.InputOffset()), "JSON"}
	}
	return v, err
}

func (p *parser) next(d *json.Decoder, depth int) (value, error) {
	token, err := d.Token()
	if err != nil {
		return value{}, err
	}
	if p.values++; p.values > p.limits.Values {
		return value{}, &Error{TooLarge, p.item, "more JSON values", fmt.Sprintf("%d at most", p.limits.Values)}
	}
	delim, nested := token.(json.Delim)
	if !nested {
		return value{scalar: token}, nil
	}
	// A level of a schema is two of JSON: {"items": {...}}, {"properties": {"a": {...}}}.
	if depth >= 2*p.limits.Nesting {
		return value{}, &Error{TooDeep, p.item, "deeper nesting", fmt.Sprintf("%d levels of JSON at most", 2*p.limits.Nesting)}
	}
	v := value{object: delim == '{', array: delim == '['}
	for d.More() {
		var key string
		if v.object {
			name, err := d.Token()
			if err != nil {
				return value{}, err
			}
			key = name.(string) // the decoder refuses other keys
			if _, twice := v.get(key); twice {
				return value{}, &Error{Invalid, p.item, fmt.Sprintf("the key %q twice in one object", key), "each key once"}
			}
			if len(v.members) >= max(p.limits.Properties, 1) {
				return value{}, &Error{TooLarge, p.item, "an object with more members", fmt.Sprintf("%d at most", p.limits.Properties)}
			}
		}
		e, err := p.next(d, depth+1)
		if err != nil {
			return value{}, err
		}
		if v.object {
			v.members = append(v.members, member{key, e})
		} else {
			v.list = append(v.list, e)
		}
	}
	_, err = d.Token() // the end, which the decoder has matched with the beginning
	return v, err
}

func (*parser) compact(source json.RawMessage) (string, error) {
	var out bytes.Buffer
	if err := json.Compact(&out, source); err != nil {
		return "", &Error{Invalid, string(JSONSchema), err.Error(), "JSON"}
	}
	return out.String(), nil
}
