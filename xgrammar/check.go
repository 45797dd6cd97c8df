package xgrammar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Effect is what a [Difference] does to the texts that a grammar allows.
type Effect int

// The effects of a difference, the worst first.
const (
	// Looser is an effect: some texts are allowed that break the schema.
	Looser Effect = iota
	// NotJSON is an effect: some texts are allowed that are not JSON, such as a string with a quote, or with a new line.
	NotJSON
	// Narrower is an effect: some documents that follow the schema are never written. The others are right.
	Narrower
)

// String returns a word for the effect.
func (e Effect) String() string { return [...]string{"looser", "not JSON", "narrower"}[e] }

// Difference is a part of a schema that XGrammar does not follow.
type Difference struct {
	Pointer string // the place in the schema, as a JSON pointer (RFC 6901); "" is the whole schema
	Effect  Effect
	Text    string // why, in words for the author of the schema
}

// String returns the difference in one line.
func (d Difference) String() string {
	return fmt.Sprintf("%q: %s (%s)", d.Pointer, d.Text, d.Effect)
}

// Check says what XGrammar will not follow of the schema, before it is compiled: the worst first, then by pointer. It looks
// only at parts that the root of the schema uses. docs/SCHEMAS.md lists the differences that it knows, each with a text that
// shows it. A schema that takes too many steps has one difference, which says that. One without any may still be one that
// XGrammar cannot compile.
//
// Check does not speak of what is so for every schema: integers are written without a fraction, properties in the order of the
// schema, a constant in one way, and unless the schema is Loose nothing that it does not mention.
//
// An error says that the text is not the JSON of a schema.
func (s JSONSchema) Check() ([]Difference, error) {
	d := json.NewDecoder(strings.NewReader(s.Text))
	d.UseNumber()
	c := checker{loose: s.Loose, seen: map[string]bool{}, left: most}
	err := d.Decode(&c.root)
	if err == nil {
		if _, rest := d.Token(); !errors.Is(rest, io.EOF) {
			err = errors.New("there is text after the schema")
		}
	}
	switch c.root.(type) {
	case bool, map[string]any:
	default:
		if err == nil {
			err = errors.New("it is neither an object nor true or false")
		}
	}
	if err != nil {
		return nil, failed(item(s), err)
	}
	c.schema("", c.root)
	if c.left < 0 {
		return []Difference{{"", Looser, "it is too large or too deep to be checked"}}, nil
	}
	slices.SortStableFunc(c.found, func(a, b Difference) int {
		if a.Effect != b.Effect {
			return int(a.Effect - b.Effect)
		}
		return strings.Compare(a.Pointer, b.Pointer)
	})
	return c.found, nil
}

// exact returns, as an error, the differences by which the grammar of an Exact schema allows what the schema forbids. Of a text
// that is not a schema XGrammar speaks.
func exact(s Source) error {
	schema, ok := s.(JSONSchema)
	if !ok || !schema.Exact {
		return nil
	}
	all, err := schema.Check()
	if err != nil {
		return nil
	}
	var broken []string
	for _, d := range all {
		if d.Effect != Narrower {
			broken = append(broken, d.String())
		}
	}
	if broken == nil {
		return nil
	}
	return fmt.Errorf("XGrammar does not follow it exactly: %s", strings.Join(broken, "; "))
}

// Keywords by which XGrammar reads a schema, whatever stands beside them. The first one counts.
var leading = []string{"$ref", "const", "enum", "anyOf", "oneOf", "allOf"}

// Keywords that XGrammar reads for a type, if none of leading is there.
var ofType = map[string][]string{
	"object":  {"properties", "required", "patternProperties", "propertyNames", "additionalProperties", "unevaluatedProperties", "minProperties", "maxProperties"},
	"array":   {"prefixItems", "items", "unevaluatedItems", "minItems", "maxItems"},
	"string":  {"format", "pattern", "minLength", "maxLength"},
	"number":  {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
	"integer": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
	"boolean": nil,
	"null":    nil,
}

// Keywords that XGrammar never reads, with the types about which they say something, "" for all.
var never = map[string]string{
	"not": "", "if": "", "$dynamicRef": "", "$recursiveRef": "",
	"dependentRequired": "object", "dependentSchemas": "object", "dependencies": "object",
	"contains": "array", "uniqueItems": "array",
}

// Formats that XGrammar knows.
var formats = []string{
	"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "json-pointer", "relative-json-pointer", "time",
	"uri", "uri-reference", "uri-template", "uuid",
}

type checker struct {
	root  any
	loose bool
	seen  map[string]bool // pointers
	left  int             // of most
	found []Difference
}

// most is how many steps and characters of pointers a check takes.
const most = 1 << 20

// spend reports whether n more steps are allowed.
func (c *checker) spend(n int) bool {
	c.left -= n
	return c.left >= 0
}

func (c *checker) add(at string, e Effect, format string, args ...any) {
	c.found = append(c.found, Difference{at, e, fmt.Sprintf(format, args...)})
}

// below returns the pointer of a member.
func below(at string, names ...string) string {
	for _, name := range names {
		at += "/" + pointed.Replace(name)
	}
	return at
}

// What a JSON pointer has for characters of names, and back.
var (
	pointed = strings.NewReplacer("~", "~0", "/", "~1")
	named   = strings.NewReplacer("~1", "/", "~0", "~")
)

// schema checks the schema at a pointer.
func (c *checker) schema(at string, v any) {
	s, ok := v.(map[string]any)
	if !ok || c.seen[at] || !c.spend(1+len(at)) {
		return
	}
	c.seen[at] = true
	for _, lead := range leading {
		if s[lead] != nil {
			c.beside(at, lead, s)
			c.lead(at, lead, s)
			return
		}
	}
	types := typesOf(s)
	if s["type"] == nil {
		for _, implied := range []struct {
			kind string
			by   []string
		}{{"object", []string{"properties", "additionalProperties", "unevaluatedProperties"}}, {"array", []string{"items", "prefixItems", "unevaluatedItems"}}} {
			for _, name := range implied.by {
				if s[name] != nil && types == nil {
					types = []string{implied.kind}
					c.add(at, Narrower, "without a type only %ss are written, because of %s", implied.kind, name)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if about, ok := never[name]; ok && (about == "" || types == nil || slices.Contains(types, about)) && says(s, name) {
			c.add(below(at, name), Looser, "XGrammar does not look at %s", name)
		} else if types == nil && asserts(name) {
			c.add(below(at, name), Looser, "XGrammar does not look at %s in a schema without a type: any JSON is allowed", name)
		}
	}
	for _, t := range types {
		switch t {
		case "object":
			c.object(at, s)
		case "array":
			c.array(at, s)
		case "string":
			c.text(at, s)
		case "number", "integer":
			c.number(at, s, t)
		}
	}
}

// typesOf returns what a schema says of types, nil for nothing.
func typesOf(s map[string]any) []string {
	switch t := s["type"].(type) {
	case string:
		return []string{t}
	case []any:
		var all []string
		for _, one := range t {
			if name, ok := one.(string); ok {
				all = append(all, name)
			}
		}
		return all
	}
	return nil
}

// asserts reports whether a keyword can forbid a document, apart from those of leading and never.
func asserts(name string) bool {
	for _, names := range ofType {
		if slices.Contains(names, name) {
			return true
		}
	}
	return name == "type"
}

// says reports whether a keyword of never forbids anything.
func says(s map[string]any, name string) bool {
	switch v := s[name].(type) {
	case bool:
		return v && name != "contains"
	case map[string]any:
		if name == "if" {
			return s["then"] != nil || s["else"] != nil
		}
		return len(v) > 0 || name == "not" || name == "contains"
	}
	return true
}

// beside checks the keywords that stand beside a leading one.
func (c *checker) beside(at, lead string, s map[string]any) {
	values, known := []any(nil), false
	if lead == "const" {
		values, known = []any{s["const"]}, true
	} else if lead == "enum" {
		values, known = s["enum"].([]any)
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		_, unread := never[name]
		if name == lead || !asserts(name) && !slices.Contains(leading, name) && !(unread && says(s, name)) {
			continue
		}
		if known && c.all(s, name, values) || !known && name == "type" && c.sameType(s, lead) {
			continue
		}
		c.add(below(at, name), Looser, "XGrammar does not look at %s beside %s", name, lead)
	}
}

// all reports whether each value follows one keyword of a schema.
func (c *checker) all(s map[string]any, name string, values []any) bool {
	part := map[string]any{name: s[name]}
	if name == "if" {
		part["then"], part["else"] = s["then"], s["else"]
		maps.DeleteFunc(part, func(_ string, v any) bool { return v == nil })
	}
	text, err := json.Marshal(part)
	var schema jsonschema.Schema
	if err != nil || bytes.Contains(text, []byte(`"$ref"`)) || json.Unmarshal(text, &schema) != nil {
		return false
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return false
	}
	for _, v := range values {
		if resolved.Validate(plain(v)) != nil {
			return false
		}
	}
	return true
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

// sameType reports whether all branches of a schema have types that its own type allows.
func (c *checker) sameType(s map[string]any, lead string) bool {
	branches, own := []any{s}, typesOf(s)
	if lead != "$ref" {
		branches, _ = s[lead].([]any)
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
		var all []string
		for _, v := range values {
			all = append(all, typeOf(v))
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
	if s["allOf"] != nil {
		return nil
	}
	if types := typesOf(s); types != nil {
		return types
	}
	for _, name := range []string{"properties", "additionalProperties", "unevaluatedProperties"} {
		if written && s[name] != nil {
			return []string{"object"}
		}
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
		if r, ok := new(big.Rat).SetString(string(v)); ok && r.IsInt() {
			return "integer"
		}
	}
	return "number"
}

// lead checks a leading keyword.
func (c *checker) lead(at, lead string, s map[string]any) {
	here := below(at, lead)
	branches, _ := s[lead].([]any)
	switch lead {
	case "$ref":
		ref, _ := s["$ref"].(string)
		pointer, target, local := c.target(ref)
		if !local {
			c.add(here, Looser, "XGrammar follows references from the root alone, such as #/$defs/x: any JSON is allowed")
			return
		}
		c.schema(pointer, target)
		return
	case "const", "enum":
		if c.wide(s[lead]) {
			c.add(here, Looser, "XGrammar writes an integer beyond 64 bits as a rounded number")
		}
		return
	case "allOf":
		if len(branches) > 1 {
			c.add(here, Looser, "XGrammar does not look at several schemas of allOf: any JSON is allowed")
			return
		}
	case "oneOf":
		if !c.disjoint(branches) {
			c.add(here, Looser, "XGrammar reads oneOf as anyOf, and a document may follow several of these schemas")
		}
	}
	for i, b := range branches {
		c.schema(below(here, strconv.Itoa(i)), b)
	}
}

// target returns what a reference names, and whether XGrammar follows it.
func (c *checker) target(ref string) (pointer string, target any, local bool) {
	if ref == "#" {
		return "", c.root, true
	}
	rest, local := strings.CutPrefix(ref, "#/")
	if !local {
		return "", nil, false
	}
	target = c.root
	for part := range strings.SplitSeq(rest, "/") {
		if name, err := url.PathUnescape(part); err == nil {
			part = name
		}
		part = named.Replace(part)
		pointer = below(pointer, part)
		switch t := target.(type) {
		case map[string]any:
			target = t[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(t) {
				return pointer, nil, true
			}
			target = t[i]
		default:
			return pointer, nil, true
		}
	}
	return pointer, target, true
}

// wide reports whether a value has an integer beyond int64.
func (c *checker) wide(v any) bool {
	switch v := v.(type) {
	case json.Number:
		i, ok := new(big.Int).SetString(string(v), 10)
		return ok && !i.IsInt64()
	case []any:
		return slices.ContainsFunc(v, c.wide)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), c.wide)
	}
	return false
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

func (c *checker) apart(a, b any, depth int) bool {
	x, y := c.follow(a), c.follow(b)
	if x == nil || y == nil || depth > 32 || !c.spend(1) {
		return false
	}
	xTypes, yTypes := c.types(x, 0, false), c.types(y, 0, false)
	if xTypes != nil && yTypes != nil && !slices.ContainsFunc(xTypes, func(t string) bool {
		return slices.ContainsFunc(yTypes, func(u string) bool {
			return t == u || t == "integer" && u == "number" || t == "number" && u == "integer"
		})
	}) {
		return true
	}
	if xs, ok := constants(x); ok {
		if ys, ok := constants(y); ok {
			return !slices.ContainsFunc(xs, func(v any) bool {
				return slices.ContainsFunc(ys, func(w any) bool { return reflect.DeepEqual(plain(v), plain(w)) })
			})
		}
	}
	if !slices.Equal(xTypes, []string{"object"}) || !slices.Equal(yTypes, []string{"object"}) {
		return false
	}
	xs, _ := x["properties"].(map[string]any)
	ys, _ := y["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(xs)) {
		if ys[name] != nil && required(x, name) && required(y, name) && c.apart(xs[name], ys[name], depth+1) {
			return true
		}
	}
	return false
}

// follow returns the object of a schema, behind its references.
func (c *checker) follow(v any) map[string]any {
	for range 32 {
		s, _ := v.(map[string]any)
		ref, ok := s["$ref"].(string)
		if !ok {
			return s
		}
		_, v, _ = c.target(ref)
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

// object checks what a schema says of objects.
func (c *checker) object(at string, s map[string]any) {
	properties, _ := s["properties"].(map[string]any)
	patterns, _ := s["patternProperties"].(map[string]any)
	names, _ := s["required"].([]any)
	for i, name := range names {
		if name, ok := name.(string); ok && properties[name] == nil {
			c.add(below(at, "required", strconv.Itoa(i)), Looser, "XGrammar does not look at a required property that properties does not have: add %q there", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		c.schema(below(at, "properties", name), properties[name])
	}
	others := c.others(s)
	here := below(at, "patternProperties")
	for _, p := range slices.Sorted(maps.Keys(patterns)) {
		c.pattern(below(here, p), p)
		c.schema(below(here, p), patterns[p])
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
	if v, ok := s["propertyNames"].(map[string]any); ok && len(v) > 0 {
		switch here := below(at, "propertyNames"); {
		case len(properties) > 0:
			c.add(here, Looser, "XGrammar does not look at propertyNames beside properties")
		case len(patterns) > 0:
			c.add(here, Looser, "XGrammar does not look at propertyNames beside patternProperties")
		default:
			names := maps.Clone(v)
			names["type"] = "string" // as XGrammar has it
			c.schema(here, names)
		}
	}
	for _, name := range []string{"additionalProperties", "unevaluatedProperties"} {
		c.schema(below(at, name), s[name])
	}
}

// others reports whether an object may have properties that the schema does not name.
func (c *checker) others(s map[string]any) bool {
	for _, name := range []string{"additionalProperties", "unevaluatedProperties"} {
		if v, ok := s[name]; ok {
			return v != false
		}
	}
	return c.loose
}

// array checks what a schema says of arrays.
func (c *checker) array(at string, s map[string]any) {
	items, _ := s["prefixItems"].([]any)
	for i, item := range items {
		c.schema(below(at, "prefixItems", strconv.Itoa(i)), item)
	}
	for _, name := range []string{"items", "unevaluatedItems"} {
		c.schema(below(at, name), s[name])
	}
	if s["minContains"] != nil && s["contains"] == nil {
		c.add(below(at, "minContains"), Narrower, "XGrammar reads minContains as minItems")
	}
}

// text checks what a schema says of strings.
func (c *checker) text(at string, s map[string]any) {
	format, _ := s["format"].(string)
	pattern, hasPattern := s["pattern"].(string)
	var lengths []string
	for _, name := range []string{"minLength", "maxLength"} {
		if n, ok := s[name].(json.Number); ok && !(name == "minLength" && n == "0") {
			lengths = append(lengths, name)
		}
	}
	ignored, by := lengths, "pattern"
	switch {
	case slices.Contains(formats, format):
		by = "format"
		if hasPattern {
			ignored = append([]string{"pattern"}, lengths...)
		}
	case hasPattern:
		c.pattern(below(at, "pattern"), pattern)
	default:
		for _, name := range lengths {
			c.add(below(at, name), NotJSON, "a string with a length may have control characters, which JSON forbids")
			c.add(below(at, name), Narrower, "a string with a length has no escapes, so neither a quote nor a new line")
		}
		return
	}
	for _, name := range ignored {
		c.add(below(at, name), Looser, "XGrammar does not look at %s beside %s", name, by)
	}
}

// number checks what a schema says of numbers.
func (c *checker) number(at string, s map[string]any, kind string) {
	multiple, _ := s["multipleOf"].(json.Number)
	if r, ok := new(big.Rat).SetString(string(multiple)); ok && kind == "number" {
		c.add(below(at, "multipleOf"), Looser, "XGrammar does not look at multipleOf of numbers: use it with integers")
	} else if ok && !r.IsInt() && !(r.Num().IsInt64() && r.Num().Int64() == 1) {
		c.add(below(at, "multipleOf"), Looser, "XGrammar does not look at a multipleOf with a fraction")
	}
	for _, name := range ofType["number"][:4] {
		if s[name] != nil && kind == "number" {
			c.add(below(at, name), Narrower, "a number with a limit has no exponent and six decimals at most")
		}
	}
}

// pattern checks a regular expression.
func (c *checker) pattern(at, text string) {
	p := scan(text)
	if p.lookahead {
		c.add(at, Looser, "XGrammar does not look at lookaheads")
	}
	if p.inner {
		c.add(at, Looser, "XGrammar does not look at ^ and $ inside of a pattern")
	}
	if p.raw {
		c.add(at, NotJSON, "the pattern describes the text between the quotes, so a quote, a backslash or a control character in it is written as it is")
	}
	if !p.whole {
		c.add(at, Narrower, "the pattern describes the whole text, as if it began with ^ and ended with $")
	}
}

// regex is what is seen of a regular expression.
type regex struct {
	lookahead bool
	inner     bool // an anchor that is neither at the beginning nor at the end
	raw       bool // a character that JSON escapes
	whole     bool // it is anchored at both ends
}

// scan looks at the characters of a regular expression.
func scan(text string) (p regex) {
	depth, class, from := 0, -1, 0 // class is where one begins, from where an alternative does
	anchored := func(end int, last bool) bool { return last && strings.HasPrefix(text[from:end], "^") }
	p.whole = true
	last := false // the last character is an anchor at the end
	for i := 0; i < len(text); i++ {
		ch, begins := text[i], i == 0 || strings.IndexByte("(|:", text[i-1]) >= 0
		wasLast := last
		last = false
		negated := class >= 0 && strings.HasPrefix(text[class:], "[^")
		switch {
		case ch == '\\' && i+1 < len(text):
			i++
			p.raw = p.raw || !negated && escaped(text[i:])
		case ch == '"' || ch < ' ':
			p.raw = p.raw || !negated
		case class >= 0:
			if ch == ']' {
				class = -1
			}
		case ch == '[':
			class = i
		case ch == '^':
			p.inner = p.inner || !begins
		case ch == '$':
			last = i+1 == len(text) || strings.IndexByte("|)", text[i+1]) >= 0
			p.inner = p.inner || !last
		case ch == '(':
			depth++
			p.lookahead = p.lookahead || strings.HasPrefix(text[i:], "(?=") || strings.HasPrefix(text[i:], "(?!")
		case ch == ')':
			depth--
		case ch == '|' && depth == 0:
			p.whole = p.whole && anchored(i, wasLast)
			from = i + 1
		}
	}
	p.whole = p.whole && anchored(len(text), last)
	return p
}

// escaped reports whether the escape that begins behind a backslash stands for a character that JSON escapes.
func escaped(text string) bool {
	if digits := map[byte]int{'x': 2, 'u': 4}[text[0]]; digits > 0 {
		n, err := strconv.ParseUint(text[1:min(len(text), 1+digits)], 16, 32)
		return err == nil && (n < ' ' || n == '"' || n == '\\')
	}
	return strings.IndexByte(`\"nrtfv0`, text[0]) >= 0
}
