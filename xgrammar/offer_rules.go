package xgrammar

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The functions of this file make an equal schema of one without a leading keyword other than constants: each of them for one kind
// of difference. They report false where they have none.

var rules = []func(*equals, map[string]any) (any, bool){
	(*equals).onlyValues, (*equals).withProperties, (*equals).asInteger, (*equals).otherTypes, (*equals).listed,
	(*equals).countedNames, (*equals).possibleNames, (*equals).noNames, (*equals).textNames, (*equals).countedPattern,
}

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

// only returns the annotations of a schema, and the types or constants that are set later.
func (e *equals) only(s map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range s {
		if annotates(name) {
			out[name] = v
		}
	}
	return out
}

// onlyValues leaves the constants that follow what stands beside them.
func (e *equals) onlyValues(s map[string]any) (any, bool) {
	values, ok := constants(s)
	if !ok {
		return nil, false
	}
	others := e.order.clone(s)
	if _, ok := s["const"]; ok {
		delete(others, "const")
	} else {
		delete(others, "enum")
	}
	return e.thatFollow(s, others, values)
}

// thatFollow returns the schema of the values that follow another one, with the annotations of s.
func (e *equals) thatFollow(s, others map[string]any, values []any) (any, bool) {
	follow, ok := e.verdicts(others, values)
	if !ok {
		return nil, false
	}
	var all []any
	for i, v := range values {
		if follow[i] {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return false, true
	}
	out := e.only(s)
	setConstants(out, all)
	return out, true
}

// once returns the schema of the constants that follow one of several schemas of constants.
func (e *equals) once(s map[string]any, branches []any) (any, bool) {
	var values []any
	for _, b := range branches {
		for name := range object(b) {
			if name != "const" && name != "enum" && !annotates(name) {
				return nil, false
			}
		}
		more, ok := constants(object(b))
		if !ok || len(values)*len(more) > mostListed*mostListed {
			return nil, false
		}
		for _, v := range more {
			if e.noneOf(values, []any{v}) {
				values = append(values, v)
			}
		}
	}
	return e.thatFollow(s, s, values)
}

// mostListed is how many values may stand for a type.
const mostListed = 100

// listed makes a list of all values of types that have few: booleans, null, and integers between two limits.
func (e *equals) listed(s map[string]any) (any, bool) {
	var values []any
	for _, t := range typesOf(s) {
		switch t {
		case "boolean":
			values = append(values, true, false)
		case "null":
			values = append(values, nil)
		case "integer":
			low, ok := e.limit(s, "minimum", "exclusiveMinimum")
			high, also := e.limit(s, "maximum", "exclusiveMaximum")
			if !ok || !also || high-low >= mostListed {
				return nil, false
			}
			for i := low; i <= high; i++ {
				values = append(values, json.Number(strconv.Itoa(i)))
			}
		default:
			return nil, false
		}
	}
	if values == nil {
		return nil, false
	}
	return e.thatFollow(s, s, values)
}

// limit returns a whole number beyond which a schema allows no other, or at which.
func (e *equals) limit(s map[string]any, names ...string) (limit int, ok bool) {
	for _, name := range names {
		n, _ := s[name].(json.Number)
		if v, err := strconv.Atoi(string(n)); err == nil && v > -1<<31 && v < 1<<31 {
			limit, ok = v, true // what the other limit forbids is left out later
		}
	}
	return limit, ok
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

// otherTypes leaves out the types that not has.
func (e *equals) otherTypes(s map[string]any) (any, bool) {
	not, _ := s["not"].(map[string]any)
	types, forbidden := typesOf(s), typesOf(not)
	if len(forbidden) == 0 || types == nil || !trivial(without(not, "type")) {
		return nil, false
	}
	var rest []string
	for _, t := range types {
		switch {
		case t == "number" && slices.Contains(forbidden, "integer") && !slices.Contains(forbidden, "number"):
			return nil, false
		case !slices.Contains(forbidden, t) && !(t == "integer" && slices.Contains(forbidden, "number")):
			rest = append(rest, t)
		}
	}
	if len(rest) == 0 {
		return false, true
	}
	out := e.order.clone(s)
	delete(out, "not")
	setTypes(out, rest)
	return out, true
}

// without returns an object without a key.
func without(s map[string]any, name string) map[string]any {
	rest := map[string]any{}
	for key, v := range s {
		if key != name {
			rest[key] = v
		}
	}
	return rest
}

// countedNames leaves out minProperties where as many are required.
func (e *equals) countedNames(s map[string]any) (any, bool) {
	names, _ := s["required"].([]any)
	n, _ := s["minProperties"].(json.Number)
	least, err := strconv.Atoi(string(n))
	different := map[any]bool{}
	for _, name := range names {
		if _, ok := name.(string); ok {
			different[name] = true
		}
	}
	if err != nil || least > len(different) {
		return nil, false
	}
	out := e.order.clone(s)
	delete(out, "minProperties")
	return out, true
}

// possibleNames leaves out the properties whose names propertyNames forbids.
func (e *equals) possibleNames(s map[string]any) (any, bool) {
	properties, _ := s["properties"].(map[string]any)
	names, _ := s["propertyNames"].(map[string]any)
	if properties == nil || names == nil {
		return nil, false
	}
	var values []any
	for _, name := range e.order.of(properties) {
		values = append(values, name)
	}
	follow, ok := e.verdicts(names, values)
	rest := e.order.clone(properties)
	for i, name := range e.order.of(properties) {
		if ok = ok && (follow[i] || !required(s, name)); ok && !follow[i] {
			delete(rest, name)
		}
	}
	out := e.order.clone(s)
	out["properties"] = rest
	return out, ok
}

// textNames leaves out all types of names but string.
func (e *equals) textNames(s map[string]any) (any, bool) {
	names, _ := s["propertyNames"].(map[string]any)
	if !slices.Contains(typesOf(names), "string") {
		return nil, false
	}
	out, texts := e.order.clone(s), e.order.clone(names)
	texts["type"] = "string"
	out["propertyNames"] = texts
	return out, true
}

// noNames leaves out propertyNames that says nothing, and that of objects without a property.
func (e *equals) noNames(s map[string]any) (any, bool) {
	empty := s["properties"] == nil && s["patternProperties"] == nil && s["additionalProperties"] == false
	if s["propertyNames"] == nil || !empty && !trivial(s["propertyNames"]) {
		return nil, false
	}
	out := e.order.clone(s)
	delete(out, "propertyNames")
	return out, true
}

// asAdditional writes additionalProperties for unevaluatedProperties, where nothing else evaluates any.
func (e *equals) asAdditional(s map[string]any) (any, bool) {
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

// counted is a pattern of one character that is repeated.
var counted = regexp.MustCompile(`^\^(\[\^?(?:[^\\\[\]^]|\\[dwsDWS.*+?^$|/(){}\[\]-])+\]|\\[dwsDWS.*+?^$|/(){}\[\]-]|[A-Za-z0-9 _,:;/@#%&=<>~-])([*+?]|\{[0-9]{1,4}(?:,(?:[0-9]{1,4})?)?\})?\$$`)

// mostRepeats is how often a character may be repeated in an offer: a grammar becomes large by it.
const mostRepeats = 1000

// countedPattern writes the lengths of a text into its pattern.
func (e *equals) countedPattern(s map[string]any) (any, bool) {
	pattern, _ := s["pattern"].(string)
	format, _ := s["format"].(string)
	parts := counted.FindStringSubmatch(pattern)
	if len(pattern) > 1000 || parts == nil || slices.Contains(formats, format) || !e.spend(len(pattern)) {
		return nil, false
	}
	low, high := 1, 1 // -1 for any number
	switch quantifier := parts[2]; quantifier {
	case "":
	case "*":
		low, high = 0, -1
	case "+":
		high = -1
	case "?":
		low = 0
	default:
		from, to, open := strings.Cut(strings.Trim(quantifier, "{}"), ",")
		low, _ = strconv.Atoi(from)
		if high = low; open {
			if high = -1; to != "" {
				high, _ = strconv.Atoi(to)
			}
		}
	}
	for _, name := range []string{"minLength", "maxLength"} {
		n, ok := s[name].(json.Number)
		if !ok {
			continue
		}
		limit, err := strconv.Atoi(string(n))
		switch {
		case err != nil || limit < 0 || limit > mostRepeats:
			return nil, false
		case name == "minLength":
			low = max(low, limit)
		case high < 0 || limit < high:
			high = limit
		}
	}
	if high >= 0 && low > high || max(low, high) > mostRepeats {
		return nil, false
	}
	out := e.order.clone(s)
	delete(out, "minLength")
	delete(out, "maxLength")
	switch {
	case high >= 0:
		out["pattern"] = fmt.Sprintf("^%s{%d,%d}$", parts[1], low, high)
	default:
		out["pattern"] = fmt.Sprintf("^%s{%d,}$", parts[1], low)
	}
	return out, true
}

// plainPath is a JSON pointer to a schema that XGrammar follows.
var plainPath = regexp.MustCompile(`^(/(\$defs|definitions|properties)/[A-Za-z0-9_$-]+)+$`)

// anchor writes a reference to an anchor as one from the root.
func (e *equals) anchor(s map[string]any) (any, bool) {
	ref, _ := s["$ref"].(string)
	name, ok := strings.CutPrefix(ref, "#")
	if !ok || name == "" || name[0] == '/' || !trivial(without(s, "$ref")) {
		return nil, false
	}
	var found []string
	var look func(at string, v any)
	look = func(at string, v any) {
		if !e.spend(1 + len(at)) {
			return
		}
		switch v := v.(type) {
		case map[string]any:
			if v["$anchor"] == name || v["$dynamicAnchor"] != nil || at != "" && v["$id"] != nil {
				found = append(found, at)
			}
			for key, inner := range v {
				look(below(at, key), inner)
			}
		case []any:
			for i, inner := range v {
				look(below(at, strconv.Itoa(i)), inner)
			}
		}
	}
	look("", e.root)
	if len(found) != 1 || !plainPath.MatchString(found[0]) || e.left < 0 {
		return nil, false
	}
	target, _ := lookup(e.root, found[0])
	out := e.order.clone(s)
	out["$ref"] = "#" + found[0]
	return out, object(target)["$anchor"] == name
}

// Keywords that name a place or depend on one: a schema with them stays where it is.
var placed = []string{"$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$dynamicRef", "$recursiveRef", "$schema", "additionalItems", "dependencies", "id"}

// annotates reports whether a keyword only tells something to people and programs.
func annotates(name string) bool {
	return slices.Contains([]string{"title", "description", "default", "examples", "$comment", "deprecated", "readOnly", "writeOnly"}, name)
}

// trivial reports whether a schema allows everything, as far as it is easy to see.
func trivial(v any) bool {
	s, ok := v.(map[string]any)
	for name := range s {
		if !annotates(name) && !slices.Contains(ofPlace, name) {
			return false
		}
	}
	return ok || v == true
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

func setConstants(s map[string]any, all []any) {
	if len(all) == 1 {
		s["const"] = all[0]
		return
	}
	s["enum"] = all
}
