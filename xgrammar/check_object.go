package xgrammar

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
)

// object checks what a schema says of objects.
func (c *checker) object(at string, s map[string]any) {
	properties, _ := s["properties"].(map[string]any)
	patterns, _ := s["patternProperties"].(map[string]any)
	requires, _ := s["required"].([]any)
	if c.anyOrder && len(requires) > 0 {
		c.add(below(at, "required"), Looser, "with AnyOrder, XGrammar does not look at required")
	}
	for i, name := range requires {
		if name, ok := name.(string); ok && properties[name] == nil {
			c.add(below(at, "required", strconv.Itoa(i)), Looser, "XGrammar does not look at a required property that properties does not have: add %q there", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		c.schema(below(at, "properties", name), properties[name])
	}
	names, named := s["propertyNames"].(map[string]any) // XGrammar reads it also if it is empty
	others, propertyNames := c.others(s), named || s["propertyNames"] == false
	if n, ok := s["minProperties"].(json.Number); ok && n != "0" && n != "1" && (c.anyOrder || others || propertyNames || len(patterns) > 0) {
		c.add(below(at, "minProperties"), Looser, "XGrammar may write one name twice, and counts it twice")
	}
	here := below(at, "patternProperties")
	for _, p := range slices.Sorted(maps.Keys(patterns)) {
		c.pattern(below(here, p), p)
		c.schema(below(here, p), patterns[p])
		expression, err := regexp.Compile(p)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if !c.spend(1+len(p)*(1+len(name))/16) || err != nil || expression.MatchString(name) {
				c.add(below(here, p), Looser, "XGrammar looks at the pattern or at properties, not at both, and %q may fit both", name)
				break
			}
		}
	}
	if len(patterns) > 1 {
		c.add(here, Looser, "XGrammar looks at one of several patterns that fit a property")
	}
	switch {
	case len(patterns) == 0 || !others:
	case len(properties) > 0:
		c.add(here, Looser, "beside properties, XGrammar allows for a property that fits a pattern what it allows for others")
	default:
		c.add(at, Narrower, "with patternProperties and without properties, only properties that fit a pattern are written")
	}
	if named {
		c.names(at, s, names, others)
	}
	for _, name := range []string{"additionalProperties", "unevaluatedProperties"} {
		c.schema(below(at, name), s[name])
	}
	c.evaluated(at, s, "unevaluatedProperties", "additionalProperties", "if", "dependentSchemas", "dependencies")
	if _, ok := s["additionalProperties"]; !ok && c.loose && s["unevaluatedProperties"] == false && (len(patterns) == 0 || len(properties) > 0) && !propertyNames {
		c.add(below(at, "unevaluatedProperties"), Looser, "with Loose, XGrammar looks at additionalProperties alone: write that")
	}
}

// names checks what a schema says of the names of properties.
func (c *checker) names(at string, s, v map[string]any, others bool) {
	properties, _ := s["properties"].(map[string]any)
	patterns, _ := s["patternProperties"].(map[string]any)
	switch here := below(at, "propertyNames"); {
	case len(properties) > 0 && others:
		c.add(here, Looser, "beside properties, XGrammar looks at propertyNames for other names alone, and takes a name of properties for one of them")
	case len(properties) > 0:
		names := make([]any, 0, len(properties))
		for name := range properties {
			names = append(names, name)
		}
		if !c.all(v, names) || len(patterns) > 0 && says(s, "propertyNames") {
			c.add(here, Looser, "XGrammar does not look at propertyNames beside properties")
		}
	case len(patterns) > 0:
		if says(s, "propertyNames") {
			c.add(here, Looser, "XGrammar does not look at propertyNames beside patternProperties")
		}
	default:
		types, _ := v["type"].([]any)
		led := slices.ContainsFunc(leading, func(lead string) bool { _, ok := v[lead]; return ok })
		if !led && slices.ContainsFunc(types, func(t any) bool { return t != "string" }) {
			c.add(below(here, "type"), NotJSON, "XGrammar writes names of all types in the list, such as 3 and null: a name is a string")
		}
		names := maps.Clone(v)
		names["type"] = "string" // as XGrammar has it
		c.schema(here, names)
		for _, name := range []string{"additionalProperties", "unevaluatedProperties"} {
			if s[name] == false {
				c.add(below(at, name), Looser, "XGrammar does not look at %s beside propertyNames", name)
			}
		}
	}
}

// others reports whether an object may have properties that the schema does not name.
func (c *checker) others(s map[string]any) bool {
	if v, ok := s["additionalProperties"]; ok {
		return v != false
	}
	if v, ok := s["unevaluatedProperties"]; ok && v != false {
		return true
	}
	return c.loose
}
