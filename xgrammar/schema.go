package xgrammar

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"
)

// SchemaOf returns the schema of the JSON that [encoding/json] makes of a pointer to a T, in the order of the fields. Fields
// without omitempty or omitzero are required, except those of an embedded pointer, which may be nil. A tag `jsonschema:"..."`
// describes a field. Pointers, slices and maps may be null. A []byte is a string in base64, a type with MarshalText is any string,
// and a [json.RawMessage] or an interface is any JSON. A name such as a<b stands as it is, and not as a\u003cb, which
// encoding/json writes unless it is told not to, and reads as the same name.
//
// An error names the field whose JSON is not known or has no schema: of a type with MarshalJSON, except json.RawMessage,
// [big.Int], [slog.Level] and [time.Time]; of a type that contains itself; of a *json.RawMessage; of a map whose keys are neither
// strings nor have MarshalText; with the option string; embedded with a name in JSON, or without being a struct; with the name of
// another field in JSON, so that encoding/json writes none of them; and with a name that encoding/json does not take, such as a'b.
func SchemaOf[T any]() (JSONSchema, error) {
	t, known := reflect.TypeFor[T](), maps.Clone(standard)
	text, err := []byte(nil), describe(known, nil, "T", t)
	if err == nil {
		var schema *jsonschema.Schema
		if schema, err = jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: known}); err == nil {
			text, err = json.Marshal(schema)
		}
	}
	name, more := cut(t.String(), 80)
	return JSONSchema{Text: string(text)}, failed("the schema of "+name+more, err)
}

type schemas = map[reflect.Type]*jsonschema.Schema

// standard has the schemas of types that have their own form in encoding/json.
var standard = schemas{
	reflect.TypeFor[json.RawMessage](): {},
	reflect.TypeFor[json.Number]():     {Type: "number"},
	reflect.TypeFor[big.Int]():         {Type: "integer"},
	reflect.TypeFor[slog.Level]():      {Type: "string"},
	reflect.TypeFor[time.Time]():       {Type: "string"},
}

// signs are what encoding/json takes in a name of a tag, beside letters and digits.
const signs = "!#$%&()*+-./:;<=>?@[]^_{|}~ "

// describe adds the schemas of the types in t that package jsonschema would describe in another way than encoding/json
// writes them. It refuses the types that have no schema. The types in within contain t, at is its place in them.
func describe(known schemas, within []reflect.Type, at string, t reflect.Type) error {
	pointer := t.Kind() == reflect.Pointer
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	refuse := func(why string) error { return fmt.Errorf("%s has the type %v: %s", at, t, why) }
	inner := append(slices.Clip(within), t)
	switch kind := t.Kind(); {
	case pointer && t == reflect.TypeFor[json.RawMessage]():
		return refuse("use it without the pointer")
	case known[t] != nil || kind == reflect.Interface:
	case slices.Contains(within, t):
		return refuse("it contains itself")
	case has[json.Marshaler](t):
		return refuse("its MarshalJSON may write anything: use json.RawMessage, or a type with MarshalText")
	case has[encoding.TextMarshaler](t):
		known[t] = &jsonschema.Schema{Type: "string"}
	case kind == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && !has[json.Marshaler](t.Elem()) && !has[encoding.TextMarshaler](t.Elem()):
		known[t] = &jsonschema.Schema{Types: []string{"null", "string"}, ContentEncoding: "base64", Pattern: "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"}
	case kind == reflect.Slice || kind == reflect.Array:
		return describe(known, inner, at+"[]", t.Elem())
	case kind == reflect.Map:
		if t.Key().Kind() != reflect.String && !t.Key().Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
			return refuse("its keys must be strings or have MarshalText")
		}
		if err := describe(known, inner, at+"[]", t.Elem()); err != nil {
			return err
		}
		value, err := jsonschema.ForType(t.Elem(), &jsonschema.ForOptions{TypeSchemas: known})
		known[t] = &jsonschema.Schema{Types: []string{"null", "object"}, AdditionalProperties: value}
		return err
	case kind == reflect.Struct:
		fields, err := jsonFields(t, at)
		if err != nil {
			return err
		}
		for _, f := range fields {
			if err := describe(known, inner, at+"."+f.Name, f.Type); err != nil {
				return err
			}
		}
		if known[t], err = jsonschema.ForType(flatOf(fields), &jsonschema.ForOptions{TypeSchemas: known}); err != nil {
			return fmt.Errorf("%s: %w", at, cmp.Or(errors.Unwrap(err), err)) // without the flat type
		}
	case slices.Contains([]reflect.Kind{reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer}, kind):
		return refuse("encoding/json cannot write it")
	}
	return nil
}

// has reports whether a T or a pointer to it has the methods of I.
func has[I any](t reflect.Type) bool { return reflect.PointerTo(t).Implements(reflect.TypeFor[I]()) }

// jsonField is a field of a struct, or of a struct that is embedded in it, with its name in JSON.
type jsonField struct {
	reflect.StructField
	name, tag, options string
}

// goesBefore reports whether encoding/json writes f, and not o of the same name in JSON: it is embedded less deeply, or as deeply
// and only its name is in a tag.
func (f jsonField) goesBefore(o jsonField) bool {
	if len(f.Index) != len(o.Index) {
		return len(f.Index) < len(o.Index)
	}
	return f.name == f.tag && o.name != o.tag
}

// jsonFields returns the fields that encoding/json writes, in its order. Those that Go hides are others: it compares names in Go.
// If no field goes before the others of its name, none is written. That is an error, unless Go hides them too.
func jsonFields(t reflect.Type, at string) (fields []jsonField, err error) {
	all, err := embeddedFields(nil, nil, t, at)
	if err != nil {
		return nil, err
	}
	first := map[string][]jsonField{} // those of a name that none goes before
	for _, f := range all {
		switch same := first[f.name]; {
		case same == nil || f.goesBefore(same[0]):
			first[f.name] = []jsonField{f}
		case !same[0].goesBefore(f):
			first[f.name] = append(same, f)
		}
	}
	for _, f := range all {
		same := first[f.name]
		switch {
		case !slices.Equal(f.Index, same[0].Index):
		case len(same) > 1 && same[1].Name == f.Name:
		case len(same) > 1:
			return nil, fmt.Errorf("%s.%s has the name %q in JSON, as %s has: encoding/json writes none of them", at, same[1].Name, f.name, f.Name)
		case f.tag != "" && f.tag != f.name:
			return nil, fmt.Errorf("%s.%s has the name %q in its tag, and encoding/json writes %[2]s: its names have letters, digits and %[4]s", at, f.Name, f.tag, signs)
		case slices.Contains(strings.Split(f.options, ","), "string"):
			return nil, fmt.Errorf("%s.%s of the type %v has the option string in its tag, which has no schema: remove it", at, f.Name, f.Type)
		default:
			fields = append(fields, f)
		}
	}
	return fields, nil
}

// embeddedFields returns the fields of t, which is at the place index, and of the structs that are embedded in it. The types in
// within have t embedded.
func embeddedFields(within []reflect.Type, index []int, t reflect.Type, at string) (all []jsonField, err error) {
	within = append(slices.Clip(within), t)
	for f := range t.Fields() {
		tag, options, more := strings.Cut(f.Tag.Get("json"), ",")
		f.Index = append(slices.Clip(index), f.Index...)
		switch base := f.Type; {
		case tag == "-" && !more:
		case f.Anonymous:
			if base.Kind() == reflect.Pointer {
				base = base.Elem()
			}
			if tag != "" || f.IsExported() && base.Kind() != reflect.Struct {
				return nil, fmt.Errorf("%s.%s is embedded with a name in JSON, or is not a struct: give the field a name in Go", at, f.Name)
			}
			if base.Kind() == reflect.Struct && !slices.Contains(within, base) {
				deeper, err := embeddedFields(within, f.Index, base, at)
				if err != nil {
					return nil, err
				}
				if f.Type.Kind() == reflect.Pointer { // encoding/json leaves the fields of a nil pointer out
					for i := range deeper {
						deeper[i].options += ",omitempty"
					}
				}
				all = append(all, deeper...)
			}
		case f.IsExported():
			name := cmp.Or(tag, f.Name)
			if strings.ContainsFunc(tag, func(c rune) bool {
				return !strings.ContainsRune(signs, c) && !unicode.IsLetter(c) && !unicode.IsDigit(c)
			}) {
				name = f.Name
			}
			all = append(all, jsonField{f, name, tag, options})
		}
	}
	return all, nil
}

// flatOf returns a struct that has the fields itself: package jsonschema takes those that Go does not hide.
func flatOf(fields []jsonField) reflect.Type {
	var flat []reflect.StructField
	for i, f := range fields {
		tag := fmt.Sprintf("json:%q", f.name+","+f.options)
		if text, ok := f.Tag.Lookup("jsonschema"); ok {
			tag += fmt.Sprintf(" jsonschema:%q", text)
		}
		flat = append(flat, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: f.Type, Tag: reflect.StructTag(tag)})
	}
	return reflect.StructOf(flat)
}
