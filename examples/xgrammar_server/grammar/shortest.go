package grammar

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// XGrammar writes what has to follow in one go. Where that has no end, as in
// root ::= "a" root, or is as long as a tree of 50 rules makes it, the call would take all memory.
// This file refuses what has no short text. What has to follow is the beginning of each text
// that can follow, so it is not longer than the shortest.

// endless is the length of the shortest text where there is none.
const endless = math.MaxInt32

func sum(a, b int) int { return min(a+b, endless) }

func times(a, n int) int {
	if n == 0 {
		return 0
	}
	if a > endless/n {
		return endless
	}
	return a * n
}

// short refuses a constraint, or a part of it, whose shortest text is too long.
func (l Limits) short(item string, n int) error {
	switch {
	case n >= endless:
		return &Error{Unmatchable, item, "only texts without an end", "a way to end, such as an alternative or an optional part"}
	case n > l.Shortest:
		return &Error{TooLarge, item, fmt.Sprintf("%d bytes in the shortest text", n), fmt.Sprintf("%d at most", l.Shortest)}
	}
	return nil
}

// shortest returns the length of the shortest text of a part, in bytes or less.
func (e *estimate) shortest(t *tree) int {
	n := 0
	switch t.op {
	case character:
		return t.size
	case sequence:
		for _, p := range t.parts {
			n = sum(n, e.shortest(p))
		}
	case choice:
		n = endless
		for _, p := range t.parts {
			n = min(n, e.shortest(p))
		}
	case repeat:
		if t.least > 0 {
			n = times(e.shortest(t.parts[0]), t.least)
		}
	case refer:
		if length, ok := e.lengths[t.rule]; ok {
			return length
		}
		return endless
	}
	return n
}

// ends refuses rules whose shortest text is too long.
func (e *estimate) ends() error {
	e.lengths = map[string]int{}
	for changed := true; changed; { // the lengths only fall
		changed = false
		for _, name := range e.names {
			before, known := e.lengths[name]
			if n := e.shortest(e.rules[name]); n < endless && (!known || n < before) {
				e.lengths[name], changed = n, true
			}
		}
	}
	for _, name := range e.names {
		n, ok := e.lengths[name]
		if !ok {
			n = endless
		}
		if err := e.limits.short(fmt.Sprintf("%s, rule %.40s", e.item, name), n); err != nil {
			return err
		}
	}
	return nil
}

// ends refuses a schema if it, or one in it, has no short document.
func (c *schemaChecker) ends() error {
	if len(c.lengths) > c.limits.Rules {
		return c.refuse(TooLarge, "", fmt.Sprintf("%d different references", len(c.lengths)), fmt.Sprintf("%d at most", c.limits.Rules))
	}
	for ref := range c.lengths { // what was not checked may not be used
		path := cmp.Or(strings.TrimPrefix(ref, "#"), "the root")
		if !slices.ContainsFunc(c.seen, func(p place) bool { return p.path == path }) {
			return c.refuse(Invalid, "$ref", strconv.Quote(ref)+", which is not a schema", "the path of a schema")
		}
	}
	for changed := true; changed; {
		changed = false
		for ref, before := range c.lengths {
			if n := c.shortest(c.targets[ref]); n < before {
				c.lengths[ref], changed = n, true
			}
		}
	}
	for _, s := range c.seen {
		if err := c.limits.short(c.item+" at "+s.path, c.shortest(s.value)); err != nil {
			return err
		}
	}
	return nil
}

// shortest returns the length of the shortest document of a schema, in bytes or less. The schema
// has been checked.
func (c *schemaChecker) shortest(v value) int {
	if ref, ok := v.get("$ref"); ok {
		text, _ := ref.text()
		return c.lengths[text]
	}
	if e, ok := v.get("const"); ok {
		return size(e)
	}
	if e, ok := v.get("enum"); ok {
		return least(e.list, size)
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if e, ok := v.get(key); ok {
			return least(e.list, c.shortest)
		}
	}
	names, _ := c.types(v, "")
	if len(names) == 0 {
		return 1
	}
	n := endless
	for _, name := range names {
		switch name {
		case "object":
			n = min(n, c.shortestObject(v))
		case "array":
			n = min(n, c.shortestArray(v))
		case "string":
			n = min(n, c.shortestString(v))
		default:
			n = min(n, 1)
		}
	}
	return n
}

func least(list []value, length func(value) int) int {
	n := endless
	for _, e := range list {
		n = min(n, length(e))
	}
	return n
}

// size returns about how long a value is as JSON, and not more.
func size(v value) int {
	n := 1
	if s, ok := v.text(); ok {
		n += len(s)
	}
	for _, e := range v.list {
		n += size(e)
	}
	for _, m := range v.members {
		n += len(m.key) + size(m.value)
	}
	return n
}

func (c *schemaChecker) shortestObject(v value) int {
	n := 2
	properties, _ := v.get("properties")
	required, _ := v.get("required")
	for _, e := range required.list {
		name, _ := e.text()
		p, _ := properties.get(name)
		n = sum(n, sum(len(name)+3, c.shortest(p)))
	}
	more, _ := c.count(v, "minProperties", "")
	return sum(n, max(0, more-len(required.list)))
}

func (c *schemaChecker) shortestArray(v value) int {
	n := 2
	prefix, _ := v.get("prefixItems")
	for _, e := range prefix.list {
		n = sum(n, c.shortest(e))
	}
	items, ok := v.get("items")
	each := 1
	if ok {
		each = c.shortest(items)
	}
	more, _ := c.count(v, "minItems", "")
	return sum(n, times(each, max(0, more-len(prefix.list))))
}

func (c *schemaChecker) shortestString(v value) int {
	if pattern, ok := v.get("pattern"); ok {
		text, _ := pattern.text()
		r := &reader{limits: c.limits, text: text, depth: c.limits.Groups}
		if t, err := r.choice(0); err == nil {
			return sum(2, new(estimate).shortest(t))
		}
	}
	n, _ := c.count(v, "minLength", "")
	return sum(2, n)
}
