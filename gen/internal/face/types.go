package face

import (
	"go/types"
	"math/big"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/source"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/fieldtag"
	"github.com/tvmffi-go/tvmffi/schema"
)

// typeOf describes a type of Go. source has refused the types that cannot cross.
func (b *builder) typeOf(t types.Type) *Type {
	named, _ := types.Unalias(t).(*types.Named)
	if named != nil {
		if c := b.classes[named.Obj()]; c != nil {
			return &Type{Kind: crossing.KindClass, Class: c}
		}
		if e := b.enums[named.Obj()]; e != nil {
			return &Type{Kind: crossing.KindEnum, Enum: e}
		}
	}
	kind, _ := crossing.Classify(source.GoType{Type: t})
	d := &Type{Kind: kind}
	for _, number := range crossing.Rows[kind].Of {
		d.Elems = append(d.Elems, &Type{Kind: number, Bits: 64})
	}
	switch u := types.Unalias(t).Underlying().(type) {
	case *types.Pointer:
		return b.pointer(u)
	case *types.Basic:
		sized(d, u)
		return d
	}
	switch u := types.Unalias(t).Underlying(); kind {
	case crossing.KindIterator:
		d.Elems = []*Type{b.elem(named)}
	case crossing.KindClass: // define.Instance
		return b.typeOf(named.TypeArgs().At(0))
	case crossing.KindSequence:
		d.Elems = []*Type{b.typeOf(u.(interface{ Elem() types.Type }).Elem())}
	case crossing.KindMapping:
		d.Elems = []*Type{b.typeOf(u.(*types.Map).Key()), b.typeOf(u.(*types.Map).Elem())}
	case crossing.KindSet:
		d.Elems = []*Type{b.typeOf(u.(*types.Map).Key())}
	case crossing.KindCallable:
		return b.callable(u.(*types.Signature))
	case crossing.KindRecord:
		if named == nil || embedsVariant(u.(*types.Struct)) {
			return &Type{Kind: crossing.KindAny}
		}
		d.Record = b.record(named)
	default:
		if _, parts := crossing.KindByName(source.GoType{Type: t}); parts { // other names say nothing of what is inside
			d.Elems = b.arguments(named)
		}
	}
	return d
}

// elem describes what an iter.Seq yields: one value, or a tuple of two.
func (b *builder) elem(n *types.Named) *Type {
	elems := b.arguments(n)
	if len(elems) == 1 {
		return elems[0]
	}
	return &Type{Kind: crossing.KindTuple, Elems: elems}
}

func (b *builder) arguments(n *types.Named) []*Type {
	var elems []*Type
	for t := range n.TypeArgs().Types() {
		elems = append(elems, b.typeOf(t))
	}
	return elems
}

// embedsVariant reports whether s is a generated union.
func embedsVariant(s *types.Struct) bool {
	for f := range s.Fields() {
		n, ok := types.Unalias(f.Type()).(*types.Named)
		if ok && f.Embedded() && n.Obj().Name() == "Variant" && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == crossing.Runtime {
			return true
		}
	}
	return false
}

// record describes a struct that crosses as a map. It is made once, so that a struct may
// refer to itself.
func (b *builder) record(n *types.Named) *Record {
	if r := b.records[n.Obj()]; r != nil {
		return r
	}
	r := &Record{Name: n.Obj().Name()}
	b.records[n.Obj()] = r
	r.Fields = b.fields(n.Underlying(), nil)
	return r
}

// sized sets the size of the numbers of d, which u is.
func sized(d *Type, u *types.Basic) {
	switch d.Kind {
	case crossing.KindInt:
		d.Bits, d.Unsigned = bits(u), u.Info()&types.IsUnsigned != 0
	case crossing.KindFloat, crossing.KindDuration:
		d.Bits = bits(u)
	case crossing.KindNone: // of a type that does not compile
		d.Kind = crossing.KindAny
	}
	for _, part := range d.Elems {
		part.Bits = bits(u) / len(d.Elems)
	}
}

func bits(u *types.Basic) int {
	return int(types.SizesFor("gc", "amd64").Sizeof(u)) * 8
}

func (b *builder) pointer(u *types.Pointer) *Type {
	named, ok := types.Unalias(u.Elem()).(*types.Named)
	if !ok {
		return optional(b.typeOf(u.Elem()))
	}
	// The same test as in source: a generated object type belongs to another library.
	_, isClass := b.classes[named.Obj()]
	object := types.NewMethodSet(u).Lookup(named.Obj().Pkg(), "TVMFFIType") != nil
	d := b.typeOf(u.Elem())
	switch {
	case d.Kind == crossing.KindBigInt || d.Kind == crossing.KindError:
		return d
	case isClass && d.Class.Opaque:
		return d
	case object && d.Kind == crossing.KindRecord:
		return &Type{Kind: crossing.KindObject}
	case object:
		return d
	}
	return optional(d)
}

// Bare returns t, or the type inside if t is optional.
func (t *Type) Bare() *Type {
	for t.Kind == crossing.KindOptional {
		t = t.Elems[0]
	}
	return t
}

// Wide reports whether values of t may be beyond int64: numbers of 64 bits without a sign.
func (t *Type) Wide() bool {
	return t.Kind == crossing.KindInt && t.Unsigned && (t.Bits == 64 || t.Bits == 0) || t.Kind == crossing.KindEnum && t.Enum.Unsigned
}

func optional(t *Type) *Type { return &Type{Kind: crossing.KindOptional, Elems: []*Type{t}} }

func (b *builder) callable(s *types.Signature) *Type {
	var results []*Type
	for r := range s.Results().Variables() {
		if !types.Identical(r.Type(), types.Universe.Lookup("error").Type()) {
			results = append(results, b.typeOf(r.Type()))
		}
	}
	result := &Type{Kind: crossing.KindNone}
	switch len(results) {
	case 0:
	case 1:
		result = results[0]
	default:
		result = &Type{Kind: crossing.KindTuple, Elems: results}
	}
	elems := []*Type{result}
	for p := range s.Params().Variables() {
		elems = append(elems, b.typeOf(p.Type()))
	}
	return &Type{Kind: crossing.KindCallable, Elems: elems}
}

func (b *builder) field(f *types.Var, tag fieldtag.Tag, doc string) Field {
	d := Field{
		Name: tag.Name, GoName: f.Name(), Doc: doc, Type: b.typeOf(f.Type()),
		ReadOnly: tag.Flags&schema.FlagWritable == 0, KwOnly: tag.Flags&schema.FlagKwOnly != 0, NoInit: tag.Flags&schema.FlagInitOff != 0, NoRepr: tag.Flags&schema.FlagReprOff != 0,
	}
	switch {
	case tag.HasDefault:
		d.Default, d.HasDefault = defaultOf(tag.Default, d.Type), true
	case tag.Optional:
		d.Default, d.HasDefault = &Value{Kind: crossing.KindNone}, true
		if d.Type.Kind != crossing.KindOptional {
			d.Type = optional(d.Type)
		}
	}
	return d
}

// defaultOf returns the default text of a value of type t, which source has checked.
func defaultOf(text string, t *Type) *Value {
	if t.Kind == crossing.KindOptional && text == "nil" {
		return &Value{Kind: crossing.KindNone}
	}
	t = t.Bare()
	kind := t.Kind
	if kind == crossing.KindEnum {
		kind = t.Enum.Kind
	}
	switch kind {
	case crossing.KindBool:
		on, _ := strconv.ParseBool(text)
		text = strconv.FormatBool(on)
	case crossing.KindInt:
		if n, ok := new(big.Int).SetString(text, 0); ok {
			text = n.String()
		}
	case crossing.KindFloat:
		x, _ := strconv.ParseFloat(text, t.Bits)
		if text = strconv.FormatFloat(x, 'g', -1, t.Bits); !strings.ContainsAny(text, ".eIN") {
			text += ".0"
		}
	case crossing.KindDuration:
		d, _ := fieldtag.Duration(text)
		text = strconv.FormatInt(int64(d), 10)
	case crossing.KindString, crossing.KindDataType:
	default:
		return nil
	}
	return &Value{Kind: kind, Text: text}
}
