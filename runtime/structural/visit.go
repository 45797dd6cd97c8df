package structural

import (
	"errors"
	"runtime"
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
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

var (
	structuralVisit   = codec.NewLibraryFunc("ffi.StructuralVisit", "0.1.14")
	visitorVisit      = codec.NewLibraryFunc("ffi.StructuralVisitorVisit", "0.1.14")
	visitorDefault    = codec.NewLibraryFunc("ffi.StructuralVisitorDefaultVisit", "0.1.14")
	visitorRegion     = codec.NewLibraryFunc("ffi.StructuralVisitorDefRegionKind", "0.1.14")
	visitorWithRegion = codec.NewLibraryFunc("ffi.StructuralVisitorWithDefRegionKind", "0.1.14")
	findAccessPaths   = codec.NewLibraryFunc("ffi.VisitErrorContext.FindAccessPaths", "0.1.12")
)

// VisitRule is a callback of [Visit] for values of one type, made by [OnVisit].
type VisitRule struct{ rule }

// OnVisit makes a rule for values of type T, as [On] does. f visits parts of x with methods of
// the visitor; no others are visited.
func OnVisit[T any](f func(x T, v *Visitor) error) VisitRule {
	c := codec.For[T]()
	r := ruleOf[T](f != nil, nil)
	if f == nil {
		return VisitRule{r}
	}
	r.call = func(w *traversal, a *callbacks.Args) (abi.Any, error) {
		var x T
		if err := c.Decode(a.Value(0), objects.ReadBorrowed(a), unsafe.Pointer(&x)); err != nil {
			return abi.Any{}, err
		}
		err := f(x, &Visitor{walk: w, object: a.Borrow(uintptr(a.Value(1).Bits))})
		if err == SkipChildren {
			err = nil
		}
		return abi.Any{}, err
	}
	return VisitRule{r}
}

// Visit goes through root as [Walk] does, but a rule decides which parts of its value are
// visited, and in which order. If no rule fits a value, Visit goes into its parts. It needs
// libtvm_ffi 0.1.14.
func Visit(root any, rules ...VisitRule) error {
	w := &traversal{}
	defer w.Close()
	x, err := w.begin(structuralVisit, root)
	if err != nil {
		return err
	}
	list := make([]rule, len(rules))
	for i, r := range rules {
		list[i] = r.rule
	}
	table, err := w.table(list, nil)
	if err != nil {
		return err
	}
	out, err := structuralVisit.Call(x, table)
	return w.end(out, err)
}

// Visitor visits values in a callback of [Visit]. It ends when the callback
// returns.
type Visitor struct {
	walk   *traversal
	object *objects.Object
}

// Visit visits x, a part of the callback's value, by the rules. The callback must return its
// error, also [SkipAll].
func (v *Visitor) Visit(x any) error { return v.visit(visitorVisit, x) }

// Children visits the values inside x, without the rules for x itself. The callback must
// return its error, also [SkipAll].
func (v *Visitor) Children(x any) error { return v.visit(visitorDefault, x) }

func (v *Visitor) visit(f *codec.LibraryFunc, x any) error {
	self, err := codec.EncodeObject(v.object)
	if err != nil {
		return err
	}
	var o codec.PackedArgs
	defer o.Close()
	value, err := o.PackBounded(x)
	if err != nil {
		return err
	}
	out, err := f.Call(self.Value, value)
	return v.walk.interrupt(out, err)
}

// Region returns the region of the callback's value.
func (v *Visitor) Region() (DefRegion, error) { return regionOf(visitorRegion, v.object) }

// InRegion calls f, within which values are visited as in the region r.
func (v *Visitor) InRegion(r DefRegion, f func() error) error {
	return inRegion(visitorWithRegion, v.object, r, f)
}

func regionOf(f *codec.LibraryFunc, visitor *objects.Object) (DefRegion, error) {
	self, err := codec.EncodeObject(visitor)
	if err != nil {
		return 0, err
	}
	out, err := f.Call(self.Value)
	if err != nil {
		return 0, err
	}
	r, err := codec.Take[int64](out)
	return DefRegion(r), err
}

// inRegion calls f in a region of a visitor or mutator.
func inRegion(method *codec.LibraryFunc, visitor *objects.Object, r DefRegion, f func() error) error {
	self, err := codec.EncodeObject(visitor)
	if err != nil {
		return err
	}
	if r < DefRegionNone || r > DefRegionSimple {
		return failure.Errorf(failure.KindValue, "there is no region %d", r)
	}
	// An error goes through the library, which leaves the region; the caller gets the same
	// one.
	var failed error
	fn := environment.NewCallback(func(*callbacks.Args) error {
		failed = f()
		return failed
	}, 0)
	defer objects.DecRef(fn)
	out, err := method.Call(self.Value, codec.IntValue(int64(r)), abi.Any{TypeIndex: abi.TypeFunction, Bits: uint64(fn)})
	if failed != nil {
		return failed
	}
	codec.Release(out)
	return err
}

// ErrorPaths returns where in root the error of a walk, visit or rewrite occurred: each place
// of the failed callback's value. If that value is not found, partial asks for the nearest
// places. There are none if the error has no such context; only objects with fields record
// one. The caller releases the paths. Walks record them from libtvm_ffi 0.1.14 on, C++ code
// from 0.1.12.
func ErrorPaths(root tvmffi.ObjectRef, err error, partial bool) ([]*AccessPath, error) {
	if err := findAccessPaths.Need(); err != nil {
		return nil, err
	}
	o, failed := codec.Live(root)
	if failed != nil {
		return nil, failed
	}
	defer runtime.KeepAlive(o)
	for {
		var e *tvmffi.Error
		if !errors.As(err, &e) || e == nil {
			return nil, nil
		}
		if h := failure.FailureOf(e).Native().Handle(); h != 0 {
			context := capi.PointerTo[abi.ErrorCell](h + abi.ObjectSize).ExtraContext
			if context != 0 && capi.KeyOf(capi.PointerTo[abi.Object](context).TypeIndex) == failure.VisitContext {
				return accessPaths(o, context, partial, e)
			}
		}
		err = failure.FailureOf(e).Cause
	}
}

// accessPaths returns the paths of a context that e keeps.
func accessPaths(root *objects.Object, context uintptr, partial bool, e *tvmffi.Error) (paths []*AccessPath, err error) {
	defer codec.Catch(&err)
	defer runtime.KeepAlive(e)
	x := abi.Any{TypeIndex: root.TypeIndex(), Bits: uint64(root.Handle())}
	c := abi.Any{TypeIndex: capi.PointerTo[abi.Object](context).TypeIndex, Bits: uint64(context)}
	ways, err := recordedWays(x, c)
	if err != nil {
		return nil, err
	}
	if ways != nil {
		for _, way := range ways {
			p, err := NewAccessPath(way...)
			if err != nil {
				return nil, err
			}
			paths = append(paths, p)
		}
		return paths, nil
	}
	if err := codec.Bounded(x); err != nil {
		return nil, err
	}
	out, err := findAccessPaths.Call(x, c, codec.BoolValue(partial))
	if err != nil {
		return nil, err
	}
	return codec.Take[[]*AccessPath](out)
}

// recordedWays follows the values that the context lists, the innermost first, from root down.
// If a value is not directly inside the previous one, the result is nil, and the library is
// asked instead: it searches all of root, but not for containers.
func recordedWays(root, context abi.Any) ([][]AccessStep, error) {
	pattern := fields.Of(context.TypeIndex, "reverse_visit_pattern")
	if pattern == nil {
		return nil, nil
	}
	list := pattern.Get(objects.Static(uintptr(context.Bits)))
	defer codec.Release(list)
	nodes, err := codec.Sequence(list, "ffi.List")
	if err != nil {
		return nil, err
	}
	at := len(nodes) - 1
	for at >= 0 && nodes[at].Bits != root.Bits {
		at--
	}
	if at < 0 {
		return nil, nil
	}
	ways := [][]AccessStep{nil}
	for ; at > 0; at-- {
		if nodes[at-1].Bits == nodes[at].Bits {
			continue
		}
		steps := stepsTo(nodes[at], uintptr(nodes[at-1].Bits))
		if len(steps) == 0 {
			return nil, nil
		}
		var longer [][]AccessStep
		for _, way := range ways {
			for _, s := range steps {
				longer = append(longer, append(slices.Clip(way), s))
			}
		}
		ways = longer
	}
	return ways, nil
}

// stepsTo returns the places of the object child in parent.
func stepsTo(parent abi.Any, child uintptr) []AccessStep {
	var steps []AccessStep
	codec.Parts(parent, func(p codec.Part) bool {
		if !p.Value.TypeIndex.IsObject() || uintptr(p.Value.Bits) != child {
			return true
		}
		switch p.Kind {
		case codec.PartElement:
			steps = append(steps, AccessStep{AccessItem, codec.ShowAny[tvmffi.Any](codec.IntValue(int64(p.Index)), objects.ReadOwned())})
		case codec.PartEntry: // the path gets a key of its own
			steps = append(steps, AccessStep{AccessKey, codec.ShowAny[tvmffi.Any](p.Key, objects.ReadCollected())})
		default:
			steps = append(steps, AccessStep{AccessField, codec.StringAny[tvmffi.Any](p.Field.Name)})
		}
		return true
	})
	return steps
}
