package structural

import (
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

var (
	structuralMap     = codec.NewLibraryFunc("ffi.StructuralMap", "0.1.14")
	structuralMutate  = codec.NewLibraryFunc("ffi.StructuralMutate", "0.1.14")
	mutatorMutate     = codec.NewLibraryFunc("ffi.StructuralMutatorMutate", "0.1.14")
	mutatorDefault    = codec.NewLibraryFunc("ffi.StructuralMutatorDefaultMutate", "0.1.14")
	mutatorRegion     = codec.NewLibraryFunc("ffi.StructuralMutatorDefRegionKind", "0.1.14")
	mutatorWithRegion = codec.NewLibraryFunc("ffi.StructuralMutatorWithDefRegionKind", "0.1.14")
	mutatorRemapGet   = codec.NewLibraryFunc("ffi.StructuralMutatorVarRemapGet", "0.1.14")
	mutatorRemapSet   = codec.NewLibraryFunc("ffi.StructuralMutatorVarRemapSet", "0.1.14")
)

// RewriteRule is a callback of [Rewrite] for values of one type, made by [To] or
// [ToIn].
type RewriteRule struct{ rule }

// To makes a rule that replaces values of type T by the result of f, which may be x
// itself. T is as in [On]. f must not change x.
func To[T any](f func(x T) (any, error)) RewriteRule {
	return RewriteRule{ruleOf[T](f != nil, func(_ *callbacks.Args, x T) (abi.Any, error) { return owned(f(x)) })}
}

// ToIn is like [To], but f also receives the region of the value.
func ToIn[T any](f func(x T, r DefRegion) (any, error)) RewriteRule {
	r := ruleOf[T](f != nil, func(a *callbacks.Args, x T) (abi.Any, error) { return owned(f(x, DefRegion(a.Value(1).Bits))) })
	r.inRegion = true
	return RewriteRule{r}
}

// owned packs the result of a callback as an owned value.
func owned(x any, err error) (abi.Any, error) {
	if err != nil {
		return abi.Any{}, err
	}
	t, err := codec.For[any]().Encode(unsafe.Pointer(&x))
	var v abi.Any
	if err == nil {
		v, err = t.Own()
	}
	return v, failure.Annotate("the result of the Go function", err)
}

// Rewrite returns root with each value replaced by the first rule that fits it; root is not
// changed. Objects that contain a replaced value are copied, all others are shared with root.
// A rule sees a value before the values inside it in PreOrder, and after they were replaced in
// PostOrder. Rewrite returns an error of a callback, as [Walk] does. A number that a field of C++ cannot hold is an error of
// kind ErrValue. It needs libtvm_ffi 0.1.14.
func Rewrite[T any](root T, order Order, rules ...RewriteRule) (T, error) {
	var none T
	if order != PreOrder && order != PostOrder {
		return none, failure.Errorf(failure.KindValue, "there is no order %d: use PreOrder or PostOrder", order)
	}
	w := &traversal{rewrites: true}
	defer w.Close()
	x, err := w.begin(structuralMap, root)
	if err != nil {
		return none, err
	}
	list := make([]rule, len(rules))
	for i, r := range rules {
		list[i] = r.rule
	}
	plain, regional, err := w.split(list)
	if err != nil {
		return none, err
	}
	out, err := structuralMap.Call(x, plain, regional, codec.IntValue(int64(order)))
	if err == nil {
		err = w.results.fit(x, out)
	}
	if err != nil {
		return none, err
	}
	return codec.Take[T](out)
}

// MutateRule is a callback of [Mutate] for values of one type, made by [OnMutate].
type MutateRule struct{ rule }

// OnMutate makes a rule that replaces values of type T; see [On]. Mutate does not replace
// parts of the result: f replaces the parts of x with methods of m.
func OnMutate[T any](f func(x T, m *Mutator) (any, error)) MutateRule {
	c := codec.For[T]()
	r := ruleOf[T](f != nil, nil)
	if f == nil {
		return MutateRule{r}
	}
	r.call = func(w *traversal, a *callbacks.Args) (abi.Any, error) {
		var x T
		if err := c.Decode(a.Value(0), objects.ReadBorrowed(a), unsafe.Pointer(&x)); err != nil {
			return abi.Any{}, err
		}
		return owned(f(x, &Mutator{a.Borrow(uintptr(a.Value(1).Bits)), a.Value(0), &w.results}))
	}
	return MutateRule{r}
}

// Mutate replaces values as [Rewrite] does, but a rule decides which parts of its value are
// replaced. If no rule fits a value, Mutate goes into its parts. It needs libtvm_ffi 0.1.14.
func Mutate[T any](root T, rules ...MutateRule) (T, error) {
	var none T
	w := &traversal{rewrites: true}
	defer w.Close()
	x, err := w.begin(structuralMutate, root)
	if err != nil {
		return none, err
	}
	list := make([]rule, len(rules))
	for i, r := range rules {
		list[i] = r.rule
	}
	table, err := w.table(list, []abi.Any{codec.BoolValue(false)})
	if err != nil {
		return none, err
	}
	out, err := structuralMutate.Call(x, table)
	if err == nil {
		err = w.results.fit(x, out)
	}
	if err != nil {
		return none, err
	}
	return codec.Take[T](out)
}

// Mutator replaces values in a callback of [Mutate]. It ends when the callback
// returns.
type Mutator struct {
	object  *objects.Object
	of      abi.Any // the callback's value
	results *results
}

// Mutate replaces x, a part of the callback's value, by the rules.
func (m *Mutator) Mutate(x any) (tvmffi.Any, error) { return m.mutate(mutatorMutate, x) }

// Children returns x with the values inside it replaced, without the rules for x
// itself.
func (m *Mutator) Children(x any) (tvmffi.Any, error) { return m.mutate(mutatorDefault, x) }

func (m *Mutator) mutate(f *codec.LibraryFunc, values ...any) (tvmffi.Any, error) {
	self, err := codec.EncodeObject(m.object)
	if err != nil {
		return tvmffi.Any{}, err
	}
	var o codec.PackedArgs
	defer o.Close()
	args := []abi.Any{self.Value}
	for _, x := range values {
		v, err := o.PackBounded(x)
		if err != nil {
			return tvmffi.Any{}, err
		}
		m.results.made(m.of, v)
		args = append(args, v)
	}
	out, err := f.Call(args...)
	if err != nil {
		return tvmffi.Any{}, err
	}
	return codec.TakeAnyAs[tvmffi.Any](out), nil
}

// Region returns the region of the callback's value.
func (m *Mutator) Region() (DefRegion, error) { return regionOf(mutatorRegion, m.object) }

// InRegion calls f, within which values are replaced as in the region r.
func (m *Mutator) InRegion(r DefRegion, f func() error) error {
	return inRegion(mutatorWithRegion, m.object, r, f)
}

// Replacement returns the object that SetReplacement has set for a variable, None if there is
// none. A variable is an object that stands for itself in structural comparison.
func (m *Mutator) Replacement(variable tvmffi.ObjectRef) (tvmffi.Any, error) {
	return m.mutate(mutatorRemapGet, variable)
}

// SetReplacement makes x stand for a variable wherever else it is used.
func (m *Mutator) SetReplacement(variable tvmffi.ObjectRef, x any) error {
	_, err := m.mutate(mutatorRemapSet, variable, x)
	return err
}
