package tvmffi

import (
	"encoding/json"
	"math/big"
	"reflect"
	"strings"

	"github.com/tvmffi-go/tvmffi/schema"
)

// The schema of Go types: what other languages read in the registry about
// functions, methods and fields made in Go.

// container is implemented by the generic object types.
type container interface{ elementTypes() []reflect.Type }

func (*Array[T]) elementTypes() []reflect.Type { return []reflect.Type{reflect.TypeFor[T]()} }
func (*List[T]) elementTypes() []reflect.Type  { return []reflect.Type{reflect.TypeFor[T]()} }
func (*Map[K, V]) elementTypes() []reflect.Type {
	return []reflect.Type{reflect.TypeFor[K](), reflect.TypeFor[V]()}
}
func (*Dict[K, V]) elementTypes() []reflect.Type {
	return []reflect.Type{reflect.TypeFor[K](), reflect.TypeFor[V]()}
}

var fixedSchemas = map[reflect.Type]string{
	reflect.TypeFor[[]byte]():   "ffi.Bytes",
	reflect.TypeFor[DataType](): "DataType",
	reflect.TypeFor[Device]():   "Device",
	reflect.TypeFor[Pointer]():  "void*",
	reflect.TypeFor[*big.Int](): "int",
	reflect.TypeFor[*Error]():   "ffi.Error",
	reflect.TypeFor[error]():    "ffi.Error",
	reflect.TypeFor[Any]():      "Any",
	reflect.TypeFor[any]():      "Any",
}

// maxSchemaDepth bounds the schema of a Go type that contains itself.
const maxSchemaDepth = 8

// schemaOf returns the type expression of a Go type; Any where it has no exact one.
func schemaOf(t reflect.Type) schema.TypeExpr { return schemaWithin(t, 0) }

func schemaWithin(t reflect.Type, depth int) schema.TypeExpr {
	if name, ok := fixedSchemas[t]; ok {
		return schema.TypeExpr{Name: name}
	}
	if depth > maxSchemaDepth {
		return schema.TypeExpr{Name: "Any"}
	}
	of := func(name string, elements ...reflect.Type) schema.TypeExpr {
		e := schema.TypeExpr{Name: name}
		for _, element := range elements {
			e.Args = append(e.Args, schemaWithin(element, depth+1))
		}
		return e
	}
	switch t.Kind() {
	case reflect.Bool:
		return of("bool")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return of("int")
	case reflect.Float32, reflect.Float64:
		return of("float")
	case reflect.String:
		return of("ffi.String")
	case reflect.UnsafePointer:
		return of("void*")
	case reflect.Slice, reflect.Array:
		return of("ffi.Array", t.Elem())
	case reflect.Map:
		return of("ffi.Map", t.Key(), t.Elem())
	case reflect.Func:
		return schema.TypeExpr{Name: "ffi.Function", Func: schemaOfFunc(t, depth+1)}
	case reflect.Pointer:
		class := classOf(t)
		switch {
		case class == nil && t.Implements(reflect.TypeFor[ObjectRef]()):
			return of("ffi.Object")
		case class == nil:
			return of("Optional", t.Elem())
		case class == &typeGoValue:
			return of("ffi.Object")
		}
		if c, ok := reflect.Zero(t).Interface().(container); ok {
			return of(class.Key, c.elementTypes()...)
		}
		return of(class.Key)
	case reflect.Struct:
		return schemaOfStruct(t, depth)
	case reflect.Interface:
		return schemaOfInterface(t)
	}
	return of("Any")
}

func schemaOfStruct(t reflect.Type, depth int) schema.TypeExpr {
	if d := findRecord(t); d != nil {
		return schema.TypeExpr{Name: d.key}
	}
	switch {
	case t.Implements(reflect.TypeFor[tupleValue]()):
		e := schema.TypeExpr{Name: "Tuple"}
		for i := range t.NumField() {
			e.Args = append(e.Args, schemaWithin(t.Field(i).Type, depth+1))
		}
		return e
	case reflect.PointerTo(t).Implements(reflect.TypeFor[variantValue]()):
		e := schema.TypeExpr{Name: "Variant"}
		p := reflect.PointerTo(t)
		for i := range p.NumMethod() {
			if m := p.Method(i); strings.HasPrefix(m.Name, "As") && m.Type.NumIn() == 1 && m.Type.NumOut() == 2 {
				e.Args = append(e.Args, schemaWithin(m.Type.Out(0), depth+1))
			}
		}
		return e
	case len(taggedFields(t)) > 0:
		return schema.TypeExpr{Name: "ffi.Map", Args: []schema.TypeExpr{{Name: "ffi.String"}, {Name: "Any"}}}
	case t.Implements(reflect.TypeFor[ObjectRef]()):
		return schema.TypeExpr{Name: "ffi.Object"}
	}
	return schema.TypeExpr{Name: "Any"}
}

// schemaOfInterface finds the type of a generated Ref: its method AsX returns it.
func schemaOfInterface(t reflect.Type) schema.TypeExpr {
	if !t.Implements(reflect.TypeFor[ObjectRef]()) {
		return schema.TypeExpr{Name: "Any"}
	}
	for i := range t.NumMethod() {
		if m := t.Method(i); strings.HasPrefix(m.Name, "As") && m.Type.NumIn() == 0 && m.Type.NumOut() == 1 {
			if class := classOf(m.Type.Out(0)); class != nil {
				return schema.TypeExpr{Name: class.Key}
			}
		}
	}
	return schema.TypeExpr{Name: "ffi.Object"}
}

var packedType = reflect.TypeFor[Packed]()

// schemaOfFunc returns the signature of a func type, nil for a packed or variadic one,
// for which schemas have no form, and for one that cannot be a Function.
func schemaOfFunc(t reflect.Type, depth int) *schema.Signature {
	if t.ConvertibleTo(packedType) || t.IsVariadic() {
		return nil
	}
	s, err := signatureOf(t)
	if err != nil {
		return nil
	}
	sig := &schema.Signature{Params: make([]schema.Param, t.NumIn()), Return: schema.TypeExpr{Name: "None"}}
	for i := range sig.Params {
		sig.Params[i].Type = schemaWithin(t.In(i), depth+1)
	}
	if s.result != nil {
		sig.Return = schemaWithin(t.Out(0), depth+1)
	}
	return sig
}

// metadataOf makes the metadata of a type: JSON whose type_schema is JSON in a
// text.
func metadataOf(e schema.TypeExpr) string {
	inner, err := json.Marshal(schemaJSON(e))
	if err != nil {
		panic(err) // maps, slices and texts only
	}
	outer, err := json.Marshal(map[string]string{"type_schema": string(inner)})
	if err != nil {
		panic(err)
	}
	return string(outer)
}

type typeJSON struct {
	Type  string         `json:"type"`
	Args  []typeJSON     `json:"args,omitempty"`
	Named *signatureJSON `json:"named_args,omitempty"`
}

type signatureJSON struct {
	Return []typeJSON `json:"return"`
	Params []typeJSON `json:"params"`
}

func schemaJSON(e schema.TypeExpr) typeJSON {
	j := typeJSON{Type: e.Name}
	for _, a := range e.Args {
		j.Args = append(j.Args, schemaJSON(a))
	}
	if e.Func != nil {
		j.Named = &signatureJSON{Return: []typeJSON{schemaJSON(e.Func.Return)}, Params: []typeJSON{}}
		for _, p := range e.Func.Params {
			j.Named.Params = append(j.Named.Params, schemaJSON(p.Type))
		}
	}
	return j
}

// describe makes the doc comment and the metadata of a function. self, if it is not
// empty, is the key of the type of its first parameter.
func (c *registerConfig) describe(t reflect.Type, self string) (doc, metadata string, err error) {
	var sig *schema.Signature
	switch {
	case c.signature != nil && *c.signature == "ffi.Function":
	case c.signature != nil:
		if sig, err = schema.ParseSignature(*c.signature); err != nil {
			return "", "", errorf("ValueError", "%v", err)
		}
	case t != nil:
		sig = schemaOfFunc(t, 0)
		if sig != nil && self != "" && len(sig.Params) > 0 {
			sig.Params[0].Type = schema.TypeExpr{Name: self}
		}
	}
	doc = c.doc
	if len(c.params) > 0 {
		var b strings.Builder
		b.WriteString(strings.TrimRight(doc, "\n"))
		if doc != "" {
			b.WriteString("\n\n")
		}
		b.WriteString("Parameters\n----------\n")
		first := 0
		if self != "" {
			first = 1
		}
		for i, p := range c.params {
			b.WriteString(p[0])
			if sig != nil && first+i < len(sig.Params) {
				b.WriteString(" : " + sig.Params[first+i].Type.String())
			}
			b.WriteString("\n    " + strings.ReplaceAll(strings.TrimSpace(p[1]), "\n", "\n    ") + "\n")
		}
		doc = b.String()
	}
	if c.signature != nil && *c.signature == "" {
		return doc, "", nil
	}
	return doc, metadataOf(schema.TypeExpr{Name: "ffi.Function", Func: sig}), nil
}
