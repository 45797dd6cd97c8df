package ffi_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/generated/ffi"
	"github.com/tvmffi-go/tvmffi/generated/ffi/json"
	"github.com/tvmffi-go/tvmffi/generated/internal/check"
	lib "github.com/tvmffi-go/tvmffi/generated/testing"
	"github.com/tvmffi-go/tvmffi/internal/registry"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

// The generic containers that packed functions of the library return.
type (
	anyArray = *tvmffi.Array[tvmffi.Any]
	anyList  = *tvmffi.List[tvmffi.Any]
	anyMap   = *tvmffi.Map[tvmffi.Any, tvmffi.Any]
	anyDict  = *tvmffi.Dict[tvmffi.Any, tvmffi.Any]
)

// load loads the libraries of the tests. The testing library adds objects for the
// functions to work on.
func load(t testing.TB) {
	t.Helper()
	core, testing := nativetest.Library(t), nativetest.Testing(t)
	for _, load := range []func(...tvmffi.LoadOption) error{ffi.Load, json.Load, lib.Load} {
		if err := load(tvmffi.WithLibrary(core), tvmffi.WithFile(core), tvmffi.WithFile(testing)); err != nil {
			t.Fatal(err)
		}
	}
}

// functions has a test for every generated function, by its Go name. The test of package
// generated checks that none is missing and that each calls its function.
var functions = map[string]func(*testing.T){}

// notCalled lists the functions that no test calls, with the reason.
var notCalled = map[string]string{
	"RegisterFFIInit":                "gives a type a constructor, for the rest of the process; for the Python package only",
	"PyClassRegisterTypeAttrColumns": "makes a type one of Python's, for the rest of the process",
}

func TestFunctions(t *testing.T) {
	load(t)
	for _, theme := range []map[string]func(*testing.T){sequences, mappings, comparisons, structures, modules, others} {
		maps.Copy(functions, theme)
	}
	const generated = 100 // two of them in ffi/json
	if n := len(functions) + len(notCalled); n != generated {
		t.Errorf("%d functions have a test or a reason, %d are generated", n, generated)
	}
	for name, test := range functions {
		if notCalled[name] != "" {
			t.Errorf("%s has a test and a reason not to have one", name)
		}
		t.Run(name, test)
	}
}

// as returns the result of a packed function as a T.
func as[T any](v tvmffi.Any, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		return check.Value(tvmffi.As[T](check.Value(v, err)(t)))(t)
	}
}

// values returns the elements of a sequence in their natural Go types.
func values(t testing.TB, s interface{ Slice() ([]tvmffi.Any, error) }) []any {
	t.Helper()
	var out []any
	for _, v := range check.Value(s.Slice())(t) {
		out = append(out, v.Value())
	}
	return out
}

func newList(t testing.TB, items ...any) anyList {
	t.Helper()
	return as[anyList](ffi.List(items...))(t)
}

func newDict(t testing.TB, items ...any) anyDict {
	t.Helper()
	return as[anyDict](ffi.Dict(items...))(t)
}

func typeIndex(t testing.TB, key string) int64 {
	t.Helper()
	return int64(check.Value(registry.IndexOfKey(key))(t))
}

var sequences = map[string]func(*testing.T){
	"Array": func(t *testing.T) {
		a := as[anyArray](ffi.Array(1, "two", nil))(t)
		defer a.Release()
		check.Equal(t, values(t, a), []any{int64(1), "two", nil})
		empty := as[anyArray](ffi.Array())(t)
		defer empty.Release()
		check.Equal(t, empty.Len(), 0)
	},
	"ArrayContains": func(t *testing.T) {
		check.Returns(ffi.ArrayContains(tvmffi.Of[any](1, "two"), "two"))(t, true)
		check.Returns(ffi.ArrayContains(tvmffi.Of[any](1, "two"), 2))(t, false)
	},
	"ArrayGetItem": func(t *testing.T) {
		check.Equal(t, as[string](ffi.ArrayGetItem(tvmffi.Of("a", "b"), 1))(t), "b")
		_, err := ffi.ArrayGetItem(tvmffi.Of("a"), 1)
		check.Fails(t, err, tvmffi.ErrIndex, "1")
	},
	"ArraySize": func(t *testing.T) { check.Returns(ffi.ArraySize(tvmffi.Of[int64](4, 5, 6)))(t, 3) },
	"List": func(t *testing.T) {
		l := newList(t, 1, "two")
		defer l.Release()
		check.Equal(t, values(t, l), []any{int64(1), "two"})
	},
	"ListAppend": onList(func(t *testing.T, l anyList) []any {
		check.OK(t, ffi.ListAppend(l, "d"))
		return []any{"a", "b", "c", "d"}
	}),
	"ListClear": onList(func(t *testing.T, l anyList) []any {
		check.OK(t, ffi.ListClear(l))
		return nil
	}),
	"ListContains": onList(func(t *testing.T, l anyList) []any {
		check.Returns(ffi.ListContains(l, "b"))(t, true)
		check.Returns(ffi.ListContains(l, "x"))(t, false)
		return []any{"a", "b", "c"}
	}),
	"ListErase": onList(func(t *testing.T, l anyList) []any {
		check.OK(t, ffi.ListErase(l, 1))
		check.Fails(t, ffi.ListErase(l, 5), tvmffi.ErrIndex)
		return []any{"a", "c"}
	}),
	"ListEraseRange": onList(func(t *testing.T, l anyList) []any {
		check.OK(t, ffi.ListEraseRange(l, 0, 2))
		return []any{"c"}
	}),
	"ListGetItem": onList(func(t *testing.T, l anyList) []any {
		check.Equal(t, as[string](ffi.ListGetItem(l, 2))(t), "c")
		_, err := ffi.ListGetItem(l, 3)
		check.Fails(t, err, tvmffi.ErrIndex)
		return []any{"a", "b", "c"}
	}),
	"ListInsert": onList(func(t *testing.T, l anyList) []any {
		check.OK(t, ffi.ListInsert(l, 1, 9))
		return []any{"a", int64(9), "b", "c"}
	}),
	"ListPop": onList(func(t *testing.T, l anyList) []any {
		check.Equal(t, as[string](ffi.ListPop(l, 0))(t), "a")
		return []any{"b", "c"}
	}),
	"ListReplaceSlice": onList(func(t *testing.T, l anyList) []any {
		other := newList(t, 1, 2, 3)
		defer other.Release()
		check.OK(t, ffi.ListReplaceSlice(l, 1, 2, other))
		return []any{"a", int64(1), int64(2), int64(3), "c"}
	}),
	"ListReserve": onList(func(t *testing.T, l anyList) []any {
		check.OK(t, ffi.ListReserve(l, 100))
		return []any{"a", "b", "c"}
	}),
	"ListReverse": onList(func(t *testing.T, l anyList) []any {
		check.OK(t, ffi.ListReverse(l))
		return []any{"c", "b", "a"}
	}),
	"ListSetItem": onList(func(t *testing.T, l anyList) []any {
		check.OK(t, ffi.ListSetItem(l, 2, nil))
		check.Fails(t, ffi.ListSetItem(l, -9, nil), tvmffi.ErrIndex)
		return []any{"a", "b", nil}
	}),
	"ListSize": onList(func(t *testing.T, l anyList) []any {
		check.Returns(ffi.ListSize(l))(t, 3)
		return []any{"a", "b", "c"}
	}),
	"Shape": func(t *testing.T) {
		s := as[*tvmffi.Shape](ffi.Shape(2, 3))(t)
		defer s.Release()
		check.Equal(t, s.Slice(), []int64{2, 3})
	},
}

// onList runs a test on a list of "a", "b", "c" and compares the list afterwards.
func onList(test func(*testing.T, anyList) []any) func(*testing.T) {
	return func(t *testing.T) {
		l := newList(t, "a", "b", "c")
		defer l.Release()
		want := test(t, l)
		check.Equal(t, values(t, l), want)
	}
}

// onDict runs a test on a dict of one entry.
func onDict(test func(*testing.T, anyDict)) func(*testing.T) {
	return func(t *testing.T) {
		d := newDict(t, "k", 1)
		defer d.Release()
		test(t, d)
	}
}

var someMap = tvmffi.PairsOf[any, any](tvmffi.Pair[any, any]{Key: "k", Value: 1}, tvmffi.Pair[any, any]{Key: 2, Value: "v"})

var mappings = map[string]func(*testing.T){
	"Map": func(t *testing.T) {
		m := as[anyMap](ffi.Map("k", 1, 2, "v"))(t)
		defer m.Release()
		check.Equal(t, m.Len(), 2)
		_, err := ffi.Map("a key without a value")
		check.Fails(t, err, tvmffi.ErrInternal, "args.size()")
	},
	"MapCount": func(t *testing.T) {
		check.Returns(ffi.MapCount(someMap, 2))(t, 1)
		check.Returns(ffi.MapCount(someMap, 3))(t, 0)
	},
	"MapForwardIterFunctor": func(t *testing.T) {
		m := as[anyMap](ffi.Map("k", 1, 2, "v"))(t)
		defer m.Release()
		iterate(t, check.Value(ffi.MapForwardIterFunctor(m))(t))
	},
	"MapGetItem": func(t *testing.T) {
		check.Equal(t, as[int64](ffi.MapGetItem(someMap, "k"))(t), 1)
		_, err := ffi.MapGetItem(someMap, "absent")
		check.Fails(t, err, tvmffi.ErrKey)
	},
	"MapGetItemOrMissing": func(t *testing.T) {
		check.Equal(t, as[string](ffi.MapGetItemOrMissing(someMap, 2))(t), "v")
		missing := check.Value(ffi.MapGetItemOrMissing(someMap, "absent"))(t)
		defer missing.Release()
		isMissing(t, missing)
	},
	"MapSize": func(t *testing.T) { check.Returns(ffi.MapSize(someMap))(t, 2) },
	"Dict": onDict(func(t *testing.T, d anyDict) {
		check.Equal(t, d.Len(), 1)
	}),
	"DictClear": onDict(func(t *testing.T, d anyDict) {
		check.OK(t, ffi.DictClear(d))
		check.Equal(t, d.Len(), 0)
	}),
	"DictCount": onDict(func(t *testing.T, d anyDict) {
		check.Returns(ffi.DictCount(d, "k"))(t, 1)
		check.Returns(ffi.DictCount(d, "absent"))(t, 0)
	}),
	"DictErase": onDict(func(t *testing.T, d anyDict) {
		check.OK(t, ffi.DictErase(d, "k"))
		check.Equal(t, d.Len(), 0)
	}),
	"DictForwardIterFunctor": func(t *testing.T) {
		d := newDict(t, "k", 1, 2, "v")
		defer d.Release()
		iterate(t, check.Value(ffi.DictForwardIterFunctor(d))(t))
	},
	"DictGetItem": onDict(func(t *testing.T, d anyDict) {
		check.Equal(t, as[int64](ffi.DictGetItem(d, "k"))(t), 1)
		_, err := ffi.DictGetItem(d, "absent")
		check.Fails(t, err, tvmffi.ErrKey)
	}),
	"DictGetItemOrMissing": onDict(func(t *testing.T, d anyDict) {
		check.Equal(t, as[int64](ffi.DictGetItemOrMissing(d, "k"))(t), 1)
		missing := check.Value(ffi.DictGetItemOrMissing(d, "absent"))(t)
		defer missing.Release()
		isMissing(t, missing)
	}),
	"DictSetItem": onDict(func(t *testing.T, d anyDict) {
		check.OK(t, ffi.DictSetItem(d, "k", "new"))
		check.OK(t, ffi.DictSetItem(d, 7, nil))
		check.Equal(t, d.Len(), 2)
		check.Equal(t, as[string](ffi.DictGetItem(d, "k"))(t), "new")
	}),
	"DictSize": onDict(func(t *testing.T, d anyDict) { check.Returns(ffi.DictSize(d))(t, 1) }),
}

// iterate runs the iterator of a map: 0 asks for the key, 1 for the value, 2 for the next step.
func iterate(t *testing.T, next *tvmffi.Function) {
	t.Helper()
	defer next.Release()
	var got []any
	for more := true; more; more = as[bool](next.Call(2))(t) {
		got = append(got, check.Value(next.Call(0))(t).Value(), check.Value(next.Call(1))(t).Value())
	}
	check.Equal(t, got, []any{"k", int64(1), int64(2), "v"})
}

// isMissing checks for the object that stands for an absent value.
func isMissing(t *testing.T, v tvmffi.Any) {
	t.Helper()
	missing := check.Value(ffi.GetInvalidObject())(t)
	defer missing.Release()
	if o, err := tvmffi.As[*tvmffi.Object](v); err != nil || !tvmffi.Same(o, missing) {
		t.Errorf("got %v, %v", v, err)
	}
}

var others = map[string]func(*testing.T){
	"Bytes":  func(t *testing.T) { check.Returns(ffi.Bytes([]byte{0, 255}))(t, []byte{0, 255}) },
	"String": func(t *testing.T) { check.Returns(ffi.String("a text of some length"))(t, "a text of some length") },
	"ContainerFindFirstNonCPUDevice": func(t *testing.T) {
		x := check.Value(tvmffi.FromSlice([]int8{1}))(t)
		defer x.Release()
		check.Returns(ffi.ContainerFindFirstNonCPUDevice(tvmffi.Of[any](1, x)))(t, tvmffi.CPU)
	},
	"FunctionFromExternC": func(t *testing.T) {
		at := check.Value(lib.GetAddOneCSymbol())(t)
		f := check.Value(ffi.FunctionFromExternC(tvmffi.Pointer{}, tvmffi.Pointer{Address: uintptr(at)}, tvmffi.Pointer{}))(t)
		defer f.Release()
		check.Equal(t, as[int64](f.Call(41))(t), 42)
	},
	"FunctionListGlobalNamesFunctor": func(t *testing.T) {
		f := check.Value(ffi.FunctionListGlobalNamesFunctor())(t)
		defer f.Release()
		n := as[int64](f.Call(-1))(t)
		var names []string
		for i := range n {
			names = append(names, as[string](f.Call(i))(t))
		}
		if !slices.Contains(names, "ffi.Array") || !slices.Contains(names, "testing.add_one") {
			t.Errorf("%d names: %q", n, names)
		}
	},
	"FunctionRemoveGlobal": func(t *testing.T) {
		check.OK(t, tvmffi.Register("generated.test", func() {}))
		check.Returns(ffi.FunctionRemoveGlobal("generated.test"))(t, true)
		check.Returns(ffi.FunctionRemoveGlobal("generated.test"))(t, false)
	},
	"GetGlobalFuncMetadata": func(t *testing.T) {
		text := check.Value(ffi.GetGlobalFuncMetadata("testing.add_one"))(t)
		v := check.Value(json.Parse(text))(t)
		defer v.Release()
		m := check.Value(tvmffi.As[*tvmffi.Map[string, tvmffi.Any]](v))(t)
		if _, ok := m.Get("type_schema"); !ok {
			t.Errorf("the metadata is %s", text)
		}
		_, err := ffi.GetGlobalFuncMetadata("no.such")
		check.Fails(t, err, tvmffi.ErrRuntime, "no.such")
	},
	"GetInvalidObject": sentinel(ffi.GetInvalidObject),
	"GetKwargsObject":  sentinel(ffi.GetKwargsObject),
	"GetRegisteredTypeKeys": func(t *testing.T) {
		keys := check.Value(ffi.GetRegisteredTypeKeys())(t)
		defer keys.Release()
		all := check.Value(keys.Slice())(t)
		if !slices.Contains(all, "ffi.EnumState") || !slices.Contains(all, "testing.TestIntPair") {
			t.Errorf("%q", all)
		}
	},
	"MakeFieldGetter": func(t *testing.T) {
		if at := check.Value(ffi.MakeFieldGetter(typeIndex(t, "ffi.Array")))(t); at == 0 {
			t.Error("the address is 0")
		}
	},
	"MakeFieldSetter": func(t *testing.T) {
		// The setter would call the function at the address, so the test does not call it.
		f := check.Value(ffi.MakeFieldSetter(1, 0, 0))(t)
		defer f.Release()
		check.Equal(t, tvmffi.TypeKey(f), "ffi.Function")
	},
	"MakeObjectFromPackedArgs": func(t *testing.T) {
		x := as[*lib.TestCxxNoAutoInit](ffi.MakeObjectFromPackedArgs(typeIndex(t, "testing.TestCxxNoAutoInit"), "x", 1, "y", 2))(t)
		defer x.Release()
		check.Equal(t, [2]int64{x.X(), x.Y()}, [2]int64{1, 2})
	},
	"ReprPrint": func(t *testing.T) {
		check.Returns(ffi.ReprPrint([]any{1, "two", nil}))(t, `(1, "two", None)`)
		check.Returns(ffi.ReprPrint(nil))(t, "None")
	},
	"Parse": func(t *testing.T) {
		v := check.Value(json.Parse(`{"a": [1, 2.5, "x", null, true]}`))(t)
		defer v.Release()
		m := check.Value(tvmffi.As[*tvmffi.Map[string, anyArray]](v))(t)
		a, ok := m.Get("a")
		if !ok {
			t.Fatal("no a")
		}
		defer a.Release()
		check.Equal(t, values(t, a), []any{int64(1), 2.5, "x", nil, true})
		_, err := json.Parse(`{"a": `)
		check.Fails(t, err, tvmffi.ErrValue)
	},
	"Stringify": func(t *testing.T) {
		check.Returns(json.Stringify([]any{1, "x", nil}, nil))(t, `[1,"x",null]`)
		check.Returns(json.Stringify([]any{1}, new(int64(2))))(t, "[\n  1\n]")
	},
}

// sentinel checks that a function always returns the same object.
func sentinel(f func() (*tvmffi.Object, error)) func(*testing.T) {
	return func(t *testing.T) {
		a, b := check.Value(f())(t), check.Value(f())(t)
		defer a.Release()
		defer b.Release()
		if !tvmffi.Same(a, b) || a == nil {
			t.Errorf("%v and %v", a, b)
		}
	}
}

var modules = map[string]func(*testing.T){
	"ModuleLoadFromFile": func(t *testing.T) {
		m := module(t)
		defer m.Release()
		_, err := ffi.ModuleLoadFromFile(t.TempDir() + "/absent.so")
		check.Fails(t, err, tvmffi.ErrInternal, "absent.so")
	},
	"ModuleLoadFromFileSo": func(t *testing.T) {
		m := check.Value(ffi.ModuleLoadFromFileSo(nativetest.Testing(t), "so"))(t)
		defer m.Release()
		check.Returns(m.Kind())(t, "library")
	},
	"ModuleGetKind": onModule(func(t *testing.T, m *tvmffi.Module) { check.Returns(ffi.ModuleGetKind(m))(t, "library") }),
	"ModuleGetFunction": onModule(func(t *testing.T, m *tvmffi.Module) {
		f := check.Value(ffi.ModuleGetFunction(m, exported, false))(t)
		defer f.Release()
		check.Equal(t, as[int64](f.Call(40, 2))(t), 42)
		if none := check.Value(ffi.ModuleGetFunction(m, "absent", true))(t); none != nil {
			t.Error("there is an absent function")
		}
	}),
	"ModuleGetFunctionDoc": onModule(func(t *testing.T, m *tvmffi.Module) {
		doc := check.Value(ffi.ModuleGetFunctionDoc(m, exported, false))(t)
		if doc == nil || len(*doc) < 40 {
			t.Errorf("the doc is %v", doc)
		}
		check.Returns(ffi.ModuleGetFunctionDoc(m, "absent", false))(t, nil)
	}),
	"ModuleGetFunctionMetadata": onModule(func(t *testing.T, m *tvmffi.Module) {
		if text := check.Value(ffi.ModuleGetFunctionMetadata(m, exported, false))(t); text == nil || len(*text) < 10 {
			t.Errorf("the metadata is %v", text)
		}
		check.Returns(ffi.ModuleGetFunctionMetadata(m, "absent", false))(t, nil)
	}),
	"ModuleImplementsFunction": onModule(func(t *testing.T, m *tvmffi.Module) {
		check.Returns(ffi.ModuleImplementsFunction(m, exported, false))(t, true)
		check.Returns(ffi.ModuleImplementsFunction(m, "absent", false))(t, false)
	}),
	"ModuleGetPropertyMask": onModule(func(t *testing.T, m *tvmffi.Module) {
		const runnable = 0b010
		check.Equal(t, check.Value(ffi.ModuleGetPropertyMask(m))(t)&runnable, runnable)
	}),
	"ModuleGetWriteFormats": onModule(func(t *testing.T, m *tvmffi.Module) {
		check.Elements(t, check.Value(ffi.ModuleGetWriteFormats(m))(t), (*tvmffi.Array[string]).Slice, []string{})
	}),
	"ModuleInspectSource": onModule(func(t *testing.T, m *tvmffi.Module) { check.Returns(ffi.ModuleInspectSource(m, ""))(t, "") }),
	"ModuleWriteToFile": onModule(func(t *testing.T, m *tvmffi.Module) {
		check.Fails(t, ffi.ModuleWriteToFile(m, t.TempDir()+"/x", "so"), tvmffi.ErrRuntime, "library")
	}),
	"ModuleImportModule": onModule(testImports),
	"ModuleClearImports": onModule(testImports),
	"ModuleGlobalsAdd": onModule(func(t *testing.T, m *tvmffi.Module) {
		before := memstat.UseCount(m)
		check.OK(t, ffi.ModuleGlobalsAdd(m))
		check.Equal(t, memstat.UseCount(m), before+1)
		check.OK(t, ffi.ModuleGlobalsRemove(m))
	}),
	"ModuleGlobalsRemove": onModule(func(t *testing.T, m *tvmffi.Module) {
		before := memstat.UseCount(m)
		check.OK(t, ffi.ModuleGlobalsAdd(m))
		check.OK(t, ffi.ModuleGlobalsRemove(m))
		check.Equal(t, memstat.UseCount(m), before)
	}),
	"SystemLib": func(t *testing.T) {
		m := as[*tvmffi.Module](ffi.SystemLib())(t)
		defer m.Release()
		// The testing library links this function into the process.
		f := check.Value(m.Function("testing.add_one"))(t)
		defer f.Release()
		check.Equal(t, as[int64](f.Call(1))(t), 2)
	},
}

const exported = "testing_dll_test_add_with_docstring"

func module(t testing.TB) *tvmffi.Module {
	t.Helper()
	return check.Value(ffi.ModuleLoadFromFile(nativetest.Testing(t)))(t)
}

func onModule(test func(*testing.T, *tvmffi.Module)) func(*testing.T) {
	return func(t *testing.T) {
		m := module(t)
		defer m.Release()
		test(t, m)
		// A nil module is an error of the library.
		_, err := ffi.ModuleGetKind(nil)
		check.Fails(t, err, tvmffi.ErrType, "ffi.Module", "None")
	}
}

func testImports(t *testing.T, m *tvmffi.Module) {
	system := as[*tvmffi.Module](ffi.SystemLib(fmt.Sprint(t.Name(), ".")))(t)
	defer system.Release()
	check.OK(t, ffi.ModuleImportModule(system, m))
	check.Returns(ffi.ModuleImplementsFunction(system, exported, true))(t, true)
	check.Returns(ffi.ModuleImplementsFunction(system, exported, false))(t, false)
	check.OK(t, ffi.ModuleClearImports(system))
	check.Returns(ffi.ModuleImplementsFunction(system, exported, true))(t, false)
}
