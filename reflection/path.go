package reflection

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// StepKind is the kind of a step of a path.
type StepKind uint8

// The kinds of steps.
const (
	StepField StepKind = iota + 1 // to a field of an object
	StepIndex                     // to an element of an Array or a List
	StepValue                     // to the value of a key of a Map or a Dict
	StepKey                       // to the key itself, if it is an object
)

// Step is one step of a path.
type Step struct {
	Kind  StepKind
	Index int    // of StepIndex
	Field *Field // of StepField, otherwise nil
	key   *tvmffi.Any
}

// Key returns the key of StepValue and StepKey, otherwise None. An object is a
// reference that belongs to the path, and must not be released.
func (s Step) Key() tvmffi.Any {
	if s.key == nil {
		return tvmffi.Any{}
	}
	return *s.key
}

// String returns the step as the library prints it: .name, [2] or ["k"]; a step
// to a key is [<key:...>].
func (s Step) String() string {
	switch s.Kind {
	case StepField:
		return "." + s.Field.name
	case StepIndex:
		return "[" + strconv.Itoa(s.Index) + "]"
	case StepKey:
		return "[<key:" + keyText(s.Key()) + ">]"
	}
	return "[" + keyText(s.Key()) + "]"
}

// keyText shows a key of a map.
func keyText(key tvmffi.Any) string {
	switch k := key.Value().(type) {
	case string:
		return strconv.Quote(k)
	case []byte:
		return "b" + strconv.Quote(string(k))
	case bool:
		return map[bool]string{false: "False", true: "True"}[k]
	case fmt.Stringer:
		return k.String()
	}
	return key.String()
}

// Path leads from the root of a walk to a value. It is a value that may be kept and
// compared; the zero Path is the root.
type Path struct {
	before *pathStep
	step   Step // of kind 0 at the root
}

// pathStep is a path that others begin with, which share it.
type pathStep struct {
	Path
	depth int
}

// shared returns the path as one that others begin with; nil for the root.
func (p Path) shared() *pathStep {
	if p.step.Kind == 0 {
		return nil
	}
	return &pathStep{p, p.Depth()}
}

// then returns the path with a further step.
func (p Path) then(s Step) Path { return Path{p.shared(), s} }

// Depth returns the number of steps.
func (p Path) Depth() int {
	switch {
	case p.step.Kind == 0:
		return 0
	case p.before == nil:
		return 1
	}
	return p.before.depth + 1
}

// Parent returns the path without its last step; the root is its own parent.
func (p Path) Parent() Path {
	if p.before == nil {
		return Path{}
	}
	return p.before.Path
}

// Last returns the last step; ok is false for the root.
func (p Path) Last() (s Step, ok bool) { return p.step, p.step.Kind != 0 }

// Steps returns the steps, from the root on.
func (p Path) Steps() []Step {
	steps := make([]Step, 0, p.Depth())
	for ; p.step.Kind != 0; p = p.Parent() {
		steps = append(steps, p.step)
	}
	slices.Reverse(steps)
	return steps
}

// String returns the path as the library prints its paths: <root>.foo[2]["k"].
func (p Path) String() string {
	var b strings.Builder
	b.WriteString("<root>")
	for _, s := range p.Steps() {
		b.WriteString(s.String())
	}
	return b.String()
}

// Of follows the path from x. An object at its end has its own reference. The error names
// the step that does not exist.
func (p Path) Of(x tvmffi.ObjectRef) (tvmffi.Any, error) {
	o := stateOf(x)
	if o.Handle() == 0 {
		return tvmffi.Any{}, noObject(o, "<root>")
	}
	v := abi.Any{TypeIndex: o.TypeIndex(), Bits: uint64(o.Handle())}
	objects.IncRef(o.Handle())
	at := Path{}
	for _, s := range p.Steps() {
		next, err := s.of(v)
		objects.ReleaseValue(v)
		if err != nil {
			return tvmffi.Any{}, errorf(kindOf(err), "%s: %w", at, err)
		}
		v, at = next, at.then(s)
	}
	keep(o)
	return takeAny(v), nil
}

// of takes the step from a value, which it does not take over, to an owned one.
func (s Step) of(v abi.Any) (abi.Any, error) {
	if !v.TypeIndex.IsObject() {
		return abi.Any{}, errorf(failure.KindType, "%s has no parts", capi.KeyOf(v.TypeIndex))
	}
	o := objects.Static(uintptr(v.Bits)) // the caller keeps it alive
	switch s.Kind {
	case StepField:
		if s.Field.state(wrap(o)) == nil {
			return abi.Any{}, errorf(failure.KindAttr, "%s has no field %s", capi.KeyOf(v.TypeIndex), s.Field.name)
		}
		return s.Field.read(o)
	case StepIndex:
		elements, ok := codec.Elements(v)
		if !ok {
			break
		}
		if s.Index < 0 || s.Index >= len(elements) {
			return abi.Any{}, errorf(failure.KindIndex, "Index %d out of bounds %d", s.Index, len(elements))
		}
		return objects.Share(elements[s.Index]), nil
	case StepKey:
		t, err := codec.Encode(s.Key())
		return objects.Share(t.Value), err
	case StepValue:
		return valueOf(o, s.Key())
	}
	return abi.Any{}, errorf(failure.KindType, "%s has no %s", capi.KeyOf(v.TypeIndex), s)
}

// valueOf returns the value of a key, owned.
func valueOf(o *objects.Object, key tvmffi.Any) (v abi.Any, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *tvmffi.Error:
			err = p
		default:
			panic(p)
		}
	}()
	if kind := codec.MapKindOf(o.TypeIndex()); kind != nil {
		if v, has := codec.Ask(kind, o, key); has {
			return v, nil
		}
	}
	return abi.Any{}, errorf(failure.KindKey, "there is no key %s", keyText(key))
}
