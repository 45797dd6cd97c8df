package codec

import (
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
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// taggedField is a field of a struct with tags.
type taggedField struct {
	name     string
	kind     reflect.Type
	offset   uintptr
	optional bool
}

// TaggedFields returns the fields of a struct type that have tags.
func TaggedFields(t reflect.Type) []taggedField {
	var fields []taggedField
	for i := range t.NumField() {
		f := t.Field(i)
		tag, tagged := f.Tag.Lookup("ffi")
		if !tagged && f.Anonymous && f.Type.Kind() == reflect.Struct {
			for _, inner := range TaggedFields(f.Type) {
				inner.offset += f.Offset
				fields = append(fields, inner)
			}
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if !tagged || name == "-" || name == "" || !f.IsExported() {
			continue
		}
		fields = append(fields, taggedField{name, f.Type, f.Offset, slices.Contains(strings.Split(options, ","), "optional")})
	}
	return fields
}

// StructCodec makes the codec of a struct with tags: a Map by the names of its fields.
func StructCodec(t reflect.Type, fields []taggedField) *Codec {
	nests := sync.OnceValue(func() bool { return Recursive(t) })
	for i, f := range fields {
		for _, g := range fields[:i] {
			if f.name == g.name {
				return NoCodec(t, "two of its fields are named "+f.name)
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
				x, ok := part(f.name)
				if !ok || f.optional && x.TypeIndex == abi.TypeNone {
					if f.optional {
						continue
					}
					return failure.Errorf(failure.KindKey, "%s has no %s: give the field of %s the tag option optional if it may be missing", capi.KeyOf(v.TypeIndex), f.name, t)
				}
				err := Of(f.kind).Decode(x, from.Collected(), unsafe.Add(p, f.offset))
				Release(x)
				if err != nil {
					return failure.Annotate("field "+f.name, err)
				}
			}
			return nil
		},
	}
	return c.Nested(func(p unsafe.Pointer, outer *Nest) (values.AnyView, error) {
		absent := func(f taggedField) bool {
			return f.optional && reflect.NewAt(f.kind, unsafe.Add(p, f.offset)).Elem().IsZero()
		}
		present := fields
		if slices.ContainsFunc(fields, absent) {
			present = slices.DeleteFunc(slices.Clone(fields), absent)
		}
		return PackedIn(outer, &Maps.Create, 2*len(present), func(args *calls.Pack) error {
			for _, f := range present {
				if err := args.String(f.name); err != nil {
					return err
				}
				if err := Pack(args, Of(f.kind), unsafe.Add(p, f.offset), outer); err != nil {
					return failure.Annotate("field "+f.name, err)
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
