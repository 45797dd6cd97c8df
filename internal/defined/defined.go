package defined

import (
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/registry"

	"github.com/ebitengine/purego"
)

// FieldKind says what the bytes of a field are.
type FieldKind = ccall.FieldKind

// The forms of fields.
const (
	KindInt64      = ccall.Int64
	KindInt32      = ccall.Int32
	KindInt16      = ccall.Int16
	KindInt8       = ccall.Int8
	KindUint64     = ccall.Uint64
	KindUint32     = ccall.Uint32
	KindUint16     = ccall.Uint16
	KindUint8      = ccall.Uint8
	KindFloat64    = ccall.Float64
	KindFloat32    = ccall.Float32
	KindBool       = ccall.Bool
	KindAnyValue   = ccall.AnyValue
	KindObjectRef  = ccall.ObjectPointer
	KindDataType   = ccall.DataType
	KindDevice     = ccall.Device
	KindOpaquePtr  = ccall.OpaquePointer
	fieldKindCount = ccall.FieldKinds
)

// fieldKinds holds the size of each kind, the static type index that the registry
// names for it, and the bounds of integers.
var fieldKinds = [fieldKindCount]struct {
	size   uint32
	static abi.TypeIndex
	min    int64
	max    uint64
}{
	KindInt64: {8, abi.TypeInt, -1 << 63, 1<<63 - 1},
	KindInt32: {4, abi.TypeInt, -1 << 31, 1<<31 - 1},
	KindInt16: {2, abi.TypeInt, -1 << 15, 1<<15 - 1},
	KindInt8:  {1, abi.TypeInt, -1 << 7, 1<<7 - 1},
	// The graphs of JSON, and so pickle in Python, take the payload of a value for the number if the static type is an int.
	// The payload of a BigInt is an address. For a pointer they look at the value.
	KindUint64:    {8, abi.TypeOpaquePtr, 0, 1<<64 - 1},
	KindUint32:    {4, abi.TypeInt, 0, 1<<32 - 1},
	KindUint16:    {2, abi.TypeInt, 0, 1<<16 - 1},
	KindUint8:     {1, abi.TypeInt, 0, 1<<8 - 1},
	KindFloat64:   {size: 8, static: abi.TypeFloat},
	KindFloat32:   {size: 4, static: abi.TypeFloat},
	KindBool:      {size: 1, static: abi.TypeBool},
	KindAnyValue:  {size: 16, static: abi.TypeAny},
	KindObjectRef: {size: 8, static: abi.TypeObject},
	KindDataType:  {size: 4, static: abi.TypeDataType},
	KindDevice:    {size: 8, static: abi.TypeDevice},
	KindOpaquePtr: {size: 8, static: abi.TypeOpaquePtr},
}

// SizeOf returns the size of a field; its alignment is the same, but at most 8.
func SizeOf(kind FieldKind) int64 { return int64(fieldKinds[kind].size) }

// Accept says what a field takes, in addition to its kind.
type Accept struct {
	Kind FieldKind
	// Scalars has a bit for each type index below 64 that is stored as it is: of an
	// AnyValue, and bit 0 of an ObjectRef that may be None.
	Scalars uint64
	// Class is the type of objects; nil for none, its Key ffi.Object for all.
	Class *fields.Type
	// Expected is the type that errors name.
	Expected string
}

type setterKey struct {
	kind     FieldKind
	scalars  uint64
	index    abi.TypeIndex
	expected string
}

// shared is what all types made in Go share; the Registry guards it.
var shared struct {
	ready   bool
	setters map[setterKey]uintptr // -> the ccall.Setter
	entries map[uintptr]uintptr   // ccall.Setter -> the address of the setter
	layouts uintptr
	strings map[string]uintptr
}

// maxDefinedIndex bounds the type indices for which the deleter has a table.
const maxDefinedIndex = 1 << 16

func readyToDefine() {
	if shared.ready {
		return
	}
	shared.ready = true
	shared.setters, shared.entries, shared.strings = map[setterKey]uintptr{}, map[uintptr]uintptr{}, map[string]uintptr{}
	shared.layouts = capi.Allocate(maxDefinedIndex * unsafe.Sizeof(uintptr(0)))
	ccall.InitStubs(ccall.StubFunctions{
		Malloc: capi.Malloc, Free: capi.CFunction("free"),
		ToOwned: capi.API.AnyViewToOwnedAny, TypeInfo: capi.API.GetTypeInfo, SetParts: capi.API.ErrorSetRaisedFromCStrParts,
		BigInt: capi.API.BigIntFromByteArray, BigIntContent: capi.API.BigIntContent,
		Layouts: shared.layouts,
		From:    lastingCString("Cannot convert from type `"), To: lastingCString("` to `"), End: lastingCString("`"),
		TypeError:   lastingCString(failure.KindType),
		MemoryError: lastingCString("MemoryError"), NoMem: lastingCString("out of memory"),
	}, capi.Allocate(ccall.MaxSetters*unsafe.Sizeof(uintptr(0))), capi.Allocate(ccall.MaxCreators*unsafe.Sizeof(uintptr(0))))
}

// lastingCString returns a C text that lives as long as the process.
func lastingCString(s string) uintptr {
	if at, ok := shared.strings[s]; ok {
		return at
	}
	at := capi.Allocate(uintptr(len(s)) + 1)
	copy(unsafe.Slice(capi.PointerTo[byte](at), len(s)), s)
	shared.strings[s] = at
	return at
}

// Field is a field of a type made in Go.
type Field struct {
	Name, Doc, Metadata string
	Flags               int64
	Offset              int64
	Accept              Accept
	// Default is the default or the factory if the flags say that there is one; it
	// stays with the caller.
	Default abi.Any
	// Convert, if it is not nil, is the Function object that takes the place of the
	// setter.
	Convert *objects.Object

	setter *ccall.Setter
}

// Type is an object type made in Go.
type Type struct {
	Key, Doc   string
	Structural int32
	// Size is the size of an object. Refs are the offsets of the references in it, its
	// ancestors' too: shifted left, and one for an Any. State is the offset of the state
	// of Go, 0 if there is none.
	Size  int64
	Refs  []uint64
	State int64

	// Parent and Info are the entries of the parent and of the type.
	Parent *abi.TypeInfo
	Info   *abi.TypeInfo
	layout uintptr
}

// Room returns an error if there may be no room for so many types with so
// many fields, of which some may share a setter.
func Room(types, fields int) error {
	readyToDefine()
	switch forSetters, forCreators := ccall.Free(); {
	case forCreators < types:
		return failure.Errorf(failure.KindRuntime, "all %d places for types made in Go are taken", ccall.MaxCreators)
	case forSetters < fields:
		return failure.Errorf(failure.KindRuntime, "only %d of %d setters are left, but the %d fields may need one each", forSetters, ccall.MaxSetters, fields)
	}
	return nil
}

// KeyIsFree reports whether the key of a type is free: not registered, or only by a
// C++ class that mirrors the memory of the type, and has its parent.
func KeyIsFree(key string, parent *abi.TypeInfo) bool {
	if !capi.MayBeKey(key) {
		return true
	}
	index, err := registry.IndexOfKey(key)
	if err != nil {
		return true
	}
	info := capi.InfoOfRegistered(index)
	if info.NumFields != 0 || info.NumMethods != 0 || info.Metadata != 0 || parent == nil {
		return false
	}
	return info.Depth == parent.Depth+1 && capi.Ancestor(info, parent.Depth) == parent
}

// Allocate gives the type its index. The Registry is held; nothing can take it
// back.
func (d *Type) Allocate() error {
	parent := d.Parent
	key := capi.ByteArray(d.Key)
	i, _, _ := purego.SyscallN(capi.API.TypeGetOrAllocIndex, capi.Address(key), ^uintptr(0), uintptr(parent.Depth+1), 0, 1, uintptr(parent.TypeIndex))
	capi.KeepAlive(key, d.Key)
	if int32(i) < int32(abi.TypeDynObjectBegin) || int32(i) >= maxDefinedIndex {
		return failure.Errorf(failure.KindRuntime, "type %s: the library returned the index %d, which is out of range", d.Key, int32(i))
	}
	d.Info = capi.InfoOfRegistered(abi.TypeIndex(int32(i)))
	d.layout = capi.Allocate(unsafe.Sizeof(ccall.Layout{}) + 8*uintptr(len(d.Refs)))
	l := capi.PointerTo[ccall.Layout](d.layout)
	*l = ccall.Layout{Size: uintptr(d.Size), Index: int32(i), State: uint32(d.State), N: uintptr(len(d.Refs)), Refs: d.layout + unsafe.Sizeof(ccall.Layout{})}
	copy(unsafe.Slice(capi.PointerTo[uint64](l.Refs), len(d.Refs)), d.Refs)
	*capi.PointerTo[uintptr](shared.layouts + uintptr(i)*unsafe.Sizeof(i)) = d.layout
	return nil
}

// Prepare finds the setter of a field, once the types that it names have their
// indices.
func (f *Field) Prepare() error {
	a := &f.Accept
	kind := &fieldKinds[a.Kind]
	var info *abi.TypeInfo
	key := setterKey{kind: a.Kind, scalars: a.Scalars, expected: a.Expected}
	if a.Class != nil {
		var err error
		if info, err = a.Class.Info(); err != nil {
			return err
		}
		key.index = info.TypeIndex
	}
	at, ok := shared.setters[key]
	if !ok {
		at = capi.Allocate(unsafe.Sizeof(ccall.Setter{}))
		s := capi.PointerTo[ccall.Setter](at)
		bounds := fmt.Sprintf("expected an int from %d to %d, got one outside this range", kind.min, kind.max)
		if a.Kind == KindFloat32 {
			bounds = "expected a number that fits float32, got one outside its range"
		}
		*s = ccall.Setter{
			Kind: a.Kind, Kinds: a.Scalars, Size: kind.size, Min: kind.min, Max: int64(min(kind.max, math.MaxInt64)), Expected: lastingCString(a.Expected),
			Range: lastingCString(bounds),
		}
		if info != nil {
			s.Info, s.Index, s.Depth = uintptr(unsafe.Pointer(info)), int32(info.TypeIndex), info.Depth
		}
		shared.setters[key] = at
	}
	f.setter = capi.PointerTo[ccall.Setter](at)
	return nil
}

// AddField enters a field, which is prepared.
func (d *Type) AddField(f *Field) error {
	kind := &fieldKinds[f.Accept.Kind]
	name, doc, metadata := capi.ByteArray(f.Name), capi.ByteArray(f.Doc), capi.ByteArray(f.Metadata)
	info := &abi.FieldInfo{
		Name: *name, Doc: *doc, Metadata: *metadata, Flags: f.Flags,
		Size: int64(kind.size), Alignment: min(int64(kind.size), 8), Offset: f.Offset,
		Getter: ccall.Getter(f.Accept.Kind), Default: f.Default, StaticTypeIndex: kind.static,
	}
	if c := f.Accept.Class; c != nil && f.Accept.Kind == KindObjectRef {
		if class, err := c.Info(); err == nil && class.TypeIndex < abi.TypeDynObjectBegin {
			info.StaticTypeIndex = class.TypeIndex
		}
	}
	if f.Convert != nil {
		info.Flags |= abi.FieldSetterIsFunction
		info.Setter = f.Convert.Handle()
	} else {
		at := uintptr(unsafe.Pointer(f.setter))
		if shared.entries[at] == 0 {
			if shared.entries[at] = ccall.SetterOf(at); shared.entries[at] == 0 {
				return failure.Errorf(failure.KindRuntime, "field %s.%s: all %d setters for fields of distinct types are taken", d.Key, f.Name, ccall.MaxSetters)
			}
		}
		info.Setter = shared.entries[at]
	}
	_, err := failure.Invoke(capi.API.TypeRegisterField, uintptr(d.Info.TypeIndex), capi.Address(info), 0)
	runtime.KeepAlive(info)
	capi.KeepAlive(name, f.Name)
	capi.KeepAlive(doc, f.Doc)
	capi.KeepAlive(metadata, f.Metadata)
	f.Convert.KeepAlive()
	return err
}

// Complete ends the fields: it enters the size, the creator, and what makes and
// copies objects. The constructor of the library's making comes with it if
// automatic is set and the library has one; then it returns true.
func (d *Type) Complete(automatic bool) (constructor bool, err error) {
	creator := ccall.CreatorOf(d.layout)
	if creator == 0 {
		return false, failure.Errorf(failure.KindRuntime, "type %s: all %d creators of types made in Go are taken", d.Key, ccall.MaxCreators)
	}
	doc := capi.ByteArray(d.Doc)
	metadata := &abi.TypeMetadata{Doc: *doc, Creator: creator, TotalSize: int32(d.Size), StructuralEqHashKind: d.Structural}
	_, err = failure.Invoke(capi.API.TypeRegisterMetadata, uintptr(d.Info.TypeIndex), capi.Address(metadata), 0)
	runtime.KeepAlive(metadata)
	capi.KeepAlive(doc, d.Doc)
	if err != nil {
		return false, err
	}
	for name, code := range map[string]uintptr{"__ffi_new__": ccall.NewObject(), "__ffi_shallow_copy__": ccall.CopyObject()} {
		out, err := failure.Invoke(capi.API.FunctionCreate, d.layout, code, 0)
		if err != nil {
			return false, err
		}
		fn := abi.Any{TypeIndex: abi.TypeFunction, Bits: uint64(out.First())}
		err = registry.RegisterAttribute(d.Info.TypeIndex, name, fn)
		objects.DecRef(uintptr(fn.Bits))
		if err != nil {
			return false, err
		}
	}
	if !automatic {
		return false, nil
	}
	handle, err := registry.GlobalFunction("ffi._RegisterFFIInit")
	if err != nil || handle == 0 {
		return false, err
	}
	defer objects.DecRef(handle)
	_, err = failure.Apply(handle, []abi.Any{{TypeIndex: abi.TypeInt, Bits: uint64(d.Info.TypeIndex)}})
	return true, err
}

// CompleteOpaque is Complete for a type whose objects are nodes of package objects: it enters
// the doc comment and the size. Without a creator, nobody else makes or copies objects.
func (d *Type) CompleteOpaque() error {
	doc := capi.ByteArray(d.Doc)
	metadata := &abi.TypeMetadata{Doc: *doc, TotalSize: abi.ObjectSize}
	_, err := failure.Invoke(capi.API.TypeRegisterMetadata, uintptr(d.Info.TypeIndex), capi.Address(metadata), 0)
	runtime.KeepAlive(metadata)
	capi.KeepAlive(doc, d.Doc)
	return err
}

// New makes an object whose fields are all zero, and returns its only reference.
func (d *Type) New() (uintptr, error) {
	out, err := failure.Invoke(ccall.NewObject(), d.layout, 0, 0)
	return uintptr(out.Bits), err
}

// LayoutOf returns the references of a type made in Go; false for other types.
func LayoutOf(index abi.TypeIndex) (refs []uint64, ok bool) {
	if !shared.ready || index >= maxDefinedIndex {
		return nil, false
	}
	at := *capi.PointerTo[uintptr](shared.layouts + uintptr(index)*unsafe.Sizeof(uintptr(0)))
	if at == 0 {
		return nil, false
	}
	l := capi.PointerTo[ccall.Layout](at)
	return append([]uint64(nil), unsafe.Slice(capi.PointerTo[uint64](l.Refs), l.N)...), true
}
