package structural

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/environment"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

var (
	structuralWalk = codec.NewLibraryFunc("ffi.StructuralWalk", "0.1.14")
	newInterrupt   = codec.NewLibraryFunc("ffi.VisitInterrupt", "0.1.14")
)

// Order says when a callback sees a value: before or after the values inside it.
type Order int64

// The orders.
const (
	PreOrder Order = iota
	PostOrder
)

// DefRegion says whether a value is in a place where variables are defined.
type DefRegion int64

// The regions.
const (
	// DefRegionNone is outside definitions: variables are used.
	DefRegionNone DefRegion = iota
	// DefRegionPattern is a pattern, in which variables may be defined at any depth.
	DefRegionPattern
	// DefRegionSimple is where a variable itself is defined.
	DefRegionSimple
)

// SkipChildren, returned by a callback of [Walk] in PreOrder, skips the values inside the
// value. It is not an error of the walk.
//
//lint:ignore ST1012 named as fs.SkipDir is
var SkipChildren = errors.New("skip the values inside this one")

// SkipAll, returned by a callback of [Walk] or [Visit], ends it without an error.
//
//lint:ignore ST1012 named as fs.SkipDir is
var SkipAll = errors.New("skip everything that is left")

// Interrupted is the error of a walk that a type's visit hook, in C++ for example, ended
// early. A callback may return one too.
type Interrupted struct {
	// Value is the reason that the hook gave.
	Value tvmffi.Any
}

// Error returns the reason.
func (i *Interrupted) Error() string { return "the walk was interrupted: " + i.Value.String() }

// WalkRule is a callback of [Walk] for values of one type, made by [On] or [OnIn].
type WalkRule struct{ rule }

// On makes a rule for values of type T: an object type and types derived from it, int64,
// float64, bool, string, []byte, DataType, Device, or any and [tvmffi.Any], which fit all
// values. Objects are borrowed: they end when f returns.
func On[T any](f func(x T) error) WalkRule {
	return WalkRule{ruleOf[T](f != nil, func(a *callbacks.Args, x T) (abi.Any, error) { return abi.Any{}, f(x) })}
}

// OnIn is like [On], but f also receives the region of the value.
func OnIn[T any](f func(x T, r DefRegion) error) WalkRule {
	r := ruleOf[T](f != nil, func(a *callbacks.Args, x T) (abi.Any, error) { return abi.Any{}, f(x, DefRegion(a.Value(1).Bits)) })
	r.inRegion = true
	return WalkRule{r}
}

// Walk goes through root and all values inside it: elements, values of maps, and fields that
// take part in structural comparison. For each value except None it calls the first rule that
// fits. Shared values are visited once per reference. The callback may return [SkipChildren]
// or [SkipAll]; Walk stops at any other error and returns it, so that errors.Is finds it, and
// [ErrorPaths] returns its place. A callback must not change a List or a Dict during the walk:
// the library would read the old memory. This holds for [Visit], [Rewrite] and [Mutate] too.
// It needs libtvm_ffi 0.1.14.
func Walk(root any, order Order, rules ...WalkRule) error {
	if order != PreOrder && order != PostOrder {
		return failure.Errorf(failure.KindValue, "there is no order %d: use PreOrder or PostOrder", order)
	}
	w := &traversal{}
	defer w.Close()
	x, err := w.begin(structuralWalk, root)
	if err != nil {
		return err
	}
	list := make([]rule, len(rules))
	for i, r := range rules {
		list[i] = r.rule
	}
	plain, regional, err := w.split(list)
	if err != nil {
		return err
	}
	out, err := structuralWalk.Call(x, plain, regional, codec.IntValue(int64(order)))
	return w.end(out, err)
}

// rule is a callback for the values of a type.
type rule struct {
	index    func() (abi.TypeIndex, error)
	call     func(w *traversal, a *callbacks.Args) (abi.Any, error)
	inRegion bool
}

// ruleOf makes the rule of a func. f returns an owned result for the library.
func ruleOf[T any](given bool, f func(a *callbacks.Args, x T) (abi.Any, error)) rule {
	r := rule{index: typeIndexFor[T]}
	if !given {
		r.index = func() (abi.TypeIndex, error) {
			return 0, failure.Errorf(failure.KindType, "the func for %s is nil", reflect.TypeFor[T]())
		}
		return r
	}
	c := codec.For[T]()
	r.call = func(_ *traversal, a *callbacks.Args) (abi.Any, error) {
		var x T
		if err := c.Decode(a.Value(0), objects.ReadBorrowed(a), unsafe.Pointer(&x)); err != nil {
			return abi.Any{}, err
		}
		return f(a, x)
	}
	return r
}

// traversal is what one call of Walk, Visit, Rewrite or Mutate needs.
type traversal struct {
	codec.PackedArgs
	owned []uintptr
	// stopped is SkipAll or the *Interrupted that a callback returned.
	stopped error
	// rewrites says that results of callbacks are not signals.
	rewrites bool
	results  results
}

// Close drops the references that the walk owns.
func (w *traversal) Close() {
	for _, handle := range w.owned {
		objects.DecRef(handle)
	}
	w.PackedArgs.Close()
}

// begin packs the root of a walk by f.
func (w *traversal) begin(f *codec.LibraryFunc, root any) (abi.Any, error) {
	if err := f.Need(); err != nil {
		return abi.Any{}, err
	}
	return w.PackBounded(root)
}

// split makes the two lists of callbacks that the library takes. It tries the callbacks of
// the first list first: if rules of both forms are mixed, all go into the second.
func (w *traversal) split(rules []rule) (plain, regional abi.Any, err error) {
	mixed := false
	for _, r := range rules {
		mixed = mixed || r.inRegion
	}
	none, err := w.table(nil, nil)
	if err != nil {
		return plain, regional, err
	}
	all, err := w.table(rules, nil)
	if mixed {
		return none, all, err
	}
	return all, none, err
}

// table makes the Array of (type index, Function) pairs, to which more is added.
func (w *traversal) table(rules []rule, more []abi.Any) (abi.Any, error) {
	all := make([]indexed, len(rules))
	for i, r := range rules {
		if r.index == nil {
			return abi.Any{}, failure.Errorf(failure.KindType, "rule %d is a zero value: make rules with On, OnVisit, To or OnMutate", i)
		}
		index, err := r.index()
		if err != nil {
			return abi.Any{}, err
		}
		all[i] = indexed{index, r}
	}
	all = withoutTexts(all)
	rows := make([]abi.Any, len(all))
	for i, r := range all {
		fn := environment.NewCallback(func(a *callbacks.Args) error { return w.run(r.rule, a) }, 0)
		w.owned = append(w.owned, fn)
		row := append([]abi.Any{codec.IntValue(int64(r.of)), {TypeIndex: abi.TypeFunction, Bits: uint64(fn)}}, more...)
		var err error
		if rows[i], err = w.array(row); err != nil {
			return abi.Any{}, err
		}
	}
	return w.array(rows)
}

// indexed is a rule for the type of an index.
type indexed struct {
	of abi.TypeIndex
	rule
}

// withoutTexts adds rules so that a rule for ffi.Object does not get strings and bytes. The
// long ones are objects in the library, but values in Go. They go to the next rule that fits.
func withoutTexts(rules []indexed) []indexed {
	var all []indexed
	for i, r := range rules {
		if r.of == abi.TypeObject {
			for _, text := range []abi.TypeIndex{abi.TypeStr, abi.TypeBytes} {
				next := slices.IndexFunc(rules[i:], func(r indexed) bool { return r.of == text || r.of == abi.TypeAny })
				if next < 0 {
					all = append(all, indexed{text, passOver})
				} else {
					all = append(all, indexed{text, rules[i+next].rule})
				}
			}
		}
		all = append(all, r)
	}
	return all
}

// passOver is a rule that does nothing.
var passOver = rule{call: func(w *traversal, a *callbacks.Args) (abi.Any, error) {
	if !w.rewrites {
		return abi.Any{}, nil
	}
	return values.Owned(a.Value(0))
}}

func (w *traversal) array(items []abi.Any) (abi.Any, error) {
	fn, err := codec.NewArray.Handle()
	if err != nil {
		return abi.Any{}, err
	}
	v, err := failure.Apply(fn, items)
	if err == nil {
		w.owned = append(w.owned, uintptr(v.Bits))
	}
	return v, err
}

// run calls a rule and turns its error into what the library understands.
func (w *traversal) run(r rule, a *callbacks.Args) error {
	v, err := r.call(w, a)
	switch {
	case err == nil && w.rewrites:
		w.results.add(a.Value(0), v)
	case err == nil:
	case w.rewrites:
		err = carried(err)
	default:
		v, err = w.signal(err)
	}
	if err == nil {
		a.Return(v)
	}
	return err
}

// signal returns the value by which a callback says SkipChildren, SkipAll or
// Interrupted; other errors stay errors.
func (w *traversal) signal(err error) (abi.Any, error) {
	if stop, ok := err.(*Interrupted); ok {
		t, failed := codec.ViewOf(codec.RecordOfAny(&stop.Value))
		if failed != nil {
			return abi.Any{}, failed
		}
		if t.Owned {
			defer codec.Release(t.Value)
		}
		w.stopped = err
		return newInterrupt.Call(t.Value)
	}
	switch err {
	case SkipChildren:
		return codec.IntValue(1), nil
	case SkipAll:
		w.stopped = err
		return newInterrupt.Call(abi.Any{})
	}
	return abi.Any{}, carried(err)
}

// carried returns the form of a callback's error to which the library can add its place.
func carried(err error) error {
	if e := failure.FailureOf(err); e != nil && e.Raised() == nil {
		return &visitFailure{err}
	}
	return err
}

// interrupt returns the error for what the library returned from a visit, owned:
// nil for None.
func (w *traversal) interrupt(out abi.Any, err error) error {
	if err != nil || !out.TypeIndex.IsObject() {
		return err
	}
	o := objects.Own(uintptr(out.Bits))
	defer o.Release()
	if w.stopped != nil {
		return w.stopped
	}
	f := fields.Of(o.TypeIndex(), "value")
	if f == nil {
		return failure.Errorf(failure.KindType, "expected ffi.VisitInterrupt, got %s", capi.KeyOf(o.TypeIndex()))
	}
	return &Interrupted{codec.TakeAnyAs[tvmffi.Any](f.Get(o))}
}

// end is interrupt for the end of the whole walk, where SkipAll is not an error.
func (w *traversal) end(out abi.Any, err error) error {
	if err = w.interrupt(out, err); err == SkipAll {
		return nil
	}
	return err
}

// visitFailure carries an *Error of a callback through the library in another object, to which
// the library adds its place.
type visitFailure struct{ err error }

// Error returns the message of the failure.
func (f *visitFailure) Error() string { return failure.Message(f.err) }

// Unwrap returns the failure.
func (f *visitFailure) Unwrap() error { return f.err }

// typeIndexFor returns the index of the values that become a T: the index of the type
// for an object, TypeAny for any and Any.
func typeIndexFor[T any]() (abi.TypeIndex, error) {
	if class := codec.ClassFor[T](); class != nil {
		info, err := class.Info()
		if err != nil {
			return 0, err
		}
		return info.TypeIndex, nil
	}
	var x T
	switch any(&x).(type) {
	case *any, *tvmffi.Any:
		return abi.TypeAny, nil
	case *tvmffi.ObjectRef:
		return abi.TypeObject, nil
	case *int64:
		return abi.TypeInt, nil
	case *bool:
		return abi.TypeBool, nil
	case *float64:
		return abi.TypeFloat, nil
	case *string:
		return abi.TypeStr, nil
	case *[]byte:
		return abi.TypeBytes, nil
	case *tvmffi.DataType:
		return abi.TypeDataType, nil
	case *tvmffi.Device:
		return abi.TypeDevice, nil
	case *tvmffi.Pointer:
		return abi.TypeOpaquePtr, nil
	}
	return 0, failure.Errorf(failure.KindType, "%s names no type of the library: use a pointer to an object type, any, tvmffi.Any, int64, float64, bool, string, []byte, DataType or Device", fmt.Sprintf("%T", &x)[1:])
}
