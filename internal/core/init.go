package core

import (
	"strings"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
)

// positional is the text of the positional parameters of the automatic
// constructor of a type, such as "(x: int, name: ffi.String)". They follow from the
// fields of the whole chain, root first; a field that is declared again stands
// where it was first. Keywords and options are left out: they go by name, and the
// library itself refuses one that it does not know.
func positional(info *abi.TypeInfo) (string, error) {
	type parameter struct {
		name, metadata string
		flags          int64
	}
	var all []parameter
	at := map[string]int{}
	collect := func(info *abi.TypeInfo) {
		for i := range uintptr(info.NumFields) {
			f := capi.PointerTo[abi.FieldInfo](info.Fields + i*unsafe.Sizeof(abi.FieldInfo{}))
			p := parameter{capi.GoString(f.Name), capi.GoString(f.Metadata), f.Flags}
			if i, again := at[p.name]; again {
				all[i] = p
				continue
			}
			at[p.name] = len(all)
			all = append(all, p)
		}
	}
	capi.Registry.Lock()
	for depth := range info.Depth {
		collect(capi.Ancestor(info, depth))
	}
	collect(info)
	capi.Registry.Unlock()

	const elsewhere = abi.FieldInitOff | abi.FieldKwOnly | abi.FieldHasDefault | abi.FieldDefaultFromFactory
	var list []string
	for _, p := range all {
		if p.flags&elsewhere != 0 {
			continue
		}
		sig, err := Signature(p.metadata)
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
