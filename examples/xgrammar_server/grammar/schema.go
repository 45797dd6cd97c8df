package grammar

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// XGrammar reads one keyword of a schema that decides (such as $ref or type) and those that
// belong to it. It ignores the others without an error, so that its texts would not follow
// them. This file refuses a schema with a keyword that XGrammar would ignore.

// notes are keywords that constrain nothing.
var notes = []string{"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "$schema", "$defs", "definitions"}

// belongs lists the keywords that XGrammar follows for a type.
var belongs = map[string][]string{
	"object":  {"properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties"},
	"array":   {"items", "prefixItems", "minItems", "maxItems"},
	"string":  {"minLength", "maxLength", "pattern", "format"},
	"integer": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
	"number":  {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
	"boolean": nil,
	"null":    nil,
}

// formats are the formats of strings that XGrammar writes. It also knows ipv4, but writes 1.2.3.04.
var formats = []string{"date", "date-time", "duration", "email", "hostname", "ipv6", "json-pointer", "relative-json-pointer", "time", "uri", "uri-reference", "uri-template", "uuid"}

type schemaChecker struct {
	limits Limits
	item   string
	root   value
	seen   []place // all schemas
	// By the text of a reference: the length of the shortest document, and the schema.
	lengths map[string]int
	targets map[string]value
}

// under returns the path of a schema below a keyword. A slash in a name does not look like a level.
func under(path, keyword, name string) string {
	return path + "/" + keyword + "/" + strings.ReplaceAll(name, "/", "~1")
}

// place is a schema and where it is.
type place struct {
	value value
	path  string
}

func (l Limits) checkSchema(source string) error {
	p := &parser{limits: l, item: string(JSONSchema)}
	root, err := p.parse(source)
	if err != nil {
		return err
	}
	return l.checkRoot(string(JSONSchema), root)
}

// checkRoot checks a whole schema.
func (l Limits) checkRoot(item string, root value) error {
	c := &schemaChecker{limits: l, item: item, root: root, lengths: map[string]int{}, targets: map[string]value{}}
	if err := c.schema(root, ""); err != nil {
		return err
	}
	return c.ends()
}

func (c *schemaChecker) refuse(code, path, found, expected string) error {
	if path == "" {
		path = "the root"
	}
	return &Error{code, c.item + " at " + path, found, expected}
}

// only refuses keywords that are neither in allowed nor notes.
func (c *schemaChecker) only(v value, path, because string, allowed ...string) error {
	for _, m := range v.members {
		if !slices.Contains(notes, m.key) && !slices.Contains(allowed, m.key) {
			return c.refuse(Unsupported, path, fmt.Sprintf("the keyword %q %s, which XGrammar would ignore", m.key, because), "a schema without it")
		}
	}
	return nil
}

// schema checks a schema and those in it. The parser has bounded the depth.
func (c *schemaChecker) schema(v value, path string) error {
	c.seen = append(c.seen, place{v, cmp.Or(path, "the root")})
	if v.kind() == "boolean" {
		return nil
	}
	if !v.object {
		return c.refuse(Invalid, path, v.kind(), "a schema: an object or a boolean")
	}
	for _, name := range []string{"$defs", "definitions"} {
		defs, _ := v.get(name)
		for _, m := range defs.members {
			if err := c.schema(m.value, under(path, name, m.key)); err != nil {
				return err
			}
		}
	}
	for _, decides := range []struct {
		key   string
		check func(by, v value, path string) error
	}{
		{"$ref", c.reference}, {"const", c.constant}, {"enum", c.enum},
		{"anyOf", c.alternatives}, {"oneOf", c.alternatives}, {"allOf", c.all},
	} {
		by, ok := v.get(decides.key)
		if !ok {
			continue
		}
		allowed := []string{decides.key}
		if decides.key == "const" || decides.key == "enum" {
			allowed = append(allowed, "type")
		}
		if err := c.only(v, path, "beside "+decides.key, allowed...); err != nil {
			return err
		}
		return decides.check(by, v, path+"/"+decides.key)
	}
	return c.typed(v, path)
}

func (c *schemaChecker) reference(by, _ value, path string) error {
	ref, _ := by.text()
	at := c.root
	rest, local := strings.CutPrefix(ref, "#")
	if !local || rest != "" && rest[0] != '/' {
		return c.refuse(Unsupported, path, strconv.Quote(ref), "a reference into this schema, such as #/$defs/name")
	}
	parts := strings.Split(rest, "/")
	for _, part := range parts[1:] {
		next, ok := at.get(part)
		if !ok {
			return c.refuse(Invalid, path, strconv.Quote(ref)+", which is not there", "the path of a schema, through objects only")
		}
		at = next
	}
	c.lengths[ref], c.targets[ref] = endless, at
	return nil
}

func (c *schemaChecker) constant(by, v value, path string) error { return c.agrees(v, by, path) }

// agrees refuses a value of const or enum that does not have the type beside it.
func (c *schemaChecker) agrees(v, element value, path string) error {
	types, ok := v.get("type")
	if !ok {
		return nil
	}
	for _, t := range append(slices.Clone(types.list), types) {
		name, _ := t.text()
		if kind := element.kind(); name == kind || name == "number" && kind == "integer" {
			return nil
		}
	}
	return c.refuse(Invalid, path, "a value of type "+element.kind(), "values of the type beside it")
}

func (c *schemaChecker) enum(by, v value, path string) error {
	if err := c.some(by, path); err != nil {
		return err
	}
	for _, e := range by.list {
		if err := c.agrees(v, e, path); err != nil {
			return err
		}
	}
	return nil
}

// some checks that a value is an array with one element at least and not too many.
func (c *schemaChecker) some(by value, path string) error {
	if !by.array || len(by.list) == 0 {
		return c.refuse(Invalid, path, by.kind()+" of length "+strconv.Itoa(len(by.list)), "an array with an element")
	}
	if len(by.list) > c.limits.Alternatives {
		return c.refuse(TooLarge, path, fmt.Sprintf("%d elements", len(by.list)), fmt.Sprintf("%d at most", c.limits.Alternatives))
	}
	return nil
}

func (c *schemaChecker) alternatives(by, _ value, path string) error {
	if err := c.some(by, path); err != nil {
		return err
	}
	for i, e := range by.list {
		if err := c.schema(e, path+"/"+strconv.Itoa(i)); err != nil {
			return err
		}
	}
	return nil
}

func (c *schemaChecker) all(by, v value, path string) error {
	if len(by.list) != 1 {
		return c.refuse(Unsupported, path, fmt.Sprintf("%d schemas", len(by.list)), "one, because XGrammar ignores allOf with more")
	}
	return c.alternatives(by, v, path)
}

// typed checks a schema that its type decides, or the keywords that imply one.
func (c *schemaChecker) typed(v value, path string) error {
	names, err := c.types(v, path)
	if err != nil {
		return err
	}
	allowed := []string{"type"}
	for _, name := range names {
		keywords, known := belongs[name]
		if !known {
			return c.refuse(Invalid, path+"/type", strconv.Quote(name), "object, array, string, integer, number, boolean or null")
		}
		allowed = append(allowed, keywords...)
	}
	because := "with type " + strings.Join(names, ", ")
	if len(names) == 0 {
		because = "without a type"
	}
	if err := c.only(v, path, because, allowed...); err != nil {
		return err
	}
	for _, check := range []func(value, string) error{c.object, c.array, c.string, c.number} {
		if err := check(v, path); err != nil {
			return err
		}
	}
	return nil
}

func (c *schemaChecker) types(v value, path string) ([]string, error) {
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(k string) bool { _, ok := v.get(k); return ok })
	}
	t, ok := v.get("type")
	switch name, isText := t.text(); {
	case ok && isText:
		return []string{name}, nil
	case ok:
		if err := c.some(t, path+"/type"); err != nil {
			return nil, err
		}
		var names []string
		for _, e := range t.list {
			name, _ := e.text()
			names = append(names, name)
		}
		return names, nil
	case has("properties", "additionalProperties"):
		return []string{"object"}, nil
	case has("items", "prefixItems"):
		return []string{"array"}, nil
	}
	return nil, nil
}

func (c *schemaChecker) object(v value, path string) error {
	properties, _ := v.get("properties")
	for _, m := range properties.members {
		if err := c.schema(m.value, under(path, "properties", m.key)); err != nil {
			return err
		}
	}
	required, _ := v.get("required")
	for _, e := range required.list {
		name, _ := e.text()
		if _, ok := properties.get(name); !ok {
			return c.refuse(Unsupported, path+"/required", strconv.Quote(name)+", which properties lacks", "names of properties, because XGrammar ignores others")
		}
	}
	more, open := v.get("additionalProperties")
	open = open && more.scalar != false
	patterns, patterned := v.get("patternProperties")
	names, named := v.get("propertyNames")
	// XGrammar does not keep track of the names that it has written: one that is declared could come
	// again, with a value for other names.
	if len(properties.members) > 0 && (open || patterned || named) {
		return c.refuse(Unsupported, path, "properties beside additionalProperties, patternProperties or propertyNames", "one of them, because XGrammar could write a declared property twice")
	}
	if open && patterned || named && patterned {
		return c.refuse(Unsupported, path, "patternProperties beside additionalProperties or propertyNames", "one of them, because XGrammar does not compare the names")
	}
	if least, err := c.count(v, "minProperties", path); err != nil || least > 1 && len(properties.members) == 0 {
		return c.first(err, path, "minProperties with names that are free", "1 at most, because a name may come twice")
	}
	if _, err := c.count(v, "maxProperties", path); err != nil {
		return err
	}
	for _, m := range patterns.members {
		if err := c.limits.checkRegex(c.item+" at "+path+"/patternProperties", m.key); err != nil {
			return err
		}
		if err := c.schema(m.value, under(path, "patternProperties", m.key)); err != nil {
			return err
		}
	}
	if named {
		if err := c.schema(names, path+"/propertyNames"); err != nil {
			return err
		}
	}
	if open {
		return c.schema(more, path+"/additionalProperties")
	}
	return nil
}

func (c *schemaChecker) first(err error, path, found, expected string) error {
	if err != nil {
		return err
	}
	return c.refuse(Unsupported, path, found, expected)
}

func (c *schemaChecker) array(v value, path string) error {
	items, ok := v.get("items")
	if ok && items.scalar != false {
		if err := c.schema(items, path+"/items"); err != nil {
			return err
		}
	}
	prefix, _ := v.get("prefixItems")
	for i, e := range prefix.list {
		if err := c.schema(e, path+"/prefixItems/"+strconv.Itoa(i)); err != nil {
			return err
		}
	}
	return c.counts(v, path, "minItems", "maxItems")
}

func (c *schemaChecker) string(v value, path string) error {
	pattern, patterned := v.get("pattern")
	format, formatted := v.get("format")
	_, least := v.get("minLength")
	_, most := v.get("maxLength")
	if patterned && formatted || (patterned || formatted) && (least || most) {
		return c.refuse(Unsupported, path, "several of pattern, format and lengths", "one of them, because XGrammar ignores the others")
	}
	if name, _ := format.text(); formatted && !slices.Contains(formats, name) {
		return c.refuse(Unsupported, path+"/format", strconv.Quote(name), "one of "+strings.Join(formats, ", "))
	}
	if text, isText := pattern.text(); patterned {
		if !isText {
			return c.refuse(Invalid, path+"/pattern", pattern.kind(), "a string")
		}
		if err := c.limits.checkRegex(c.item+" at "+path+"/pattern", text); err != nil {
			return err
		}
	}
	return c.counts(v, path, "minLength", "maxLength")
}

func (c *schemaChecker) number(v value, path string) error {
	if _, ok := v.get("multipleOf"); !ok {
		return nil
	}
	for _, bound := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} {
		if _, ok := v.get(bound); ok {
			return c.refuse(Unsupported, path, "multipleOf beside "+bound, "one of them, because XGrammar ignores multipleOf in wide ranges")
		}
	}
	if n, err := c.count(v, "multipleOf", path); err != nil || n < 1 || n > 1000 {
		return c.first(err, path+"/multipleOf", "a number that XGrammar would ignore", "1 to 1000")
	}
	return nil
}

func (c *schemaChecker) counts(v value, path string, keys ...string) error {
	for _, key := range keys {
		if _, err := c.count(v, key, path); err != nil {
			return err
		}
	}
	return nil
}

// count returns the value of a keyword that is a natural number, 0 if it is not there.
func (c *schemaChecker) count(v value, key, path string) (int, error) {
	x, ok := v.get(key)
	if !ok {
		return 0, nil
	}
	number, _ := x.scalar.(json.Number)
	n, err := strconv.Atoi(number.String())
	const most = 100_000
	if err != nil || n < 0 || n > most {
		return 0, c.refuse(Invalid, path+"/"+key, x.kind()+" "+number.String(), fmt.Sprintf("a whole number from 0 to %d", most))
	}
	return n, nil
}
