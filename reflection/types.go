package reflection

import (
	"fmt"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/registry"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/schema"
)

// typeAttributes are the names of the type attributes that a schema lists. The
// library cannot enumerate them.
var typeAttributes = []string{
	"__any_equal__", "__any_hash__", "__data_from_json__", "__data_to_json__", "__ffi_compare__", "__ffi_convert__",
	"__ffi_convert_type_schema__", "__ffi_enum__", "__ffi_eq__", "__ffi_hash__", "__ffi_init__", "__ffi_new__",
	"__ffi_repr__", "__ffi_shallow_copy__", "__ffi_type_final__",
}

// types reads all registered types.
func (r *reader) types() error {
	for key, library := range r.owners.types {
		index, err := registry.IndexOfKey(key)
		if err != nil {
			return fmt.Errorf("type %s: %w", key, err)
		}
		info := capi.InfoOfRegistered(index)
		if info == nil {
			return fmt.Errorf("type %s of %s has no entry in the type table", key, library)
		}
		t, err := readType(key, library, info)
		if !r.schema.Flawed("type", key, library, err) {
			r.schema.Types = append(r.schema.Types, t)
		}
	}
	return nil
}

func readType(key, library string, info *abi.TypeInfo) (schema.Type, error) {
	t := schema.Type{Key: key, Library: library}
	for depth := range info.Depth {
		t.Ancestors = append(t.Ancestors, capi.GoString(capi.Ancestor(info, depth).Key))
	}
	if info.Metadata != 0 {
		m := capi.PointerTo[abi.TypeMetadata](info.Metadata)
		t.HasMetadata, t.HasCreator = true, m.Creator != 0
		t.Doc, t.TotalSize, t.StructuralEqHashKind = capi.GoString(m.Doc), int(m.TotalSize), int(m.StructuralEqHashKind)
	}
	for _, name := range typeAttributes {
		if _, ok := capi.TypeAttribute(info.TypeIndex, name); ok {
			t.Attributes = append(t.Attributes, name)
		}
	}
	t.Accepts = accepts(info.TypeIndex)
	fields, methods := capi.FieldsOf(info), capi.MethodsOf(info)
	for _, entry := range fields {
		f, err := readField(&entry)
		if err != nil {
			return t, err
		}
		t.Fields = append(t.Fields, f)
	}
	for _, entry := range methods {
		t.Methods = append(t.Methods, readMethod(&entry))
	}
	return t, nil
}

// accepts reads the attribute about the values that the library converts to a type. It is
// a type schema, as JSON text or as the value that the text describes. Any other value is
// ignored: to read the fields of an object, functions of the library would have to run.
func accepts(index abi.TypeIndex) *schema.TypeSchema {
	v, ok := objects.Attribute(index, AttrConvertTypeSchema)
	if !ok {
		return nil
	}
	value := takeAny(v)
	text, err := tvmffi.As[string](value)
	if err != nil && crossing.ClassOf(v.TypeIndex) != crossing.Mapping {
		return nil
	}
	if err != nil {
		data, err := value.MarshalJSON()
		if err != nil {
			return nil
		}
		text = string(data)
	}
	t, err := schema.ParseTypeSchema(text)
	if err != nil {
		return nil
	}
	return &t
}

func readField(info *abi.FieldInfo) (schema.Field, error) {
	f := schema.Field{
		Name: capi.GoString(info.Name), Doc: capi.GoString(info.Doc), Flags: schema.Flags(info.Flags),
		Offset: int(info.Offset), Size: int(info.Size), Alignment: int(info.Alignment),
		StaticTypeIndex: int(info.StaticTypeIndex),
	}
	m, err := schema.ParseMetadata(capi.GoString(info.Metadata))
	if err != nil {
		return f, fmt.Errorf("field %s: %w", f.Name, err)
	}
	f.Type, f.Metadata = m.Type, m.Extra
	if !m.HasType {
		f.Type = schema.TypeSchema{Name: "Any"}
	}
	return f, nil
}

func readMethod(info *abi.MethodInfo) schema.Method {
	m := schema.Method{Name: capi.GoString(info.Name), Doc: capi.GoString(info.Doc), Flags: schema.Flags(info.Flags)}
	meta, err := schema.ParseMetadata(capi.GoString(info.Metadata))
	if err != nil {
		m.Flaw = err.Error()
		return m
	}
	m.Signature, m.Metadata = meta.Type.Func, meta.Extra
	return m
}
