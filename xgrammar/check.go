package xgrammar

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
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
	Control bool   // the texts that are not JSON have control characters in strings, which a mask may forbid

	// Instead is an equal schema, as JSON, by which the difference is not there: for the one at Place, a JSON pointer. It is
	// "" if none is known, and for what is narrower. The same documents follow both schemas, and [JSONSchema.Instead] puts it there.
	Place, Instead string
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
// An error says that the text is not the JSON of a schema, or that an object in it has a key twice, which Compile refuses, too.
func (s JSONSchema) Check() ([]Difference, error) {
	c, err := s.check()
	if err != nil {
		return nil, err
	}
	c.offers(s.Text)
	return c.found, nil
}

// check checks a schema. It looks for no offers.
func (s JSONSchema) check() (*checker, error) {
	d := json.NewDecoder(strings.NewReader(s.Text))
	d.UseNumber()
	c := checker{loose: s.Loose, anyOrder: s.AnyOrder, seen: map[string]bool{}, left: most}
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
	if err == nil {
		err = jsonlines.Check([]byte(s.Text), nil) // a key that is there twice
	}
	if err != nil {
		return nil, failed(item(s), err)
	}
	c.schema("", c.root)
	if c.left < 0 {
		c.found = []Difference{{Effect: Looser, Text: "it is too large or too deep to be checked"}}
		return &c, nil
	}
	slices.SortStableFunc(c.found, func(a, b Difference) int {
		if a.Effect != b.Effect {
			return int(a.Effect - b.Effect)
		}
		return strings.Compare(a.Pointer, b.Pointer)
	})
	return &c, nil
}

// exact returns, as an error, the differences by which the grammar of an Exact schema allows what the schema forbids. Of a text
// that is not a schema XGrammar speaks.
func exact(s Source) error {
	schema, ok := s.(JSONSchema)
	if !ok || !schema.Exact {
		return nil
	}
	c, err := schema.check()
	if err != nil {
		return nil
	}
	var broken []string
	for _, d := range c.found {
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

// impliedBy returns the type that XGrammar takes for a schema without one, and the keyword that says so, or "".
func impliedBy(s map[string]any) (kind, by string) {
	for _, name := range []string{"properties", "additionalProperties", "unevaluatedProperties"} {
		if s[name] != nil {
			return "object", name
		}
	}
	for _, name := range []string{"items", "prefixItems", "unevaluatedItems"} {
		if s[name] != nil {
			return "array", name
		}
	}
	return "", ""
}

type checker struct {
	root            any
	loose, anyOrder bool

	seen  map[string]bool // pointers
	left  int             // of most
	found []Difference
}

// most is how many steps and characters of pointers a check takes. A validator takes as long as some steps.
const (
	most        = 1 << 20
	costOfJudge = 128
)

// spend reports whether n more steps are allowed.
func (c *checker) spend(n int) bool {
	c.left -= n
	return c.left >= 0
}

func (c *checker) add(at string, e Effect, format string, args ...any) {
	c.found = append(c.found, Difference{Pointer: at, Effect: e, Text: fmt.Sprintf(format, args...)})
}

// below returns the pointer of a member.
func below(at string, names ...string) string {
	for _, name := range names {
		at += "/" + pointed.Replace(name)
	}
	return at
}

// The escapes of characters in a JSON pointer, and back.
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
	if _, ok := s["$id"]; ok && at != "" && c.refers(s) {
		c.add(below(at, "$id"), Looser, "XGrammar follows references from the root alone, also below an $id")
	}
	for _, lead := range leading {
		if _, ok := s[lead]; ok {
			c.beside(at, lead, s)
			c.lead(at, lead, s)
			return
		}
	}
	types := typesOf(s)
	if s["type"] == nil {
		if kind, by := impliedBy(s); kind != "" {
			types = []string{kind}
			c.add(at, Narrower, "without a type only %ss are written, because of %s", kind, by)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if !says(s, name) {
			continue
		}
		if _, ok := never[name]; ok {
			speaks := types == nil || slices.ContainsFunc(types, func(t string) bool { return about(name, t) })
			if speaks && !(name == "not" && types != nil && c.misses(map[string]any{"type": s["type"]}, s[name], 0)) {
				c.add(below(at, name), Looser, "XGrammar does not look at %s", name)
			}
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

// says reports whether a keyword can forbid anything, with the value that it has.
func says(s map[string]any, name string) bool {
	v := s[name]
	switch name {
	case "if":
		return s["then"] != nil || s["else"] != nil
	case "contains":
		return s["minContains"] != json.Number("0") || s["maxContains"] != nil
	case "uniqueItems":
		return v == true && (s["type"] == nil || s["maxItems"] != json.Number("1") && s["maxItems"] != json.Number("0"))
	case "minLength", "minItems", "minProperties":
		return v != json.Number("0")
	case "format":
		format, _ := v.(string)
		return slices.Contains(formats, format)
	case "pattern":
		return v != ""
	case "required":
		names, ok := v.([]any)
		return !ok || len(names) > 0
	case "not":
		return v != false
	}
	switch v := v.(type) {
	case bool:
		return !v
	case map[string]any:
		return len(v) > 0
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
	others := maps.Clone(s)
	delete(others, lead)
	if len(others) == 0 || known && c.all(others, values) {
		return
	}
	types := c.types(s, 0, true)
	for _, name := range slices.Sorted(maps.Keys(others)) {
		_, unread := never[name]
		if !asserts(name) && !slices.Contains(leading, name) && !unread || !slices.Contains(leading, name) && !says(s, name) {
			continue
		}
		switch {
		case known && c.all(alone(s, name), values):
		case !known && name == "type" && c.sameType(s, lead), !known && name == "required" && c.allRequire(s, lead):
		case types != nil && !slices.ContainsFunc(types, func(t string) bool { return about(name, t) }):
		case name == "not" && c.misses(map[string]any{lead: s[lead]}, s[name], 0):
		default:
			c.add(below(at, name), Looser, "XGrammar does not look at %s beside %s", name, lead)
		}
	}
}

// alone returns a keyword with those that say more about it.
func alone(s map[string]any, name string) map[string]any {
	one := map[string]any{name: s[name]}
	for _, more := range map[string][]string{"if": {"then", "else"}, "contains": {"minContains", "maxContains"}}[name] {
		if v, ok := s[more]; ok {
			one[more] = v
		}
	}
	return one
}

// about reports whether a keyword can say something about values of a type.
func about(name, kind string) bool {
	if of, ok := never[name]; ok {
		return of == "" || of == kind
	}
	return slices.Contains(ofType[kind], name) || name == "type" || slices.Contains(leading, name)
}

// Keywords that a validator may not try on constants: references, which may go in circles, and formats, which it does not know.
var untried = []string{"$ref", "$dynamicRef", "$recursiveRef", "format"}

// all reports whether each value follows a schema, if that is cheap to say.
func (c *checker) all(s map[string]any, values []any) bool { return c.judge(s, values, true) }

// none reports whether no value follows a schema, if that is cheap to say.
func (c *checker) none(s map[string]any, values []any) bool { return c.judge(s, values, false) }

// judge reports whether a validator says the same of all values.
func (c *checker) judge(s map[string]any, values []any, follows bool) bool {
	all, ok := c.verdicts(s, values)
	return ok && !slices.Contains(all, !follows)
}

// verdicts returns what a validator says of values.
func (c *checker) verdicts(s map[string]any, values []any) (all []bool, ok bool) {
	unknown := func(v any) bool {
		s, _ := v.(map[string]any)
		return !c.spend(1) || slices.ContainsFunc(untried, func(name string) bool { return s[name] != nil && says(s, name) })
	}
	if !c.spend(costOfJudge+len(values)) || within(s, unknown) || rounded(s) || rounded(values) {
		return nil, false
	}
	text, err := json.Marshal(s)
	var schema jsonschema.Schema
	if err != nil || len(text) > 1000 || json.Unmarshal(text, &schema) != nil {
		return nil, false
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, false
	}
	for _, v := range values {
		all = append(all, resolved.Validate(plain(v)) == nil)
	}
	return all, true
}

// allRequire reports whether each branch requires, of its own properties, what stands beside them.
func (c *checker) allRequire(s map[string]any, lead string) bool {
	names, _ := s["required"].([]any)
	branches, _ := s[lead].([]any)
	for _, b := range branches {
		branch := c.follow(b)
		properties, _ := branch["properties"].(map[string]any)
		for _, name := range names {
			if name, ok := name.(string); !ok || properties[name] == nil || !required(branch, name) || !c.spend(1) {
				return false
			}
		}
	}
	return len(branches) > 0 && (lead == "anyOf" || lead == "oneOf" || len(branches) == 1)
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
		if wide(s[lead]) {
			c.add(here, Looser, "XGrammar rounds an integer beyond 64 bits, and a number with more digits than a float64 keeps")
		}
		return
	case "allOf":
		if len(branches) != 1 {
			c.add(here, Looser, "XGrammar does not look at several schemas of allOf, or at none: any JSON is allowed")
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

// evaluated checks a keyword about members that no other keyword has looked at, unless there is one for all of them.
func (c *checker) evaluated(at string, s map[string]any, name, all string, others ...string) {
	if s[name] == nil || !says(s, name) || s[all] != nil {
		return
	}
	for _, other := range append(others, "$dynamicRef", "$recursiveRef") {
		if s[other] != nil {
			c.add(below(at, name), Narrower, "XGrammar does not know which members %s looks at", other)
		}
	}
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
	c.evaluated(at, s, "unevaluatedItems", "items", "contains", "if")
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
			if s["maxLength"] == json.Number("0") {
				continue
			}
			c.add(below(at, name), NotJSON, "a string with a length may have control characters, which JSON forbids")
			c.found[len(c.found)-1].Control = true
			c.add(below(at, name), Narrower, "a string with a length has no escapes, so neither a quote nor a new line")
		}
		return
	}
	for _, name := range ignored {
		c.add(below(at, name), Looser, "XGrammar does not look at %s beside %s", name, by)
	}
}

// The limits within which XGrammar follows multipleOf for integers.
const (
	mostMultiple = 1024
	mostRange    = 10000 // values between two limits
)

// number checks what a schema says of numbers.
func (c *checker) number(at string, s map[string]any, kind string) {
	limit := func(name string) (float64, bool) {
		n, ok := s[name].(json.Number)
		f, err := n.Float64()
		return f, ok && err == nil
	}
	multiple, ok := limit("multipleOf")
	minimum, low := limit("minimum")
	maximum, high := limit("maximum")
	if v, ok := limit("exclusiveMinimum"); ok {
		minimum, low = max(v, minimum), true
	}
	if v, ok := limit("exclusiveMaximum"); ok {
		if maximum, high = v, true; s["maximum"] != nil {
			maximum, _ = limit("maximum")
			maximum = min(v, maximum)
		}
	}
	switch here := below(at, "multipleOf"); {
	case !ok || multiple == 1 && kind == "integer":
	case kind == "number":
		c.add(here, Looser, "XGrammar does not look at multipleOf of numbers: use it with integers")
	case multiple != math.Trunc(multiple):
		c.add(here, Looser, "XGrammar does not look at a multipleOf with a fraction")
	case multiple > mostMultiple:
		c.add(here, Looser, "XGrammar does not look at a multipleOf above %d", mostMultiple)
	case low != high || low && maximum-minimum >= mostRange:
		c.add(here, Looser, "XGrammar looks at multipleOf beside limits only if both are there, with less than %d between them", mostRange)
	}
	for _, name := range ofType["number"][:4] {
		if n, ok := s[name].(json.Number); ok && looserLimit(name, kind, n) {
			c.add(below(at, name), Looser, "XGrammar rounds a limit beyond 2^53 to a float64")
		}
		if s[name] != nil && kind == "number" {
			c.add(below(at, name), Narrower, "a number with a limit has no exponent and six decimals at most")
		}
	}
}
