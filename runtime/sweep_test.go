package tvmffi_test

import (
	"reflect"
	"runtime"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/define"
	"github.com/tvmffi-go/tvmffi/runtime/env"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
	"github.com/tvmffi-go/tvmffi/runtime/structural"
)

// Every method of every type gives a result, an error or a panic with an *Error, and
// none of the Go runtime's, whatever it is called on: a zero value, a released object,
// a nil pointer. Arguments are zero too.
func TestMethodsOfNothing(t *testing.T) {
	runtimetest.Load(t)
	if err := linkedType.Register(); err != nil {
		t.Fatal(err)
	}
	releasedOf := func(x tvmffi.ObjectRef, err error) any {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		var s tvmffi.Scope
		s.Add(x)
		s.Release()
		return x
	}
	array, err := tvmffi.NewArray("a")
	list, err1 := tvmffi.NewList[any](1)
	table, err2 := tvmffi.NewMap(tvmffi.MapOf(map[string]int64{"a": 1}))
	dict, err3 := tvmffi.NewDict(tvmffi.MapOf(map[string]int64{"a": 1}))
	shape, err4 := tvmffi.NewShape(1, 2)
	tensor, err5 := tvmffi.FromSlice([]float32{1})
	elements, err6 := tvmffi.ElementsOf[float32](tensor)
	if err6 != nil {
		t.Fatal(err6)
	}
	f, err7 := tvmffi.FuncOf(func() {})
	module, err8 := tvmffi.SystemLib("")
	value, err9 := tvmffi.NewOpaque(1)
	object, _ := tvmffi.Cast[*tvmffi.Object](runtimetest.MakeBox(t, 1))
	held, err10 := tvmffi.AnyOf(runtimetest.MakeBox(t, 1))
	if err10 != nil {
		t.Fatal(err10)
	}
	held.Release()
	moved := tvmffi.Move(object)
	released := []any{
		releasedOf(array, err), releasedOf(list, err1), releasedOf(table, err2), releasedOf(dict, err3), releasedOf(shape, err4), releasedOf(tensor, err5),
		releasedOf(f, err7), releasedOf(module, err8), releasedOf(value, err9), releasedOf(object, nil), releasedOf(runtimetest.MakeBox(t, 1), nil), &held, &moved, elements,
	}
	zero := []any{
		tvmffi.Object{}, tvmffi.Any{}, tvmffi.Array[int64]{}, tvmffi.Array[string]{}, tvmffi.List[any]{}, tvmffi.Map[string, int64]{}, tvmffi.Map[any, any]{}, tvmffi.Dict[string, int64]{},
		tvmffi.Shape{}, tvmffi.Tensor{}, tvmffi.Function{}, tvmffi.Module{}, tvmffi.Opaque{}, define.Instance[linked]{}, tvmffi.Moved{}, tvmffi.Variant{}, tvmffi.Tuple2[any, int64]{},
		tvmffi.Error{}, structural.Interrupted{}, tvmffi.Frame{}, memstat.Handle{}, tvmffi.Scope{}, tvmffi.Elements[float32]{}, tvmffi.DataType{}, tvmffi.Device{}, tvmffi.Pointer{},
		structural.AccessPath{}, structural.AccessStep{}, structural.AccessKind(99), structural.Mismatch{}, structural.Order(99), structural.DefRegion(99), structural.Key{}, structural.Kind(99), structural.Option(255),
		structural.Visitor{}, structural.Mutator{}, tvmffi.ModuleProperties(-1), env.TensorSpec{}, tvmffi.BF16(0),
	}
	for _, x := range released {
		sweep(t, "released", reflect.ValueOf(x))
	}
	for _, x := range zero {
		p := reflect.New(reflect.TypeOf(x))
		p.Elem().Set(reflect.ValueOf(x))
		sweep(t, "zero", p)
		if _, ok := p.Interface().(tvmffi.ObjectRef); ok {
			sweep(t, "nil", reflect.Zero(p.Type()))
		}
	}
	sweep(t, "nil", reflect.ValueOf((*tvmffi.Error)(nil)))
}

// sweep calls all methods of p, and all loops that they return.
func sweep(t *testing.T, what string, p reflect.Value) {
	promoted := map[string]bool{}
	if p.IsNil() { // Go itself finds the nil there, as Object.Release says
		base := reflect.TypeFor[*tvmffi.Object]()
		for i := range base.NumMethod() {
			promoted[base.Method(i).Name] = p.Type() != base
		}
	}
	for i := range p.NumMethod() {
		m := p.Type().Method(i)
		if promoted[m.Name] || m.Name == "Format" { // fmt gives that a state
			continue
		}
		func() {
			defer func() {
				switch e := recover().(type) {
				case runtime.Error:
					t.Errorf("%s %s.%s: an error of the Go runtime: %v", what, p.Type(), m.Name, e)
				case nil, *tvmffi.Error:
				default:
					t.Errorf("%s %s.%s: panic with %v", what, p.Type(), m.Name, e)
				}
			}()
			in := []reflect.Value{p}
			for j := 1; j < m.Type.NumIn(); j++ {
				in = append(in, reflect.Zero(m.Type.In(j)))
			}
			call := m.Func.Call
			if m.Type.IsVariadic() {
				call = m.Func.CallSlice
			}
			for _, out := range call(in) {
				switch {
				case out.Kind() != reflect.Func:
				case out.Type().CanSeq2():
					for range out.Seq2() {
						break
					}
				case out.Type().CanSeq():
					for range out.Seq() {
						break
					}
				}
			}
		}()
	}
}
