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

// runtimePath is the package of the runtime types.
const runtimePath = "github.com/tvmffi-go/tvmffi/runtime"

// typeOf describes a type of Go. source has refused the types that cannot cross.
func (b *builder) typeOf(t types.Type) *Type {
	if named, ok := types.Unalias(t).(*types.Named); ok {
		if d := b.named(named); d != nil {
			return d
		}
	}
	switch u := types.Unalias(t).Underlying().(type) {
	case *types.Basic:
		return basic(u)
	case *types.Pointer:
		return b.pointer(u)
	case *types.Slice:
		if types.Identical(u.Elem(), types.Typ[types.Uint8]) {
			return &Type{Kind: crossing.KindBytes}
		}
		return &Type{Kind: crossing.KindSequence, Elems: []*Type{b.typeOf(u.Elem())}}
	case *types.Array:
		return &Type{Kind: crossing.KindSequence, Elems: []*Type{b.typeOf(u.Elem())}}
	case *types.Map:
		if source.IsSet(u) {
			return &Type{Kind: crossing.KindSet, Elems: []*Type{b.typeOf(u.Key())}}
		}
		return &Type{Kind: crossing.KindMapping, Elems: []*Type{b.typeOf(u.Key()), b.typeOf(u.Elem())}}
	case *types.Signature:
		return b.callable(u)
	}
	return &Type{Kind: crossing.KindAny}
}

// named describes a type by its name; nil if its underlying type decides.
func (b *builder) named(n *types.Named) *Type {
	o := n.Obj()
	if c := b.classes[o]; c != nil {
		return &Type{Kind: crossing.KindClass, Class: c}
	}
	if e := b.enums[o]; e != nil {
		return &Type{Kind: crossing.KindEnum, Enum: e}
	}
	path := ""
	if o.Pkg() != nil {
		path = o.Pkg().Path()
	}
	switch {
	case path == "math/big" && o.Name() == "Int":
		return &Type{Kind: crossing.KindBigInt}
	case path == "time" && o.Name() == "Duration":
		return &Type{Kind: crossing.KindDuration, Bits: 64}
	case path == "time" && o.Name() == "Time":
		whole := &Type{Kind: crossing.KindInt, Bits: 64}
		return &Type{Kind: crossing.KindTime, Elems: []*Type{whole, whole, whole}}
	case path == "iter" && (o.Name() == "Seq" || o.Name() == "Seq2"):
		d := &Type{Kind: crossing.KindIterator, Elems: []*Type{b.elem(n)}}
		return d
	case path == runtimePath+"/define" && o.Name() == "Instance":
		return b.typeOf(n.TypeArgs().At(0))
	case path == runtimePath && strings.HasPrefix(o.Name(), "Tuple"):
		return &Type{Kind: crossing.KindTuple, Elems: b.arguments(n)}
	case path == runtimePath:
		if kind, ok := crossing.NamedInGo(o.Name()); ok {
			return &Type{Kind: kind, Elems: b.arguments(n)}
		}
	}
	if s, ok := n.Underlying().(*types.Struct); ok {
		if embedsVariant(s) {
			return &Type{Kind: crossing.KindAny}
		}
		return &Type{Kind: crossing.KindRecord, Record: b.record(n)}
	}
	return nil
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
		if ok && f.Embedded() && n.Obj().Name() == "Variant" && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == runtimePath {
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

func basic(u *types.Basic) *Type {
	switch info := u.Info(); {
	case info&types.IsBoolean != 0:
		return &Type{Kind: crossing.KindBool}
	case info&types.IsString != 0:
		return &Type{Kind: crossing.KindString}
	case info&types.IsFloat != 0:
		return &Type{Kind: crossing.KindFloat, Bits: bits(u)}
	case info&types.IsComplex != 0:
		part := &Type{Kind: crossing.KindFloat, Bits: bits(u) / 2}
		return &Type{Kind: crossing.KindComplex, Elems: []*Type{part, part}}
	case info&types.IsInteger != 0:
		return &Type{Kind: crossing.KindInt, Bits: bits(u), Unsigned: info&types.IsUnsigned != 0}
	case u.Kind() == types.UnsafePointer:
		return &Type{Kind: crossing.KindPointer}
	}
	return &Type{Kind: crossing.KindAny}
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
