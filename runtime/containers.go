package tvmffi

import "reflect"

// container is implemented by the generic object types. elementTypes returns their type
// arguments.
type container interface{ elementTypes() []reflect.Type }

func (*Array[T]) elementTypes() []reflect.Type { return []reflect.Type{reflect.TypeFor[T]()} }
func (*List[T]) elementTypes() []reflect.Type  { return []reflect.Type{reflect.TypeFor[T]()} }
func (*Map[K, V]) elementTypes() []reflect.Type {
	return []reflect.Type{reflect.TypeFor[K](), reflect.TypeFor[V]()}
}
func (*Dict[K, V]) elementTypes() []reflect.Type {
	return []reflect.Type{reflect.TypeFor[K](), reflect.TypeFor[V]()}
}
