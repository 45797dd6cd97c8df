package codec

import (
	"sync"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// The library takes values apart by recursion on the C stack in structural
// comparison, walks and serialization. A value that contains itself, or is nested
// some thousand levels deep, would end the process there; it is refused here.

// bounded returns an error for a value that the library must not take apart.
func Bounded(v abi.Any) (err error) {
	defer Catch(&err)
	var b Bounder
	_, err = b.Visit(v, 0)
	return err
}

// packBounded is pack for a value that the library takes apart.
func (o *Operands) PackBounded(x any) (abi.Any, error) {
	v, err := o.Pack(x)
	if err == nil {
		err = Bounded(v)
	}
	return v, err
}

// bounder measures how deep a value is nested, each shared object once.
type Bounder struct {
	// heights holds what is known of objects with more than one reference; on those
	// that are being visited it is onPath. An object with one reference has one
	// parent, so it is not met again.
	heights map[uintptr]int
	// cycle is the type of an object that contains itself, once one was met.
	Cycle abi.TypeIndex
}

const OnPath = -1

// visit returns the height of v, which has depth levels around it.
func (b *Bounder) Visit(v abi.Any, depth int) (int, error) {
	if !TakesApart(v) {
		return 0, nil
	}
	if depth >= MaxDepth {
		return 0, failure.Errorf(failure.KindValue, "the value is nested deeper than %d levels", MaxDepth)
	}
	handle := uintptr(v.Bits)
	shared := objects.Strong(handle) > 1
	if shared {
		height, known := b.heights[handle]
		switch {
		case known && height == OnPath:
			b.Cycle = v.TypeIndex
			return 0, failure.Errorf(failure.KindValue, "the value contains itself, in %s", capi.KeyOf(v.TypeIndex))
		case known && depth+height > MaxDepth:
			return 0, failure.Errorf(failure.KindValue, "the value is nested deeper than %d levels", MaxDepth)
		case known:
			return height, nil
		}
		if b.heights == nil {
			b.heights = map[uintptr]int{}
		}
		b.heights[handle] = OnPath
	}
	height := 0
	err := children(v, func(child abi.Any) error {
		h, err := b.Visit(child, depth+1)
		height = max(height, h)
		return err
	})
	if shared {
		b.heights[handle] = height + 1
	}
	return height + 1, err
}

// takesApart reports whether v is an object that may hold others.
func TakesApart(v abi.Any) bool {
	switch v.TypeIndex {
	case abi.TypeStr, abi.TypeBytes, abi.TypeError, abi.TypeFunction, abi.TypeShape, abi.TypeTensor, abi.TypeModule, abi.TypeBigInt, abi.TypeOpaquePyObject:
		return false
	}
	return v.TypeIndex.IsObject() && v.Bits != 0
}

// children calls each with the borrowed elements, keys and values, or fields of an
// object. It panics as the readers of maps do.
func children(v abi.Any, each func(abi.Any) error) (err error) {
	switch v.TypeIndex {
	case abi.TypeArray, abi.TypeList:
		all, _ := Sequence(v, "")
		for _, x := range all {
			if TakesApart(x) {
				if err := each(x); err != nil {
					return err
				}
			}
		}
		return nil
	case abi.TypeMap, abi.TypeDict:
		ReadEntries(v, func(k, x abi.Any) bool {
			if err = each(k); err == nil {
				err = each(x)
			}
			return err == nil
		})
		return err
	}
	fields := FieldsOf(v.TypeIndex)
	for i := range fields {
		if !fields[i].MayNest() {
			continue
		}
		x, owned := Peek(&fields[i], uintptr(v.Bits))
		err := each(x)
		if owned {
			Release(x)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readEntries calls each with the borrowed entries of a borrowed Map or Dict, until
// it returns false.
func ReadEntries(v abi.Any, each func(k, x abi.Any) bool) {
	kind := &Maps
	if v.TypeIndex == abi.TypeDict {
		kind = &Dicts
	}
	kind.Read(objects.Static(uintptr(v.Bits)), func(e *abi.MapEntry, _ int) bool { return each(e.Key, e.Value) })
}

// fieldList holds the readers of the fields of a type. A library may add some as
// long as it is being loaded.
type fieldList struct {
	readers []core.FieldReader
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

// FieldsOf returns the readers of the fields of a type, those of its ancestors
// first. index must be that of a live object.
func FieldsOf(index abi.TypeIndex) []core.FieldReader {
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
			sig, _ := core.Signature(capi.Text(entries[i].Metadata)) // with a flaw only the getter reads it
			l.readers = append(l.readers, core.NewFieldReader(&entries[i], sig))
		}
	}
	fieldLists.Store(index, l)
	return l.readers
}

// Peek reads a field as its reader does, but panics if the getter fails.
func Peek(r *core.FieldReader, handle uintptr) (v abi.Any, owned bool) {
	v, owned, err := r.Peek(handle)
	if err != nil {
		panic(err)
	}
	return v, owned
}
