package xgrammar

import (
	"encoding/json"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// The functions of this file ask a schema about the values that follow it: their types, and whether two schemas share a value.

// sameType reports whether all branches of a schema have types that its own type allows.
func (c *checker) sameType(s map[string]any, lead string) bool {
	branches, own := []any{s}, typesOf(s)
	if lead != "$ref" {
		branches, _ = s[lead].([]any)
	}
	if len(branches) == 0 || lead == "allOf" && len(branches) > 1 {
		return false
	}
	for _, b := range branches {
		if lead == "$ref" {
			b = map[string]any{"$ref": s["$ref"]}
		}
		types := c.types(b, 0, true)
		for _, t := range types {
			if !slices.Contains(own, t) && !(t == "integer" && slices.Contains(own, "number")) {
				return false
			}
		}
		if types == nil {
			return false
		}
	}
	return true
}

// types returns the types of the documents that follow a schema, or that XGrammar writes for it; nil for all.
func (c *checker) types(v any, depth int, written bool) []string {
	s, ok := v.(map[string]any)
	if !ok || depth > 32 || !c.spend(1) {
		return nil
	}
	if ref, ok := s["$ref"].(string); ok {
		_, target, _ := c.target(ref)
		return c.types(target, depth+1, written)
	}
	if value, ok := s["const"]; ok {
		return []string{typeOf(value)}
	}
	if values, ok := s["enum"].([]any); ok {
		c.spend(len(values))
		var all []string
		for _, v := range values {
			if t := typeOf(v); !slices.Contains(all, t) {
				all = append(all, t)
			}
		}
		return all
	}
	for _, name := range []string{"anyOf", "oneOf"} {
		if branches, ok := s[name].([]any); ok {
			var all []string
			for _, b := range branches {
				types := c.types(b, depth+1, written)
				if types == nil {
					return nil
				}
				for _, t := range types {
					if !slices.Contains(all, t) {
						all = append(all, t)
					}
				}
			}
			return all
		}
	}
	if branches, ok := s["allOf"].([]any); ok && len(branches) == 1 {
		return c.types(branches[0], depth+1, written)
	}
	if s["allOf"] != nil {
		return nil
	}
	if types := typesOf(s); types != nil {
		return types
	}
	if kind, _ := impliedBy(s); written && kind != "" {
		return []string{kind}
	}
	return nil
}

func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case json.Number:
		f, _ := v.Float64()
		return typeOf(f)
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
	}
	return "number"
}

// plain returns a value with float64 for the numbers.
func plain(v any) any {
	text, err := json.Marshal(v)
	var again any
	if err != nil || json.Unmarshal(text, &again) != nil {
		return v
	}
	return again
}

// disjoint reports whether no document follows two of the schemas, as far as their types, constants and required
// properties say.
func (c *checker) disjoint(all []any) bool {
	for i, a := range all {
		for _, b := range all[i+1:] {
			if !c.apart(a, b, 0) {
				return false
			}
		}
	}
	return true
}

// apart reports whether no document that XGrammar writes for one of two schemas follows the other.
func (c *checker) apart(a, b any, depth int) bool {
	return c.misses(a, b, depth) && c.misses(b, a, depth)
}

// misses reports whether no document that XGrammar writes for a follows b.
func (c *checker) misses(a, b any, depth int) bool {
	x, y := c.follow(a), c.follow(b)
	if x == nil || y == nil || depth > 32 || !c.spend(1) {
		return false
	}
	written, types := c.types(x, 0, true), c.types(y, 0, false)
	if written != nil && types != nil && !slices.ContainsFunc(written, func(t string) bool {
		return slices.ContainsFunc(types, func(u string) bool {
			return t == u || t == "integer" && u == "number" || t == "number" && u == "integer"
		})
	}) {
		return true
	}
	if slices.Equal(written, []string{"integer"}) && types != nil && beyond(x, y) {
		return true
	}
	for _, name := range []string{"anyOf", "oneOf"} {
		if all, ok := x[name].([]any); ok && len(all) > 0 && x["const"] == nil && x["enum"] == nil {
			return !slices.ContainsFunc(all, func(v any) bool { return !c.misses(v, y, depth+1) })
		}
		if all, ok := y[name].([]any); ok && len(all) > 0 && !slices.ContainsFunc(all, func(v any) bool { return !c.misses(x, v, depth+1) }) {
			return true
		}
	}
	xs, fixed := constants(x)
	if ys, ok := constants(y); ok {
		if fixed {
			return c.noneOf(xs, ys)
		}
		return written != nil && c.none(x, ys) // what breaks x is not written for it, or x itself has a difference
	}
	if fixed {
		return c.none(y, xs)
	}
	return slices.Equal(written, []string{"object"}) && c.lacks(x, y, depth)
}

// beyond reports whether two schemas without leading keywords have whole limits between which no number is in both.
func beyond(x, y map[string]any) bool {
	if slices.ContainsFunc(leading, func(lead string) bool { return x[lead] != nil || y[lead] != nil }) || slices.ContainsFunc(typesOf(y), func(t string) bool { return t != "integer" && t != "number" }) {
		return false
	}
	apart := func(a, b map[string]any) bool { // a ends before b begins
		for _, high := range []string{"maximum", "exclusiveMaximum"} {
			for _, low := range []string{"minimum", "exclusiveMinimum"} {
				m, _ := a[high].(json.Number)
				n, _ := b[low].(json.Number)
				to, err := strconv.Atoi(string(m))
				from, wrong := strconv.Atoi(string(n))
				if err == nil && wrong == nil && (to < from || to == from && (high != "maximum" || low != "minimum")) {
					return true
				}
			}
		}
		return false
	}
	return apart(x, y) || apart(y, x)
}

// lacks reports whether an object that XGrammar writes for x never has what y requires, or always has what y forbids.
func (c *checker) lacks(x, y map[string]any, depth int) bool {
	xs, _ := x["properties"].(map[string]any)
	ys, _ := y["properties"].(map[string]any)
	patterns, _ := y["patternProperties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(xs)) {
		if _, known := ys[name]; required(x, name) && !c.anyOrder && (known && c.misses(xs[name], ys[name], depth+1) || !known && len(patterns) == 0 && y["additionalProperties"] == false) {
			return true
		}
	}
	names, _ := y["required"].([]any)
	own, _ := x["patternProperties"].(map[string]any)
	return !c.others(x) && len(own) == 0 && x["propertyNames"] == nil && slices.ContainsFunc(names, func(name any) bool {
		text, ok := name.(string)
		_, has := xs[text]
		return ok && !has && c.spend(1)
	})
}

// noneOf reports whether two lists have no value in common. Numbers are compared as float64.
func (c *checker) noneOf(xs, ys []any) bool {
	texts := map[string]bool{}
	for i, v := range slices.Concat(xs, ys) {
		text, err := json.Marshal(plain(v))
		if err != nil || !c.spend(1+len(text)/16) || i >= len(xs) && texts[string(text)] {
			return false
		}
		if i < len(xs) {
			texts[string(text)] = true
		}
	}
	return true
}

// follow returns the object of a schema, behind the references and schemas of allOf that XGrammar reads in its place.
func (c *checker) follow(v any) map[string]any {
	for range 32 {
		s, _ := v.(map[string]any)
		all, _ := s["allOf"].([]any)
		_, fixed := constants(s)
		switch ref, ok := s["$ref"].(string); {
		case ok:
			_, v, _ = c.target(ref)
		case len(all) == 1 && !fixed && s["anyOf"] == nil && s["oneOf"] == nil:
			v = all[0]
		default:
			return s
		}
	}
	return nil
}

func constants(s map[string]any) ([]any, bool) {
	if v, ok := s["const"]; ok {
		return []any{v}, true
	}
	values, ok := s["enum"].([]any)
	return values, ok
}

func required(s map[string]any, name string) bool {
	names, _ := s["required"].([]any)
	return slices.Contains(names, any(name))
}

// within reports whether f is true of a value, or of one in it.
func within(v any, f func(any) bool) bool {
	inner := func(v any) bool { return within(v, f) }
	if f(v) {
		return true
	}
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, inner)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), inner)
	}
	return false
}

// rounded reports whether a value has a number that a float64 may not hold, or a long text.
func rounded(v any) bool {
	return within(v, func(v any) bool {
		number, _ := v.(json.Number)
		text, _ := v.(string)
		return len(number) > 15 || len(text) > 1000
	})
}

// wide reports whether a value has an integer beyond int64, or another number with more digits than a float64 keeps.
func wide(v any) bool {
	return within(v, func(v any) bool {
		number, _ := v.(json.Number)
		if i, ok := new(big.Int).SetString(string(number), 10); ok {
			return !i.IsInt64()
		}
		f, err := number.Float64()
		return err == nil && decimal(string(number)) != decimal(strconv.FormatFloat(f, 'e', -1, 64))
	})
}

// decimal returns the digits of a number of JSON without those that say nothing, and its exponent.
func decimal(number string) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(number, "-")), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	n, _ := strconv.Atoi(exponent)
	digits := whole + fraction
	most := strings.TrimRight(digits, "0")
	if n += len(digits) - len(most) - len(fraction); most == "" {
		n = 0
	}
	return strings.TrimLeft(most, "0") + "e" + strconv.Itoa(n)
}

// looserLimit reports whether a limit, of which XGrammar makes a float64, allows numbers that the schema forbids.
func looserLimit(name, kind string, limit json.Number) bool {
	if kind == "integer" && !strings.ContainsAny(string(limit), ".eE") {
		return false // it stays an int64
	}
	f, err := limit.Float64()
	if err != nil || math.Abs(f) < 1<<53 {
		return false // six decimals are exact
	}
	exact, _ := new(big.Rat).SetString(string(limit)) // its exponent is small, as f is finite
	order := new(big.Rat).SetFloat64(f).Cmp(exact)
	if strings.HasSuffix(strings.ToLower(name), "maximum") {
		return order > 0
	}
	return order < 0
}

// refers reports whether a value has a reference in it.
func (c *checker) refers(v any) bool {
	return within(v, func(v any) bool {
		s, _ := v.(map[string]any)
		return s["$ref"] != nil || !c.spend(1)
	})
}
