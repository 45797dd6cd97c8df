package ffi_test

import (
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/generated/ffi"
	"github.com/tvmffi-go/tvmffi/generated/ffi/reflection"
	"github.com/tvmffi-go/tvmffi/generated/internal/check"
	lib "github.com/tvmffi-go/tvmffi/generated/testing"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

// types has a test for every generated object type.
var types = map[string]func(*testing.T){
	"Enum": func(t *testing.T) {
		x := makeObject[*ffi.Enum](t, "_int_index", 3, "_str_index", "three")
		defer x.Release()
		check.Equal(t, x.IntIndex(), 3)
		check.Equal(t, x.StrIndex(), "three")
	},
	"IntEnum": func(t *testing.T) {
		x := makeObject[*ffi.IntEnum](t, "_int_index", 3, "_str_index", "three", "value", 3)
		defer x.Release()
		check.Equal(t, x.Value(), 3)
		check.Equal(t, x.StrIndex(), "three")
		asEnum(t, x)
	},
	"StrEnum": func(t *testing.T) {
		x := makeObject[*ffi.StrEnum](t, "_int_index", 3, "_str_index", "three", "value", "three")
		defer x.Release()
		check.Equal(t, x.Value(), "three")
		check.Equal(t, x.IntIndex(), 3)
		asEnum(t, x)
	},
	"EnumState": func(t *testing.T) {
		x := check.Value(ffi.NewEnumState())(t)
		defer x.Release()
		entries, indexes, attrs := x.Entries(), x.Indexes(), x.Attrs()
		defer entries.Release()
		defer indexes.Release()
		defer attrs.Release()
		check.Equal(t, [3]int{entries.Len(), indexes.Len(), attrs.Len()}, [3]int{})
		// The state returns its own containers, so a second read sees what is appended.
		e := check.Value(lib.EnumVariantGet("Alpha"))(t)
		defer e.Release()
		check.OK(t, entries.Append(tvmffi.Upcast[*tvmffi.Object](e)))
		again := x.Entries()
		defer again.Release()
		check.Equal(t, again.Len(), 1)
	},
	"StructuralKey": func(t *testing.T) {
		x := check.Value(ffi.NewStructuralKey([]any{1, "x"}))(t)
		defer x.Release()
		raw := check.Value(ffi.NewStructuralKeyInit([]any{1, "x"}))(t)
		defer raw.Release()
		check.Equal(t, raw.HashI64(), x.HashI64())
		hash := check.Value(ffi.StructuralHash([]any{1, "x"}, false, false))(t)
		check.Equal(t, x.HashI64(), hash)
		key := x.Key()
		defer key.Release()
		check.Returns(ffi.ReprPrint(key))(t, `(1, "x")`)
	},
	"VisitInterrupt": func(t *testing.T) {
		x := check.Value(ffi.NewVisitInterrupt([]any{1}))(t)
		defer x.Release()
		v := x.Value()
		defer v.Release()
		check.Equal(t, v.TypeKey(), "ffi.Array")
		if _, ok := tvmffi.Cast[*ffi.StructuralKey](x); ok {
			t.Error("an interrupt is a key")
		}
	},
	"StructuralVisitor": testVisitor,
	"StructuralMutator": testMutator,
	"VisitErrorContext": testErrorContext,
	"AccessPath":        testAccessPath,
	"AccessStep":        testAccessPath,
}

func TestTypes(t *testing.T) {
	load(t)
	for name, test := range types {
		t.Run(name, test)
	}
}

func TestNilReceivers(t *testing.T) {
	load(t)
	pointers := []any{
		(*ffi.Enum)(nil), (*ffi.IntEnum)(nil), (*ffi.StrEnum)(nil), (*ffi.EnumState)(nil), (*ffi.StructuralKey)(nil), (*ffi.VisitInterrupt)(nil),
		(*ffi.StructuralVisitor)(nil), (*ffi.StructuralMutator)(nil), (*ffi.VisitErrorContext)(nil), (*reflection.AccessPath)(nil), (*reflection.AccessStep)(nil),
	}
	if len(pointers) != len(types) {
		t.Errorf("%d pointers, %d types", len(pointers), len(types))
	}
	if calls := check.NilReceivers(t, pointers...); calls < 30 {
		t.Errorf("only %d methods were called", calls)
	}
}

// makeObject makes an object of a type without a constructor from its fields.
func makeObject[P tvmffi.ObjectType[P]](t testing.TB, fields ...any) P {
	t.Helper()
	var none P
	args := append([]any{typeIndex(t, none.TVMFFIType(none).Key)}, fields...)
	return as[P](ffi.MakeObjectFromPackedArgs(args...))(t)
}

// asEnum uses x where an Enum is expected.
func asEnum(t *testing.T, x ffi.EnumRef) {
	t.Helper()
	if e := x.AsFFIEnum(); !tvmffi.Same(e, x) || memstat.UseCount(x) != 1 {
		t.Errorf("%v as an enum is %v", x, e)
	}
}

func testErrorContext(t *testing.T) {
	inner := check.Value(lib.NewTestIntPair(1, 2))(t)
	defer inner.Release()
	root := check.Value(lib.NewTestDeepCopyEdges(nil, inner))(t)
	defer root.Release()
	trail := check.Value(tvmffi.NewList(tvmffi.Upcast[*tvmffi.Object](inner), tvmffi.Upcast[*tvmffi.Object](root)))(t)
	defer trail.Release()
	x := makeObject[*ffi.VisitErrorContext](t, "reverse_visit_pattern", trail, "prev_error_context", nil)
	defer x.Release()
	pattern := x.ReverseVisitPattern()
	defer pattern.Release()
	check.Equal(t, pattern.Len(), 2)
	check.Equal(t, x.PrevErrorContext(), nil)
	paths := check.Value(ffi.VisitErrorContextFindAccessPaths(root, x, false))(t)
	defer paths.Release()
	for _, path := range paths.All() {
		check.Equal(t, path.Depth(), 1)
	}
	check.Equal(t, paths.Len(), 1)
}

func testAccessPath(t *testing.T) {
	var s tvmffi.Scope
	defer s.Release()
	keep := func(p *reflection.AccessPath, err error) *reflection.AccessPath {
		t.Helper()
		path := check.Value(p, err)(t)
		s.Add(path)
		return path
	}
	root := keep(reflection.AccessPathRoot())
	check.Equal(t, root.Depth(), 0)
	check.Equal(t, root.Parent(), nil)
	check.Equal(t, root.Step(), nil)
	path := keep(root.Attr("field"))
	path = keep(path.ArrayItem(2))
	path = keep(path.MapItem("key"))
	check.Equal(t, path.Depth(), 3)
	parent := path.Parent()
	s.Add(parent)
	if p, ok := tvmffi.Cast[*reflection.AccessPath](parent); !ok || p.Depth() != 2 {
		t.Errorf("the parent is %v", parent)
	}
	steps := check.Value(path.ToSteps())(t)
	s.Add(steps)
	var keys []any
	var kinds []int64
	for _, step := range steps.All() {
		keys = append(keys, step.Key().Value())
		kinds = append(kinds, step.Kind())
	}
	check.Equal(t, keys, []any{"field", int64(2), "key"})
	check.Equal(t, kinds, []int64{0, 1, 2})

	step := path.Step()
	s.Add(step)
	if last, ok := tvmffi.Cast[*reflection.AccessStep](step); !ok || last != step {
		t.Errorf("the step is %v", step)
	}
	longer := keep(path.Extend(step))
	check.Equal(t, longer.Depth(), 4)
	check.Returns(path.IsPrefixOf(longer))(t, true)
	check.Returns(longer.IsPrefixOf(path))(t, false)
	same := keep(keep(root.Attr("field")).ArrayItem(2))
	check.Returns(path.PathEqual(keep(same.MapItem("key"))))(t, true)
	check.Returns(path.PathEqual(root))(t, false)

	missing := []*reflection.AccessPath{keep(root.AttrMissing("f")), keep(root.ArrayItemMissing(1)), keep(root.MapItemMissing(nil))}
	kinds = nil
	for _, m := range missing {
		last := m.Step()
		kinds = append(kinds, last.Kind())
		last.Release()
	}
	if !slices.IsSorted(kinds) || slices.Contains(kinds, 0) {
		t.Errorf("the kinds of missing steps are %v", kinds)
	}
	_, err := root.Extend(nil)
	check.Fails(t, err, tvmffi.ErrType, "ffi.reflection.AccessStep", "None")
	_, err = root.PathEqual((*reflection.AccessPath)(nil))
	check.Fails(t, err, tvmffi.ErrType, "ffi.reflection.AccessPath", "None")
	root.Release()
	_, err = root.Attr("f")
	check.Fails(t, err, tvmffi.ErrRuntime, "ffi.reflection.AccessPath._attr", "released")
}
