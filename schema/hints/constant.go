package hints

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
)

// Constant is the value of a default or of a member of an enum: nil for None, or a bool, an int64,
// a float64 or a string.
type Constant struct{ Value any }

// String returns the constant as Go writes it, or None.
func (c Constant) String() string {
	switch v := c.Value.(type) {
	case nil:
		return "None"
	case string:
		return strconv.Quote(v)
	case float64:
		return float(v)
	}
	return fmt.Sprint(c.Value)
}

// float returns a float as a literal that is not one of an integer.
func float(v float64) string {
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

// MarshalJSON writes a float with a point or an exponent.
func (c Constant) MarshalJSON() ([]byte, error) {
	if v, ok := c.Value.(float64); ok && !math.IsInf(v, 0) && !math.IsNaN(v) {
		return []byte(float(v)), nil
	}
	return json.Marshal(c.Value)
}

// UnmarshalJSON reads a number without a point and without an exponent as an int, unless it is -0.
func (c *Constant) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return err
	}
	n, ok := v.(json.Number)
	if !ok {
		return c.set(v)
	}
	if i, err := n.Int64(); err == nil && n != "-0" {
		return c.set(i)
	}
	f, err := jsonlines.Float(n.String(), 64)
	if err == nil && !strings.ContainsAny(n.String(), ".eE") && n != "-0" {
		err = fmt.Errorf("%s is outside the range of int64", n)
	}
	if err != nil {
		return err
	}
	return c.set(f)
}

// UnmarshalYAML reads a value of a configuration in YAML. Its reader has given each word that is not in quotes to [ParseWord]
// before.
func (c *Constant) UnmarshalYAML(read func(any) error) error {
	var v any
	if err := read(&v); err != nil {
		return err
	}
	return c.set(v)
}

// set takes a value that JSON or YAML may hold.
func (c *Constant) set(v any) error {
	switch n := v.(type) {
	case float64:
		if math.IsInf(n, 0) || math.IsNaN(n) {
			return fmt.Errorf("%v is not finite, expected a finite number", n)
		}
		c.Value = v
	case nil, bool, string, int64:
		c.Value = v
	case int:
		c.Value = int64(n)
	case uint64:
		if n > math.MaxInt64 {
			return fmt.Errorf("%d is outside the range of int64", n)
		}
		c.Value = int64(n)
	default:
		return errors.New("found a list or a mapping, expected null, a bool, a number or a string")
	}
	return nil
}

// Enum holds the members of an enum by name. Their values are all ints or all strings.
type Enum struct {
	Doc    string              `json:"doc,omitempty" yaml:"doc,omitempty"`
	Values map[string]Constant `json:"values" yaml:"values"`
}

// Check returns what is wrong with the members of an enum, and the member.
func (e Enum) Check() (member string, err error) {
	if len(e.Values) == 0 {
		return "", errors.New("the enum has no values: write values: {NAME: 0}")
	}
	members := e.Members()
	_, text := e.Values[members[0]].Value.(string)
	for i, name := range members {
		v := e.Values[name]
		_, number := v.Value.(int64)
		_, isText := v.Value.(string)
		switch {
		case !number && !isText:
			return name, fmt.Errorf("%s is %s, expected an int or a string", name, v)
		case isText != text:
			return name, fmt.Errorf("%s is %s and %s is %s: write only ints or only strings", members[0], e.Values[members[0]], name, v)
		case i > 0 && v == e.Values[members[i-1]]:
			return name, fmt.Errorf("%s and %s are both %s: remove one", members[i-1], name, v)
		}
	}
	return "", nil
}

// Text reports whether the values are strings.
func (e Enum) Text() bool {
	for _, v := range e.Values {
		_, ok := v.Value.(string)
		return ok
	}
	return false
}

// Members returns the names in the order of their values.
func (e Enum) Members() []string {
	return slices.SortedFunc(maps.Keys(e.Values), func(a, b string) int {
		x, _ := e.Values[a].Value.(int64)
		y, _ := e.Values[b].Value.(int64)
		s, _ := e.Values[a].Value.(string)
		t, _ := e.Values[b].Value.(string)
		return cmp.Or(cmp.Compare(x, y), strings.Compare(s, t), strings.Compare(a, b))
	})
}
