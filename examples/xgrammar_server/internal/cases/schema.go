package cases

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/mail"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Valid checks a JSON document against a schema. It knows the keywords that the cases use, and
// refuses a schema with others.
func Valid(schema, doc []byte) error {
	if !utf8.Valid(doc) {
		return errors.New("the text is not UTF-8")
	}
	s, err := decode(schema)
	if err != nil {
		return fmt.Errorf("the schema: %w", err)
	}
	v, err := decode(doc)
	if err != nil {
		return fmt.Errorf("%q: %w", doc, err)
	}
	return checker{s}.check(s, v, "")
}

type checker struct{ root any }

func wrong(path, format string, args ...any) error {
	return fmt.Errorf("at %q: "+format, append([]any{path}, args...)...)
}

func (c checker) check(schema, v any, path string) error {
	if allowed, ok := schema.(bool); ok {
		if !allowed {
			return wrong(path, "nothing is allowed here")
		}
		return nil
	}
	for key, by := range schema.(map[string]any) {
		if err := c.keyword(key, by, schema.(map[string]any), v, path); err != nil {
			return err
		}
	}
	return nil
}

func (c checker) keyword(key string, by any, schema map[string]any, v any, path string) error {
	switch key {
	case "title", "description", "default", "examples", "$comment", "$defs":
		return nil
	case "$ref":
		return c.check(c.resolve(by.(string)), v, path)
	case "type":
		return typeOf(by, v, path)
	case "const":
		return oneOf([]any{by}, v, path)
	case "enum":
		return oneOf(by.([]any), v, path)
	case "anyOf", "oneOf", "allOf":
		return c.some(key, by.([]any), v, path)
	}
	if !slices.Contains(known, key) {
		return wrong(path, "an unknown keyword %q", key)
	}
	switch v := v.(type) {
	case json.Number:
		return number(key, by, v, path)
	case string:
		return text(key, by, v, path)
	case []any:
		return c.array(key, by, schema, v, path)
	case map[string]any:
		return c.object(key, by, schema, v, path)
	}
	return nil // a keyword for another type
}

// known are the keywords that say something about values of one type only.
var known = []string{
	"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "format",
	"items", "prefixItems", "minItems", "maxItems",
	"properties", "patternProperties", "propertyNames", "additionalProperties", "required", "minProperties", "maxProperties",
}

func (c checker) resolve(ref string) any {
	at := c.root
	for _, part := range strings.Split(strings.Trim(strings.TrimPrefix(ref, "#"), "/"), "/") {
		if part != "" {
			at = at.(map[string]any)[part]
		}
	}
	return at
}

func typeOf(by, v any, path string) error {
	names, ok := by.([]any)
	if !ok {
		names = []any{by}
	}
	kind := map[reflect.Kind]string{reflect.Map: "object", reflect.Slice: "array", reflect.String: "string", reflect.Bool: "boolean", reflect.Invalid: "null"}[reflect.ValueOf(v).Kind()]
	n, isNumber := v.(json.Number)
	for _, name := range names {
		switch {
		case !isNumber && name == kind, isNumber && name == "number":
			return nil
		case isNumber && name == "integer" && rational(n).IsInt():
			return nil
		}
	}
	return wrong(path, "%v is not of type %v", v, by)
}

func oneOf(list []any, v any, path string) error {
	for _, e := range list {
		if reflect.DeepEqual(e, v) {
			return nil
		}
	}
	return wrong(path, "%v is not one of %v", v, list)
}

func (c checker) some(key string, list []any, v any, path string) error {
	valid := 0
	for _, s := range list {
		if c.check(s, v, path) == nil {
			valid++
		}
	}
	if valid == 0 || key == "oneOf" && valid != 1 || key == "allOf" && valid != len(list) {
		return wrong(path, "%v follows %d schemas of %s", v, valid, key)
	}
	return nil
}

func rational(n json.Number) *big.Rat {
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		panic("JSON has a number " + n.String())
	}
	return r
}

func number(key string, by any, n json.Number, path string) error {
	bound, _ := by.(json.Number)
	if !slices.Contains(known[:5], key) {
		return nil
	}
	ok := false
	switch order := rational(n).Cmp(rational(bound)); key {
	case "minimum":
		ok = order >= 0
	case "maximum":
		ok = order <= 0
	case "exclusiveMinimum":
		ok = order > 0
	case "exclusiveMaximum":
		ok = order < 0
	case "multipleOf":
		ok = new(big.Rat).Quo(rational(n), rational(bound)).IsInt()
	}
	if !ok {
		return wrong(path, "%s breaks %s %v", n, key, by)
	}
	return nil
}

func text(key string, by any, s, path string) error {
	if !slices.Contains(known[5:9], key) {
		return nil
	}
	ok := false
	switch key {
	case "minLength", "maxLength":
		return length(key == "minLength", utf8.RuneCountInString(s), by, path)
	case "pattern":
		ok = regexp.MustCompile(by.(string)).MatchString(s)
	case "format":
		return format(by.(string), s, path)
	}
	if !ok {
		return wrong(path, "%q breaks %s %v", s, key, by)
	}
	return nil
}

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

func format(name, s, path string) error {
	var err error
	switch name {
	case "date":
		if !regexp.MustCompile(`^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$`).MatchString(s) {
			err = errors.New("not of the form of a date")
		}
	case "date-time":
		if _, err = time.Parse(time.RFC3339Nano, s); err != nil && timeLike.MatchString(s) {
			err = nil // the grammar knows neither the lengths of months nor time zones
		}
	case "uuid":
		if !uuid.MatchString(s) {
			err = errors.New("not a UUID")
		}
	case "time":
		if !timeLike.MatchString("2026-01-01T" + s) {
			err = errors.New("not of the form of a time")
		}
	case "email":
		if _, err = mail.ParseAddress(s); err != nil && strings.Count(s, "@") > 0 {
			err = nil // addresses may have quotes and comments that package mail does not know
		}
	default:
		err = errors.New("an unknown format")
	}
	if err != nil {
		return wrong(path, "%q is not a %s: %v", s, name, err)
	}
	return nil
}

var timeLike = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`)

func length(least bool, n int, by any, path string) error {
	bound := rational(by.(json.Number)).Num().Int64()
	if least && int64(n) < bound || !least && int64(n) > bound {
		return wrong(path, "there are %d, the bound is %d", n, bound)
	}
	return nil
}

func (c checker) array(key string, by any, schema map[string]any, v []any, path string) error {
	prefix, _ := schema["prefixItems"].([]any)
	switch key {
	case "minItems", "maxItems":
		return length(key == "minItems", len(v), by, path)
	case "prefixItems":
		for i, e := range v[:min(len(v), len(prefix))] {
			if err := c.check(prefix[i], e, fmt.Sprint(path, "/", i)); err != nil {
				return err
			}
		}
		return nil
	case "items":
		for i, e := range v[min(len(v), len(prefix)):] {
			if err := c.check(by, e, fmt.Sprint(path, "/", len(prefix)+i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c checker) object(key string, by any, schema map[string]any, v map[string]any, path string) error {
	properties, _ := schema["properties"].(map[string]any)
	patterns, _ := schema["patternProperties"].(map[string]any)
	switch key {
	case "minProperties", "maxProperties":
		return length(key == "minProperties", len(v), by, path)
	case "required":
		for _, name := range by.([]any) {
			if _, ok := v[name.(string)]; !ok {
				return wrong(path, "the property %v is missing", name)
			}
		}
		return nil
	case "properties", "patternProperties", "propertyNames", "additionalProperties":
	default:
		return nil
	}
	for name, e := range v {
		at := path + "/" + name
		known, err := false, error(nil)
		if s, ok := properties[name]; ok {
			if known = true; key == "properties" {
				err = c.check(s, e, at)
			}
		}
		for pattern, s := range patterns {
			if regexp.MustCompile(pattern).MatchString(name) {
				if known = true; key == "patternProperties" {
					err = errors.Join(err, c.check(s, e, at))
				}
			}
		}
		switch {
		case key == "propertyNames":
			err = c.check(by, name, at)
		case key == "additionalProperties" && !known:
			err = c.check(by, e, at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
