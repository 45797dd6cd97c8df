package objects

import "github.com/tvmffi-go/tvmffi/internal/abi"

// Value is the record behind an Any of package tvmffi, which has the same layout. It holds
// a scalar inline, a copy of a string, or an object.
type Value struct {
	Index  abi.TypeIndex
	Bits   uint64
	Str    string // of strings and bytes
	Object *Object
}
