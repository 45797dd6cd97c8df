package codec

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/fieldtag"
	"github.com/tvmffi-go/tvmffi/internal/nearest"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// taggedField is a field of a struct with tags.
type taggedField struct {
	*readTag
	kind   reflect.Type
	offset uintptr
}

// readTag is the tag of a field, or says what is wrong with it.
type readTag struct {
	fieldtag.Tag
	flaw error
}

// at returns the field of the struct at p.
func (f taggedField) at(p unsafe.Pointer) reflect.Value {
	return reflect.NewAt(f.kind, unsafe.Add(p, f.offset)).Elem()
}

// setDefault sets the field of the struct at p to its default.
func (f taggedField) setDefault(p unsafe.Pointer) error {
	ok, err := SetDefault(f.Default, f.at(p))
	if err == nil && !ok {
		return failure.Errorf(failure.KindType, "a tag cannot hold a default of the Go type %s: remove default=", f.kind)
	}
	return err
}

// TaggedFields returns the fields of a struct type that have tags, and those whose content would be lost for a flaw.
func TaggedFields(t reflect.Type) []taggedField {
	var fields []taggedField
	for i := range t.NumField() {
		f := t.Field(i)
		text, tagged, err := fieldtag.Lookup(f.Tag)
		if !tagged && err == nil {
			var within bool
			if within, err = fieldtag.Embeds(f); within {
				for _, inner := range TaggedFields(f.Type) {
					inner.offset += f.Offset
					fields = append(fields, inner)
				}
				continue
			}
		}
		var tag fieldtag.Tag
		if tagged {
			tag, err = fieldtag.Parse(text)
		}
		if err == nil && tag.HasDefault {
			_, err = fieldtag.SetDefault(tag.Default, pointed(reflect.New(f.Type).Elem()))
		}
		if err == nil && tag.Name != "" && !f.IsExported() {
			err = fieldtag.ErrNotExported
		}
		if err != nil {
			tag.Name = f.Name
		}
		if tag.Name != "" {
			fields = append(fields, taggedField{&readTag{tag, err}, f.Type, f.Offset})
		}
	}
	return fields
}

// pointed returns the value that a default in a tag sets: v, or a new one of the type to which v, a pointer, points.
func pointed(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Pointer && ClassOf(v.Type()) == nil {
		return reflect.New(v.Type().Elem()).Elem()
	}
	return v
}

// SetDefault sets a field to the default in its tag. It reports false if a tag cannot have one of that type.
func SetDefault(text string, field reflect.Value) (ok bool, err error) {
	target := pointed(field)
	if ok, err = fieldtag.SetDefault(text, target); !ok {
		c := Of(target.Type())
		if c.parse == nil {
			return false, nil
		}
		err = c.parse(text, target.Addr().UnsafePointer())
	}
	if err == nil && target != field {
		field.Set(target.Addr())
	}
	return true, err
}

// StructCodec makes the codec of a struct with tags: a Map by the names of its fields.
func StructCodec(t reflect.Type, fields []taggedField) *Codec {
	nests := sync.OnceValue(func() bool { return Recursive(t) })
	for i, f := range fields {
		if f.flaw != nil {
			return NoCodec(t, "field "+f.Name+": "+f.flaw.Error())
		}
		for _, g := range fields[:i] {
			if f.Name == g.Name {
				return NoCodec(t, "two of its fields are named "+f.Name)
			}
		}
	}
	c := &Codec{
		Name: t.String(),
		Decode: func(v abi.Any, from objects.Reading, p unsafe.Pointer) (err error) {
			if nests() {
				if from, err = Descend(from); err != nil {
					return err
				}
			}
			defer Catch(&err)
			r, err := recordOf(v, t)
			if err != nil {
				return err
			}
			found := 0
			for i := range fields {
				f := &fields[i]
				x, ok := r.part(f.Name)
				if ok {
					found++
				}
				if !ok && f.HasDefault {
					if err := f.setDefault(p); err != nil {
						return failure.Annotate("field "+f.Name, err)
					}
					continue
				}
				if !ok || f.Optional && x.TypeIndex == abi.TypeNone {
					if f.Optional {
						f.at(p).SetZero()
						continue
					}
					return r.missing(f.Name, t, fields, from.Loose)
				}
				err := Of(f.kind).Decode(x, from.Collected(), unsafe.Add(p, f.offset))
				Release(x)
				if err != nil {
					return failure.Annotate("field "+f.Name, err)
				}
			}
			if from.Loose && r.kind != nil && r.kind.Len(r.of) > found {
				return r.unknown(t, fields)
			}
			return nil
		},
	}
	return c.Nested(func(p unsafe.Pointer, outer *Nest) (values.AnyView, error) {
		absent := func(f taggedField) bool {
			return f.Optional && !f.HasDefault && IsZero(f.at(p))
		}
		present := fields
		if slices.ContainsFunc(fields, absent) {
			present = slices.DeleteFunc(slices.Clone(fields), absent)
		}
		return PackedIn(outer, &Maps.Create, 2*len(present), func(args *calls.Pack) error {
			for _, f := range present {
				if err := args.String(f.Name); err != nil {
					return err
				}
				if err := Pack(args, Of(f.kind), unsafe.Add(p, f.offset), outer); err != nil {
					return failure.Annotate("field "+f.Name, err)
				}
			}
			return nil
		})
	})
}

// IsZero reports whether v is the zero value of its type, which a field that is left out has. For reflect -0.0 is zero, too,
// and its sign would be lost.
func IsZero(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		return math.Float64bits(v.Float()) == 0
	case reflect.Complex64, reflect.Complex128:
		x := v.Complex()
		return math.Float64bits(real(x)) == 0 && math.Float64bits(imag(x)) == 0
	case reflect.Array:
		for i := range v.Len() {
			if !IsZero(v.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		for i := range v.NumField() {
			if !IsZero(v.Field(i)) {
				return false
			}
		}
		return true
	}
	return v.IsZero()
}

// missing returns the error for a value without a field that has no default. A parameter tells its caller, all others
// the author of the struct.
func (r *record) missing(name string, t reflect.Type, fields []taggedField, parameter bool) error {
	switch {
	case !parameter:
		return failure.Errorf(failure.KindKey, "%s has no %s: give the field of %s the tag option optional if it may be missing", capi.KeyOf(r.index), name, t)
	case r.kind == nil:
		return failure.Errorf(failure.KindType, "%s has no %s: %s", capi.KeyOf(r.index), name, fieldsText(t, fields))
	}
	if err := r.unknown(t, fields); err != nil { // perhaps it is that one
		return err
	}
	return failure.Errorf(failure.KindType, "the field %s is missing: %s", name, fieldsText(t, fields))
}

// unknown returns the error for an entry of a Map or a Dict that is not one of the fields, or nil.
func (r *record) unknown(t reflect.Type, fields []taggedField) (err error) {
	r.kind.Read(r.of, func(e *abi.MapEntry, _ int) bool {
		name, ok := capi.StringOf(e.Key)
		switch {
		case !ok || e.Key.TypeIndex == abi.TypeSmallBytes || e.Key.TypeIndex == abi.TypeBytes:
			err = failure.Errorf(failure.KindType, "a key: %s", failure.Message(WrongType("ffi.String", e.Key)))
		case !slices.ContainsFunc(fields, func(f taggedField) bool { return f.Name == name }):
			hint := nearest.Question(name, fieldNames(fields))
			err = failure.Errorf(failure.KindType, "there is no field %q%s", name, cmp.Or(hint, ": "+fieldsText(t, fields)))
		}
		return err == nil
	})
	return err
}

func fieldNames(fields []taggedField) (names []string) {
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return names
}

// fieldsText lists the fields of a struct, for errors.
func fieldsText(t reflect.Type, fields []taggedField) string {
	return cmp.Or(t.Name(), t.String()) + " has " + strings.Join(fieldNames(fields), ", ")
}

// record reads the fields of a struct from a value.
type record struct {
	of    *objects.Object
	kind  *MapKind // nil for an object with fields
	index abi.TypeIndex
}

// recordOf returns the record in v, which is borrowed. An Array, and an object that only Python knows, have no fields.
func recordOf(v abi.Any, t reflect.Type) (r record, err error) {
	if r.kind = MapKindOf(v.TypeIndex); r.kind == nil && (!v.TypeIndex.IsObject() || len(FieldsOf(v.TypeIndex)) == 0) {
		return r, WrongType("ffi.Map, ffi.Dict or an object for "+t.String(), v)
	}
	r.of, r.index = objects.Static(uintptr(v.Bits)), v.TypeIndex
	return r, nil
}

// part returns an entry of a Map or a Dict, or a field of another object, as an owned value.
func (r *record) part(name string) (abi.Any, bool) {
	if r.kind != nil {
		return r.kind.entry(r.of, name)
	}
	f := fields.Of(r.index, name)
	if f == nil {
		return abi.Any{}, false
	}
	return f.Get(r.of), true
}
