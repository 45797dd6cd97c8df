package reflection

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/nearest"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/registry"
	"github.com/tvmffi-go/tvmffi/runtime/structural"
	"github.com/tvmffi-go/tvmffi/schema"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Type is a registered type. There is one *Type for each, so that two of them can
// be compared by ==. It may be used from any goroutine and lives as long as the
// process.
type Type struct {
	info    *abi.TypeInfo
	key     string
	parent  *Type
	members atomic.Pointer[members]
}

// types holds the known types by index. It is replaced when one is added.
var (
	types   atomic.Pointer[[]*Type]
	typesMu sync.Mutex
)

// known returns the type of an index, nil if it has not been seen yet.
func known(index int) *Type {
	if table := types.Load(); table != nil && index >= 0 && index < len(*table) {
		return (*table)[index]
	}
	return nil
}

func stateOf(x tvmffi.ObjectRef) *objects.Object { return objects.StateOf(x) }

func wrap(o *objects.Object) *tvmffi.Object { return codec.Wrap[*tvmffi.Object](o) }

func takeAny(v abi.Any) tvmffi.Any { return codec.TakeAnyAs[tvmffi.Any](v) }

func lendAny(v abi.Any, from objects.Reading) tvmffi.Any { return codec.ShowAny[tvmffi.Any](v, from) }

// eachEntry calls each with the entries of a Map or Dict and the handles of those
// that are objects, borrowed, until it returns false.
func eachEntry(o *objects.Object, each func(key, value tvmffi.Any, keyHandle, valueHandle uintptr) bool) (err error) {
	defer codec.Catch(&err)
	handle := func(v abi.Any) uintptr {
		if codec.HasParts(v) {
			return uintptr(v.Bits)
		}
		return 0
	}
	var loan objects.BorrowScope
	defer loan.End()
	from := objects.ReadBorrowed(&loan)
	codec.ReadEntries(abi.Any{TypeIndex: o.TypeIndex(), Bits: uint64(o.Handle())}, func(k, x abi.Any) bool {
		on := each(lendAny(k, from), lendAny(x, from), handle(k), handle(x))
		loan.End()
		return on
	})
	return err
}

func errorf(kind, format string, args ...any) error { return failure.Errorf(kind, format, args...) }

// typeOf returns the type of an index that is registered.
func typeOf(index abi.TypeIndex) *Type {
	if t := known(int(index)); t != nil {
		return t
	}
	info := capi.InfoOf(index)
	if info == nil {
		return nil
	}
	t := &Type{info: info, key: capi.GoString(info.Key)}
	if info.Depth > 0 {
		t.parent = typeOf(capi.Ancestor(info, info.Depth-1).TypeIndex)
	}
	typesMu.Lock()
	defer typesMu.Unlock()
	if other := known(int(index)); other != nil {
		return other
	}
	var table []*Type
	if old := types.Load(); old != nil {
		table = *old
	}
	table = append(slices.Clone(table), make([]*Type, max(0, int(index)+1-len(table)))...)
	table[index] = t
	types.Store(&table)
	return t
}

// TypeOf returns the dynamic type of x; nil for nil and for a released object.
func TypeOf(x tvmffi.ObjectRef) *Type {
	o := stateOf(x)
	if o.Handle() == 0 {
		return nil
	}
	return typeOf(o.TypeIndex())
}

// TypeByKey returns the type with the given key, such as "garden.Rose". The error is
// of kind ErrInternal, as in the library, if nothing has registered the key.
func TypeByKey(key string) (*Type, error) {
	if err := tvmffi.Load(); err != nil {
		return nil, err
	}
	index, err := registry.IndexOfKey(key)
	if err != nil {
		known, _ := tvmffi.TypeKeys() // without them there is no hint
		return nil, failure.Explain(err, "there is no type %s: load the library that registers it first%s", key, nearest.Question(key, known))
	}
	return typeOf(index), nil
}

// TypeByIndex returns the type with the given run-time index. The error is of kind
// ErrIndex if no type has it.
func TypeByIndex(index int) (*Type, error) {
	if err := tvmffi.Load(); err != nil {
		return nil, err
	}
	// The library ends the process when it is asked for an unknown index.
	if t := known(index); t != nil {
		return t, nil
	}
	all, err := Types()
	if err != nil {
		return nil, err
	}
	for t := range all {
		if t.Index() == index {
			return t, nil
		}
	}
	return nil, errorf(failure.KindIndex, "there is no type with the index %d", index)
}

// Types ranges over all registered types by index, so parents come before types derived
// from them. It includes the types of values that are not objects, such as int.
func Types() (iter.Seq[*Type], error) {
	keys, err := tvmffi.TypeKeys()
	if err != nil {
		return nil, err
	}
	all := make([]*Type, 0, len(keys))
	for _, key := range keys {
		index, err := registry.IndexOfKey(key)
		if err != nil {
			return nil, err
		}
		if t := typeOf(index); t != nil {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *Type) int { return cmp.Compare(a.Index(), b.Index()) })
	return slices.Values(all), nil
}

// String returns the key of the type.
func (t *Type) String() string { return t.Key() }

// Key returns the key of the type, such as "garden.Rose"; "None" for nil.
func (t *Type) Key() string {
	if t == nil {
		return "None"
	}
	return t.key
}

// Index returns the index of the type in this process. Libraries that are loaded
// in another order give their types other indices.
func (t *Type) Index() int { return int(t.info.TypeIndex) }

// Depth returns the number of ancestors.
func (t *Type) Depth() int { return int(t.info.Depth) }

// Parent returns the type from which t is derived; nil for ffi.Object and for the
// types of values that are not objects.
func (t *Type) Parent() *Type { return t.parent }

// Ancestors returns the types from which t is derived, the root first.
func (t *Type) Ancestors() []*Type {
	all := make([]*Type, t.Depth())
	for i, u := len(all)-1, t.parent; u != nil; i, u = i-1, u.parent {
		all[i] = u
	}
	return all
}

// IsA reports whether t is u or derived from it, so that an object of type t may be used
// as a u.
func (t *Type) IsA(u *Type) bool {
	if t == nil || u == nil {
		return false
	}
	return t == u || t.Depth() > u.Depth() && capi.Ancestor(t.info, u.info.Depth).TypeIndex == u.info.TypeIndex
}

// Subtypes ranges over the types that are derived from t, directly or not,
// parents first.
func (t *Type) Subtypes() iter.Seq[*Type] {
	return func(yield func(*Type) bool) {
		all, err := Types()
		if err != nil {
			panic(err)
		}
		for u := range all {
			if u != t && u.IsA(t) && !yield(u) {
				return
			}
		}
	}
}

// IsObject reports whether values of the type are objects.
func (t *Type) IsObject() bool { return t.info.TypeIndex.IsObject() }

// metadata is a type's registered data beside its members.
func (t *Type) metadata() abi.TypeMetadata {
	if t.info.Metadata == 0 {
		return abi.TypeMetadata{}
	}
	return *capi.PointerTo[abi.TypeMetadata](t.info.Metadata)
}

// Doc returns the documentation of the type.
func (t *Type) Doc() string { return capi.GoString(t.metadata().Doc) }

// Size returns the size of an object in bytes with its header of 24; 0 if it is unknown.
func (t *Type) Size() int { return int(t.metadata().TotalSize) }

// Structural returns how structural equality treats objects of the type.
func (t *Type) Structural() structural.Kind {
	return structural.Kind(t.metadata().StructuralEqHashKind)
}

// members are the fields and methods of a type and of its ancestors.
type members struct {
	counts  []int32 // of fields and methods of the type and its ancestors, to see additions
	own     int     // the index of the first field that the type itself has
	fields  []*Field
	byName  map[string]*Field
	methods []*Method
	method  map[string]*Method

	constructor atomic.Pointer[Constructor] // once it was found
}

// load returns the members of t. A library may add some while it is being loaded.
func (t *Type) load() *members {
	if m := t.members.Load(); m != nil && !t.grown(m.counts) {
		return m
	}
	capi.Registry.Lock()
	defer capi.Registry.Unlock()
	m := &members{byName: map[string]*Field{}, method: map[string]*Method{}}
	if t.parent != nil {
		from := t.parent.load()
		m.counts = append(m.counts, from.counts...)
		m.fields = append(m.fields, from.fields...)
		m.methods = append(m.methods, from.methods...)
		for _, f := range from.fields {
			m.byName[f.name] = f
		}
		for _, f := range from.methods {
			m.method[f.name] = f
		}
	}
	m.own = len(m.fields)
	m.counts = append(m.counts, t.info.NumFields, t.info.NumMethods)
	for _, info := range capi.FieldsOf(t.info) {
		f := newField(t, info)
		m.byName[f.name] = f
		m.fields = append(m.fields, f)
	}
	for _, info := range capi.MethodsOf(t.info) {
		f := newMethod(t, info)
		over := m.method[f.name]
		switch {
		case over == nil:
			m.methods = append(m.methods, f)
		case over.owner == t: // an overload; the first is the one that a look-up finds
			m.methods = append(m.methods, f)
			continue
		default:
			m.methods[slices.Index(m.methods, over)] = f
			m.methods = slices.DeleteFunc(m.methods, func(x *Method) bool { return x.name == f.name && x.owner != t })
		}
		m.method[f.name] = f
	}
	t.members.Store(m)
	return m
}

// grown reports whether the numbers of fields and methods differ from counts.
func (t *Type) grown(counts []int32) bool {
	for u := t; u != nil; u = u.parent {
		n := len(counts)
		if n < 2 || counts[n-2] != u.info.NumFields || counts[n-1] != u.info.NumMethods {
			return true
		}
		counts = counts[:n-2]
	}
	return false
}

// Fields returns the fields of the type and of its ancestors, the root's first.
func (t *Type) Fields() []*Field { return slices.Clone(t.load().fields) }

// OwnFields returns the fields that the type adds to its parent's.
func (t *Type) OwnFields() []*Field {
	m := t.load()
	return slices.Clone(m.fields[m.own:])
}

// FieldByName returns the field with the given name, of the type or of an ancestor.
// The error is of kind ErrAttribute if there is none.
func (t *Type) FieldByName(name string) (*Field, error) {
	if t == nil {
		return nil, errorf(failure.KindType, "field %s: the object is nil or was released", name)
	}
	fields := t.load().byName
	f, ok := fields[name]
	if !ok {
		return nil, errorf(failure.KindAttr, "%s has no field %s%s", t.key, name, nearest.Question(name, slices.Collect(maps.Keys(fields))))
	}
	return f, nil
}

// Methods returns the methods of the type and of its ancestors, including static ones. A
// method that the type redefines replaces the inherited ones of its name. Overloads have one name,
// and a call of any of them goes to the one that fits the arguments, if the library made them by
// OverloadObjectDef.
func (t *Type) Methods() []*Method { return slices.Clone(t.load().methods) }

// OwnMethods returns the methods that the type itself defines.
func (t *Type) OwnMethods() []*Method {
	var own []*Method
	for _, m := range t.load().methods {
		if m.owner == t {
			own = append(own, m)
		}
	}
	return own
}

// MethodByName returns the method with the given name, of the type or of an
// ancestor. The error is of kind ErrAttribute if there is none.
func (t *Type) MethodByName(name string) (*Method, error) {
	if t == nil {
		return nil, errorf(failure.KindType, "method %s: the object is nil or was released", name)
	}
	methods := t.load().method
	m, ok := methods[name]
	if !ok {
		return nil, errorf(failure.KindAttr, "%s has no method %s%s", t.key, name, nearest.Question(name, slices.Collect(maps.Keys(methods))))
	}
	return m, nil
}

// Method is a method of a type.
type Method struct {
	owner *Type
	name  string
	info  abi.MethodInfo
	meta  schema.Metadata
	// function is what Func returns. It remembers whether its calls are brief.
	function atomic.Pointer[tvmffi.Function]
}

func newMethod(owner *Type, info abi.MethodInfo) *Method {
	m := &Method{owner: owner, name: capi.GoString(info.Name), info: info}
	m.meta, _ = schema.ParseMetadata(capi.GoString(info.Metadata)) // a flaw makes it a packed one
	return m
}

// String returns the type key and the name of the method.
func (m *Method) String() string { return m.owner.key + "." + m.name }

// Name returns the name of the method.
func (m *Method) Name() string { return m.name }

// Owner returns the type that defines the method.
func (m *Method) Owner() *Type { return m.owner }

// Doc returns the documentation of the method.
func (m *Method) Doc() string { return capi.GoString(m.info.Doc) }

// Static reports whether the method takes no object.
func (m *Method) Static() bool { return m.info.Flags&abi.FieldIsStaticMethod != 0 }

// Signature returns the types of the parameters, the object first if the method
// is not static, and of the result; nil for a packed method.
func (m *Method) Signature() *schema.Signature { return m.meta.Type.Func }

// Metadata returns the library's metadata of the method except its type: values are bool,
// int64, float64 or string.
func (m *Method) Metadata() map[string]any { return m.meta.Extra }

// Func returns the method as a function, whose first argument is the object if
// the method is not static. It is the same Function at each call, and stays: Release of it does nothing. If the metadata of
// the method has a bool brief, that decides whether its calls are light: docs/LIGHT.md explains it.
func (m *Method) Func() (*tvmffi.Function, error) {
	if m.info.Method.TypeIndex != abi.TypeFunction {
		return nil, errorf(failure.KindType, "%s is not a function, but %s", m, capi.KeyOf(m.info.Method.TypeIndex))
	}
	if f := m.function.Load(); f != nil {
		return f, nil
	}
	o := objects.Static(uintptr(m.info.Method.Bits))
	if brief, ok := m.meta.Extra["brief"].(bool); ok {
		o.Way().Say(brief)
	}
	f, _ := tvmffi.Cast[*tvmffi.Function](wrap(o))
	m.function.CompareAndSwap(nil, f)
	return m.function.Load(), nil
}

// Call calls the method on x, which is nil for a static method. C++ converts and checks
// the arguments of a typed method, and checks nothing for a packed method.
func (m *Method) Call(x tvmffi.ObjectRef, args ...any) (tvmffi.Any, error) {
	f, err := m.Func()
	if err != nil {
		return tvmffi.Any{}, err
	}
	if m.Static() {
		return f.Call(args...)
	}
	if err := check(x, m.owner, m.String()); err != nil {
		return tvmffi.Any{}, err
	}
	return f.Call(append([]any{x}, args...)...)
}

// check refuses anything but a live object of a type.
func check(x tvmffi.ObjectRef, t *Type, what string) error {
	o := stateOf(x)
	if o.Handle() != 0 {
		if capi.Derives(o.TypeIndex(), t.info) {
			return nil
		}
		return errorf(failure.KindType, "%s: expected %s, got %s", what, t.key, capi.KeyOf(o.TypeIndex()))
	}
	return noObject(o, what)
}

// noObject is the error for an object that is nil or has ended.
func noObject(o *objects.Object, what string) error {
	if why, ended := o.Ended(); ended {
		return errorf(failure.KindRuntime, "%s: the object %s", what, why)
	}
	return errorf(failure.KindType, "%s: the object is nil", what)
}
