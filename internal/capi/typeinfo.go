package capi

import (
	"strconv"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// TypeAttribute returns the borrowed value of an attribute of a type.
func TypeAttribute(index abi.TypeIndex, name string) (abi.Any, bool) {
	Registry.Lock()
	defer Registry.Unlock()
	column := attributeColumn(name)
	if column == nil || index < abi.TypeIndex(column.BeginIndex) || index >= abi.TypeIndex(column.BeginIndex+column.Size) {
		return abi.Any{}, false
	}
	v := *PointerTo[abi.Any](column.Data + uintptr(index-abi.TypeIndex(column.BeginIndex))*unsafe.Sizeof(abi.Any{}))
	return v, v.TypeIndex != abi.TypeNone
}

// TypesWithPointer lists the types whose attribute of this name is a bare pointer.
func TypesWithPointer(name string) []abi.TypeIndex {
	Registry.Lock()
	defer Registry.Unlock()
	column := attributeColumn(name)
	if column == nil || column.Size <= 0 {
		return nil
	}
	var types []abi.TypeIndex
	for i, v := range unsafe.Slice(PointerTo[abi.Any](column.Data), column.Size) {
		if v.TypeIndex == abi.TypeOpaquePtr {
			types = append(types, abi.TypeIndex(column.BeginIndex)+abi.TypeIndex(i))
		}
	}
	return types
}

// FieldsOf copies the entries of the fields of a type, without the fields of its
// ancestors. The library moves the entries when it registers another one.
func FieldsOf(info *abi.TypeInfo) []abi.FieldInfo {
	Registry.Lock()
	defer Registry.Unlock()
	if info.NumFields <= 0 {
		return nil
	}
	return append([]abi.FieldInfo(nil), unsafe.Slice(PointerTo[abi.FieldInfo](info.Fields), info.NumFields)...)
}

// MethodsOf is FieldsOf for methods.
func MethodsOf(info *abi.TypeInfo) []abi.MethodInfo {
	Registry.Lock()
	defer Registry.Unlock()
	if info.NumMethods <= 0 {
		return nil
	}
	return append([]abi.MethodInfo(nil), unsafe.Slice(PointerTo[abi.MethodInfo](info.Methods), info.NumMethods)...)
}

// infos caches the type table. Entries are C memory that is never freed.
var infos sync.Map // abi.TypeIndex -> *abi.TypeInfo

// InfoOf returns the entry of a type; nil if no type has the index.
func InfoOf(index abi.TypeIndex) *abi.TypeInfo {
	if info, ok := infos.Load(index); ok {
		return info.(*abi.TypeInfo)
	}
	if !registered(index) {
		return nil
	}
	return InfoOfRegistered(index)
}

// registeredTypes holds the indices of the types that registered has seen; the Registry guards
// it.
var registeredTypes = map[abi.TypeIndex]bool{}

// registered reports whether a type has the index. The library ends the process when it is
// asked for another one, so it is asked for the keys of all types.
func registered(index abi.TypeIndex) bool {
	if index < 0 || !attached.Load() {
		return false
	}
	Registry.Lock()
	defer Registry.Unlock()
	if registeredTypes[index] {
		return true
	}
	listed := eachKey(func(name string) bool {
		key, out := ByteArray(name), new(int32)
		rc, _, _ := purego.SyscallN(API.TypeKeyToIndex, Address(key), Address(out))
		KeepAlive(key, name)
		if int32(rc) == 0 {
			registeredTypes[abi.TypeIndex(*out)] = true
		}
		return true
	})
	return !listed || registeredTypes[index]
}

// MayBeKey reports whether a type may have the key. Asking the library for the index of a
// key that it does not know makes an error there, with a backtrace: the first one of a
// process reads all debug information and takes a tenth of a second.
func MayBeKey(key string) bool {
	Registry.Lock()
	defer Registry.Unlock()
	found := false
	listed := eachKey(func(name string) bool {
		found = name == key
		return !found
	})
	return found || !listed
}

// eachKey visits the keys of all types until visit returns false. It reports false if the
// library does not list its types. The Registry is held.
func eachKey(visit func(key string) bool) bool {
	array := typeKeys()
	if array == 0 {
		return false
	}
	defer purego.SyscallN(API.ObjectDecRef, array)
	for _, v := range Elements(array) {
		if text, _ := BorrowString(&v); !visit(string(text)) {
			break
		}
	}
	return true
}

// typeKeys returns an Array of the keys of all types, 0 if there is none. The caller drops its
// reference.
func typeKeys() uintptr {
	const name = "ffi.GetRegisteredTypeKeys"
	key, fn := ByteArray(name), new(uintptr)
	rc, _, _ := purego.SyscallN(API.FunctionGetGlobal, Address(key), Address(fn))
	KeepAlive(key, name)
	if int32(rc) != 0 || *fn == 0 {
		return 0
	}
	defer purego.SyscallN(API.ObjectDecRef, *fn)
	args, out := new(abi.Any), new(abi.Any) // a callee may look at the address of no arguments
	rc, _, _ = purego.SyscallN(API.FunctionCall, *fn, Address(args), 0, Address(out))
	KeepValue(args)
	if int32(rc) != 0 || out.TypeIndex != abi.TypeArray {
		return 0
	}
	return uintptr(out.Bits)
}

// InfoOfRegistered is InfoOf for an index that the library gave for a type.
func InfoOfRegistered(index abi.TypeIndex) *abi.TypeInfo {
	if info, ok := infos.Load(index); ok {
		return info.(*abi.TypeInfo)
	}
	Registry.Lock()
	p, _, _ := purego.SyscallN(API.GetTypeInfo, uintptr(index))
	Registry.Unlock()
	if p == 0 {
		return nil
	}
	info := PointerTo[abi.TypeInfo](p)
	infos.Store(index, info)
	return info
}

// FieldNamed copies the entry of a field of a type, but not of its ancestors.
// The library moves the entries when it registers another one.
func FieldNamed(owner *abi.TypeInfo, name string) *abi.FieldInfo {
	if owner == nil {
		return nil
	}
	Registry.Lock()
	defer Registry.Unlock()
	for i := range uintptr(owner.NumFields) {
		info := PointerTo[abi.FieldInfo](owner.Fields + i*unsafe.Sizeof(abi.FieldInfo{}))
		if GoString(info.Name) == name {
			found := *info
			return &found
		}
	}
	return nil
}

// MethodsNamed returns copies of the methods of owner with a name, in the order of the registry: the
// overloads of one method.
func MethodsNamed(owner *abi.TypeInfo, name string) (found []abi.MethodInfo) {
	Registry.Lock()
	defer Registry.Unlock()
	for i := range uintptr(owner.NumMethods) {
		info := PointerTo[abi.MethodInfo](owner.Methods + i*unsafe.Sizeof(abi.MethodInfo{}))
		if GoString(info.Name) == name {
			found = append(found, *info)
		}
	}
	return found
}

// Ancestor returns the ancestor at the given depth; 0 is the root.
func Ancestor(info *abi.TypeInfo, depth int32) *abi.TypeInfo {
	return PointerTo[abi.TypeInfo](*PointerTo[uintptr](info.Ancestors + uintptr(depth)*unsafe.Sizeof(uintptr(0))))
}

// KeyOf returns the key of a type, such as ffi.Array.
func KeyOf(index abi.TypeIndex) string {
	if name := crossing.NameOf(index); name != "" {
		return name
	}
	if !index.IsObject() || !attached.Load() {
		return unknownType(index)
	}
	info := InfoOf(index)
	if info == nil {
		return unknownType(index)
	}
	return GoString(info.Key)
}

// unknownType names an index that no type has.
func unknownType(index abi.TypeIndex) string {
	return "unknown type " + strconv.Itoa(int(index))
}

// Derives reports whether index is target or derives from it.
func Derives(index abi.TypeIndex, target *abi.TypeInfo) bool {
	if index == target.TypeIndex {
		return true
	}
	info := InfoOf(index)
	return info != nil && info.Depth > target.Depth && Ancestor(info, target.Depth).TypeIndex == target.TypeIndex
}
