package codec

import (
	"sync"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/registry"
)

// HasParts reports whether v is an object other than a string or bytes.
func HasParts(v abi.Any) bool {
	return v.TypeIndex.IsObject() && crossing.ClassOf(v.TypeIndex) >= crossing.Leaf && v.Bits != 0
}

// MayNest reports whether v is an object that may hold others. Most values are not objects, and are found out first.
func MayNest(v abi.Any) bool {
	return v.TypeIndex.IsObject() && crossing.ClassOf(v.TypeIndex) >= crossing.Sequence && v.Bits != 0
}

// Part is an element, an entry or a field of an object.
type Part struct {
	Kind partKind
	// Index counts the parts of the object from 0.
	Index int
	// Field is the field, nil for elements and entries.
	Field *fields.Reader
	// Key is the key of an entry, Value the value of the part. Both are borrowed.
	Key, Value abi.Any
}

// partKind is the kind of a [Part].
type partKind int

// The kinds of parts.
const (
	// PartElement is an element of a sequence.
	PartElement partKind = iota
	// PartEntry is an entry of a mapping.
	PartEntry
	// PartField is a field whose value lies in the object.
	PartField
	// PartMade is a field whose value the getter made. It is released after the step.
	PartMade
)

// Elements returns the elements of a borrowed sequence, and reports whether v is one.
// [Parts] goes through them, too; a loop over elements alone saves its two calls for each,
// a tenth of the time of a JSON graph of small arrays.
func Elements(v abi.Any) ([]abi.Any, bool) {
	if crossing.ClassOf(v.TypeIndex) != crossing.Sequence {
		return nil, false
	}
	return capi.Elements(uintptr(v.Bits)), true
}

// Parts calls yield with the parts of a borrowed object in their order, until it
// returns false: elements of a sequence, entries of a mapping, otherwise
// fields. It panics if a getter fails, or if the library cannot read a map.
func Parts(v abi.Any, yield func(Part) bool) { parts(v, false, yield) }

// parts is Parts. If nesting is set it leaves out elements that hold no others, and
// fields that never do, without reading them.
func parts(v abi.Any, nesting bool, yield func(Part) bool) {
	handle := uintptr(v.Bits)
	switch crossing.ClassOf(v.TypeIndex) {
	case crossing.Sequence:
		for i, x := range capi.Elements(handle) {
			if nesting && !MayNest(x) {
				continue
			}
			if !yield(Part{Kind: PartElement, Index: i, Value: x}) {
				return
			}
		}
	case crossing.Mapping:
		i := 0
		ReadEntries(v, func(k, x abi.Any) bool {
			i++
			return yield(Part{Kind: PartEntry, Index: i - 1, Key: k, Value: x})
		})
	default:
		fields := FieldsOf(v.TypeIndex)
		for i := range fields {
			if nesting && !fields[i].MayNest() {
				continue
			}
			x, owned, err := fields[i].Peek(handle)
			if err != nil {
				panic(err)
			}
			p := Part{Kind: PartField, Index: i, Field: &fields[i], Value: x}
			if owned {
				p.Kind = PartMade
			}
			more := yield(p)
			if owned {
				Release(x)
			}
			if !more {
				return
			}
		}
	}
}

// ReadEntries calls each with the borrowed entries of a borrowed mapping, until
// it returns false.
func ReadEntries(v abi.Any, each func(k, x abi.Any) bool) {
	MapKindOf(v.TypeIndex).Read(objects.Static(uintptr(v.Bits)), func(e *abi.MapEntry, _ int) bool { return each(e.Key, e.Value) })
}

// fieldList holds the readers of the fields of a type. A library may add some as
// long as it is being loaded.
type fieldList struct {
	readers []fields.Reader
	info    *abi.TypeInfo
	count   int32
}

var fieldLists sync.Map // abi.TypeIndex -> *fieldList

// countFields returns the number of fields of a type with its ancestors.
func countFields(info *abi.TypeInfo) int32 {
	n := info.NumFields
	for depth := range info.Depth {
		n += capi.Ancestor(info, depth).NumFields
	}
	return n
}

// FieldsOf returns the readers of the fields of a type, its ancestors' fields first.
// index must belong to a live object.
func FieldsOf(index abi.TypeIndex) []fields.Reader {
	if l, ok := fieldLists.Load(index); ok {
		if l := l.(*fieldList); l.count == countFields(l.info) {
			return l.readers
		}
	}
	info := capi.InfoOf(index)
	if info == nil {
		return nil
	}
	l := &fieldList{info: info}
	for depth := range info.Depth + 1 {
		owner := info
		if depth < info.Depth {
			owner = capi.Ancestor(info, depth)
		}
		entries := capi.FieldsOf(owner)
		l.count += int32(len(entries))
		for i := range entries {
			sig, _ := registry.Signature(capi.GoString(entries[i].Metadata)) // with a flaw only the getter reads it
			l.readers = append(l.readers, fields.NewReader(&entries[i], sig))
		}
	}
	fieldLists.Store(index, l)
	return l.readers
}
