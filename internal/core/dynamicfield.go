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

var dynamicFields sync.Map // fieldKey -> *Field, nil if there is none

// FieldOf returns the field of a name of a type or of its ancestors, nil if there
// is none. index must be that of a live object.
func FieldOf(index abi.TypeIndex, name string) *Field {
	key := fieldKey{index, name}
	if f, ok := dynamicFields.Load(key); ok {
		return f.(*Field)
	}
	f := findField(index, name)
	dynamicFields.Store(key, f)
	return f
}

func findField(index abi.TypeIndex, name string) *Field {
	info := capi.InfoOf(index)
	if info == nil {
		return nil
	}
	for depth := info.Depth; ; depth-- {
		if capi.FieldNamed(info, name) != nil {
			return &Field{Owner: &Type{Key: capi.Text(info.Key)}, Name: name}
		}
		if depth == 0 {
			return nil
		}
		info = capi.Ancestor(capi.InfoOf(index), depth-1)
	}
}
