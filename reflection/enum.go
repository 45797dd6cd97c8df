package reflection

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// The attributes of enums before 0.1.14.
const (
	attrEnumEntries = "__ffi_enum_entries__"
	attrEnumAttrs   = "__ffi_enum_attrs__"
)

// Enum has the entries of an enum type: a snapshot, because libraries may add some.
type Enum struct {
	owner   *Type
	entries []*EnumEntry
}

// EnumEntry is an entry of an enum.
type EnumEntry struct {
	// Index and Name identify the entry in its enum.
	Index int64
	Name  string
	// Object is the entry itself. It lives as long as the process: Release does
	// nothing.
	Object *tvmffi.Object

	owner *Type
}

// enumObjects holds one reference to each entry that was seen, forever.
var enumObjects sync.Map // uintptr -> *tvmffi.Object

func enumObject(x *tvmffi.Object) *tvmffi.Object {
	defer x.Release()
	handle := stateOf(x).Handle()
	if o, ok := enumObjects.Load(handle); ok {
		return o.(*tvmffi.Object)
	}
	objects.IncRef(handle)
	o, again := enumObjects.LoadOrStore(handle, wrap(objects.Static(handle)))
	if again {
		objects.DecRef(handle)
	}
	return o.(*tvmffi.Object)
}

// enumState returns the object with the state of an enum.
func (t *Type) enumState(name string) (*tvmffi.Object, bool) {
	v, ok := capi.TypeAttribute(t.info.TypeIndex, name) // the registry keeps it
	if !ok || !v.TypeIndex.IsObject() {
		return nil, false
	}
	return wrap(objects.Static(uintptr(v.Bits))), true
}

// Enum returns the entries of an enum type, in the order of their registration.
// The error is of kind ErrType if the type is not an enum, as in all libraries
// before 0.1.12.
func (t *Type) Enum() (*Enum, error) {
	e := &Enum{owner: t}
	if state, ok := t.enumState(AttrEnum); ok {
		list, err := Get[*tvmffi.List[*tvmffi.Object]](state, "entries")
		if err != nil {
			return nil, err
		}
		defer list.Release()
		objects, err := list.Slice()
		if err != nil {
			return nil, err
		}
		for _, x := range objects {
			if err := e.add(x, "_int_index", "_str_index"); err != nil {
				return nil, err
			}
		}
		return e, nil
	}
	state, ok := t.enumState(attrEnumEntries)
	if !ok {
		return nil, errorf(failure.KindType, "%s is not an enum", t.key)
	}
	table, ok := tvmffi.Cast[*tvmffi.Dict[string, *tvmffi.Object]](state)
	if !ok {
		return nil, errorf(failure.KindType, "%s of %s is %s", attrEnumEntries, t.key, tvmffi.TypeKey(state))
	}
	objects, err := table.Map()
	if err != nil {
		return nil, err
	}
	for _, x := range objects {
		if err := e.add(x, "_value", "_name"); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(e.entries, func(a, b *EnumEntry) int { return cmp.Compare(a.Index, b.Index) })
	return e, nil
}

// add adds an entry by the fields that hold its index and its name.
func (e *Enum) add(x *tvmffi.Object, index, name string) (err error) {
	entry := &EnumEntry{Object: enumObject(x), owner: e.owner}
	if entry.Index, err = Get[int64](entry.Object, index); err == nil {
		entry.Name, err = Get[string](entry.Object, name)
	}
	e.entries = append(e.entries, entry)
	return err
}

// Type returns the type of the enum.
func (e *Enum) Type() *Type { return e.owner }

// Len returns the number of entries.
func (e *Enum) Len() int { return len(e.entries) }

// All ranges over the entries in the order of their registration.
func (e *Enum) All() iter.Seq[*EnumEntry] { return slices.Values(e.entries) }

// ByIndex returns the entry with an index. The error is of kind ErrValue if there
// is none.
func (e *Enum) ByIndex(index int64) (*EnumEntry, error) {
	return e.find(fmt.Sprintf("index %d", index), func(x *EnumEntry) bool { return x.Index == index })
}

// ByName returns the entry with a name. The error is of kind ErrValue if there is
// none.
func (e *Enum) ByName(name string) (*EnumEntry, error) {
	return e.find("name "+name, func(x *EnumEntry) bool { return x.Name == name })
}

func (e *Enum) find(what string, is func(*EnumEntry) bool) (*EnumEntry, error) {
	if i := slices.IndexFunc(e.entries, is); i >= 0 {
		return e.entries[i], nil
	}
	return nil, errorf(failure.KindValue, "Enum `%s` has no instance with %s", e.owner.key, what)
}

// String returns the type key and the name of the entry.
func (x *EnumEntry) String() string { return x.owner.key + "." + x.Name }

// Payload returns the entry's value: its index as an int64 in an ffi.IntEnum, its name in
// an ffi.StrEnum, otherwise nil.
func (x *EnumEntry) Payload() any {
	for t := x.owner; t != nil; t = t.parent {
		switch t.key {
		case "ffi.IntEnum":
			return x.Index
		case "ffi.StrEnum":
			return x.Name
		}
	}
	return nil
}

// Attr returns the entry's value of an attribute of its enum, and whether it has one.
func (x *EnumEntry) Attr(name string) (tvmffi.Any, bool) {
	if state, ok := x.owner.enumState(AttrEnum); ok {
		attrs, err := Get[*tvmffi.Dict[string, *tvmffi.Object]](state, "attrs")
		if err != nil {
			return tvmffi.Any{}, false
		}
		defer attrs.Release()
		column, ok := attrs.Get(name)
		if !ok {
			return tvmffi.Any{}, false
		}
		defer column.Release()
		values, ok := tvmffi.Cast[*tvmffi.Dict[*tvmffi.Object, tvmffi.Any]](column)
		if !ok {
			return tvmffi.Any{}, false
		}
		return values.Get(x.Object)
	}
	state, ok := x.owner.enumState(attrEnumAttrs)
	if !ok {
		return tvmffi.Any{}, false
	}
	attrs, ok := tvmffi.Cast[*tvmffi.Dict[string, *tvmffi.List[tvmffi.Any]]](state)
	if !ok {
		return tvmffi.Any{}, false
	}
	column, ok := attrs.Get(name)
	if !ok {
		return tvmffi.Any{}, false
	}
	defer column.Release()
	elements := capi.Elements(stateOf(column).Handle())
	if x.Index < 0 || x.Index >= int64(len(elements)) || elements[x.Index].TypeIndex == abi.TypeNone {
		return tvmffi.Any{}, false
	}
	return column.At(int(x.Index)), true
}
