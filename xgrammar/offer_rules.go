package xgrammar

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// The functions of this file make an equal schema of one without a leading keyword other than constants: each of them for one kind
// of difference. They report false where they have none.

var rules = []func(*equals, map[string]any) (any, bool){(*equals).withProperties, (*equals).asInteger}

// polish applies the rules that bring a schema closer to what XGrammar follows. It returns an object or false.
func (e *equals) polish(s map[string]any) (any, bool) {
	const at = "/\x00" // no reference leads here
	before := e.here(at, s)
	if s["type"] == nil && len(before) > 0 && !slices.ContainsFunc(leading, func(lead string) bool { return s[lead] != nil }) {
		if kind, _ := impliedBy(s); kind == "" {
			v, _ := e.polish(e.withTypes(s))
			if typed, ok := v.(map[string]any); ok && closer(e.here(at, typed), before) {
				return typed, true
			}
		}
	}
	for _, rule := range rules {
		if len(before) == 0 {
			break
		}
		v, ok := rule(e, s)
		if !ok {
			continue
		}
		better, isObject := v.(map[string]any)
		if !isObject {
			return v, true
		}
		if now := e.here(at, better); closer(now, before) {
			s, before = better, now
		}
	}
	return s, e.left >= 0
}

// withTypes names all types, and allows what members there may be: without a type XGrammar allows any JSON.
func (e *equals) withTypes(s map[string]any) map[string]any {
	out := e.order.clone(s)
	setTypes(out, []string{"string", "number", "boolean", "null", "array", "object"})
	for name, others := range map[string]string{"items": "prefixItems", "additionalProperties": "patternProperties"} {
		if s[name] == nil && s[others] == nil {
			out[name] = map[string]any{}
		}
	}
	return out
}

// isObject reports whether a schema speaks of objects, where XGrammar looks at what it says of them.
func isObject(s map[string]any) bool {
	kind, _ := impliedBy(s)
	return slices.Contains(typesOf(s), "object") || s["type"] == nil && kind == "object"
}

// withProperties gives required properties a place in properties.
func (e *equals) withProperties(s map[string]any) (any, bool) {
	names, _ := s["required"].([]any)
	if !isObject(s) || s["additionalProperties"] == false {
		return nil, false
	}
	properties, _ := s["properties"].(map[string]any)
	patterns, _ := s["patternProperties"].(map[string]any)
	var expressions []*regexp.Regexp
	for p := range patterns {
		expression, err := regexp.Compile(p)
		if err != nil || !e.spend(len(p)) {
			return nil, false
		}
		expressions = append(expressions, expression)
	}
	more := e.order.clone(properties)
	order := e.order.of(more)
	for _, name := range names {
		name, ok := name.(string)
		if !ok || !e.spend(1+len(name)*len(patterns)) || slices.ContainsFunc(expressions, func(r *regexp.Regexp) bool { return r.MatchString(name) }) {
			return nil, false
		}
		if _, ok := properties[name]; ok {
			continue
		}
		order = append(order, name)
		if more[name] = s["additionalProperties"]; more[name] == nil || more[name] == true {
			more[name] = map[string]any{}
		}
	}
	e.order.set(more, order)
	out := e.order.clone(s)
	out["properties"] = more
	return out, true
}

// asInteger writes multipleOf as a whole number of integers.
func (e *equals) asInteger(s map[string]any) (any, bool) {
	n, _ := s["multipleOf"].(json.Number)
	multiple, ok := exactly(n)
	if !ok || multiple.Sign() <= 0 {
		return nil, false
	}
	var types []string
	for _, t := range typesOf(s) {
		if t == "number" {
			if !multiple.IsInt() {
				return nil, false
			}
			t = "integer" // a multiple of a whole number is one
		}
		if !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	if !slices.Contains(types, "integer") {
		return nil, false
	}
	out := e.order.clone(s)
	setTypes(out, types)
	// Of the whole numbers, the multiples of 5/2 are those of 5.
	out["multipleOf"] = json.Number(multiple.Num().String())
	if out["multipleOf"] == json.Number("1") {
		delete(out, "multipleOf")
	}
	return out, true
}

// evaluated writes additionalProperties for unevaluatedProperties, where nothing else evaluates any.
func (e *equals) evaluated(s map[string]any) (any, bool) {
	if s["unevaluatedProperties"] != false || s["additionalProperties"] != nil || s["if"] != nil || s["dependentSchemas"] != nil || s["dependencies"] != nil ||
		slices.ContainsFunc(slices.Concat(placed, leading), func(name string) bool {
			return s[name] != nil && name != "$schema" && name != "const" && name != "enum"
		}) {
		return nil, false
	}
	out := e.order.clone(s)
	delete(out, "unevaluatedProperties")
	out["additionalProperties"] = false
	return out, true
}

// Keywords that name a place or depend on one: a schema with them stays where it is.
var placed = []string{"$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$dynamicRef", "$recursiveRef", "$schema", "additionalItems", "dependencies", "id"}

// annotates reports whether a keyword only tells something to people and programs.
func annotates(name string) bool {
	return slices.Contains([]string{"title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly"}, name)
}

// exactly returns the value of a short number.
func exactly(n json.Number) (*big.Rat, bool) {
	if n == "" || len(n) > 15 || strings.ContainsAny(string(n), "eE") {
		return nil, false
	}
	return new(big.Rat).SetString(string(n))
}

func setTypes(s map[string]any, types []string) {
	if len(types) == 1 {
		s["type"] = types[0]
		return
	}
	all := make([]any, len(types))
	for i, t := range types {
		all[i] = t
	}
	s["type"] = all
}
