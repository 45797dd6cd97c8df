package registry

import (
	"runtime"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// Method is a method of a type, or a global function, with its docs.
type Method struct {
	Name, Doc, Metadata string
	Static              bool
	Function            *objects.Object
}

// maxName is the longest name that a schema accepts, so that tools can show what was
// registered and bind it.
const maxName = 4096

// CheckName refuses the name of what, such as "the name of a global function", if tools
// and other languages could not show or write it.
func CheckName(what, name string) error {
	switch {
	case name == "":
		return failure.Errorf(failure.KindValue, "%s is empty", what)
	case len(name) > maxName:
		return failure.Errorf(failure.KindValue, "%s, which begins with %q, has %d bytes: the limit is %d", what, name[:32], len(name), maxName)
	case !utf8.ValidString(name):
		return failure.Errorf(failure.KindValue, "%s is %q, which is not valid UTF-8", what, name)
	case strings.ContainsFunc(name, unicode.IsControl):
		return failure.Errorf(failure.KindValue, "%s is %q: a name must not hold control characters, such as a line break", what, name)
	}
	return nil
}

// SetGlobalMethod enters a global function with its doc comment and metadata.
func SetGlobalMethod(m *Method, override bool) error {
	capi.Registry.Lock()
	defer capi.Registry.Unlock()
	flag := uintptr(1)
	if !override {
		flag = 0
		if err := Taken(m.Name); err != nil {
			return failure.Explain(err, "Global Function `%s` is already registered: choose another name, or give the option Override", m.Name)
		}
	}
	return withMethodInfo(m, func(info uintptr) error {
		_, err := failure.Invoke(capi.API.FunctionSetGlobalFromMethodInfo, info, flag, 0)
		return err
	})
}

// Taken returns the error of the library for a global function that exists, and nil if there
// is none. The call for a function with docs gives that error too, but prints it first.
func Taken(name string) error {
	capi.Registry.Lock()
	defer capi.Registry.Unlock()
	there, err := GlobalFunction(name)
	if err != nil || there == 0 {
		return err
	}
	defer objects.DecRef(there)
	key := capi.ByteArray(name)
	_, err = failure.Invoke(capi.API.FunctionSetGlobal, capi.Address(key), there, 0)
	capi.KeepAlive(key, name)
	return err
}

func withMethodInfo(m *Method, use func(info uintptr) error) error {
	name, doc, metadata := capi.ByteArray(m.Name), capi.ByteArray(m.Doc), capi.ByteArray(m.Metadata)
	info := &abi.MethodInfo{Name: *name, Doc: *doc, Metadata: *metadata, Method: abi.Any{TypeIndex: abi.TypeFunction, Bits: uint64(m.Function.Handle())}}
	if m.Static {
		info.Flags = abi.FieldIsStaticMethod
	}
	err := use(capi.Address(info))
	runtime.KeepAlive(info)
	capi.KeepAlive(name, m.Name)
	capi.KeepAlive(doc, m.Doc)
	capi.KeepAlive(metadata, m.Metadata)
	m.Function.KeepAlive()
	return err
}

// RegisterMethod enters a method of a type, forever.
func RegisterMethod(index abi.TypeIndex, m *Method) error {
	return withMethodInfo(m, func(info uintptr) error {
		_, err := failure.Invoke(capi.API.TypeRegisterMethod, uintptr(index), info, 0)
		return err
	})
}
