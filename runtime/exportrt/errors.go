package exportrt

import (
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fieldtag"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// ErrorType is an error type of the package, which other languages know by its kind.
type ErrorType struct {
	declared *failure.Declared
	// name is the name of the type in Go, for errors.
	name string
	// make returns the error with the given fields.
	make func(fields map[string]tvmffi.Any) (error, error)
	// fields sets the result of a function to the fields of err, which is of the type.
	fields func(a *bindrt.Args, err error) error
}

// ErrorOf describes the error type T. Its errors have the given kind, which is a special case
// of base. toError returns a T as an error: itself, or a pointer to it if Error has a
// pointer receiver.
func ErrorOf[T any](kind, base string, toError func(T) error) ErrorType {
	t := reflect.TypeFor[T]()
	e := ErrorType{
		declared: &failure.Declared{Kind: kind, Base: base, Types: []reflect.Type{t, reflect.PointerTo(t)}},
		name:     t.Name(),
	}
	e.make = func(fields map[string]tvmffi.Any) (error, error) {
		v := new(T)
		if err := setFields(e.name, reflect.ValueOf(v).Elem(), fields); err != nil {
			return nil, err
		}
		return toError(*v), nil
	}
	e.fields = func(a *bindrt.Args, err error) error {
		v := new(T)
		switch x := err.(any).(type) {
		case T:
			*v = x
		case *T:
			if x == nil {
				return nil
			}
			v = x
		}
		fields, failed := fieldValues(reflect.ValueOf(v).Elem(), a.Typed())
		if failed != nil {
			return failed
		}
		return bindrt.Return(a, fields)
	}
	e.declared.Detach = func(err error, lent func(unsafe.Pointer) bool) {
		v := reflect.ValueOf(err)
		switch {
		case v.Kind() != reflect.Pointer:
			if t.Size() <= unsafe.Sizeof(uintptr(0)) { // too small for a slice, and perhaps a pointer itself
				return
			}
			// The second word of the interface points to the value, which no variable has.
			v = reflect.NewAt(t, (*[2]unsafe.Pointer)(unsafe.Pointer(&err))[1])
		case v.IsNil():
			return
		}
		detachFields(v.Elem(), lent)
	}
	e.declared.Decode = func(context uintptr) (error, error) {
		if context == 0 {
			return toError(*new(T)), nil // the kind came, but no fields
		}
		index := capi.PointerTo[abi.Object](context).TypeIndex
		if crossing.ClassOf(index) != crossing.Mapping {
			return toError(*new(T)), nil // the other language uses the context for something else
		}
		fields, err := codec.Decode[map[string]tvmffi.Any](abi.Any{TypeIndex: index, Bits: uint64(context)})
		if err != nil {
			return nil, err
		}
		return e.make(fields)
	}
	return e
}

// plainTypes are the types without a name that an error type can have below it.
var plainTypes = map[reflect.Kind]reflect.Type{
	reflect.String: reflect.TypeFor[string](),
	reflect.Int:    reflect.TypeFor[int](), reflect.Int8: reflect.TypeFor[int8](), reflect.Int16: reflect.TypeFor[int16](),
	reflect.Int32: reflect.TypeFor[int32](), reflect.Int64: reflect.TypeFor[int64](),
	reflect.Uint: reflect.TypeFor[uint](), reflect.Uint8: reflect.TypeFor[uint8](), reflect.Uint16: reflect.TypeFor[uint16](),
	reflect.Uint32: reflect.TypeFor[uint32](), reflect.Uint64: reflect.TypeFor[uint64](), reflect.Uintptr: reflect.TypeFor[uintptr](),
}

// valueField is the field of an error type that is not a struct.
const valueField = "value"

// errorField is a field of an error type.
type errorField struct {
	tag   fieldtag.Tag
	value reflect.Value
}

// errorFields returns the fields of v that other languages see.
func errorFields(v reflect.Value) []errorField {
	t := v.Type()
	if t.Kind() != reflect.Struct {
		// By its own type the value is an error, not a string or an integer. Both types
		// have one layout.
		plain := reflect.NewAt(plainTypes[t.Kind()], unsafe.Pointer(v.UnsafeAddr())).Elem()
		return []errorField{{fieldtag.Tag{Name: valueField}, plain}}
	}
	var fields []errorField
	for i := range t.NumField() {
		f := t.Field(i)
		text, tagged := f.Tag.Lookup("ffi")
		if !tagged && f.Anonymous && f.Type.Kind() == reflect.Struct {
			fields = append(fields, errorFields(v.Field(i))...)
			continue
		}
		if tag, err := fieldtag.Parse(text); tagged && err == nil && tag.Name != "" && f.IsExported() {
			fields = append(fields, errorField{tag, v.Field(i)})
		}
	}
	return fields
}

// setFields sets the fields of v, an error of the type name, to the given values.
func setFields(name string, v reflect.Value, given map[string]tvmffi.Any) error {
	fields := errorFields(v)
	known := map[string]bool{}
	for _, f := range fields {
		known[f.tag.Name] = true
		value, ok := given[f.tag.Name]
		switch {
		case ok:
			if err := setField(f.value, value); err != nil {
				return failure.Errorf(codec.ArgumentKind(err), "%w", callbacks.ArgumentError(name, f.tag.Name, err))
			}
		case f.tag.HasDefault:
			if _, err := codec.SetDefault(f.tag.Default, f.value); err != nil {
				return failure.Errorf(failure.KindType, "%s(%s=...): %w", name, f.tag.Name, err)
			}
		case !f.tag.Optional:
			return failure.Errorf(failure.KindType, "%s(): the field %s is missing: write %s(%s=...)", name, f.tag.Name, name, f.tag.Name)
		}
	}
	for _, field := range slices.Sorted(maps.Keys(given)) {
		if !known[field] {
			return failure.Errorf(failure.KindType, "%s(%s=...): there is no such field: %s", name, field, fieldList(fields))
		}
	}
	return nil
}

func fieldList(fields []errorField) string {
	if len(fields) == 0 {
		return "the error has no fields"
	}
	var names []string
	for _, f := range fields {
		names = append(names, f.tag.Name)
	}
	return "the fields are " + strings.Join(names, ", ")
}

// setField reads value, which is borrowed, into a field.
func setField(field reflect.Value, value tvmffi.Any) error {
	view, err := codec.ViewOf(codec.RecordOfAny(&value))
	if err != nil {
		return err
	}
	from := objects.ReadOwned().Converting() // as an argument
	from.Plain = true
	// The field is part of a variable, so it is in Go memory that lives on.
	err = codec.Of(field.Type()).Decode(view.Value, from, unsafe.Pointer(field.UnsafeAddr()))
	codec.ReleaseTemp(view)
	runtime.KeepAlive(value)
	return err
}

// fieldValues returns the fields of v, an error, without optional ones that are zero, for a caller that takes typed
// values if typed is set.
func fieldValues(v reflect.Value, typed bool) (map[string]tvmffi.Any, error) {
	values := map[string]tvmffi.Any{}
	for _, f := range errorFields(v) {
		if f.tag.Optional && codec.IsZero(f.value) {
			continue
		}
		// The address is in Go memory that v keeps alive.
		view, err := codec.EncodeResult(codec.Of(f.value.Type()), unsafe.Pointer(f.value.UnsafeAddr()), typed)
		if err != nil {
			return nil, failure.Annotate("field "+f.tag.Name, err)
		}
		values[f.tag.Name] = codec.ShowAny[tvmffi.Any](view.Value, objects.ReadOwned())
		codec.ReleaseTemp(view)
		runtime.KeepAlive(view.Keep)
	}
	return values, nil
}

// detachFields copies the fields of v, an error, that refer to memory of which lent knows the address. An error with such a
// field was made in this call, so that nobody else reads it at this time.
func detachFields(v reflect.Value, lent func(unsafe.Pointer) bool) {
	for _, f := range errorFields(v) {
		if r := (&references{lent: lent, seen: map[unsafe.Pointer]bool{}}); !r.in(f.value) {
			continue
		}
		// The address is in Go memory that v keeps alive. A field that cannot be encoded does not cross.
		view, err := codec.Of(f.value.Type()).Encode(unsafe.Pointer(f.value.UnsafeAddr()))
		if err == nil {
			_ = codec.Of(f.value.Type()).Decode(view.Value, objects.ReadOwned(), unsafe.Pointer(f.value.UnsafeAddr()))
			codec.ReleaseTemp(view)
			runtime.KeepAlive(view.Keep)
		}
	}
}

// references looks for what refers to memory of which lent knows the address.
type references struct {
	lent func(unsafe.Pointer) bool
	seen map[unsafe.Pointer]bool // what pointers and maps point to
	// shared says that others may use the value at the same time. Then maps, functions and channels count as such memory,
	// and so do values after the first left ones.
	shared bool
	left   int
	// detached is the type of a declared error, whose fields with a tag were copied. They are left out.
	detached reflect.Type
}

// in reports whether v has such a reference.
func (r *references) in(v reflect.Value) bool {
	if r.left--; r.shared && r.left < 0 {
		return true
	}
	switch v.Kind() {
	case reflect.Func, reflect.Chan:
		return r.shared && !v.IsNil()
	case reflect.UnsafePointer:
		return r.lent(v.UnsafePointer())
	case reflect.String:
		return r.lent(unsafe.Pointer(unsafe.StringData(v.String())))
	case reflect.Interface:
		return !v.IsNil() && r.in(v.Elem())
	case reflect.Pointer, reflect.Map:
		at := v.UnsafePointer()
		switch {
		case r.seen[at] || v.IsNil():
			return false
		case v.Kind() == reflect.Map && r.shared:
			return true
		}
		r.seen[at] = true
		if v.Kind() == reflect.Pointer {
			return r.lent(at) || r.in(v.Elem())
		}
		for at := v.MapRange(); at.Next(); {
			if r.in(at.Key()) || r.in(at.Value()) {
				return true
			}
		}
	case reflect.Struct:
		return r.inFields(v, v.Type() == r.detached)
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && r.lent(v.UnsafePointer()) {
			return true
		}
		for i := 0; i < v.Len() && !numeric(v.Type().Elem()); i++ {
			if r.in(v.Index(i)) {
				return true
			}
		}
	}
	return false
}

// inFields is in for the fields of a struct, which may be the declared error, or be embedded in it.
func (r *references) inFields(v reflect.Value, detached bool) bool {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		_, tagged := f.Tag.Lookup("ffi")
		switch {
		case detached && tagged:
		case detached && f.Anonymous && f.Type.Kind() == reflect.Struct:
			if r.inFields(v.Field(i), true) {
				return true
			}
		case r.in(v.Field(i)):
			return true
		}
	}
	return false
}

// numeric reports whether values of type t are numbers or bools.
func numeric(t reflect.Type) bool { return t.Kind() >= reflect.Bool && t.Kind() <= reflect.Complex128 }

// errorTypes returns the error types of l and of the packages that it includes, by kind.
func (l *Exports) errorTypes() map[string]*ErrorType {
	all := map[string]*ErrorType{}
	for _, in := range l.Includes {
		maps.Copy(all, in.errorTypes())
	}
	for i := range l.Errors {
		all[l.Errors[i].declared.Kind] = &l.Errors[i]
	}
	return all
}

// declareErrors makes the error types of l known.
func (l *Exports) declareErrors() error {
	for _, e := range l.Errors {
		if err := failure.Declare(e.declared); err != nil {
			return err
		}
	}
	return nil
}

// errorFunctions are the functions with which other languages make and read errors of Go.
// Names of users begin with a letter.
func (l *Exports) errorFunctions() []Function {
	types := l.errorTypes()
	return []Function{
		{
			Name: "_error_new", Params: []string{"kind", "fields", "message"},
			Doc:  "Makes the error of a kind with the given fields. Go makes the message if it is None.",
			Func: func(string, map[string]tvmffi.Any, *string) *tvmffi.Error { return nil },
			Call: func(a *bindrt.Args) error { return newError(a, types) },
		},
		{
			Name: "_error_fields", Params: []string{"error"},
			Doc:  "Returns the fields of an error of Go, or None if it has none.",
			Func: func(*tvmffi.Error) *map[string]tvmffi.Any { return nil },
			Call: func(a *bindrt.Args) error { return fieldsOfError(a, types) },
		},
		{
			Name: "_error_cause", Params: []string{"error"},
			Doc:  "Returns the error of another language that caused an error of Go, or None.",
			Func: func(*tvmffi.Error) *tvmffi.Error { return nil },
			Call: causeOfError,
		},
	}
}

func newError(a *bindrt.Args, types map[string]*ErrorType) error {
	kind, fields, message := bindrt.Arg[string](a, 0), bindrt.Arg[map[string]tvmffi.Any](a, 1), bindrt.Arg[*string](a, 2)
	if err := a.Check(3); err != nil {
		return err
	}
	t := types[kind]
	if t == nil {
		return failure.Errorf(failure.KindValue, "the library has no error of the kind %s", kind)
	}
	made, err := t.make(fields)
	if err != nil {
		return err
	}
	if message == nil {
		text := made.Error()
		message = &text
	}
	value, err := failure.NewValue(made)
	if err != nil {
		return err
	}
	defer objects.DecRef(value)
	handle, err := failure.NewError(kind, *message, "", 0, value)
	if err != nil {
		return err
	}
	a.Return(abi.Any{TypeIndex: abi.TypeError, Bits: uint64(handle)})
	return nil
}

func fieldsOfError(a *bindrt.Args, types map[string]*ErrorType) error {
	e := bindrt.Arg[*tvmffi.Error](a, 0)
	if err := a.Check(1); err != nil {
		return err
	}
	d, found := failure.DeclaredIn(e)
	if d == nil || types[d.Kind] == nil {
		return nil
	}
	return types[d.Kind].fields(a, found)
}

func causeOfError(a *bindrt.Args) error {
	e := bindrt.Arg[*tvmffi.Error](a, 0)
	if err := a.Check(1); err != nil {
		return err
	}
	if e == nil {
		return nil
	}
	cause := failure.FailureOf(e).OtherCause()
	if cause == nil {
		return nil
	}
	found, _ := failure.Errors.Error(cause).(*tvmffi.Error)
	return bindrt.Return(a, found)
}
