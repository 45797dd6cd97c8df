package xgrammar

import (
	"encoding/json"
	"math/big"
	"reflect"
	"slices"
	"strings"
)

// The functions of this file make one schema of several that a document follows at once. They report false where they do not know
// whether the one is equal.

// gathered is what a document follows at once: schemas without a leading keyword other than constants, and choices.
type gathered struct {
	simple  []map[string]any
	choices []choice
	never   bool // nothing follows it
}

type choice struct {
	lead     string // anyOf, oneOf
	branches []any
}

// The limits of what is made of one schema.
const (
	mostDepth    = 16
	mostBranches = 32
)

// all returns the schema of the documents that follow all parts: an object, true or false.
func (e *equals) all(parts []any, depth int) (any, bool) {
	var some []any
	for _, p := range parts {
		if !trivial(p) && !slices.ContainsFunc(some, func(other any) bool { return reflect.DeepEqual(p, other) }) {
			some = append(some, p)
		}
	}
	switch len(some) {
	case 0:
		return parts[0], true
	case 1:
		return some[0], true
	}
	var g gathered
	for _, p := range some {
		if !e.gather(p, depth, &g) {
			return nil, false
		}
	}
	return e.combine(g, depth)
}

// gather collects what a schema says.
func (e *equals) gather(v any, depth int, g *gathered) bool {
	if depth > mostDepth || !e.spend(costOfJudge) {
		return false
	}
	s, ok := v.(map[string]any)
	if !ok {
		g.never = g.never || v == false
		return v == true || v == false
	}
	simple := e.order.clone(s)
	for name := range s {
		if slices.Contains(placed, name) {
			return false
		}
	}
	for _, name := range []string{"allOf", "anyOf", "oneOf", "$ref", "$defs", "definitions"} {
		delete(simple, name)
	}
	for condition, of := range map[string][]string{"contains": {"minContains", "maxContains"}, "if": {"then", "else"}} {
		if s[condition] == nil {
			for _, name := range of {
				delete(simple, name)
			}
		}
	}
	if one, ok := s["const"]; ok && s["enum"] != nil {
		values, ok := s["enum"].([]any)
		if !ok || rounded(one) || rounded(values) {
			return false
		}
		g.never = g.never || e.noneOf([]any{one}, values)
		delete(simple, "enum")
	}
	if !trivial(simple) {
		g.simple = append(g.simple, simple)
	}
	if v, ok := s["$ref"]; ok {
		ref, _ := v.(string)
		pointer, target, local := e.target(ref)
		if strings.HasPrefix(e.at+"/", pointer+"/") { // the place would be in itself
			return false
		}
		if !local || target == nil || e.ignoresSiblings() && !trivial(simple) || !e.gather(target, depth+1, g) {
			return false
		}
	}
	for _, lead := range []string{"allOf", "anyOf", "oneOf"} {
		if _, ok := s[lead]; !ok {
			continue
		}
		branches, ok := s[lead].([]any)
		if !ok || len(branches) == 0 {
			return false
		}
		if lead != "allOf" && len(branches) > 1 {
			g.choices = append(g.choices, choice{lead, branches})
			continue
		}
		for _, b := range branches {
			if !e.gather(b, depth+1, g) {
				return false
			}
		}
	}
	return true
}

// ignoresSiblings reports whether the schema says that it is of a draft in which nothing counts beside $ref.
func (e *equals) ignoresSiblings() bool {
	root, _ := e.root.(map[string]any)
	draft, _ := root["$schema"].(string)
	return strings.Contains(draft, "draft-0")
}

// combine makes one schema of what was gathered.
func (e *equals) combine(g gathered, depth int) (any, bool) {
	if g.never {
		return false, true
	}
	one := map[string]any{}
	for _, s := range g.simple {
		v, ok := e.merge(one, s, depth)
		if !ok || v == nil {
			return false, ok
		}
		one = v
	}
	if len(g.choices) == 0 {
		return e.polish(one)
	}
	branches, lead := []any{one}, g.choices[0].lead
	for _, ch := range g.choices {
		var next []any
		if ch.lead != lead || len(branches)*len(ch.branches) > mostBranches {
			return nil, false
		}
		for _, a := range branches {
			for _, b := range ch.branches {
				v, ok := e.all([]any{a, b}, depth+1)
				if !ok {
					return nil, false
				}
				if v != false {
					next = append(next, v)
				}
			}
		}
		branches = next
	}
	switch len(branches) {
	case 0:
		return false, true
	case 1:
		return branches[0], true
	}
	out := map[string]any{lead: branches}
	if lead == "oneOf" {
		if v, ok := e.once(out, branches); ok {
			return v, true
		}
	}
	return out, true
}

// merge makes one schema of two without leading keywords other than constants; nil if nothing follows both.
func (e *equals) merge(a, b map[string]any, depth int) (map[string]any, bool) {
	out := e.order.clone(a)
	if a["contains"] != nil && b["contains"] != nil && !(reflect.DeepEqual(a["minContains"], b["minContains"]) && reflect.DeepEqual(a["maxContains"], b["maxContains"])) {
		return nil, false // without minContains it is one
	}
	for _, name := range e.order.of(b) {
		v, both := a[name]
		w := b[name]
		if !both {
			out[name] = w
			continue
		}
		if _, unread := never[name]; reflect.DeepEqual(v, w) || !asserts(name) && !unread && !slices.Contains([]string{"const", "enum", "then", "else", "minContains", "maxContains"}, name) {
			continue
		}
		switch name {
		case "properties", "additionalProperties", "patternProperties", "items", "prefixItems", "const", "enum":
			continue // below
		case "type":
			types := sharedTypes(typesOf(a), typesOf(b))
			if len(types) == 0 {
				return nil, true
			}
			setTypes(out, types)
		case "required":
			names, ok := v.([]any)
			more, also := w.([]any)
			if !ok || !also {
				return nil, false
			}
			all := slices.Clone(names)
			for _, one := range more {
				if !slices.ContainsFunc(all, func(v any) bool { return reflect.DeepEqual(v, one) }) {
					all = append(all, one)
				}
			}
			out[name] = all
		case "uniqueItems":
			out[name] = v == true || w == true
		case "propertyNames":
			both, ok := e.all([]any{v, w}, depth+1)
			if !ok || both == false {
				return nil, false
			}
			out[name] = both
		default:
			limit, ok := stricter(name, v, w)
			if !ok {
				return nil, false
			}
			out[name] = limit
		}
	}
	e.order.set(out, slices.Concat(e.order.names(a), e.order.names(b)))
	if some, ok := e.mergeConstants(a, b, out); !ok || !some {
		return nil, ok
	}
	return out, e.mergeObjects(a, b, out, depth) && e.mergeArrays(a, b, out, depth)
}

// stricter returns the number of a keyword that allows less.
func stricter(name string, v, w any) (json.Number, bool) {
	a, _ := v.(json.Number)
	b, _ := w.(json.Number)
	x, ok := exactly(a)
	y, also := exactly(b)
	if !ok || !also {
		return "", false
	}
	larger := x.Cmp(y) > 0
	switch name {
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		larger = !larger
	case "multipleOf":
		if !x.IsInt() || !y.IsInt() || x.Sign() <= 0 || y.Sign() <= 0 {
			return "", false
		}
		common := new(big.Int).GCD(nil, nil, x.Num(), y.Num())
		return json.Number(common.Mul(x.Num(), common.Quo(y.Num(), common)).String()), true
	default:
		return "", false
	}
	if larger {
		return a, true
	}
	return b, true
}

// sharedTypes returns the types that two lists have in common.
func sharedTypes(a, b []string) (types []string) {
	add := func(t string) {
		if !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	for _, t := range a {
		switch {
		case slices.Contains(b, t):
			add(t)
		case t == "integer" && slices.Contains(b, "number"), t == "number" && slices.Contains(b, "integer"):
			add("integer")
		}
	}
	return types
}

// mergeConstants leaves the constants that two schemas have in common, and reports whether there are some.
func (e *equals) mergeConstants(a, b, out map[string]any) (some, ok bool) {
	xs, isA := constants(a)
	ys, isB := constants(b)
	if !isA || !isB {
		return true, true
	}
	if rounded(xs) || rounded(ys) || !e.spend(len(xs)*len(ys)) {
		return false, false
	}
	var all []any
	for _, x := range xs {
		if !e.noneOf([]any{x}, ys) && !slices.ContainsFunc(all, func(v any) bool { return !e.noneOf([]any{x}, []any{v}) }) {
			all = append(all, x)
		}
	}
	delete(out, "const")
	delete(out, "enum")
	setConstants(out, all)
	return len(all) > 0, e.left >= 0
}

// mergeObjects merges what two schemas say of properties.
func (e *equals) mergeObjects(a, b, out map[string]any, depth int) bool {
	all, has := [2]map[string]any{}, 0
	for i, s := range []map[string]any{a, b} {
		all[i], _ = s["properties"].(map[string]any)
		if s["properties"] != nil || s["additionalProperties"] != nil || s["patternProperties"] != nil {
			has++
		}
	}
	if has < 2 {
		return true
	}
	patterns, _ := a["patternProperties"].(map[string]any)
	more, _ := b["patternProperties"].(map[string]any)
	others := [2]any{a["additionalProperties"], b["additionalProperties"]}
	strict := false
	for i, v := range others {
		if v == nil || trivial(v) {
			others[i] = true
		}
		strict = strict || others[i] != true
	}
	if strict && len(patterns)+len(more) > 0 {
		return false
	}
	if a["additionalProperties"] != nil && b["additionalProperties"] != nil {
		v, ok := e.all([]any{a["additionalProperties"], b["additionalProperties"]}, depth+1)
		if !ok {
			return false
		}
		out["additionalProperties"] = v
	}
	if len(patterns) > 0 && len(more) > 0 {
		merged := e.order.clone(patterns)
		for _, p := range e.order.of(more) {
			if merged[p] = more[p]; patterns[p] != nil {
				v, ok := e.all([]any{patterns[p], more[p]}, depth+1)
				if !ok || v == false {
					return false
				}
				merged[p] = v
			}
		}
		out["patternProperties"] = merged
	}
	properties := map[string]any{}
	names := append(slices.Clone(e.order.of(all[0])), e.order.of(all[1])...)
	for _, name := range names {
		if !e.spend(1) {
			return false
		}
		var parts []any
		for i := range all {
			if v, ok := all[i][name]; ok {
				parts = append(parts, v)
			} else if others[i] != true {
				parts = append(parts, others[i])
			}
		}
		v, ok := e.all(parts, depth+1)
		switch {
		case !ok:
			return false
		case v != false:
			properties[name] = v
		case out["additionalProperties"] != false || required(out, name):
			return false
		}
	}
	e.order.set(properties, names)
	if len(names) > 0 {
		out["properties"] = properties
	}
	return true
}

// mergeArrays merges what two schemas say of elements.
func (e *equals) mergeArrays(a, b, out map[string]any, depth int) bool {
	has, most := 0, 0
	var prefixes [2][]any
	for i, s := range []map[string]any{a, b} {
		if _, ok := s["items"].([]any); ok {
			return false // of an old draft
		}
		prefixes[i], _ = s["prefixItems"].([]any)
		if most = max(most, len(prefixes[i])); s["items"] != nil || s["prefixItems"] != nil {
			has++
		}
	}
	if has < 2 {
		return true
	}
	both := []any{a["items"], b["items"]}
	var items []any
	for i := range most {
		var parts []any
		for j, v := range both {
			if i < len(prefixes[j]) {
				parts = append(parts, prefixes[j][i])
			} else if v != nil {
				parts = append(parts, v)
			}
		}
		v, ok := e.all(parts, depth+1)
		if !ok || v == false {
			return false
		}
		items = append(items, v)
	}
	if items != nil {
		out["prefixItems"] = items
	}
	if both[0] != nil && both[1] != nil {
		v, ok := e.all(both, depth+1)
		out["items"] = v
		return ok
	}
	return true
}
