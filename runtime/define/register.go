package define

import (
	"reflect"
	"runtime"
	"slices"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/defined"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/registry"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// index returns the index of the type, which it registers first.
func (d *definition) index() (abi.TypeIndex, error) {
	if err := d.register(); err != nil {
		return 0, err
	}
	return d.layout.Info.TypeIndex, nil
}

// register registers the type and the types that it names, with the Registry locked.
// Every step that can fail comes before the first of them gets its index, because
// nothing can take an index back.
func (d *definition) register() error {
	if d == nil {
		return failure.Errorf(failure.KindType, "this Type is a zero value: make it with define.Object")
	}
	if d.ready.Load() {
		return nil
	}
	if err := tvmffi.Load(); err != nil {
		return err
	}
	capi.Registry.Lock()
	defer capi.Registry.Unlock()
	switch {
	case d.ready.Load() || d.layout != nil && d.layout.Info != nil && d.broken == nil:
		return nil // or on this thread, further out: the index is known
	case d.broken != nil:
		return d.broken
	case d.pending:
		return d.errorf(failure.KindType, "its defaults need the type itself: use DefaultFunc")
	}
	var group []*definition
	defer func() {
		for _, member := range group {
			member.pending = false
			if !member.ready.Load() && member.broken == nil {
				member.discard()
			}
		}
	}()
	if err := d.collect(&group); err != nil {
		return err
	}
	for _, member := range group {
		if err := member.prepare(); err != nil {
			return err
		}
	}
	return registerAll(group)
}

// collect adds the type and those that it names to the group, parents first.
func (d *definition) collect(group *[]*definition) error {
	if d.ready.Load() || d.pending {
		return nil
	}
	if err := d.makeLayout(); err != nil {
		return err
	}
	d.pending = true
	if parent := d.layout.parent; parent != nil {
		if err := parent.collect(group); err != nil {
			return err
		}
	}
	*group = append(*group, d)
	seen := map[reflect.Type]bool{}
	for _, f := range d.layout.own {
		if err := collectNamed(f.goType, group, seen); err != nil {
			return err
		}
	}
	for _, m := range d.methods {
		if err := collectNamed(reflect.TypeOf(m.f), group, seen); err != nil {
			return err
		}
	}
	return nil
}

// instance is implemented by pointers to Instances.
type instance interface{ recordType() reflect.Type }

func (*Instance[T]) recordType() reflect.Type { return reflect.TypeFor[T]() }

// collectNamed adds the types made in Go that a Go type names.
func collectNamed(t reflect.Type, group *[]*definition, seen map[reflect.Type]bool) error {
	if t == nil || seen[t] {
		return nil
	}
	seen[t] = true
	var inner []reflect.Type
	switch t.Kind() {
	case reflect.Pointer:
		switch x := reflect.Zero(t).Interface().(type) {
		case instance:
			inner = append(inner, x.recordType())
		case objects.Ref:
			inner = append(inner, codec.Of(t).Parts...)
		default:
			inner = append(inner, t.Elem())
		}
	case reflect.Slice, reflect.Array:
		inner = append(inner, t.Elem())
	case reflect.Map:
		inner = append(inner, t.Key(), t.Elem())
	case reflect.Func:
		for i := range t.NumIn() {
			inner = append(inner, t.In(i))
		}
		for i := range t.NumOut() {
			inner = append(inner, t.Out(i))
		}
	case reflect.Struct:
		if d := findRecord(t); d != nil {
			return d.collect(group)
		}
		if codec.Of(t).Tuple {
			for i := range t.NumField() {
				inner = append(inner, t.Field(i).Type)
			}
		}
	}
	for _, t := range inner {
		if err := collectNamed(t, group, seen); err != nil {
			return err
		}
	}
	return nil
}

// prepare makes what registration needs: the layout, functions, defaults. Parents
// in the group are prepared.
func (d *definition) prepare() error {
	p := d.layout
	if err := d.findParent(); err != nil {
		return err
	}
	if d.opaque {
		return d.prepareMethods()
	}
	at := p.Size
	for _, f := range p.own {
		if inherited := p.inherited(f.Name); inherited != "" {
			return d.errorf(failure.KindType, "field %s hides the one of %s", f.Name, inherited)
		}
		size := defined.SizeOf(f.Accept.Kind)
		align := min(size, 8)
		at = (at + align - 1) / align * align
		f.Offset = at
		f.reader = fields.ReaderAt(f.Name, f.Offset, f.Accept.Kind == defined.KindAnyValue)
		at += size
		switch f.Accept.Kind {
		case defined.KindAnyValue:
			p.Refs = append(p.Refs, uint64(f.Offset)<<1|1)
		case defined.KindObjectRef:
			p.Refs = append(p.Refs, uint64(f.Offset)<<1)
		}
		if c := f.Accept.Class; c != nil && c.Resolve == nil {
			if _, err := c.Info(); err != nil {
				return failure.Annotate("type "+d.key, failure.Annotate("field "+f.Name, err))
			}
		}
	}
	at = (at + 7) &^ 7
	if d.state != nil {
		p.State = at
		p.Refs = append(p.Refs, uint64(at)<<1)
		at += 8
	}
	const most = 1 << 30
	if at > most {
		return d.errorf(failure.KindValue, "its objects would have %d bytes", at)
	}
	p.Size = at
	p.fields = append(p.fields, p.own...)
	for _, f := range p.own {
		if err := f.prepareDefault(); err != nil {
			return failure.Annotate("type "+d.key, failure.Annotate("default of field "+f.Name, err))
		}
		if f.convert.IsValid() {
			if err := f.prepareConverter(); err != nil {
				return failure.Annotate("type "+d.key, failure.Annotate("converter of field "+f.Name, err))
			}
		}
	}
	return d.prepareMethods()
}

// registerAll enters the types into the registry, which is locked.
func registerAll(group []*definition) (err error) {
	keys, fields := map[string]bool{}, 0
	for _, d := range group {
		fields += len(d.layout.own)
		if keys[d.key] || !defined.KeyIsFree(d.key, d.layout.Parent) {
			return d.errorf(failure.KindRuntime, "a type of this key is registered already")
		}
		keys[d.key] = true
	}
	if err := defined.Room(len(group), fields); err != nil {
		return err
	}
	for _, d := range group {
		if d.layout.parent != nil {
			d.layout.Parent = d.layout.parent.layout.Info
		}
		if err := d.layout.Allocate(); err != nil {
			return d.breaks(err)
		}
	}
	for _, d := range group {
		if err := d.Enter(); err != nil {
			err = d.breaks(err)
			for _, other := range group {
				if other != d {
					_ = other.breaks(err)
				}
			}
			return err
		}
	}
	for _, d := range group {
		registered.Store(d.layout.Info.TypeIndex, d)
		d.beginPlain()
		d.ready.Store(true)
	}
	return nil
}

// breaks remembers an error after which the type has an index, but is not whole.
func (d *definition) breaks(err error) error {
	d.broken = failure.Annotate("type "+d.key, err)
	return d.broken
}

// Enter enters all but the index.
func (d *definition) Enter() error {
	p := d.layout
	for _, f := range p.own {
		if err := f.Prepare(); err != nil {
			return err
		}
		if err := p.AddField(&f.Field); err != nil {
			return err
		}
	}
	if d.opaque {
		if err := p.CompleteOpaque(); err != nil {
			return err
		}
		if err := d.addRefusals(); err != nil {
			return err
		}
		return d.enterMembers()
	}
	hasInit := slices.ContainsFunc(p.attributes, func(a preparedAttribute) bool { return a.name == initName })
	automatic, err := p.Complete(!hasInit)
	if err != nil {
		return err
	}
	if !hasInit && !automatic {
		if err := d.ownConstructor(); err != nil {
			return err
		}
	}
	return d.enterMembers()
}

// enterMembers enters the attributes and methods.
func (d *definition) enterMembers() error {
	p := d.layout
	for _, a := range p.attributes {
		if err := registry.RegisterAttribute(p.Info.TypeIndex, a.name, a.temp.Value); err != nil {
			return err
		}
		runtime.KeepAlive(a.temp.Keep)
	}
	for i := range p.methods {
		if err := registry.RegisterMethod(p.Info.TypeIndex, &p.methods[i]); err != nil {
			return err
		}
	}
	return nil
}

// discard takes back what prepare made.
func (d *definition) discard() {
	if d.layout == nil {
		return
	}
	for _, m := range d.layout.methods {
		m.Function.Release()
	}
	for _, a := range d.layout.attributes {
		codec.ReleaseTemp(a.temp)
	}
	for _, f := range d.layout.own {
		if f.Flags&(abi.FieldHasDefault) != 0 {
			codec.Release(f.Default)
		}
		f.Convert.Release()
	}
	d.layout = nil
}

// findParent finds the parent and what is known of its memory.
func (d *definition) findParent() error {
	p := d.layout
	if p.parent != nil {
		parent := p.parent.layout
		if p.parent.final {
			return d.errorf(failure.KindType, "the parent %s is final", p.parent.key)
		}
		p.Parent = parent.Info // nil within the group, and set later
		p.Size, p.State = parent.Size, parent.State
		p.Refs = append(p.Refs, parent.Refs...)
		p.fields = append(p.fields, parent.fields...)
		p.foreign = parent.foreign
		if p.State != 0 && d.state != nil {
			return d.errorf(failure.KindType, "the parent %s has the option State already", p.parent.key)
		}
		return nil
	}
	class := d.parentType
	if class == nil {
		class = codec.ClassOf(reflect.TypeFor[*tvmffi.Object]())
	}
	if class.Resolve != nil {
		return d.errorf(failure.KindType, "the parent %s is made in Go: embed its struct", class.Key)
	}
	info, err := class.Info()
	switch {
	case err != nil && class.Key == d.key:
		return d.errorf(failure.KindValue, "it is its own parent")
	case err != nil && class.Library == nil && capi.Attached():
		return d.errorf(failure.KindAttr, "the parent %s is not registered: load the library that registers it first", class.Key)
	case err != nil:
		return failure.Annotate("type "+d.key, failure.Annotate("the parent", err))
	}
	p.Parent, p.foreign = info, info
	if info.TypeIndex == abi.TypeObject {
		p.Size = abi.ObjectSize
		return nil
	}
	size, refs, err := foreignLayout(info)
	if err != nil {
		return failure.Annotate("type "+d.key, failure.Annotate("the parent "+class.Key, err))
	}
	p.Size, p.Refs = size, refs
	return nil
}
