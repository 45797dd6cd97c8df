package core

import (
	"sync"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
)

// fieldKey names a field of a type that is known at run time.
type fieldKey struct {
	index abi.TypeIndex
	name  string
}

var dynamicFields sync.Map // fieldKey -> *Field

// FieldOf returns the field of a name of a type or of its ancestors, nil if there
// is none. index must be that of a live object.
func FieldOf(index abi.TypeIndex, name string) *Field {
	key := fieldKey{index, name}
	if f, ok := dynamicFields.Load(key); ok {
		return f.(*Field)
	}
	f := findField(index, name)
	if f != nil { // a library may add it later
		dynamicFields.Store(key, f)
	}
	return f
}

func findField(index abi.TypeIndex, name string) *Field {
	info := capi.InfoOf(index)
	if info == nil {
		return nil
	}
	for depth := info.Depth; ; depth-- {
		if f := capi.FieldNamed(info, name); f != nil {
			sig, _ := Signature(capi.GoString(f.Metadata)) // with a flaw only the getter reads it
			return &Field{Owner: &Type{Key: capi.GoString(info.Key)}, Name: name, Sig: sig}
		}
		if depth == 0 {
			return nil
		}
		info = capi.Ancestor(capi.InfoOf(index), depth-1)
	}
}
