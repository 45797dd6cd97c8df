package codec

import (
	"encoding/json"
	"math/big"
	"reflect"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/schema"
)

// The schema of Go types: what other languages read in the registry about
// functions, methods and fields made in Go.

// maxSchemaDepth bounds the schema of a Go type that contains itself.
const maxSchemaDepth = 8

// SchemaOf returns the type expression of a Go type; Any where it has no exact one.
func SchemaOf(t reflect.Type) schema.TypeSchema { return schemaWithin(t, 0) }

func schemaWithin(t reflect.Type, depth int) schema.TypeSchema {
	if name := fixedSchema(t); name != "" {
		return schema.TypeSchema{Name: name}
	}
	if depth > maxSchemaDepth {
		return schema.TypeSchema{Name: "Any"}
	}
	of := func(name string, elements ...reflect.Type) schema.TypeSchema {
		e := schema.TypeSchema{Name: name}
		for _, element := range elements {
			e.Args = append(e.Args, schemaWithin(element, depth+1))
		}
		return e
	}
	kind := KindOf(t)
	switch row := &crossing.Rows[kind]; {
	case t.Kind() == reflect.Pointer:
		class := ClassOf(t)
		switch {
		case class == nil && t.Implements(reflect.TypeFor[objects.Ref]()):
			return of("ffi.Object")
		case class == nil:
			return of("Optional", t.Elem())
		case class.Key == "go.Value":
			return of("ffi.Object")
		}
		return of(class.Key, Of(t).Parts...)
	case t.Kind() == reflect.Interface:
		return schemaOfInterface(t)
	case t.Kind() == reflect.Func:
		return schema.TypeSchema{Name: "ffi.Function", Func: schemaOfFunc(t, depth+1)}
	case kind == crossing.KindDuration:
		return of("int")
	case row.Wire != crossing.KindNone && Of(t).Wire != nil:
		return schemaWithin(Of(t).Wire, depth)
	case kind == crossing.KindSequence:
		return of("ffi.Array", t.Elem())
	case kind == crossing.KindMapping:
		return of("ffi.Map", t.Key(), t.Elem())
	case t.Kind() == reflect.Struct:
		return schemaOfStruct(t, depth)
	case kind == crossing.KindNone:
		return of("Any")
	}
	return of(crossing.Rows[kind].Key)
}

func schemaOfStruct(t reflect.Type, depth int) schema.TypeSchema {
	switch {
	case Of(t).Tuple:
		e := schema.TypeSchema{Name: "Tuple"}
		for i := range t.NumField() {
			e.Args = append(e.Args, schemaWithin(t.Field(i).Type, depth+1))
		}
		return e
	case Of(t).Variant:
		e := schema.TypeSchema{Name: "Variant"}
		p := reflect.PointerTo(t)
		for i := range p.NumMethod() {
			if m := p.Method(i); strings.HasPrefix(m.Name, "As") && m.Type.NumIn() == 1 && m.Type.NumOut() == 2 {
				e.Args = append(e.Args, schemaWithin(m.Type.Out(0), depth+1))
			}
		}
		return e
	case len(TaggedFields(t)) > 0:
		return schema.TypeSchema{Name: "ffi.Map", Args: []schema.TypeSchema{{Name: "ffi.String"}, {Name: "Any"}}}
	case t.Implements(reflect.TypeFor[objects.Ref]()):
		return schema.TypeSchema{Name: "ffi.Object"}
	}
	return schema.TypeSchema{Name: "Any"}
}

// schemaOfInterface finds the type of a generated Ref: its method AsX returns it.
func schemaOfInterface(t reflect.Type) schema.TypeSchema {
	if !t.Implements(reflect.TypeFor[objects.Ref]()) {
		return schema.TypeSchema{Name: "Any"}
	}
	for i := range t.NumMethod() {
		if m := t.Method(i); strings.HasPrefix(m.Name, "As") && m.Type.NumIn() == 0 && m.Type.NumOut() == 1 {
			if class := ClassOf(m.Type.Out(0)); class != nil {
				return schema.TypeSchema{Name: class.Key}
			}
		}
	}
	return schema.TypeSchema{Name: "ffi.Object"}
}

// IsPacked reports whether t is a func([]Any) (any, error).
func IsPacked(t reflect.Type) bool {
	return t.Kind() == reflect.Func && t.NumIn() == 1 && !t.IsVariadic() && t.In(0).Kind() == reflect.Slice &&
		t.In(0).Elem().Kind() == reflect.Struct && Of(t.In(0).Elem()).Schema == "Any" &&
		t.NumOut() == 2 && t.Out(0) == reflect.TypeFor[any]() && t.Out(1) == ErrorType
}

// schemaOfFunc returns the Signature of a func type, nil for a packed or variadic one,
// for which schemas have no form, and for one that cannot be a Function.
func schemaOfFunc(t reflect.Type, depth int) *schema.Signature {
	if IsPacked(t) || t.IsVariadic() {
		return nil
	}
	s, err := SignatureOf(t)
	if err != nil {
		return nil
	}
	sig := &schema.Signature{Params: make([]schema.Param, t.NumIn()), Return: schema.TypeSchema{Name: "None"}}
	for i := range sig.Params {
		sig.Params[i].Type = schemaWithin(t.In(i), depth+1)
	}
	switch {
	case s.Several != nil:
		sig.Return = schema.TypeSchema{Name: "Tuple"}
		for i := range s.Several.NumField() {
			sig.Return.Args = append(sig.Return.Args, schemaWithin(t.Out(i), depth+1))
		}
	case s.Result != nil:
		sig.Return = schemaWithin(t.Out(0), depth+1)
	}
	return sig
}

// MetadataOf makes the metadata of a type: JSON whose type_schema is JSON in a
// text.
func MetadataOf(e schema.TypeSchema) string {
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

func schemaJSON(e schema.TypeSchema) typeJSON {
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

// Describe makes the doc comment and the metadata of a function. self, if it is not
// empty, is the key of the type of its first parameter.
func (c *Registration) Describe(t reflect.Type, self string) (doc, metadata string, err error) {
	var sig *schema.Signature
	switch {
	case c.Signature != nil && *c.Signature == "ffi.Function":
	case c.Signature != nil:
		if sig, err = schema.ParseSignature(*c.Signature); err != nil {
			return "", "", failure.Errorf("ValueError", "%v", err)
		}
	case t != nil:
		sig = schemaOfFunc(t, 0)
		if sig != nil && self != "" && len(sig.Params) > 0 {
			sig.Params[0].Type = schema.TypeSchema{Name: self}
		}
	}
	doc = c.Doc
	if len(c.Params) > 0 {
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
		for i, p := range c.Params {
			b.WriteString(p[0])
			if sig != nil && first+i < len(sig.Params) {
				b.WriteString(" : " + sig.Params[first+i].Type.String())
			}
			b.WriteString("\n    " + strings.ReplaceAll(strings.TrimSpace(p[1]), "\n", "\n    ") + "\n")
		}
		doc = b.String()
	}
	if c.Signature != nil && *c.Signature == "" {
		return doc, "", nil
	}
	return doc, MetadataOf(schema.TypeSchema{Name: "ffi.Function", Func: sig}), nil
}

func fixedSchema(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[*big.Int]():
		return "int"
	case reflect.TypeFor[error]():
		return "ffi.Error"
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Pointer:
		if t.Kind() == reflect.Struct || ClassOf(t) == nil {
			return Of(t).Schema
		}
	}
	return ""
}

// Signature describes the Go form of a function: its results are values, and after them
// perhaps an error.
type Signature struct {
	Params []*Codec
	Rest   *Codec // of what follows params in a variadic func
	Result *Codec // nil without a value
	// Several is a struct of the values if there are several, which cross as a tuple.
	Several reflect.Type
	Fails   bool
}

// SignatureOf describes a func type; the error says what has no counterpart.
func SignatureOf(t reflect.Type) (*Signature, error) {
	s := new(Signature)
	for i := range t.NumIn() {
		in := ArgumentType(t, i)
		c := Of(in)
		if c.Absent != nil {
			return nil, failure.Errorf(failure.KindType, "%s: parameter %d: %w", t, i, c.Absent)
		}
		if t.IsVariadic() && i == t.NumIn()-1 {
			s.Rest = c
		} else {
			s.Params = append(s.Params, c)
		}
	}
	values := t.NumOut()
	if values > 0 && t.Out(values-1) == ErrorType {
		s.Fails = true
		values--
	}
	for i := range values {
		if s.Result = Of(t.Out(i)); s.Result.Absent != nil {
			which := "its result"
			if values > 1 {
				which = "result " + Itoa(i+1)
			}
			return nil, failure.Errorf(failure.KindType, "%s: %s: %w", t, which, s.Result.Absent)
		}
	}
	if values > 1 {
		s.Several = resultsType(t, values)
		s.Result = Of(s.Several)
	}
	return s, nil
}

// PackResults returns a pointer to the value that crosses as the result of a func, of which
// out are the results.
func (s *Signature) PackResults(out []reflect.Value) reflect.Value {
	if s.Several == nil {
		p := reflect.New(out[0].Type())
		p.Elem().Set(out[0])
		return p
	}
	p := reflect.New(s.Several)
	for i := range s.Several.NumField() {
		p.Elem().Field(i).Set(out[i])
	}
	return p
}

// UnpackResults reads the owned result v of a function into the results of a func. Objects
// in it get references of their own. A function of another language may return ints for floats.
func (s *Signature) UnpackResults(v abi.Any, out []reflect.Value) error {
	t := s.Several
	if t == nil {
		t = out[0].Type()
	}
	p := reflect.New(t)
	if err := s.Result.Decode(v, objects.ReadOwned().Converting(), p.UnsafePointer()); err != nil {
		return err
	}
	if s.Several == nil {
		out[0] = p.Elem()
		return nil
	}
	for i := range t.NumField() {
		out[i] = p.Elem().Field(i)
	}
	return nil
}

// ArgumentType returns the type of argument i of a func of type t.
func ArgumentType(t reflect.Type, i int) reflect.Type {
	if last := t.NumIn() - 1; t.IsVariadic() && i >= last {
		return t.In(last).Elem()
	}
	return t.In(i)
}

// Codec returns the codec of argument i.
func (s *Signature) Codec(i int) *Codec {
	if i < len(s.Params) {
		return s.Params[i]
	}
	return s.Rest
}

// FuncType returns the type of a Go func, nil for a *Function.
func FuncType(f any) reflect.Type {
	if t := reflect.TypeOf(f); t != nil && t.Kind() == reflect.Func {
		return t
	}
	return nil
}

// ErrorType is the type error.
var ErrorType = reflect.TypeFor[error]()

// Registration is what the options of a function say.
type Registration struct {
	Override  bool
	Doc       string
	Params    [][2]string
	Signature *string
	// Call, if it is not nil, is what others call instead of the Go func, whose code is at
	// Origin. About describes it.
	Call   func(*callbacks.Args) error
	Origin uintptr
	About  *callbacks.About
}

// Check returns an error if a callback got the wrong number of arguments.
func (s *Signature) Check(a *callbacks.Args) error {
	if s.Rest != nil {
		return a.CheckAtLeast(len(s.Params))
	}
	return a.Check(len(s.Params))
}

// resultsType returns a struct with a field for each of the first n results of a func. The
// tag tells package tvmffi that it is a tuple.
func resultsType(t reflect.Type, n int) reflect.Type {
	fields := make([]reflect.StructField, n)
	for i := range fields {
		fields[i] = reflect.StructField{Name: "R" + Itoa(i), Type: t.Out(i), Tag: `tuple:""`}
	}
	return reflect.StructOf(fields)
}
