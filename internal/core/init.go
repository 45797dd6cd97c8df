package core

import (
	"strings"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/registry"
)

// InitName is the attribute, or the method, that makes objects of a type.
const InitName = "__ffi_init__"

// parameter is a field of a type as a parameter of its automatic constructor.
type parameter struct {
	owner, name, metadata string
	info                  abi.FieldInfo
}

// positional reports whether the parameter is required and goes by its place.
func (p *parameter) positional() bool {
	const elsewhere = abi.FieldInitOff | abi.FieldKwOnly | abi.FieldHasDefault | abi.FieldDefaultFromFactory
	return p.info.Flags&elsewhere == 0
}

// parametersOf returns the fields of the whole chain, root first; a field that is declared
// again stands where it was first.
func parametersOf(info *abi.TypeInfo) []parameter {
	var all []parameter
	at := map[string]int{}
	collect := func(info *abi.TypeInfo) {
		for i := range uintptr(info.NumFields) {
			f := capi.PointerTo[abi.FieldInfo](info.Fields + i*unsafe.Sizeof(abi.FieldInfo{}))
			p := parameter{capi.GoString(info.Key), capi.GoString(f.Name), capi.GoString(f.Metadata), *f}
			if i, again := at[p.name]; again {
				all[i] = p
				continue
			}
			at[p.name] = len(all)
			all = append(all, p)
		}
	}
	capi.Registry.Lock()
	defer capi.Registry.Unlock()
	for depth := range info.Depth {
		collect(capi.Ancestor(info, depth))
	}
	collect(info)
	return all
}

// positional is the text of the positional parameters of the automatic constructor of a
// type, such as "(x: int, name: ffi.String)". Keywords and options are left out: they go by
// name, and the library itself refuses one that it does not know.
func positional(info *abi.TypeInfo) (string, error) {
	var list []string
	for _, p := range parametersOf(info) {
		if !p.positional() {
			continue
		}
		sig, err := registry.Signature(p.metadata)
		if err != nil {
			return "", err
		}
		if sig == "" {
			sig = "Any" // as the generator reads a field without a type
		}
		list = append(list, p.name+": "+sig)
	}
	return "(" + strings.Join(list, ", ") + ")", nil
}
