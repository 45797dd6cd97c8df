package testing_test

import (
	"reflect"
	"testing"

	"github.com/tvmffi-go/tvmffi/generated/ffi"
	"github.com/tvmffi-go/tvmffi/generated/internal/check"
	lib "github.com/tvmffi-go/tvmffi/generated/testing"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestNil passes nil, and nil pointers of a type, for every form of parameter.
// A callee that takes None returns None; the others return an error.
func TestNil(t *testing.T) {
	load(t)
	accepted := func(name string, result any, err error) {
		t.Helper()
		if v := reflect.ValueOf(result); err != nil || v.IsValid() && !v.IsNil() {
			t.Errorf("%s: nil gave %v, %v", name, result, err)
		}
	}
	refused := func(name, expected string, err error) {
		t.Helper()
		check.Fails(t, err, tvmffi.ErrType, name, expected, "None")
	}
	var (
		pair  *lib.TestIntPair
		ints  *tvmffi.Array[int64]
		texts *tvmffi.Map[string, int64]
	)

	for _, nothing := range []tvmffi.ObjectRef{nil, (*tvmffi.Object)(nil), pair, (*tvmffi.Function)(nil), ints, (*tvmffi.Tensor)(nil)} {
		o, err := lib.SchemaIDObject(nothing)
		accepted("schema_id_object", o, err)
		o, err = lib.SchemaIDOptObj(nothing)
		accepted("schema_id_opt_obj", o, err)
		_, err = lib.ObjectUseCount(nothing)
		refused("testing.object_use_count", "ffi.Object", err)
		v, err := lib.SchemaIDAny(nothing)
		accepted("schema_id_any", v.Value(), err)
	}
	for _, nothing := range []lib.TestIntPairRef{nil, pair} {
		_, err := lib.TestIntPairSum(nothing)
		refused("testing.TestIntPairSum", "testing.TestIntPair", err)
	}
	for _, nothing := range []lib.TestObjectBaseRef{nil, (*lib.TestObjectBase)(nil), (*lib.TestObjectDerived)(nil)} {
		_, err := lib.NewTestObjectPtrHolder(nothing)
		refused("value", "testing.TestObjectBase", err)
	}
	// Without Optional nil is the empty container, as in Go.
	empty := func(name string, x interface {
		tvmffi.ObjectRef
		Len() int
		Release()
	}, err error) {
		t.Helper()
		if err != nil || x.Len() != 0 {
			t.Errorf("%s: nil gave %v, %v, want an empty container", name, x, err)
			return
		}
		x.Release()
	}
	for _, nothing := range []tvmffi.ArrayArg[int64]{nil, ints} {
		x, err := lib.SchemaIDArrInt(nothing)
		empty("testing.schema_id_arr_int", x, err)
		v, err := lib.SchemaVariantMix(lib.IntOrStringOrIntArrayOfIntArray(nothing))
		x, ok := v.AsIntArray()
		if !ok {
			t.Error("nil in a variant is not an array")
			continue
		}
		empty("testing.schema_variant_mix", x, err)
	}
	for _, nothing := range []tvmffi.ArrayLike[tvmffi.ObjectRef]{nil, ints} {
		x, err := lib.SchemaIDArrObj(nothing)
		empty("testing.schema_id_arr_obj", x, err)
	}
	for _, nothing := range []tvmffi.MapArg[string, int64]{nil, texts} {
		x, err := lib.SchemaIDMapStrInt(nothing)
		empty("testing.schema_id_map_str_int", x, err)
	}
	for _, nothing := range []tvmffi.MapLike[any, any]{nil, texts} {
		x, err := lib.SchemaIDMap(nothing)
		empty("testing.schema_id_map", x, err)
	}
	// A callee may add to a List or a Dict, so nil is None.
	_, err := lib.SchemaIDListInt(nil)
	refused("testing.schema_id_list_int", "List<int>", err)
	_, err = lib.SchemaIDDictStrInt(nil)
	refused("testing.schema_id_dict_str_int", "Dict<str, int>", err)
	_, err = lib.SchemaIDVariantIntStr(lib.IntOrString{})
	refused("testing.schema_id_variant_int_str", "Variant<int, str>", err)
	_, err = lib.SchemaVariantMix(lib.IntOrStringOrIntArray{})
	refused("testing.schema_variant_mix", "Variant<int, str, Array<int>>", err)
	all := check.Value(lib.SchemaAllTypesMakeWith(1, 2, "s"))(t)
	defer all.Release()
	err = all.SetVVariant(lib.StringOrIntArrayOrStringIntMap{})
	refused("Variant", "Map<str, int>", err)

	x, err := lib.SchemaIDTensor(nil)
	accepted("schema_id_tensor", x, err)
	_, err = lib.SchemaIDDltensor(nil)
	refused("testing.schema_id_dltensor", "DLTensor*", err)
	refused("testing.schema_tensor_view_input", "DLTensor*", lib.SchemaTensorViewInput(nil))
	f, err := lib.SchemaIDFunc(nil)
	accepted("schema_id_func", f, err)
	// The library would call a typed function without a check for None: Go refuses nil.
	_, err = lib.SchemaIDFuncTyped(nil)
	check.Fails(t, err, tvmffi.ErrType, "testing.schema_id_func_typed", "nil")
	n, err := lib.SchemaIDOptInt(nil)
	accepted("schema_id_opt_int", n, err)
	s, err := lib.SchemaIDOptStr(nil)
	accepted("schema_id_opt_str", s, err)
	b, err := lib.SchemaIDBytes(nil)
	if err != nil || len(b) != 0 {
		t.Errorf("nil bytes gave %v, %v", b, err)
	}

	// nil among the elements.
	objects := check.Value(lib.SchemaIDArrObj(tvmffi.Of[tvmffi.ObjectRef](nil, pair)))(t)
	defer objects.Release()
	for i := range 2 {
		accepted("element", objects.At(i), nil)
	}
	_, err = lib.SchemaArrMapOpt(tvmffi.Of[*int64](nil), tvmffi.MapOf(map[string]tvmffi.ArrayArg[int64]{"k": nil}), nil)
	refused("testing.schema_arr_map_opt", "Map<str, Array<int>>", err)
	_, err = lib.SchemaArrMapOpt(tvmffi.Of[*int64](nil), tvmffi.MapOf(map[string]tvmffi.ArrayArg[int64]{"k": ints}), nil)
	refused("testing.schema_arr_map_opt", "Map<str, Array<int>>", err)
}

// pointers has a nil pointer of every generated type.
var pointers = []any{
	(*lib.SchemaAllTypes)(nil), (*lib.TestCompare)(nil), (*lib.TestCustomCompare)(nil), (*lib.TestCustomHash)(nil),
	(*lib.TestCxxAutoInitAllInitOff)(nil), (*lib.TestCxxAutoInitChild)(nil), (*lib.TestCxxAutoInit)(nil),
	(*lib.TestCxxAutoInitKwOnlyDefaults)(nil), (*lib.TestCxxAutoInitParent)(nil), (*lib.TestCxxAutoInitSimple)(nil),
	(*lib.TestCxxClassBase)(nil), (*lib.TestCxxClassDerivedDerived)(nil), (*lib.TestCxxClassDerived)(nil),
	(*lib.TestCxxClassHiddenField)(nil), (*lib.TestCxxClassPolymorphic)(nil), (*lib.TestCxxEnumHolder)(nil),
	(*lib.TestCxxInitSubset)(nil), (*lib.TestCxxIntEnum)(nil), (*lib.TestCxxKwOnly)(nil), (*lib.TestCxxNoAutoInit)(nil),
	(*lib.TestCxxStrEnum)(nil), (*lib.TestDeepCopyEdges)(nil), (*lib.TestEnumVariant)(nil), (*lib.TestEqWithoutHash)(nil),
	(*lib.TestFrozenCxx)(nil), (*lib.TestHash)(nil), (*lib.TestIntPair)(nil), (*lib.TestNonCopyable)(nil),
	(*lib.TestObjectBase)(nil), (*lib.TestObjectDerived)(nil), (*lib.TestObjectPtrHolder)(nil),
	(*lib.TestUnregisteredBaseObject)(nil), (*lib.TestUnregisteredObject)(nil), (*lib.TestVisitHook)(nil), (*lib.TestVisitRegions)(nil),
}

func TestNilReceivers(t *testing.T) {
	load(t)
	if len(pointers) != len(types) {
		t.Errorf("%d pointers, %d types", len(pointers), len(types))
	}
	if calls := check.NilReceivers(t, pointers...); calls < 200 {
		t.Errorf("only %d methods were called", calls)
	}
}

// TestReleased uses objects after Release: each use reports it.
func TestReleased(t *testing.T) {
	load(t)
	base, pair := check.Value(lib.NewTestObjectBase())(t), newPair(t, 1, 2)
	all := check.Value(lib.SchemaAllTypesMakeWith(1, 2, "s"))(t)
	_, x := tensor(t)
	for range 2 { // twice is harmless
		for _, o := range []interface{ Release() }{base, pair, all, x} {
			o.Release()
		}
	}
	for _, read := range []func(){
		func() { base.VI64() }, func() { base.VStr() }, func() { pair.A() }, func() { all.VBool() }, func() { all.VFloat() },
		func() { all.VDevice() }, func() { all.VOptInt() }, func() { all.VArrInt() }, func() { all.VVariant() },
		func() { x.Shape() }, func() { tvmffi.Retain(pair) }, func() { tvmffi.Upcast[*tvmffi.Object](pair) },
	} {
		check.Panics(t, read, tvmffi.ErrRuntime, "released")
	}
	_, sumErr := pair.Sum()
	_, addErr := base.AddI64(1)
	_, pairErr := lib.TestIntPairSum(pair)
	_, objectErr := lib.SchemaIDObject(base)
	_, anyErr := lib.SchemaIDAny(base)
	_, tensorErr := lib.SchemaIDTensor(x)
	_, arrayErr := lib.SchemaIDArrObj(tvmffi.Of[tvmffi.ObjectRef](nil, pair))
	_, packedErr := lib.Echo(pair)
	_, newErr := lib.NewTestObjectPtrHolder(base)
	_, optionErr := lib.NewTestObjectPtrHolder(nil, lib.TestObjectPtrHolderOptionalValue(base))
	for name, err := range map[string]error{
		"testing.TestIntPair.sum": sumErr, "testing.TestObjectBase.add_i64": addErr, "testing.TestIntPairSum": pairErr,
		"testing.schema_id_object": objectErr, "testing.schema_id_any": anyErr, "testing.schema_id_tensor": tensorErr,
		"element 1": arrayErr, "testing.echo": packedErr, "testing.TestObjectPtrHolder.__ffi_init__": newErr,
		"testing.TestObjectPtrHolder": optionErr, "testing.TestObjectBase.v_i64": base.SetVI64(1), "v_arr_int": all.SetVArrInt(nil),
	} {
		check.Fails(t, err, tvmffi.ErrRuntime, name, "released")
	}
	check.Equal(t, pair.String(), "<object that was released>")
	check.Equal(t, tvmffi.TypeKey(pair), "None")
	if _, ok := tvmffi.Cast[*lib.TestIntPair](pair); ok {
		t.Error("a released object was cast")
	}
}

// TestWrongType passes objects and values of wrong types that Go cannot detect.
func TestWrongType(t *testing.T) {
	load(t)
	pair := newPair(t, 1, 2)
	defer pair.Release()
	v := check.Value(lib.SchemaIDAny(pair))(t)
	defer v.Release()
	_, err := tvmffi.As[*lib.TestObjectBase](v)
	check.Fails(t, err, tvmffi.ErrType, "testing.TestObjectBase", "testing.TestIntPair")
	_, err = tvmffi.As[*ffi.Enum](v)
	check.Fails(t, err, tvmffi.ErrType, "ffi.Enum", "testing.TestIntPair")
	_, err = tvmffi.As[int64](v)
	check.Fails(t, err, tvmffi.ErrType, "int", "testing.TestIntPair")
	_, err = tvmffi.As[[]int64](v)
	check.Fails(t, err, tvmffi.ErrType, "testing.TestIntPair")
	_, err = tvmffi.As[func(int64) error](v)
	check.Fails(t, err, tvmffi.ErrType, "testing.TestIntPair")
	if n, err := ffi.ArraySize(nil); n != 0 || err != nil {
		t.Errorf("the size of nil is %d, %v", n, err)
	}
	// The container claims a wrong element type.
	mixed := check.Value(lib.SchemaIDAny([]any{1, "two"}))(t)
	defer mixed.Release()
	_, err = tvmffi.As[*tvmffi.Array[int64]](mixed)
	check.Fails(t, err, tvmffi.ErrType, "element 1", "int", "Str")
	ints := runtimetest.Unchecked[*tvmffi.Array[int64]](t, mixed)
	check.Equal(t, ints.At(0), 1)
	check.Panics(t, func() { ints.At(1) }, tvmffi.ErrType, "[1]", "int", "Str")
	_, err = ints.Slice()
	check.Fails(t, err, tvmffi.ErrType, "[1]", "Str")
	_, err = lib.SchemaIDArrInt(ints)
	check.Fails(t, err, tvmffi.ErrType, "testing.schema_id_arr_int", "Array<int>", "index 1")
	// A packed function is not checked; its own conversion reports the expected type.
	add := func(a, b int64) (int64, error) { return a + b, nil }
	_, err = lib.Apply(add, 1, pair)
	check.Fails(t, err, tvmffi.ErrType, "int", "testing.TestIntPair")
}
