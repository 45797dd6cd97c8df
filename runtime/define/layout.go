package define

import (
	"reflect"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/defined"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/fieldtag"
	"github.com/tvmffi-go/tvmffi/internal/registry"
	"github.com/tvmffi-go/tvmffi/internal/values"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/structural"
	"github.com/tvmffi-go/tvmffi/schema"
)

// layout is a type in memory. It is not changed after registration.
type layout struct {
	defined.Type
	parent     *definition    // in Go, nil for another
	parentAt   uintptr        // where an opaque struct embeds it
	foreign    *abi.TypeInfo  // the nearest ancestor that is not made in Go
	fields     []*recordField // with the fields of parents in Go
	own        []*recordField
	methods    []registry.Method
	attributes []preparedAttribute
}

type preparedAttribute struct {
	name string
	temp values.AnyView
}

// makeLayout reads the struct and the options. It changes nothing but d.
func (d *definition) makeLayout() error {
	if d.layout != nil {
		return nil
	}
	if d.taken != nil {
		return d.errorf(failure.KindType, "the struct %s defines the type %s already: declare a struct for each type", d.record, d.taken.key)
	}
	d.doc, d.parentType, d.final, d.frozen, d.kwOnly, d.structural, d.state = "", nil, false, false, false, 0, nil
	d.given, d.converters, d.methods, d.attributes = nil, nil, nil, nil
	for _, o := range d.options {
		if o != nil {
			o.describe(d)
		}
	}
	if err := checkTypeKey(d.key); err != nil {
		return d.errorf(failure.KindValue, "%v", err)
	}
	if d.record.Kind() != reflect.Struct {
		return d.errorf(failure.KindType, "%s is not a struct", d.record)
	}
	if d.structural < 0 || d.structural > structural.UniqueInstance {
		return d.errorf(failure.KindValue, "there is no structural kind %d", d.structural)
	}
	p := &layout{Type: defined.Type{Key: d.key, Doc: d.doc, Structural: int32(d.structural)}}
	read := d.readFields
	if d.opaque {
		read = d.readEmbedded
	}
	if err := read(p, d.record, 0); err != nil {
		return err
	}
	if p.parent != nil && d.parentType != nil {
		return d.errorf(failure.KindType, "it has two parents: the embedded %s and the option Parent", p.parent.record)
	}
	if err := d.applyDefaults(p); err != nil {
		return err
	}
	if err := d.checkMethods(); err != nil {
		return err
	}
	d.layout = p
	return nil
}

// checkTypeKey refuses keys that no other language could name.
func checkTypeKey(key string) error {
	if err := registry.CheckName("the key", key); err != nil {
		return err
	}
	switch {
	case strings.ContainsAny(key, " `\""):
		return failure.Errorf(failure.KindValue, "the key holds a space or a quote")
	case strings.HasPrefix(key, "ffi."):
		return failure.Errorf(failure.KindValue, "keys that begin with ffi. belong to libtvm_ffi")
	}
	return nil
}

// readFields adds the tagged fields of a struct.
func (d *definition) readFields(p *layout, t reflect.Type, base uintptr) error {
	for i := range t.NumField() {
		f := t.Field(i)
		text, tagged, err := fieldtag.Lookup(f.Tag)
		if err != nil {
			return d.errorf(failure.KindValue, "field %s: %v", f.Name, err)
		}
		if !tagged && f.Anonymous && f.Type.Kind() == reflect.Struct {
			parent := findRecord(f.Type)
			if parent == nil {
				if err := d.readFields(p, f.Type, base+f.Offset); err != nil {
					return err
				}
				continue
			}
			if parent.opaque {
				return d.errorf(failure.KindType, "%s is opaque, so a struct with fields cannot derive from it: make %s opaque, or name the field", f.Type, d.record)
			}
			if base+f.Offset != 0 || p.parent != nil || len(p.own) > 0 {
				return d.errorf(failure.KindType, "%s must be embedded first: it is the parent, and a type has only one", f.Type)
			}
			p.parent = parent
			continue
		}
		if !tagged {
			if _, err := fieldtag.Embeds(f); err != nil {
				return d.errorf(failure.KindType, "field %s: %v", f.Name, err)
			}
			continue
		}
		tag, err := fieldtag.Parse(text)
		if err != nil {
			return d.errorf(failure.KindValue, "field %s: %v", f.Name, err)
		}
		if tag.Name == "" {
			continue
		}
		if !f.IsExported() {
			return d.errorf(failure.KindType, "field %s: %v", f.Name, fieldtag.ErrNotExported)
		}
		field, err := d.readField(tag, f)
		if err != nil {
			return failure.Annotate("type "+d.key, failure.Annotate("field "+f.Name, err))
		}
		if slices.ContainsFunc(p.own, func(other *recordField) bool { return other.Name == tag.Name }) {
			return d.errorf(failure.KindType, "two fields are named %s", tag.Name)
		}
		field.at = base + f.Offset
		p.own = append(p.own, field)
	}
	return nil
}

// readField makes a field of its tag and its Go type.
func (d *definition) readField(tag fieldtag.Tag, f reflect.StructField) (*recordField, error) {
	r := &recordField{owner: d, goType: f.Type, optional: tag.Optional}
	r.Name, r.Doc, r.Flags = tag.Name, f.Tag.Get("doc"), int64(tag.Flags)
	if d.frozen {
		r.Flags &^= abi.FieldWritable
	}
	if d.kwOnly && r.Flags&abi.FieldInitOff == 0 {
		r.Flags |= abi.FieldKwOnly
	}
	r.codec, r.valueType = codec.Of(f.Type), optionalValue(f.Type)
	r.exact = exact(r.valueType)
	r.twice = r.exact && r.valueType != f.Type || !r.exact && r.valueType.Kind() == reflect.Struct
	r.nests = findRecord(r.valueType) != nil && codec.Recursive(r.valueType) // containers count by themselves
	e := codec.SchemaOf(f.Type)
	if r.optional && e.Name != "Optional" && e.Name != "Any" {
		e = schema.TypeSchema{Name: "Optional", Args: []schema.TypeSchema{e}}
	}
	if err := r.store(e); err != nil {
		return nil, err
	}
	r.Metadata = codec.MetadataOf(e)
	if tag.HasDefault {
		if err := r.parseDefault(tag.Default); err != nil {
			return nil, err
		}
	} else if r.optional || e.Name == "Optional" || r.Flags&abi.FieldInitOff != 0 && r.codec.Wire != nil { // for which None is not zero
		r.hasDefault = true
		r.value = reflect.Zero(f.Type)
	}
	return r, nil
}

// bit is the bit of a scalar type in defined.Accept.
func bit(i abi.TypeIndex) uint64 { return 1 << i }

// scalars holds the form in memory of each kind that has one of its own.
var scalars = map[crossing.Kind]defined.FieldKind{
	crossing.KindBool: defined.KindBool, crossing.KindInt: defined.KindInt64, crossing.KindFloat: defined.KindFloat64,
	crossing.KindDataType: defined.KindDataType, crossing.KindDevice: defined.KindDevice, crossing.KindPointer: defined.KindOpaquePtr,
}

// widths holds the form of a number by its Go type. It is about memory: all ints cross as one kind, and all floats as one.
var widths = map[reflect.Kind]defined.FieldKind{
	reflect.Bool: defined.KindBool, reflect.Float64: defined.KindFloat64, reflect.Float32: defined.KindFloat32,
	reflect.Int: defined.KindInt64, reflect.Int64: defined.KindInt64, reflect.Int32: defined.KindInt32, reflect.Int16: defined.KindInt16, reflect.Int8: defined.KindInt8,
	reflect.Uint: defined.KindUint64, reflect.Uint64: defined.KindUint64, reflect.Uint32: defined.KindUint32, reflect.Uint16: defined.KindUint16, reflect.Uint8: defined.KindUint8,
	reflect.Uintptr: defined.KindUint64,
}

// cppNames puts text in the words that errors of C++ have for it; in the texts of a field all other types have their keys.
var cppNames = strings.NewReplacer("ffi.String", "str", "ffi.Bytes", "bytes")

// store chooses the form in memory of a field of a type.
func (r *recordField) store(e schema.TypeSchema) error {
	a := &r.Accept
	*a = defined.Accept{Expected: cppNames.Replace(e.String()), Kind: defined.KindAnyValue}
	nullable := e.Name == "Optional"
	if nullable {
		e = e.Args[0]
		a.Scalars |= bit(abi.TypeNone)
	}
	kind, known := crossing.Named(e.Name)
	row := &crossing.Rows[kind]
	switch {
	case !known || row.Class >= crossing.Leaf || kind == crossing.KindTuple:
		return r.storeObject()
	case kind == crossing.KindAny:
		if r.goType != reflect.TypeFor[any]() && r.goType != reflect.TypeFor[tvmffi.Any]() {
			return failure.Errorf(failure.KindType, "the Go type %s has no counterpart in TVM-FFI", r.goType)
		}
		a.Scalars, a.Class = ^uint64(0), codec.ClassOf(reflect.TypeFor[*tvmffi.Object]())
		return nil
	case row.Class == crossing.Text:
		a.Class = &fields.Type{Key: row.Key}
		a.Scalars |= bit(row.More[0].Index) // the form of short ones
		return nil
	}
	form, ok := scalars[kind]
	if kind == crossing.KindBool || kind == crossing.KindInt || kind == crossing.KindFloat {
		if form, ok = widths[r.goType.Kind()]; nullable {
			ok = true // in an Any
		}
	}
	if !ok {
		return r.noForm()
	}
	if unsigned := widths[r.valueType.Kind()] == defined.KindUint64; nullable && unsigned && capi.API.BigIntFromByteArray != 0 {
		a.Class = &typeBigInt
	}
	a.Scalars |= bit(row.Index)
	if kind == crossing.KindPointer {
		a.Scalars |= bit(abi.TypeNone)
	}
	if !nullable {
		a.Kind = form
	}
	return nil
}

// noForm is the error of a field whose values lie nowhere.
func (r *recordField) noForm() error {
	return failure.Errorf(failure.KindType, "the Go type %s has no form in memory: take tvmffi.Any", r.goType)
}

// storeObject chooses the form of a field that holds an object of a certain type.
func (r *recordField) storeObject() error {
	if t := r.goType; !r.isObject() {
		if t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Func {
			return failure.Errorf(failure.KindType, "the Go type %s has no form in memory: take %s, whose nil is None", t, t.Elem())
		}
		return r.noForm()
	}
	r.Accept.Kind, r.Accept.Class = defined.KindObjectRef, r.class
	return nil
}

// isObject finds the class of a field that holds an object.
func (r *recordField) isObject() bool {
	t, kind := r.valueType, codec.KindOf(r.valueType)
	switch wire := crossing.Rows[kind].Wire; {
	case t.Kind() == reflect.Pointer && codec.ClassOf(t) != nil:
		r.class = codec.ClassOf(t)
	case t.Kind() == reflect.Pointer && findOpaque(t.Elem()) != nil:
		r.class = &findOpaque(t.Elem()).class
	case wire == crossing.KindArray || wire == crossing.KindTuple || codec.Of(t).Tuple:
		r.class = codec.ClassOf(reflect.TypeFor[*tvmffi.Array[tvmffi.Any]]())
	case kind == crossing.KindMapping:
		r.class = &codec.Maps.Class
	case t.Kind() == reflect.Func:
		r.class = codec.ClassOf(reflect.TypeFor[*tvmffi.Function]())
	case t.Implements(codec.ErrorType):
		r.class = &typeErrorObject
	case t.Kind() == reflect.Struct && findRecord(t) != nil && !findRecord(t).opaque:
		r.class = &findRecord(t).class
	case t == reflect.TypeFor[tvmffi.ObjectRef]():
		r.class = codec.ClassOf(reflect.TypeFor[*tvmffi.Object]())
	case t.Kind() == reflect.Struct && len(codec.TaggedFields(t)) > 0:
		r.class = &codec.Maps.Class
	default:
		return false
	}
	return true
}

var typeBigInt, typeErrorObject = fields.Type{Key: crossing.Rows[crossing.KindBigInt].Key}, fields.Type{Key: crossing.Rows[crossing.KindError].Key}

// find returns the field of a name, nil if there is none.
func (p *layout) find(name string) *recordField {
	for _, f := range p.own {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// inherited returns the key of the parent that has a field of the name.
func (p *layout) inherited(name string) string {
	for _, f := range p.fields {
		if f.Name == name {
			return f.owner.key
		}
	}
	for parent := p.Parent; parent != nil; {
		for _, f := range capi.FieldsOf(parent) {
			if capi.GoString(f.Name) == name {
				return capi.GoString(parent.Key)
			}
		}
		if parent.Depth == 0 {
			break
		}
		parent = capi.Ancestor(parent, parent.Depth-1)
	}
	return ""
}

// foreignLayout finds the references in the memory of a type of another language.
// Its fields must describe all of its memory: objects of the new type are made of
// zeros, and released by their fields.
func foreignLayout(info *abi.TypeInfo) (size int64, refs []uint64, err error) {
	if info.TypeIndex < abi.TypeDynObjectBegin {
		return 0, nil, failure.Errorf(failure.KindType, "is a type of libtvm_ffi itself, and no type can derive from it")
	}
	if v, ok := capi.TypeAttribute(info.TypeIndex, "__ffi_type_final__"); ok && v.TypeIndex == abi.TypeBool && v.Bits != 0 {
		return 0, nil, failure.Errorf(failure.KindType, "is final")
	}
	if info.Metadata == 0 {
		return 0, nil, failure.Errorf(failure.KindType, "does not register the size of its objects")
	}
	size = int64(capi.PointerTo[abi.TypeMetadata](info.Metadata).TotalSize)
	type span struct{ from, to int64 }
	spans := []span{}
	for depth := int32(0); depth <= info.Depth; depth++ {
		level := info
		if depth < info.Depth {
			level = capi.Ancestor(info, depth)
		}
		if layout, ok := defined.LayoutOf(level.TypeIndex); ok {
			refs = layout // and of its ancestors
			continue
		}
		for _, f := range capi.FieldsOf(level) {
			kind, err := foreignField(&f)
			if err != nil {
				return 0, nil, failure.Annotate("field "+capi.GoString(f.Name), err)
			}
			switch kind {
			case defined.KindAnyValue:
				refs = append(refs, uint64(f.Offset)<<1|1)
			case defined.KindObjectRef:
				refs = append(refs, uint64(f.Offset)<<1)
			}
			spans = append(spans, span{f.Offset, f.Offset + f.Size})
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return int(a.from - b.from) })
	at := int64(abi.ObjectSize)
	for _, s := range append(spans, span{size, size}) {
		if s.from < at || s.from-at >= 8 {
			return 0, nil, failure.Errorf(failure.KindType, "has memory from byte %d to %d that does not belong to a field", at, s.from)
		}
		at = s.to
	}
	if size%8 != 0 {
		return 0, nil, failure.Errorf(failure.KindType, "has objects of %d bytes", size)
	}
	return size, refs, nil
}

// foreignField says what a field of another language is in memory: an Any, a
// pointer to an object, or bytes.
func foreignField(f *abi.FieldInfo) (defined.FieldKind, error) {
	m, err := schema.ParseMetadata(capi.GoString(f.Metadata))
	if err != nil || !m.HasType {
		return 0, failure.Errorf(failure.KindType, "has an unknown type")
	}
	e := m.Type.Normalized()
	if e.Name == "Optional" && len(e.Args) == 1 {
		e = e.Args[0]
	}
	kind, _ := crossing.Named(e.Name)
	_, scalar := scalars[kind]
	switch class := crossing.Rows[kind].Class; {
	case scalar || e.Name == crossing.NameOf(abi.TypeDLTensorPtr):
		return defined.KindInt64, nil
	case kind == crossing.KindAny || kind == crossing.KindVariant || class == crossing.Text:
		if f.Size == 16 {
			return defined.KindAnyValue, nil
		}
		if f.Size == 8 && kind == crossing.KindVariant {
			return defined.KindObjectRef, nil
		}
	case f.Size == 8 && f.StaticTypeIndex.IsObject():
		return defined.KindObjectRef, nil
	}
	return 0, failure.Errorf(failure.KindType, "is a %s of %d bytes, which Go cannot manage", e.String(), f.Size)
}
