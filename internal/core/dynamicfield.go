package core

import (
	"sync"

	"github.com/tvmffi-go/tvmffi/internal/abi"
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
	info := InfoOf(index)
	if info == nil {
		return nil
	}
	for depth := info.Depth; ; depth-- {
		if fieldNamed(info, name) != nil {
			return &Field{Owner: &Type{Key: Text(info.Key)}, Name: name}
		}
		if depth == 0 {
			return nil
		}
		info = Ancestor(InfoOf(index), depth-1)
	}
}
