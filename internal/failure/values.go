package failure

import (
	"strconv"
	"sync/atomic"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// NewValue makes an object of the type go.Value and returns its only reference. The object
// holds a Go value until its last reference ends. Another Go runtime in the process, such
// as the one of a Go library, has a type of its own, because the key is unique.
func NewValue(value any) (uintptr, error) {
	index, err := ValueType()
	if err != nil {
		return 0, err
	}
	return objects.NewValueNode(index, value), nil
}

var valueIndex atomic.Int32

// ValueType returns the type of the objects that NewValue makes.
func ValueType() (abi.TypeIndex, error) {
	if i := valueIndex.Load(); i != 0 {
		return abi.TypeIndex(i), nil
	}
	capi.Registry.Lock()
	defer capi.Registry.Unlock()
	name := "go.Value." + strconv.FormatUint(uint64(uintptr(unsafe.Pointer(&valueIndex))), 16)
	key := capi.ByteArray(name)
	i, _, _ := purego.SyscallN(capi.API.TypeGetOrAllocIndex, capi.Address(key), ^uintptr(0), 1, 0, 1, uintptr(abi.TypeObject))
	capi.KeepAlive(key, name)
	if int32(i) < int32(abi.TypeDynObjectBegin) {
		return 0, Errorf(KindRuntime, "cannot register the type %s", name)
	}
	valueIndex.Store(int32(i))
	return abi.TypeIndex(int32(i)), nil
}

// GoValue returns the value of an object that NewValue made, and reports whether the object
// is such a one. The object must be alive; handle may be 0.
func GoValue(handle uintptr) (any, bool) {
	if handle == 0 || valueIndex.Load() == 0 || capi.PointerTo[abi.Object](handle).TypeIndex != abi.TypeIndex(valueIndex.Load()) {
		return nil, false
	}
	return objects.ValueOfNode(handle), true
}
