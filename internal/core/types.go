package core

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"

	"github.com/ebitengine/purego"
)

// infos caches the type table. Entries are C memory that is never freed.
var infos sync.Map // abi.TypeIndex -> *abi.TypeInfo

// InfoOf returns the entry of a registered type. index must come from a live
// object or from the table itself: the library does not check it.
func InfoOf(index abi.TypeIndex) *abi.TypeInfo {
	if info, ok := infos.Load(index); ok {
		return info.(*abi.TypeInfo)
	}
	Registry.Lock()
	p, _, _ := purego.SyscallN(API.GetTypeInfo, uintptr(index))
	Registry.Unlock()
	if p == 0 {
		return nil
	}
	info := At[abi.TypeInfo](p)
	infos.Store(index, info)
	return info
}

// fieldNamed copies the entry of a field of a type, without those of its ancestors.
// The library moves the entries when it registers another one.
func fieldNamed(owner *abi.TypeInfo, name string) *abi.FieldInfo {
	Registry.Lock()
	defer Registry.Unlock()
	for i := range uintptr(owner.NumFields) {
		info := At[abi.FieldInfo](owner.Fields + i*unsafe.Sizeof(abi.FieldInfo{}))
		if Text(info.Name) == name {
			found := *info
			return &found
		}
	}
	return nil
}

// methodNamed is fieldNamed for methods.
func methodNamed(owner *abi.TypeInfo, name string) *abi.MethodInfo {
	Registry.Lock()
	defer Registry.Unlock()
	for i := range uintptr(owner.NumMethods) {
		info := At[abi.MethodInfo](owner.Methods + i*unsafe.Sizeof(abi.MethodInfo{}))
		if Text(info.Name) == name {
			found := *info
			return &found
		}
	}
	return nil
}

// Ancestor returns the ancestor at the given depth; 0 is the root.
func Ancestor(info *abi.TypeInfo, depth int32) *abi.TypeInfo {
	return At[abi.TypeInfo](*At[uintptr](info.Ancestors + uintptr(depth)*unsafe.Sizeof(uintptr(0))))
}

// KeyOf returns the key of a type, such as ffi.Array.
func KeyOf(index abi.TypeIndex) string {
	if name, ok := kindNames[index]; ok {
		return name
	}
	if !index.IsObject() || !attached.Load() {
		return "unknown type"
	}
	info := InfoOf(index)
	if info == nil {
		return "unknown type"
	}
	return Text(info.Key)
}

// Derives reports whether index is target or derives from it.
func Derives(index abi.TypeIndex, target *abi.TypeInfo) bool {
	if index == target.TypeIndex {
		return true
	}
	info := InfoOf(index)
	return info != nil && info.Depth > target.Depth && Ancestor(info, target.Depth).TypeIndex == target.TypeIndex
}

// IndexOfKey returns the index of a registered type.
func IndexOfKey(key string) (abi.TypeIndex, error) {
	name, out := byteArray(key), new(int32)
	Registry.Lock()
	defer Registry.Unlock()
	_, err := invoke(API.TypeKeyToIndex, address(name), address(out), 0)
	runtime.KeepAlive(out)
	keepAlive(name, key)
	if err != nil {
		return 0, err
	}
	return abi.TypeIndex(*out), nil
}

// Type is an object type that generated code knows, resolved on first use.
type Type struct {
	// Library is what must be loaded before the key is registered; nil for the
	// types of libtvm_ffi.
	Library *Library
	Key     string
	// Resolve, if it is set, returns the index of a type that this program makes,
	// and makes it first where needed.
	Resolve func() (abi.TypeIndex, error)

	info atomic.Pointer[abi.TypeInfo]
}

// Info returns the entry of the type table.
func (t *Type) Info() (*abi.TypeInfo, error) {
	if info := t.info.Load(); info != nil {
		return info, nil
	}
	index, err := t.index()
	if err != nil {
		return nil, err
	}
	info := InfoOf(index)
	t.info.Store(info)
	return info, nil
}

func (t *Type) index() (abi.TypeIndex, error) {
	if t.Resolve != nil {
		return t.Resolve()
	}
	if err := t.Library.ensure(); err != nil {
		return 0, err
	}
	index, err := IndexOfKey(t.Key)
	if err != nil {
		return 0, Errorf(KindAttr, "type %s is not registered: %s", t.Key, t.Library.lacks())
	}
	return index, nil
}

// Accepts reports whether an object of the given type is a t.
func (t *Type) Accepts(index abi.TypeIndex) (bool, error) {
	if info := t.info.Load(); info != nil && info.TypeIndex == index {
		return true, nil
	}
	info, err := t.Info()
	if err != nil {
		return false, err
	}
	return Derives(index, info), nil
}
