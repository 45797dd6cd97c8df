package tvmffi_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/english"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/env"
	"github.com/tvmffi-go/tvmffi/runtime/jsongraph"
	"github.com/tvmffi-go/tvmffi/runtime/structural"
)

func TestPlainEnglish_seesDefects(t *testing.T) {
	seen := 0
	check := messageCheck(func(string, string) { seen++ })
	check("a result", reflect.ValueOf(func() error { return errors.New("x is " + "no y") }), nil)
	check("a panic", reflect.ValueOf(func() { panic(tvmffi.NewError("ValueError", "x is "+"no y")) }), nil)
	check("plain", reflect.ValueOf(func() error { return errors.New("x is not a y") }), nil)
	if seen != 2 {
		t.Errorf("%d defects were reported, want 2", seen)
	}
}

// messageCheck returns a func that calls f and passes every message that is not in plain
// English to report: of an error that f returns, of an error with which it panics, and of
// what a loop that it returns panics with.
func messageCheck(report func(what, message string)) func(what string, f reflect.Value, in []reflect.Value) {
	return func(what string, f reflect.Value, in []reflect.Value) {
		message := func(err error) {
			var inGo runtime.Error
			if err != nil && !errors.As(err, &inGo) && len(english.Find(err.Error())) > 0 {
				report(what, err.Error())
			}
		}
		defer func() {
			if err, ok := recover().(error); ok {
				message(err)
			}
		}()
		call := f.Call
		if f.Type().IsVariadic() {
			call = f.CallSlice
		}
		for _, out := range call(in) {
			switch x := out.Interface().(type) {
			case error:
				message(x)
			case fmt.Stringer:
				if out.Kind() != reflect.Pointer || !out.IsNil() {
					message(errors.New(x.String()))
				}
			case tvmffi.RegisterOption, tvmffi.LoadOption, tvmffi.DLPackOption, tvmffi.ModuleLookup:
			default:
				if out.Kind() == reflect.Func && out.Type().CanSeq2() {
					for range out.Seq2() {
						break
					}
				} else if out.Kind() == reflect.Func && out.Type().CanSeq() {
					for range out.Seq() {
						break
					}
				}
			}
		}
	}
}

// bad returns values of a type that most functions refuse, the zero value first.
func bad(t *testing.T, want reflect.Type) []reflect.Value {
	values := []reflect.Value{reflect.Zero(want)}
	add := func(all ...any) {
		for _, x := range all {
			if v := reflect.ValueOf(x); v.Type().AssignableTo(want) {
				values = append(values, v)
			} else if v.CanConvert(want) && (want.Kind() == reflect.String || v.CanInt()) { // not between pointers to objects
				values = append(values, v.Convert(want))
			}
		}
	}
	live, released := receivers(t)
	switch want.Kind() {
	case reflect.Interface, reflect.Pointer, reflect.Struct:
		for _, x := range released {
			add(x)
		}
		for _, make := range live {
			add(make())
		}
		text, err := tvmffi.AnyOf("text")
		number, err1 := tvmffi.AnyOf(-300)
		mixed, err2 := tvmffi.AnyOf([]any{1, "x"})
		bytes, err3 := newMap([]byte("a"), 1)
		keyed, err4 := tvmffi.AnyOf(bytes)
		if err := errors.Join(err, err1, err2, err3, err4); err != nil {
			t.Fatal(err)
		}
		add(make(chan int), []any{1, "x", nil}, map[string]any{"a": make(chan int)}, map[any]int{1: 1}, func(chan int) {}, func() (int, int) { return 0, 0 },
			text, number, mixed, keyed, struct {
				A chan int `ffi:"a"`
			}{}, tvmffi.Pointer{Address: 12345}, tvmffi.DataType{Code: 5, Bits: 64, Lanes: 1}, tvmffi.DataType{Code: 2, Bits: 32, Lanes: 65535},
			tvmffi.Device{Type: 99, ID: -1}, tvmffi.Device{Type: 2}, env.TensorSpec{Shape: []int64{-1}}, env.TensorSpec{DataType: tvmffi.Float32, Device: tvmffi.CUDA(7), Shape: []int64{1}})
	case reflect.String:
		add("no such thing", "a\x00b", "float33", "cuda:x")
	case reflect.Slice:
		for _, v := range bad(t, want.Elem()) {
			values = append(values, reflect.Append(reflect.Zero(want), v, v, v))
		}
		add([]byte("{"))
	case reflect.Int, reflect.Int64, reflect.Int32, reflect.Int16, reflect.Int8:
		add(-1, 7, math.MaxInt64>>1)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		add(7)
	}
	return values
}

// receivers returns makers of values whose methods are called: live ones, and released
// objects.
func receivers(t *testing.T) (live []func() any, released []any) {
	t.Helper()
	ok := func(x any, err error) any {
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	live = []func() any{
		func() any { return ok(tvmffi.NewArray[any]("a", 1)) },
		func() any {
			a := ok(tvmffi.NewArray[any]("a", 1)).(*tvmffi.Array[any])
			defer a.Release()
			return runtimetest.Unchecked[*tvmffi.Array[int64]](t, ok(tvmffi.AnyOf(a)).(tvmffi.Any))
		},
		func() any { return ok(tvmffi.NewList[int8](1)) },
		func() any { return ok(tvmffi.NewMap(tvmffi.MapOf(map[string]int64{"a": 1}))) },
		func() any { return ok(tvmffi.NewDict(tvmffi.MapOf(map[string]int64{"a": 1}))) },
		func() any { return ok(tvmffi.NewShape(1, 2)) },
		func() any { return ok(tvmffi.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)) },
		func() any {
			x := ok(tvmffi.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)).(*tvmffi.Tensor)
			defer x.Release()
			return ok(x.Transpose())
		},
		func() any {
			return ok(tvmffi.ElementsOf[float32](ok(tvmffi.FromSlice([]float32{1, 2}, 2)).(*tvmffi.Tensor)))
		},
		func() any { return ok(tvmffi.FuncOf(func(int8) error { return errors.New("no") })) },
		func() any { return ok(tvmffi.FuncOf(func(*tvmffi.Tensor, []int64, map[string]int8) {})) },
		func() any { return ok(tvmffi.SystemLib("")) },
		func() any { return ok(tvmffi.NewOpaque(1)) },
		func() any { return new(tvmffi.Scope) },
		func() any { d := tvmffi.Float32; return &d },
		func() any { d := tvmffi.Complex64; return &d },
		func() any { return new(tvmffi.Any) },
		func() any { return tvmffi.WrapError("ValueError", "x", errors.New("y")) },
	}
	for _, make := range live {
		if x, ok := make().(tvmffi.ObjectRef); ok {
			var s tvmffi.Scope
			s.Add(x)
			s.Release()
			released = append(released, x)
		}
	}
	return live, released
}

// combinations calls f with lists of bad arguments: in each list one argument is bad, or
// all are. first is an argument that goes before them, if it is valid.
func combinations(t *testing.T, what string, f reflect.Value, first func() reflect.Value, check func(string, reflect.Value, []reflect.Value)) {
	skip := 0
	if first != nil {
		skip = 1
	}
	var bads [][]reflect.Value
	most := 0
	for i := skip; i < f.Type().NumIn(); i++ {
		all := bad(t, f.Type().In(i))
		bads = append(bads, all)
		most = max(most, len(all))
	}
	call := func(pick func(i int) reflect.Value) {
		var in []reflect.Value
		if first != nil {
			in = append(in, first())
		}
		for i := range bads {
			in = append(in, pick(i))
		}
		check(what, f, in)
	}
	call(func(i int) reflect.Value { return bads[i][0] })
	for k := 1; k < most; k++ {
		call(func(i int) reflect.Value { return bads[i][k%len(bads[i])] })
		for one := range bads {
			if len(bads) > 1 && k < len(bads[one]) {
				call(func(i int) reflect.Value {
					if i == one {
						return bads[i][k]
					}
					return bads[i][0]
				})
			}
		}
	}
}

// Every message of an error or a panic is in plain English, whatever the functions and
// methods of the package are called with: nil, zero, released and wrong values.
func TestMessages(t *testing.T) {
	runtimetest.Load(t)
	reported := map[string]bool{}
	calls := 0
	check := messageCheck(func(what, message string) {
		if !reported[message] {
			t.Errorf("%s: %q is not plain English: %v", what, message, english.Find(message))
		}
		reported[message] = true
	})
	counted := func(what string, f reflect.Value, in []reflect.Value) {
		calls++
		check(what, f, in)
	}
	live, released := receivers(t)
	methods := func(what string, typ reflect.Type, make func() reflect.Value) {
		for i := range typ.NumMethod() {
			if m := typ.Method(i); m.Name != "Format" { // fmt calls it
				combinations(t, what+" "+typ.String()+"."+m.Name, m.Func, make, counted)
			}
		}
	}
	for _, make := range live {
		typ := reflect.TypeOf(make())
		methods("live", typ, func() reflect.Value { return reflect.ValueOf(make()) })
		methods("nil", typ, func() reflect.Value { return reflect.Zero(typ) })
		methods("zero", typ, func() reflect.Value { return reflect.New(typ.Elem()) })
	}
	for _, x := range released {
		methods("released", reflect.TypeOf(x), func() reflect.Value { return reflect.ValueOf(x) })
	}
	functions := publicFunctions()
	for name, all := range functions {
		for _, f := range all {
			combinations(t, name, reflect.ValueOf(f), nil, counted)
		}
	}
	if calls < 5000 {
		t.Errorf("only %d calls were made", calls)
	}
	for _, name := range exportedFunctions(t) {
		if functions[name] == nil && !slices.Contains(notCalled, name) {
			t.Errorf("the function %s is not called: add it to publicFunctions", name)
		}
	}
}

// notCalled are the functions that must not be called with wrong addresses, and those that
// make the rest of the process another one.
var notCalled = []string{"FunctionFromPacked", "FunctionFromPointer", "FromPointer", "OwnDLPack", "OwnDLPackVersioned"}

// publicFunctions returns the functions of the package by name, generic ones with several
// type arguments, and some of the packages beside it.
func publicFunctions() map[string][]any {
	type config struct {
		Name string `ffi:"name"`
		N    int8   `ffi:"n,optional"`
	}
	return map[string][]any{
		"AnyOf": {tvmffi.AnyOf[any], tvmffi.AnyOf[[]any], tvmffi.AnyOf[chan int]},
		"As": {tvmffi.As[int8], tvmffi.As[bool], tvmffi.As[string], tvmffi.As[float32], tvmffi.As[[]int64], tvmffi.As[[2]int64], tvmffi.As[map[string]int8], tvmffi.As[map[any]any], tvmffi.As[*tvmffi.Tensor],
			tvmffi.As[tvmffi.DataType], tvmffi.As[tvmffi.Device], tvmffi.As[tvmffi.Pointer], tvmffi.As[func(int) int], tvmffi.As[config], tvmffi.As[tvmffi.Tuple2[int64, string]], tvmffi.As[chan int],
			tvmffi.As[error], tvmffi.As[*int64]},
		"CUDA": {tvmffi.CUDA}, "Cast": {tvmffi.Cast[*tvmffi.Tensor]}, "Compare": {tvmffi.Compare}, "Concat": {tvmffi.Concat[any]},
		"Convert": {tvmffi.Convert[int8], tvmffi.Convert[bool], tvmffi.Convert[tvmffi.DataType], tvmffi.Convert[tvmffi.Device], tvmffi.Convert[[]float32], tvmffi.Convert[config]},
		"Copy":    {tvmffi.Copy}, "CopyFrom": {tvmffi.CopyFrom[float32]}, "CopyTo": {tvmffi.CopyTo[float32], tvmffi.CopyTo[int8]}, "Doc": {tvmffi.Doc},
		"ElementsOf": {tvmffi.ElementsOf[int8]}, "Equal": {tvmffi.Equal}, "FromDLPack": {tvmffi.FromDLPack},
		"FromFloat32": {tvmffi.FromFloat32}, "FromSlice": {tvmffi.FromSlice[float32]}, "FromStrided": {tvmffi.FromStrided[int8]}, "FuncOf": {tvmffi.FuncOf},
		"FunctionMetadata": {tvmffi.FunctionMetadata}, "Functions": {tvmffi.Functions}, "Hash": {tvmffi.Hash}, "KindError": {tvmffi.KindError}, "LibraryPath": {tvmffi.LibraryPath},
		"Load": {func(path string) error {
			return tvmffi.Load(tvmffi.WithLibrary(path), tvmffi.WithDir(path), tvmffi.WithFile(path))
		}},
		"LoadLibrary": {tvmffi.LoadLibrary}, "LoadModule": {tvmffi.LoadModule}, "Lookup": {tvmffi.Lookup}, "MapOf": {tvmffi.MapOf[string, any]},
		"MarshalMap": {tvmffi.MarshalMap}, "MetadataOf": {func(f any) (string, error) { return tvmffi.MetadataOf(f) }, func(s string) (string, error) {
			return tvmffi.MetadataOf(func() {}, tvmffi.Signature(s))
		}}, "Move": {tvmffi.Move}, "NewArray": {tvmffi.NewArray[any]},
		"NewDict": {newDict}, "NewError": {tvmffi.NewError}, "NewList": {tvmffi.NewList[any]}, "NewMap": {newMap}, "NewOpaque": {tvmffi.NewOpaque}, "NewShape": {tvmffi.NewShape},
		"NewTensor": {tvmffi.NewTensor}, "Of": {tvmffi.Of[any]}, "OpaqueAs": {tvmffi.OpaqueAs[int]}, "Override": {tvmffi.Override}, "OwnFunctions": {tvmffi.OwnFunctions},
		"PairsOf": {tvmffi.PairsOf[string, any]}, "Param": {tvmffi.Param}, "ParseDataType": {tvmffi.ParseDataType}, "ParseDevice": {tvmffi.ParseDevice},
		"ParseJSON": {tvmffi.ParseJSON[int8], tvmffi.ParseJSON[any]}, "ReadSlice": {tvmffi.ReadSlice[int8]},
		"Register": {func(f any, s string) error {
			return tvmffi.Register("messages.refused", f, tvmffi.Signature(s), tvmffi.Override())
		}, func(name string) error { return tvmffi.Register(name, 1) }},
		"Repr": {tvmffi.Repr}, "RequireAligned": {tvmffi.RequireAligned}, "RequireContiguous": {tvmffi.RequireContiguous},
		"Retain": {tvmffi.Retain[*tvmffi.Tensor]}, "RetainFunc": {tvmffi.RetainFunc[func(int) int], tvmffi.RetainFunc[string]}, "Same": {tvmffi.Same}, "Signature": {tvmffi.Signature}, "Slice": {tvmffi.Slice[int8], tvmffi.Slice[uint8]},
		"StringifyJSON": {tvmffi.StringifyJSON}, "SystemLib": {tvmffi.SystemLib}, "TensorOf": {tvmffi.TensorOf[uint8]}, "ToBF16": {tvmffi.ToBF16}, "ToFloat32": {tvmffi.ToFloat32},
		"TypeKey": {tvmffi.TypeKey}, "TypeKeys": {tvmffi.TypeKeys},
		"UnmarshalMap": {tvmffi.UnmarshalMap, func(x tvmffi.ObjectRef) error { return tvmffi.UnmarshalMap(x, new(config)) }}, "Unregister": {tvmffi.Unregister},
		"Upcast": {tvmffi.Upcast[*tvmffi.Tensor]}, "VariantAs": {tvmffi.VariantAs[int8]}, "VariantOf": {tvmffi.VariantOf[int8]}, "Version": {tvmffi.Version},
		"WithDir": {tvmffi.WithDir}, "WithFile": {tvmffi.WithFile}, "WithLibrary": {tvmffi.WithLibrary}, "WithLightCalls": {tvmffi.WithLightCalls}, "WrapError": {tvmffi.WrapError},
		"env":        {env.CurrentStream, env.WithStream, env.WithAllocator, env.GoAllocator, env.EnvTensor, func() error { _, err := env.SetAllocator(nil); return err }, env.CheckSignals},
		"structural": {func(x, y any) (bool, error) { return structural.Equal(x, y) }},
		"jsongraph": {func(x any) ([]byte, error) { return jsongraph.Marshal(x, nil) },
			func(text string) (tvmffi.Any, error) { return jsongraph.Unmarshal[tvmffi.Any]([]byte(text)) }},
	}
}

func newDict(key, value any) (*tvmffi.Dict[any, any], error) {
	return tvmffi.NewDict(tvmffi.PairsOf(tvmffi.Pair[any, any]{Key: key, Value: value}))
}

func newMap(key, value any) (*tvmffi.Map[any, any], error) {
	return tvmffi.NewMap(tvmffi.PairsOf(tvmffi.Pair[any, any]{Key: key, Value: value}))
}

// exportedFunctions returns the names of the exported functions of the package.
func exportedFunctions(t *testing.T) (names []string) {
	for _, file := range packageFiles(t) {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil && d.Name.IsExported() {
				names = append(names, d.Name.Name)
			}
		}
	}
	if len(names) < 60 {
		t.Errorf("only %d exported functions were found", len(names))
	}
	return names
}

// packageFiles returns the files of the package without tests.
func packageFiles(t *testing.T) []string {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
}
