package tvmffi

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/core"
)

// taggedField is a field of a struct with tags.
type taggedField struct {
	name     string
	kind     reflect.Type
	offset   uintptr
	optional bool
}

// taggedFields returns the fields of a struct type that have tags.
func taggedFields(t reflect.Type) []taggedField {
	var fields []taggedField
	for i := range t.NumField() {
		f := t.Field(i)
		tag, tagged := f.Tag.Lookup("ffi")
		if !tagged && f.Anonymous && f.Type.Kind() == reflect.Struct {
			for _, inner := range taggedFields(f.Type) {
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

func structCodec(t reflect.Type, fields []taggedField) *codec {
	nests := sync.OnceValue(func() bool { return recursive(t) })
	for i, f := range fields {
		for _, g := range fields[:i] {
			if f.name == g.name {
				return noCodec(t, "two of its fields are named "+f.name)
			}
		}
	}
	c := &codec{
		name: t.String(),
		decode: func(v abi.Any, from core.Lender, p unsafe.Pointer) (err error) {
			if nests() {
				if from, err = deeper(from); err != nil {
					return err
				}
			}
			defer catch(&err)
			part, err := partsOf(v, t)
			if err != nil {
				return err
			}
			for _, f := range fields {
				x, ok := part(f.name)
				if !ok {
					if f.optional {
						continue
					}
					return errorf(core.KindKey, "%s has no %s: give the field of %s the tag option optional if it may be missing", core.KeyOf(v.TypeIndex), f.name, t)
				}
				err := codecOf(f.kind).decode(x, owning(from), unsafe.Add(p, f.offset))
				release(x)
				if err != nil {
					return inElement("field "+f.name, err)
				}
			}
			return nil
		},
	}
	return c.nested(func(p unsafe.Pointer, outer *nest) (core.Temp, error) {
		return packed(&maps.create, 2*len(fields), func(args *core.Pack) error {
			for _, f := range fields {
				at := unsafe.Add(p, f.offset)
				if f.optional && reflect.NewAt(f.kind, at).Elem().IsZero() {
					continue
				}
				if err := args.String(f.name); err != nil {
					return err
				}
				if err := pack(args, codecOf(f.kind), at, outer); err != nil {
					return inElement("field "+f.name, err)
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
		kind := &maps
		if v.TypeIndex == abi.TypeDict {
			kind = &dicts
		}
		return func(name string) (abi.Any, bool) { return kind.entry(core.Static(uintptr(v.Bits)), name) }, nil
	case v.TypeIndex.IsObject() && core.InfoOf(v.TypeIndex) != nil:
		return func(name string) (abi.Any, bool) {
			f := core.FieldOf(v.TypeIndex, name)
			if f == nil {
				return abi.Any{}, false
			}
			return f.Get(core.Static(uintptr(v.Bits))), true
		}, nil
	}
	return nil, wrongType("ffi.Map, ffi.Dict or an object for "+t.String(), v)
}

// Marshal makes a Map of a struct with tags:
//
//	type Config struct {
//		Name  string   `ffi:"name"`
//		Sizes []int64  `ffi:"sizes,optional"`
//	}
//
// Structs inside of it, and those that slices, maps and pointers hold, become Maps
// too. Fields without a tag take no part; those of an embedded struct count as
// fields of the struct around it. A field that is optional is left out when it is
// zero. The error says where: Config.layers[1].name.
//
// A struct with tags may as well be an argument of [Function.Call], an element of
// a container, or the T of [As].
func Marshal(x any) (*Map[string, Any], error) {
	v := reflect.ValueOf(x)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct || len(taggedFields(v.Type())) == 0 {
		return nil, errorf(core.KindType, "marshal %T: expected a struct with ffi tags", x)
	}
	t, err := codecFor[any]().encode(unsafe.Pointer(&x))
	if err != nil {
		return nil, withPath(v.Type().Name(), err)
	}
	if !t.Owned || t.Value.TypeIndex != abi.TypeMap {
		if t.Owned {
			release(t.Value)
		}
		return nil, errorf(core.KindType, "marshal %T: it became %s", x, core.KeyOf(t.Value.TypeIndex))
	}
	return wrap[*Map[string, Any]](core.Own(uintptr(t.Value.Bits))), nil
}

// Unmarshal reads a Map or a Dict with string keys, or an object with fields, into
// the struct with tags that into points to. What is not there is an error, unless
// the field is optional; what the struct has no field for is passed over. Fields
// that are objects get references of their own. If there is an error, which says
// where, as in Config.layers[1].name: expected ffi.String, got int, the struct may
// have been set in part.
func Unmarshal(from ObjectRef, into any) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct || len(taggedFields(v.Elem().Type())) == 0 {
		return errorf(core.KindType, "unmarshal into %T: expected a pointer to a struct with ffi tags", into)
	}
	o, err := live(from)
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(from)
	defer runtime.KeepAlive(o)
	t, err := encodeObject(o)
	if err != nil {
		return err
	}
	err = codecOf(v.Elem().Type()).decode(t.Value, nil, v.UnsafePointer())
	return withPath(v.Elem().Type().Name(), err)
}

// stepOf makes the step of a path of the place that an error names.
func stepOf(place string) string {
	for _, form := range [][3]string{{"field ", ".", ""}, {"element ", "[", "]"}, {"tuple element ", "[", "]"}, {"value of key ", "[", "]"}} {
		if rest, ok := strings.CutPrefix(place, form[0]); ok {
			return form[1] + rest + form[2]
		}
	}
	return ""
}

// withPath joins the steps of an error to one path.
func withPath(path string, err error) error {
	for {
		e := asError(err)
		if e == nil {
			return err
		}
		if e.step == "" {
			if path = strings.TrimPrefix(path, "."); path == "" {
				return e
			}
			return &Error{Kind: e.Kind, Message: path + ": " + e.Message, cause: e}
		}
		path += e.step
		err = e.cause
	}
}
