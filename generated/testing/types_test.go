package testing_test

import (
	"math"
	"testing"

	"github.com/tvmffi-go/tvmffi/generated/ffi"
	"github.com/tvmffi-go/tvmffi/generated/internal/check"
	lib "github.com/tvmffi-go/tvmffi/generated/testing"
	"github.com/tvmffi-go/tvmffi/internal/registry"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// types has a test for every generated object type: it makes one, if there is a
// constructor, and uses all fields and methods of the type.
var types = map[string]func(*testing.T){
	"SchemaAllTypes": testSchemaAllTypes,

	// Constructors that the type declares.
	"TestIntPair": func(t *testing.T) {
		x := check.Value(lib.NewTestIntPair(40, 2))(t)
		defer x.Release()
		check.Equal(t, [2]int64{x.A(), x.B()}, [2]int64{40, 2})
		check.Returns(x.Sum())(t, 42)
		check.Equal(t, x.String(), "testing.TestIntPair(a=40, b=2)")
	},
	"TestCompare": func(t *testing.T) {
		x := check.Value(lib.NewTestCompare(1, "a name of some length", 3))(t)
		defer x.Release()
		check.Equal(t, x.Key(), 1)
		check.Equal(t, x.Name(), "a name of some length")
		check.Equal(t, x.IgnoredField(), 3)
	},
	"TestHash": func(t *testing.T) {
		x := check.Value(lib.NewTestHash(1, "n", 3))(t)
		defer x.Release()
		check.Equal(t, x.Key(), 1)
		check.Equal(t, x.Name(), "n")
		check.Equal(t, x.HashIgnored(), 3)
	},
	"TestCustomCompare": func(t *testing.T) {
		x := check.Value(lib.NewTestCustomCompare(1, "l"))(t)
		defer x.Release()
		check.Equal(t, x.Key(), 1)
		check.Equal(t, x.Label(), "l")
	},
	"TestCustomHash": func(t *testing.T) {
		x := check.Value(lib.NewTestCustomHash(1, "l"))(t)
		defer x.Release()
		check.Equal(t, x.Key(), 1)
		check.Equal(t, x.Label(), "l")
	},
	"TestEqWithoutHash": func(t *testing.T) {
		x := check.Value(lib.NewTestEqWithoutHash(1, "l"))(t)
		defer x.Release()
		check.Equal(t, x.Key(), 1)
		check.Equal(t, x.Label(), "l")
	},
	"TestNonCopyable": func(t *testing.T) {
		x := check.Value(lib.NewTestNonCopyable(-5))(t)
		defer x.Release()
		check.Equal(t, x.Value(), -5)
	},
	"TestUnregisteredBaseObject": func(t *testing.T) {
		x := check.Value(lib.NewTestUnregisteredBaseObject(4))(t)
		defer x.Release()
		check.Equal(t, x.V1(), 4)
		check.Returns(x.GetV1PlusOne())(t, 5)
	},
	"TestUnregisteredObject": func(t *testing.T) {
		x := check.Value(lib.NewTestUnregisteredObject(4, 5))(t)
		defer x.Release()
		check.Equal(t, x.V1(), 4) // of the parent
		check.Equal(t, x.V2(), 5)
		check.Returns(x.GetV1PlusOne())(t, 5)
		check.Returns(x.GetV2PlusTwo())(t, 7)
	},

	// Constructors that the library makes from the fields.
	"TestCxxAutoInit": func(t *testing.T) {
		x := check.Value(lib.NewTestCxxAutoInit(1, 3))(t)
		defer x.Release()
		check.Equal(t, [4]int64{x.A(), x.B(), x.C(), x.D()}, [4]int64{1, 42, 3, 99})
		y := check.Value(lib.NewTestCxxAutoInit(1, 3, lib.TestCxxAutoInitD(4)))(t)
		defer y.Release()
		check.Equal(t, y.D(), 4)
		check.Round(t, x.SetA, x.A, 10)
		check.Round(t, x.SetB, x.B, 20)
		check.Round(t, x.SetC, x.C, 30)
		check.Round(t, x.SetD, x.D, 40)
		check.Equal(t, [4]int64{x.A(), x.B(), x.C(), x.D()}, [4]int64{10, 20, 30, 40})
		_, err := lib.NewTestCxxAutoInit(1, 3, lib.TestCxxAutoInitD(4), lib.TestCxxAutoInitD(5))
		check.Fails(t, err, tvmffi.ErrType, "d")
	},
	"TestCxxAutoInitSimple": func(t *testing.T) {
		x := check.Value(lib.NewTestCxxAutoInitSimple(1, 2))(t)
		defer x.Release()
		check.Equal(t, [2]int64{x.X(), x.Y()}, [2]int64{1, 2})
		check.Round(t, x.SetX, x.X, math.MinInt64)
		check.Round(t, x.SetY, x.Y, math.MaxInt64)
	},
	"TestCxxAutoInitAllInitOff": func(t *testing.T) {
		x := check.Value(lib.NewTestCxxAutoInitAllInitOff())(t)
		defer x.Release()
		check.Equal(t, [3]int64{x.X(), x.Y(), x.Z()}, [3]int64{7, 9, 1234})
		check.Round(t, x.SetX, x.X, 1)
		check.Round(t, x.SetY, x.Y, 2)
		check.Round(t, x.SetZ, x.Z, 3)
	},
	"TestCxxAutoInitKwOnlyDefaults": func(t *testing.T) {
		x := check.Value(lib.NewTestCxxAutoInitKwOnlyDefaults(1, 2))(t)
		defer x.Release()
		check.Equal(t, [5]int64{x.PRequired(), x.PDefault(), x.KRequired(), x.KDefault(), x.Hidden()}, [5]int64{1, 11, 2, 22, 33})
		y := check.Value(lib.NewTestCxxAutoInitKwOnlyDefaults(1, 2,
			lib.TestCxxAutoInitKwOnlyDefaultsKDefault(4), lib.TestCxxAutoInitKwOnlyDefaultsPDefault(3)))(t)
		defer y.Release()
		check.Equal(t, [5]int64{y.PRequired(), y.PDefault(), y.KRequired(), y.KDefault(), y.Hidden()}, [5]int64{1, 3, 2, 4, 33})
		check.Round(t, x.SetPRequired, x.PRequired, 5)
		check.Round(t, x.SetPDefault, x.PDefault, 6)
		check.Round(t, x.SetKRequired, x.KRequired, 7)
		check.Round(t, x.SetKDefault, x.KDefault, 8)
		check.Round(t, x.SetHidden, x.Hidden, 9)
	},
	"TestCxxAutoInitParent": func(t *testing.T) {
		x := check.Value(lib.NewTestCxxAutoInitParent(1))(t)
		defer x.Release()
		check.Equal(t, [2]int64{x.ParentRequired(), x.ParentDefault()}, [2]int64{1, 5})
		y := check.Value(lib.NewTestCxxAutoInitParent(1, lib.TestCxxAutoInitParentParentDefault(2)))(t)
		defer y.Release()
		check.Equal(t, y.ParentDefault(), 2)
		check.Round(t, x.SetParentRequired, x.ParentRequired, 6)
		check.Round(t, x.SetParentDefault, x.ParentDefault, 7)
	},
	"TestCxxAutoInitChild": func(t *testing.T) {
		x := check.Value(lib.NewTestCxxAutoInitChild(1, 2, 3))(t)
		defer x.Release()
		check.Equal(t, [4]int64{x.ParentRequired(), x.ParentDefault(), x.ChildRequired(), x.ChildKwOnly()}, [4]int64{1, 5, 2, 3})
		y := check.Value(lib.NewTestCxxAutoInitChild(1, 2, 3, lib.TestCxxAutoInitChildParentDefault(4)))(t)
		defer y.Release()
		check.Equal(t, y.ParentDefault(), 4)
		check.Round(t, x.SetChildRequired, x.ChildRequired, 6)
		check.Round(t, x.SetChildKwOnly, x.ChildKwOnly, 7)
		check.Round(t, x.SetParentRequired, x.ParentRequired, 8)
	},
	"TestCxxKwOnly": func(t *testing.T) {
		x := check.Value(lib.NewTestCxxKwOnly(1, 2, 3))(t)
		defer x.Release()
		check.Equal(t, [4]int64{x.X(), x.Y(), x.Z(), x.W()}, [4]int64{1, 2, 3, 100})
		y := check.Value(lib.NewTestCxxKwOnly(1, 2, 3, lib.TestCxxKwOnlyW(4)))(t)
		defer y.Release()
		check.Equal(t, y.W(), 4)
		check.Round(t, x.SetX, x.X, 10)
		check.Round(t, x.SetY, x.Y, 20)
		check.Round(t, x.SetZ, x.Z, 30)
		check.Round(t, x.SetW, x.W, 40)
	},
	"TestCxxInitSubset": func(t *testing.T) {
		x := check.Value(lib.NewTestCxxInitSubset(8))(t)
		defer x.Release()
		check.Equal(t, [2]int64{x.RequiredField(), x.OptionalField()}, [2]int64{8, -1})
		check.Equal(t, x.Note(), "default")
		check.Round(t, x.SetRequiredField, x.RequiredField, 9)
		check.Round(t, x.SetOptionalField, x.OptionalField, 10)
		check.Round(t, x.SetNote, x.Note, "a note of some length")
		check.Round(t, x.SetNote, x.Note, "")
	},
	"TestCxxClassBase": func(t *testing.T) {
		x := check.Value(lib.NewTestCxxClassBase(1, 2))(t)
		defer x.Release()
		check.Equal(t, [2]int64{x.VI64(), x.VI32()}, [2]int64{1, 2})
		check.Round(t, x.SetVI64, x.VI64, -1)
		narrow(t, x.SetVI32, x.VI32)
	},
	"TestCxxClassDerived": func(t *testing.T) {
		x := check.Value(lib.NewTestCxxClassDerived(1, 2, 3.5))(t)
		defer x.Release()
		check.Equal(t, [2]int64{x.VI64(), x.VI32()}, [2]int64{1, 2})
		check.Equal(t, [2]float64{x.VF64(), x.VF32()}, [2]float64{3.5, 8})
		y := check.Value(lib.NewTestCxxClassDerived(1, 2, 3.5, lib.TestCxxClassDerivedVF32(4.5)))(t)
		defer y.Release()
		check.Equal(t, y.VF32(), 4.5)
		check.Round(t, x.SetVF64, x.VF64, math.SmallestNonzeroFloat64)
		check.Round(t, x.SetVF32, x.VF32, -0.25)
		check.Round(t, x.SetVF32, x.VF32, math.Inf(1))
		check.Fails(t, x.SetVF32(1e300), tvmffi.ErrValue, "testing.TestCxxClassDerived.v_f32", "1e+300")
		check.Equal(t, x.VF32(), math.Inf(1))
	},
	"TestCxxClassDerivedDerived": func(t *testing.T) {
		x := check.Value(lib.NewTestCxxClassDerivedDerived(1, 2, 3.5, true))(t)
		defer x.Release()
		check.Equal(t, [2]float64{x.VF64(), x.VF32()}, [2]float64{3.5, 8})
		check.Equal(t, x.VStr(), "default")
		check.Equal(t, x.VBool(), true)
		y := check.Value(lib.NewTestCxxClassDerivedDerived(1, 2, 3.5, false,
			lib.TestCxxClassDerivedDerivedVStr("given"), lib.TestCxxClassDerivedDerivedVF32(1.5)))(t)
		defer y.Release()
		check.Equal(t, y.VStr(), "given")
		check.Equal(t, y.VF32(), 1.5)
		check.Equal(t, y.VBool(), false)
		check.Round(t, x.SetVStr, x.VStr, "another text of some length")
		check.Round(t, x.SetVBool, x.VBool, false)
		check.Round(t, x.SetVI64, x.VI64, 77) // of the grandparent
	},
	"TestCxxClassHiddenField": func(t *testing.T) {
		x := check.Value(lib.NewTestCxxClassHiddenField(1, 2))(t)
		defer x.Release()
		check.Equal(t, [2]int64{x.VI64(), x.VI32()}, [2]int64{1, 2})
		check.Round(t, x.SetVI64, x.VI64, 1<<40)
		narrow(t, x.SetVI32, x.VI32)
	},
	"TestCxxClassPolymorphic": func(t *testing.T) {
		x := check.Value(lib.NewTestCxxClassPolymorphic(9))(t)
		defer x.Release()
		check.Equal(t, x.VI64(), 9)
		check.Round(t, x.SetVI64, x.VI64, -9)
	},
	"TestObjectBase": func(t *testing.T) {
		x := check.Value(lib.NewTestObjectBase())(t)
		defer x.Release()
		check.Equal(t, x.VI64(), 10)
		check.Equal(t, x.VF64(), 10.0)
		check.Equal(t, x.VStr(), "hello")
		y := check.Value(lib.NewTestObjectBase(lib.TestObjectBaseVStr("s"), lib.TestObjectBaseVF64(2.5), lib.TestObjectBaseVI64(3)))(t)
		defer y.Release()
		check.Equal(t, y.VI64(), 3)
		check.Equal(t, y.VF64(), 2.5) // read-only: there is no SetVF64
		check.Equal(t, y.VStr(), "s")
		check.Round(t, x.SetVI64, x.VI64, 4)
		check.Round(t, x.SetVStr, x.VStr, "t")
		check.Returns(x.AddI64(5))(t, 9)
	},
	"TestObjectDerived": testObjectDerived,
	"TestObjectPtrHolder": func(t *testing.T) {
		base := check.Value(lib.NewTestObjectBase())(t)
		defer base.Release()
		derived := newDerived(t)
		defer derived.Release()
		x := check.Value(lib.NewTestObjectPtrHolder(base))(t)
		defer x.Release()
		holds(t, x.Value, base)
		check.Equal(t, x.OptionalValue(), nil)
		y := check.Value(lib.NewTestObjectPtrHolder(derived, lib.TestObjectPtrHolderOptionalValue(base)))(t)
		defer y.Release()
		holds(t, y.Value, derived)
		holds(t, y.OptionalValue, base)
		check.OK(t, x.SetValue(derived))
		holds(t, x.Value, derived)
		check.OK(t, x.SetOptionalValue(derived))
		holds(t, x.OptionalValue, derived)
		check.OK(t, x.SetOptionalValue(nil))
		check.Equal(t, x.OptionalValue(), nil)
	},
	"TestDeepCopyEdges": func(t *testing.T) {
		pair := newPair(t, 1, 2)
		defer pair.Release()
		x := check.Value(lib.NewTestDeepCopyEdges("text", pair))(t)
		defer x.Release()
		check.Equal(t, x.VAny().Value(), any("text"))
		holds(t, x.VObj, pair)
		check.OK(t, x.SetVAny(pair))
		in := x.VAny()
		if p, err := tvmffi.As[*lib.TestIntPair](in); err != nil || !tvmffi.Same(p, pair) {
			t.Errorf("got %v, %v", in, err)
		}
		in.Release()
		check.OK(t, x.SetVAny([]string{"a"}))
		in = x.VAny()
		check.Returns(tvmffi.As[[]string](in))(t, []string{"a"})
		in.Release()
		check.OK(t, x.SetVAny(nil))
		check.Equal(t, x.VAny().IsNone(), true)
		check.OK(t, x.SetVObj(nil))
		check.Equal(t, x.VObj(), nil)
		check.OK(t, x.SetVObj((*lib.TestIntPair)(nil)))
		check.Equal(t, x.VObj(), nil)
	},
	"TestVisitRegions": func(t *testing.T) {
		x := check.Value(lib.NewTestVisitRegions(4, 5, 6))(t)
		defer x.Release()
		check.Equal(t, [3]int64{x.Simple(), x.Pattern(), x.Ordinary()}, [3]int64{4, 5, 6})
	},

	// Types without a constructor. The functions that make their objects have tests above.
	"TestVisitHook": func(t *testing.T) {
		graph := check.Value(lib.MakeVisitRegionGraph(true))(t)
		defer graph.Release()
		x := check.Value(tvmffi.As[*lib.TestVisitHook](graph))(t)
		child := x.Child()
		defer child.Release()
		if _, ok := tvmffi.Cast[*lib.TestVisitRegions](child); !ok {
			t.Errorf("the child is %v", child)
		}
	},
	"TestEnumVariant": func(t *testing.T) {
		e := check.Value(lib.EnumVariantGet("Beta"))(t)
		defer e.Release()
		x, ok := tvmffi.Cast[*lib.TestEnumVariant](e)
		if !ok || x.IntIndex() != 1 || x.StrIndex() != "Beta" {
			t.Errorf("got %v", e)
		}
		if up := tvmffi.Upcast[*ffi.Enum](x); !tvmffi.Same(up, x) {
			t.Error("an upcast made another object")
		}
	},
	"TestCxxIntEnum": func(t *testing.T) {
		x := newIntEnum(t, 3)
		defer x.Release()
		check.Equal(t, x.Value(), 3)
		check.Equal(t, x.IntIndex(), 3)
		check.Equal(t, x.StrIndex(), "entry")
	},
	"TestCxxStrEnum": func(t *testing.T) {
		x := newStrEnum(t, "a value of some length")
		defer x.Release()
		check.Equal(t, x.Value(), "a value of some length")
		check.Equal(t, x.IntIndex(), 0)
		check.Equal(t, x.StrIndex(), x.Value()) // the same field under two names
	},
	"TestFrozenCxx": func(t *testing.T) {
		// The library only registers the type: there is no way to make an object of it.
		pair := newPair(t, 1, 2)
		defer pair.Release()
		if x, ok := tvmffi.Cast[*lib.TestFrozenCxx](pair); ok {
			t.Errorf("a pair is %v", x)
		}
		_, err := ffi.MakeObjectFromPackedArgs(typeIndex(t, "testing.TestFrozenCxx"))
		check.Fails(t, err, tvmffi.ErrRuntime, "testing.TestFrozenCxx")
	},
	"TestCxxEnumHolder": testEnumHolder,
	"TestCxxNoAutoInit": testNoAutoInit,
}

func TestTypes(t *testing.T) {
	load(t)
	for name, test := range types {
		t.Run(name, test)
	}
}

// narrow tests a field of 4 bytes: a value that does not fit changes nothing.
func narrow(t *testing.T, set func(int64) error, get func() int64) {
	t.Helper()
	for _, v := range []int64{math.MaxInt32, math.MinInt32, -1, 0, 12345} {
		check.Round(t, set, get, v)
	}
	for _, v := range []int64{math.MaxInt32 + 1, math.MinInt32 - 1, math.MaxUint32, math.MaxInt64, math.MinInt64} {
		check.Fails(t, set(v), tvmffi.ErrValue, "v_i32", "does not fit")
		check.Equal(t, get(), 12345)
	}
}

// holds checks that a field refers to want.
func holds[P tvmffi.ObjectType[P]](t *testing.T, get func() P, want tvmffi.ObjectRef) {
	t.Helper()
	x := get()
	var s tvmffi.Scope
	s.Add(x)
	defer s.Release()
	if !tvmffi.Same(x, want) {
		t.Errorf("the field holds %v, not %v", x, want)
	}
}

func typeIndex(t testing.TB, key string) int64 {
	t.Helper()
	return int64(check.Value(registry.IndexOfKey(key))(t))
}

// make1 makes an object of a type without a constructor from its fields, as the
// Python package does.
func make1[P tvmffi.ObjectType[P]](t testing.TB, fields ...any) P {
	t.Helper()
	var none P
	args := append([]any{typeIndex(t, none.TVMFFIType(none).Key)}, fields...)
	return check.Value(tvmffi.As[P](check.Value(ffi.MakeObjectFromPackedArgs(args...))(t)))(t)
}

func newIntEnum(t testing.TB, value int64) *lib.TestCxxIntEnum {
	t.Helper()
	return make1[*lib.TestCxxIntEnum](t, "_int_index", value, "_str_index", "entry", "value", value)
}

func newStrEnum(t testing.TB, value string) *lib.TestCxxStrEnum {
	t.Helper()
	return make1[*lib.TestCxxStrEnum](t, "_int_index", 0, "_str_index", "entry", "value", value)
}

func newDerived(t testing.TB) *lib.TestObjectDerived {
	t.Helper()
	return check.Value(lib.NewTestObjectDerived(tvmffi.PairsOf[any, any](), tvmffi.Of[any]()))(t)
}

func testObjectDerived(t *testing.T) {
	x := check.Value(lib.NewTestObjectDerived(
		tvmffi.PairsOf[any, any](tvmffi.Pair[any, any]{Key: "k", Value: 1}), tvmffi.Of[any](1, "two"),
		lib.TestObjectDerivedVI64(5), lib.TestObjectDerivedVF64(6.5), lib.TestObjectDerivedVStr("seven")))(t)
	defer x.Release()
	check.Equal(t, x.VI64(), 5)
	check.Equal(t, x.VF64(), 6.5)
	check.Equal(t, x.VStr(), "seven")
	check.Returns(x.AddI64(1))(t, 6)
	m := x.VMap()
	defer m.Release()
	v, ok := m.Get(check.Value(tvmffi.AnyOf("k"))(t))
	if !ok || v.Value() != any(int64(1)) {
		t.Errorf("k is %v, %v", v, ok)
	}
	a := x.VArray()
	defer a.Release()
	check.Equal(t, a.At(1).Value(), any("two"))
	check.OK(t, x.SetVArray(tvmffi.Of[any](nil)))
	b := x.VArray()
	defer b.Release()
	check.Equal(t, b.At(0).IsNone(), true)
	check.Equal(t, a.Len(), 2) // the old container has not changed
	check.OK(t, x.SetVMap(m))
	again := x.VMap()
	defer again.Release()
	if !tvmffi.Same(again, m) {
		t.Error("a container did not go into the field by handle")
	}
	// A derived object is an object of its parent too.
	up := tvmffi.Upcast[*lib.TestObjectBase](x)
	check.Equal(t, up.VStr(), "seven")
	if down, ok := tvmffi.Cast[*lib.TestObjectDerived](up); !ok || down != x {
		t.Errorf("the way up and down gave %v", down)
	}
	base := check.Value(lib.NewTestObjectBase())(t)
	defer base.Release()
	if _, ok := tvmffi.Cast[*lib.TestObjectDerived](base); ok {
		t.Error("a base is what derives from it")
	}
}

func testEnumHolder(t *testing.T) {
	one, two, op := newIntEnum(t, 1), newIntEnum(t, 2), newStrEnum(t, "op")
	defer one.Release()
	defer two.Release()
	defer op.Release()
	x := check.Value(lib.NewTestCxxEnumHolder(one, op))(t)
	defer x.Release()
	holds(t, x.Priority, one)
	holds(t, x.Opcode, op)
	check.OK(t, x.SetPriority(two))
	holds(t, x.Priority, two)
	other := newStrEnum(t, "other")
	defer other.Release()
	check.OK(t, x.SetOpcode(other))
	holds(t, x.Opcode, other)
	check.Fails(t, x.SetPriority(nil), tvmffi.ErrType, "testing.TestCxxIntEnum", "None")
	check.Fails(t, x.SetOpcode((*lib.TestCxxStrEnum)(nil)), tvmffi.ErrType, "testing.TestCxxStrEnum", "None")
	holds(t, x.Priority, two)
	holds(t, x.Opcode, other)
}

func testNoAutoInit(t *testing.T) {
	x := make1[*lib.TestCxxNoAutoInit](t, "x", 1, "y", 2)
	defer x.Release()
	check.Equal(t, [2]int64{x.X(), x.Y()}, [2]int64{1, 2})
	check.Round(t, x.SetX, x.X, 3)
	check.Round(t, x.SetY, x.Y, 4)
}

func testSchemaAllTypes(t *testing.T) {
	x := check.Value(lib.SchemaAllTypesMakeWith(5, 2.5, "a text of some length"))(t)
	defer x.Release()
	check.Equal(t, x.VBool(), true)
	check.Equal(t, x.VInt(), 5)
	check.Equal(t, x.VFloat(), 2.5)
	check.Equal(t, x.VString(), "a text of some length")
	check.Equal(t, x.VDevice(), tvmffi.CPU)
	check.Equal(t, x.VDtype(), tvmffi.Float32)
	check.Equal(t, x.VOptInt(), nil)
	check.Equal(t, x.VOptStr(), nil)
	check.Equal(t, len(x.VBytes()), 0)
	check.Equal(t, x.VOptArrVariant(), nil)

	check.Round(t, x.SetVBool, x.VBool, false)
	check.Round(t, x.SetVInt, x.VInt, math.MinInt64)
	check.Round(t, x.SetVFloat, x.VFloat, -0.5)
	check.Round(t, x.SetVDevice, x.VDevice, tvmffi.CUDA(2))
	check.Round(t, x.SetVDtype, x.VDtype, tvmffi.DataType{Code: 0, Bits: 8, Lanes: 16})
	for _, s := range []string{"", "short", "longer than what fits"} {
		check.Round(t, x.SetVString, x.VString, s)
		check.Round(t, x.SetVBytes, x.VBytes, []byte(s))
		check.Round(t, x.SetVOptStr, x.VOptStr, new(s))
	}
	check.Round(t, x.SetVOptStr, x.VOptStr, nil)
	check.Round(t, x.SetVOptInt, x.VOptInt, new(int64(7)))
	check.Round(t, x.SetVOptInt, x.VOptInt, nil)

	check.OK(t, x.SetVArrInt(tvmffi.Of[int64](1, 2)))
	check.Elements(t, x.VArrInt(), (*tvmffi.Array[int64]).Slice, []int64{1, 2})
	check.OK(t, x.SetVArrStr(tvmffi.Of("a", "b")))
	check.Elements(t, x.VArrStr(), (*tvmffi.Array[string]).Slice, []string{"a", "b"})
	check.OK(t, x.SetVMapStrInt(tvmffi.MapOf(map[string]int64{"a": 1})))
	check.Elements(t, x.VMapStrInt(), (*tvmffi.Map[string, int64]).Map, map[string]int64{"a": 1})
	check.OK(t, x.SetVMapStrArrInt(tvmffi.MapOf(map[string]tvmffi.ArrayArg[int64]{"a": tvmffi.Of[int64](1, 2)})))
	m := x.VMapStrArrInt()
	defer m.Release()
	inner, ok := m.Get("a")
	if !ok {
		t.Fatal("the map lost its key")
	}
	check.Elements(t, inner, (*tvmffi.Array[int64]).Slice, []int64{1, 2})

	testVariantField(t, x)
	check.OK(t, x.SetVOptArrVariant(tvmffi.Of(lib.IntOrStringOfInt(1), lib.IntOrStringOfString("b"))))
	variants := x.VOptArrVariant()
	defer variants.Release()
	n, isInt := variants.At(0).AsInt()
	s, isText := variants.At(1).AsString()
	if !isInt || !isText || n != 1 || s != "b" {
		t.Errorf("got %v, %v", n, s)
	}
	check.OK(t, x.SetVOptArrVariant(nil))
	check.Equal(t, x.VOptArrVariant(), nil)

	check.OK(t, x.SetVInt(40))
	check.Returns(x.AddInt(2))(t, 42)
	check.Elements(t, check.Value(x.AppendInt(tvmffi.Of[int64](1), 2))(t), (*tvmffi.Array[int64]).Slice, []int64{1, 2})
	check.Returns(x.MaybeConcat(new("a"), new("b")))(t, new("ab"))
	check.Returns(x.MaybeConcat(nil, new("b")))(t, new("b"))
	check.Returns(x.MaybeConcat(new("a"), nil))(t, new("a"))
	check.Returns(x.MaybeConcat(nil, nil))(t, nil)
	merged := check.Value(x.MergeMap(m, tvmffi.MapOf(map[string]tvmffi.ArrayArg[int64]{"a": tvmffi.Of[int64](3)})))(t)
	defer merged.Release()
	both, _ := merged.Get("a")
	check.Elements(t, both, (*tvmffi.Array[int64]).Slice, []int64{1, 2, 3})
}

func testVariantField(t *testing.T, x *lib.SchemaAllTypes) {
	if s, ok := x.VVariant().AsString(); !ok || s != "v" {
		t.Errorf("the variant is %q, %v", s, ok)
	}
	check.OK(t, x.SetVVariant(lib.StringOrIntArrayOrStringIntMapOfString("a text of some length")))
	if s, ok := x.VVariant().AsString(); !ok || s != "a text of some length" {
		t.Errorf("the variant is %q, %v", s, ok)
	}
	check.OK(t, x.SetVVariant(lib.StringOrIntArrayOrStringIntMapOfIntArray(tvmffi.Of[int64](4))))
	a, ok := x.VVariant().AsIntArray()
	if !ok {
		t.Fatal("the variant is not an array")
	}
	check.Elements(t, a, (*tvmffi.Array[int64]).Slice, []int64{4})
	check.OK(t, x.SetVVariant(lib.StringOrIntArrayOrStringIntMapOfStringIntMap(tvmffi.MapOf(map[string]int64{"k": 5}))))
	m, ok := x.VVariant().AsStringIntMap()
	if !ok {
		t.Fatal("the variant is not a map")
	}
	check.Elements(t, m, (*tvmffi.Map[string, int64]).Map, map[string]int64{"k": 5})
	if _, ok := x.VVariant().AsIntArray(); ok {
		t.Error("a map is an array")
	}
}
