package tvmffi

import (
	"reflect"

	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/codec"
)

// container is implemented by the generic object types. elementTypes returns their type
// arguments, create the function that makes one.
type container interface {
	elementTypes() []reflect.Type
	create() *calls.Func
}

func (*Array[T]) elementTypes() []reflect.Type { return []reflect.Type{reflect.TypeFor[T]()} }
func (*List[T]) elementTypes() []reflect.Type  { return []reflect.Type{reflect.TypeFor[T]()} }
func (*Map[K, V]) elementTypes() []reflect.Type {
	return []reflect.Type{reflect.TypeFor[K](), reflect.TypeFor[V]()}
}
func (*Dict[K, V]) elementTypes() []reflect.Type {
	return []reflect.Type{reflect.TypeFor[K](), reflect.TypeFor[V]()}
}

func (*Array[T]) create() *calls.Func   { return &codec.NewArray }
func (*List[T]) create() *calls.Func    { return &codec.NewList }
func (*Map[K, V]) create() *calls.Func  { return &codec.Maps.Create }
func (*Dict[K, V]) create() *calls.Func { return &codec.Dicts.Create }
