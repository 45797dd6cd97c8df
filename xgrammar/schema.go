package xgrammar

import (
	"cmp"
	"encoding"
	"encoding/json"
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
// without omitempty or omitzero are required. A tag `jsonschema:"..."` describes a field. Pointers, slices and maps may be
// null. A []byte is a string in base64, a type with MarshalText is any string, and a [json.RawMessage] or an interface is any JSON.
//
// An error names the field whose JSON is not known or has no schema: of a type with MarshalJSON, except json.RawMessage,
// [big.Int], [slog.Level] and [time.Time]; of a type that contains itself; of a *json.RawMessage; of a map whose keys are neither
// strings nor have MarshalText; with the option string; embedded with a name in JSON, or without being a struct; with the name of
// another field in JSON, of which encoding/json keeps one or none; and with a name that encoding/json does not take, such as a'b.
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
		named := map[string]string{}
		for _, f := range reflect.VisibleFields(t) {
			at := at + "." + f.Name
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch base := f.Type; {
			case f.Anonymous:
				if base.Kind() == reflect.Pointer {
					base = base.Elem()
				}
				if name != "" || f.IsExported() && base.Kind() != reflect.Struct {
					return fmt.Errorf("%s is embedded with a name in JSON, or is not a struct: give the field a name in Go", at)
				}
			case !f.IsExported() || f.Tag.Get("json") == "-":
			case slices.Contains(strings.Split(options, ","), "string"):
				return fmt.Errorf("%s of the type %v has the option string in its tag, which has no schema: remove it", at, f.Type)
			default:
				if strings.ContainsFunc(name, func(c rune) bool {
					return !strings.ContainsRune(signs, c) && !unicode.IsLetter(c) && !unicode.IsDigit(c)
				}) {
					return fmt.Errorf("%s has the name %q in its tag, and encoding/json writes %s: its names have letters, digits and %s", at, name, f.Name, signs)
				}
				name = cmp.Or(name, f.Name)
				if other := named[name]; other != "" {
					return fmt.Errorf("%s has the name %q in JSON, as %s has: encoding/json writes one of them or none", at, name, other)
				}
				named[name] = f.Name
				if err := describe(known, inner, at, base); err != nil {
					return err
				}
			}
		}
	case slices.Contains([]reflect.Kind{reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer}, kind):
		return refuse("encoding/json cannot write it")
	}
	return nil
}

// has reports whether a T or a pointer to it has the methods of I.
func has[I any](t reflect.Type) bool { return reflect.PointerTo(t).Implements(reflect.TypeFor[I]()) }
