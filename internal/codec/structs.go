package codec

import (
	"reflect"
	"slices"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/fieldtag"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// taggedField is a field of a struct with tags.
type taggedField struct {
	fieldtag.Tag
	kind   reflect.Type
	offset uintptr
	flaw   error // in the tag
}

// at returns the field of the struct at p.
func (f *taggedField) at(p unsafe.Pointer) reflect.Value {
	return reflect.NewAt(f.kind, unsafe.Add(p, f.offset)).Elem()
}

// setDefault sets the field of the struct at p to its default.
func (f *taggedField) setDefault(p unsafe.Pointer) error {
	ok, err := SetDefault(f.Default, f.at(p))
	if err == nil && !ok {
		return failure.Errorf(failure.KindType, "a tag cannot hold a default of the Go type %s: remove default=", f.kind)
	}
	return err
}

// TaggedFields returns the fields of a struct type that have tags.
func TaggedFields(t reflect.Type) []taggedField {
	var fields []taggedField
	for i := range t.NumField() {
		f := t.Field(i)
		text, tagged := f.Tag.Lookup("ffi")
		if !tagged && f.Anonymous && f.Type.Kind() == reflect.Struct {
			for _, inner := range TaggedFields(f.Type) {
				inner.offset += f.Offset
				fields = append(fields, inner)
			}
			continue
		}
		tag, err := fieldtag.Parse(text)
		if tagged && err == nil && tag.HasDefault {
			_, err = fieldtag.SetDefault(tag.Default, pointed(reflect.New(f.Type).Elem()))
		}
		if err != nil {
			tag.Name = f.Name
		}
		if tagged && f.IsExported() && tag.Name != "" {
			fields = append(fields, taggedField{tag, f.Type, f.Offset, err})
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
			part, err := partsOf(v, t)
			if err != nil {
				return err
			}
			for _, f := range fields {
				x, ok := part(f.Name)
				if !ok && f.HasDefault {
					if err := f.setDefault(p); err != nil {
						return failure.Annotate("field "+f.Name, err)
					}
					continue
				}
				if !ok || f.Optional && x.TypeIndex == abi.TypeNone {
					if f.Optional {
						continue
					}
					return failure.Errorf(failure.KindKey, "%s has no %s: give the field of %s the tag option optional if it may be missing", capi.KeyOf(v.TypeIndex), f.Name, t)
				}
				err := Of(f.kind).Decode(x, from.Collected(), unsafe.Add(p, f.offset))
				Release(x)
				if err != nil {
					return failure.Annotate("field "+f.Name, err)
				}
			}
			return nil
		},
	}
	return c.Nested(func(p unsafe.Pointer, outer *Nest) (values.AnyView, error) {
		absent := func(f taggedField) bool {
			return f.Optional && !f.HasDefault && f.at(p).IsZero()
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

// partsOf returns a function that reads an entry of a Map or Dict, or a field of
// another object, as an owned value.
func partsOf(v abi.Any, t reflect.Type) (func(name string) (abi.Any, bool), error) {
	switch {
	case v.TypeIndex == abi.TypeMap || v.TypeIndex == abi.TypeDict:
		kind := &Maps
		if v.TypeIndex == abi.TypeDict {
			kind = &Dicts
		}
		return func(name string) (abi.Any, bool) { return kind.entry(objects.Static(uintptr(v.Bits)), name) }, nil
	case v.TypeIndex.IsObject() && capi.InfoOf(v.TypeIndex) != nil:
		return func(name string) (abi.Any, bool) {
			f := fields.Of(v.TypeIndex, name)
			if f == nil {
				return abi.Any{}, false
			}
			return f.Get(objects.Static(uintptr(v.Bits))), true
		}, nil
	}
	return nil, WrongType("ffi.Map, ffi.Dict or an object for "+t.String(), v)
}
