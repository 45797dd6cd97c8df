package objects

import "unsafe"

// Ref is a pointer to an object type of package tvmffi or above.
type Ref interface{ TVMFFIObject() *Object }

// StateOf returns the state behind x, or nil for a nil interface and a nil pointer.
func StateOf(x Ref) *Object {
	// The word of an interface that holds a pointer is the pointer; promoted
	// methods cannot be called on a nil one.
	if (*[2]unsafe.Pointer)(unsafe.Pointer(&x))[1] == nil {
		return nil
	}
	return x.TVMFFIObject()
}
