package objects

// NoCopy makes go vet report copies of a struct that has a field of this type.
type NoCopy struct{}

// Lock does nothing: vet takes a type with this method for a lock.
func (*NoCopy) Lock() {}

// Unlock does nothing.
func (*NoCopy) Unlock() {}
