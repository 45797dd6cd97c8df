package define

import (
	"reflect"
	"slices"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/registry"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// OpaqueType is an object type whose objects stand for values of the Go type T. Other languages
// see only their methods. [Opaque] makes one.
type OpaqueType[T any] struct{ d *definition }

// Opaque describes an object type for an ordinary struct, with fields that only Go sees:
//
//	type Index struct {
//		mu    sync.Mutex
//		words map[string]int
//	}
//
//	var IndexType = define.Opaque[Index]("demo.Index", define.Method("add", (*Index).Add))
//
// Then *Index can be used in signatures, containers and the fields of other types. Each object
// stands for one *Index: Go gets that pointer, and while the object lives, the same pointer gives
// the same object. A nil pointer is None. The Go value lives as long as the object or anything in
// Go refers to it. Go's collector frees it, not the call that drops the object.
//
// Other languages construct such objects by a static method __ffi_init__, if there is one. They
// cannot copy, pickle or store them. Methods may be called concurrently, so T needs locks as in a
// Go program.
//
// A struct that embeds, by value, the struct of another opaque type derives from it. Methods of
// the parent get a pointer to the embedded struct. Returned to another language, that pointer is
// a separate object.
//
// The options are [Doc], [Final], [Method], [StaticMethod], [Repr], [EqualBy], [HashBy],
// [CompareBy], [Attribute] and [Deferred]. Nothing happens until the first use of the type,
// as for [Object].
func Opaque[T any](key string, options ...TypeOption) *OpaqueType[T] {
	d := &definition{key: key, options: options, record: reflect.TypeFor[T](), handle: reflect.TypeFor[*T](), opaque: true}
	d.class.Key = key
	d.declare()
	if d.taken == nil && d.record.Kind() == reflect.Struct {
		codec.Set(d.handle, opaqueCodec[T](d))
		codec.Set(d.record, codec.NoCodec(d.record, "it is opaque, so it crosses by its pointer: write "+d.handle.String()))
	}
	return &OpaqueType[T]{d}
}

// Key returns the key of the type, such as demo.Index.
func (t *OpaqueType[T]) Key() string { return t.d.key }

// Register is like [Type.Register].
func (t *OpaqueType[T]) Register() error { return t.d.register() }

// opaqueCodec makes the codec of pointers to an opaque struct.
func opaqueCodec[T any](d *definition) *codec.Codec {
	return &codec.Codec{
		Name:   d.key,
		Schema: d.key,
		Encode: func(p unsafe.Pointer) (values.AnyView, error) {
			x := *(**T)(p)
			if x == nil {
				return values.AnyView{}, nil
			}
			index, err := d.index()
			if err != nil {
				return values.AnyView{}, err
			}
			return values.AnyView{Value: abi.Any{TypeIndex: index, Bits: uint64(objects.PeerNode(index, x))}, Owned: true}, nil
		},
		Decode: func(v abi.Any, _ objects.Reading, p unsafe.Pointer) error {
			x, err := d.pointer(v)
			*(**T)(p) = (*T)(x)
			return err
		},
	}
}

// pointer returns the pointer that a borrowed value stands for; None is nil.
func (d *definition) pointer(v abi.Any) (unsafe.Pointer, error) {
	if v.TypeIndex == abi.TypeNone || v.TypeIndex.IsObject() && v.Bits == 0 {
		return nil, nil
	}
	if d.ready.Load() && v.TypeIndex == d.layout.Info.TypeIndex {
		return objects.PeerOf(uintptr(v.Bits)), nil
	}
	if !v.TypeIndex.IsObject() {
		return nil, codec.WrongType(d.key, v)
	}
	if err := d.register(); err != nil {
		return nil, err
	}
	if own, ok := registered.Load(v.TypeIndex); ok && own.(*definition).opaque {
		p := objects.PeerOf(uintptr(v.Bits))
		for at := own.(*definition); at != nil; at = at.layout.parent {
			if at == d {
				return p, nil
			}
			p = unsafe.Add(p, at.layout.parentAt) // within the struct, which embeds its parent
		}
	} else if ok, err := d.class.Accepts(v.TypeIndex); ok && err == nil {
		return nil, failure.Errorf(failure.KindType,
			"an object of the type %s has no Go value: another language made it, and only Go makes objects of %s", capi.KeyOf(v.TypeIndex), d.key)
	}
	return nil, codec.WrongType(d.key, v)
}

// copyAttributes are the attributes by which the library copies and stores objects, which
// pickle uses too. A type that sets one by the option Attribute decides for itself.
var copyAttributes = []string{"__ffi_shallow_copy__", "__data_to_json__"}

// addRefusals makes copies and JSON of objects an error that says why.
func (d *definition) addRefusals() error {
	for _, name := range copyAttributes {
		if slices.ContainsFunc(d.layout.attributes, func(a preparedAttribute) bool { return a.name == name }) {
			continue
		}
		refuse := func(*callbacks.Args) error {
			return failure.Errorf(failure.KindType, "an object of %s cannot be copied, pickled or written as JSON: only Go sees its fields", d.key)
		}
		fn := objects.Own(callbacks.New(refuse))
		err := registry.RegisterAttribute(d.layout.Info.TypeIndex, name, abi.Any{TypeIndex: abi.TypeFunction, Bits: uint64(fn.Handle())})
		fn.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// readEmbedded finds the parent of an opaque struct and refuses what an opaque type cannot
// have.
func (d *definition) readEmbedded(p *layout, t reflect.Type, base uintptr) error {
	if d.parentType != nil || d.frozen || d.kwOnly || d.structural != 0 || d.state != nil || len(d.given) > 0 || len(d.converters) > 0 {
		return d.errorf(failure.KindType, "it is opaque: it cannot have the options Parent, Frozen, KwOnly, Structural, State, Default or Converter")
	}
	for i := range t.NumField() {
		f := t.Field(i)
		parent := findRecord(f.Type)
		switch {
		case !f.Anonymous || parent == nil:
		case !parent.opaque:
			return d.errorf(failure.KindType, "it is opaque and embeds %s, which has fields that other languages see: name the field", f.Type)
		case p.parent != nil:
			return d.errorf(failure.KindType, "it embeds two types, %s and %s, but has one parent: name one field", p.parent.record, f.Type)
		default:
			p.parent, p.parentAt = parent, base+f.Offset
		}
	}
	p.Size = abi.ObjectSize
	return nil
}

// findOpaque returns the definition of an opaque struct, nil for another type.
func findOpaque(t reflect.Type) *definition {
	if d := findRecord(t); d != nil && d.opaque {
		return d
	}
	return nil
}
