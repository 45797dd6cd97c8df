package registry

import (
	"runtime"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
	"github.com/tvmffi-go/tvmffi/schema"
)

// IndexOfKey returns the index of a registered type.
func IndexOfKey(key string) (abi.TypeIndex, error) {
	name, out := capi.ByteArray(key), new(int32)
	capi.Registry.Lock()
	defer capi.Registry.Unlock()
	_, err := failure.Invoke(capi.API.TypeKeyToIndex, capi.Address(name), capi.Address(out), 0)
	runtime.KeepAlive(out)
	capi.KeepAlive(name, key)
	if err != nil {
		return 0, err
	}
	return abi.TypeIndex(*out), nil
}

// RegisterAttribute gives a type an attribute, forever; v stays with the caller.
func RegisterAttribute(index abi.TypeIndex, name string, v abi.Any) error {
	capi.Registry.Lock()
	defer capi.Registry.Unlock()
	key, value := capi.ByteArray(name), &v
	_, err := failure.Invoke(capi.API.TypeRegisterAttr, uintptr(index), capi.Address(key), capi.Address(value))
	capi.KeepAlive(key, name)
	capi.KeepValue(value)
	return err
}

// GlobalFunction looks a function up in the registry. It returns 0 when there is
// none, otherwise an owned reference.
func GlobalFunction(name string) (uintptr, error) {
	capi.Registry.Lock()
	defer capi.Registry.Unlock()
	key := capi.ByteArray(name)
	out, err := failure.InvokeResult(capi.API.FunctionGetGlobal, capi.Address(key))
	capi.KeepAlive(key, name)
	handle := out.First()
	if handle != 0 {
		ccall.Named(handle, name)
	}
	return handle, err
}

// helper is a function of libtvm_ffi that reads the registry. The Registry guards it.
type helper struct {
	name   string
	handle uintptr
}

// call returns the result of the function, owned.
func (h *helper) call(args ...abi.Any) (abi.Any, error) {
	if h.handle == 0 {
		var err error
		if h.handle, err = GlobalFunction(h.name); err != nil {
			return abi.Any{}, err
		}
		if h.handle == 0 {
			return abi.Any{}, failure.Errorf(failure.KindAttr, "%s: libtvm_ffi has no such global function", h.name)
		}
	}
	return failure.Apply(h.handle, args)
}

// MetadataFunction is the name of the function that GlobalMetadata calls.
const MetadataFunction = "ffi.GetGlobalFuncMetadata"

var (
	getMetadata = helper{name: MetadataFunction}
	listGlobals = helper{name: "ffi.FunctionListGlobalNamesFunctor"}
)

// GlobalMetadata returns the metadata of a global function, which must exist: a JSON
// text, "" if it was registered without one.
func GlobalMetadata(name string) (string, error) {
	capi.Registry.Lock()
	defer capi.Registry.Unlock()
	text, err := values.NewString(name)
	if err != nil {
		return "", err
	}
	defer objects.ReleaseValue(text)
	v, err := getMetadata.call(text)
	if err != nil {
		return "", err
	}
	defer objects.ReleaseValue(v)
	metadata, _ := capi.StringOf(v)
	return metadata, nil
}

// GlobalFunctions returns the names of all global functions.
func GlobalFunctions() ([]string, error) {
	capi.Registry.Lock()
	defer capi.Registry.Unlock()
	functor, err := listGlobals.call()
	if err != nil {
		return nil, err
	}
	defer objects.ReleaseValue(functor)
	at := func(i int64) (abi.Any, error) {
		return failure.Apply(uintptr(functor.Bits), []abi.Any{{TypeIndex: abi.TypeInt, Bits: uint64(i)}})
	}
	count, err := at(-1) // asks for the number
	if err != nil {
		return nil, err
	}
	names := make([]string, count.Bits)
	for i := range names {
		v, err := at(int64(i))
		if err != nil {
			return nil, err
		}
		names[i], _ = capi.StringOf(v)
		objects.ReleaseValue(v)
	}
	return names, nil
}

// Signature makes the text that generated code holds of the type schema in metadata;
// it is empty when there is none.
func Signature(metadata string) (string, error) {
	m, err := schema.ParseMetadata(metadata)
	if err != nil || !m.HasType {
		return "", err
	}
	return m.Type.String(), nil
}
