//go:build tvmffi_liveness

package structural_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/structural"
)

func got[T any](v T, err error) T { return runtimetest.Got(v, err) }

const long = "a text of more than seven bytes"

//go:noinline
func array() *tvmffi.Array[any] { return got(tvmffi.NewArray[any](int64(1), long)) }

//go:noinline
func list() *tvmffi.List[any] { return got(tvmffi.NewList[any](int64(1), long)) }

//go:noinline
func table() *tvmffi.Map[string, any] {
	return got(tvmffi.NewMap(tvmffi.MapOf(map[string]any{long: int64(1)})))
}

//go:noinline
func dict() *tvmffi.Dict[string, any] {
	return got(tvmffi.NewDict(tvmffi.MapOf(map[string]any{long: int64(1)})))
}

//go:noinline
func chain(n int64) *runtimetest.Link {
	return got(tvmffi.As[*runtimetest.Link](got(runtimetest.Call("program.chain", n))))
}

//go:noinline
func variable() *runtimetest.Var {
	return got(tvmffi.As[*runtimetest.Var](got(runtimetest.Call("program.var", long))))
}

//go:noinline
func function() *runtimetest.Func {
	x := variable()
	return got(tvmffi.As[*runtimetest.Func](got(runtimetest.Call("program.func", []any{x}, []any{x, int64(1)}, nil))))
}

//go:noinline
func path() *structural.AccessPath {
	return got(structural.NewAccessPath(
		structural.AccessStep{Kind: structural.AccessField, Key: got(tvmffi.AnyOf("body"))}, structural.AccessStep{Kind: structural.AccessItem, Key: got(tvmffi.AnyOf(1))}))
}

//go:noinline
func key(x any) structural.Key { return got(structural.KeyOf(x)) }

func TestLiveness(t *testing.T) {
	runtimetest.LoadProgram(t)
	failing := structural.On(func(*runtimetest.Var) error { return errBoom })
	names := func(walk func(add func(v *runtimetest.Var) error) error) any {
		var names []string
		err := walk(func(v *runtimetest.Var) error { names = append(names, v.Name()); return nil })
		return fmt.Sprintln(names, err)
	}
	three := fmt.Sprintln([]string{long, long}, nil)
	runtimetest.Alive(t, []runtimetest.Use{
		{"Equal", func() any { return got(structural.Equal(array(), array())) }, true},
		{"Equal of objects", func() any { return got(structural.Equal(function(), function(), structural.MapFreeVars)) }, true},
		{"Hash", func() any { return got(structural.Hash(array())) == got(structural.Hash(array())) }, true},
		{"FirstMismatch", func() any { return got(structural.FirstMismatch(list(), array())).String() != "" }, true},
		{"FirstMismatch inside", func() any {
			return got(structural.FirstMismatch([]any{array(), int64(2)}, []any{array(), int64(3)})).String()
		}, "<root>[1] != <root>[1]"},
		{"FirstMismatch and its objects", func() any { m := got(structural.FirstMismatch(chain(2), chain(3))); return m.String() != "" }, true},
		{"Clone", func() any { return got(structural.Clone(chain(2))).Next().Value() }, int64(0)},
		{"Clone of an Array", func() any { return got(structural.Clone(array())).Len() }, 2},
		{"Clone of a List", func() any { return fmt.Sprint(got(structural.Clone(list()))) }, `[1, "` + long + `"]`},
		{"Clone of a Dict", func() any { return fmt.Sprint(got(structural.Clone(dict()))) }, `{"` + long + `": 1}`},
		{"DeepCopy", func() any { return got(structural.DeepCopy(chain(2))).Next().Value() }, int64(0)},
		{"DeepCopy of a container", func() any { return fmt.Sprint(got(structural.DeepCopy(list()))) }, `[1, "` + long + `"]`},
		{"Replace", func() any { return got(structural.Replace(chain(2), map[string]any{"value": int64(9)})).Value() }, int64(9)},
		{"Replace by an object", func() any {
			return got(structural.Replace(chain(2), map[string]any{"next": chain(5)})).Next().Value()
		}, int64(4)},
		{"Walk", func() any {
			return names(func(add func(v *runtimetest.Var) error) error {
				return structural.Walk(function(), structural.PreOrder, structural.On(add))
			})
		}, three},
		{"Walk afterwards", func() any {
			return names(func(add func(v *runtimetest.Var) error) error {
				return structural.Walk([]any{function()}, structural.PostOrder, structural.On(add))
			})
		}, three},
		{"Visit", func() any {
			return names(func(add func(v *runtimetest.Var) error) error {
				return structural.Visit(function(), structural.OnVisit(func(x *runtimetest.Func, v *structural.Visitor) error { return v.Children(x) }),
					structural.OnVisit(func(x *runtimetest.Var, v *structural.Visitor) error { got(v.Region()); return add(x) }))
			})
		}, three},
		{"Visitor.Visit", func() any {
			n := 0
			err := structural.Visit(array(), structural.OnVisit(func(x *tvmffi.Array[any], v *structural.Visitor) error { return v.Visit(variable()) }),
				structural.OnVisit(func(x *runtimetest.Var, v *structural.Visitor) error { n += len(x.Name()); return nil }))
			return fmt.Sprintln(n, err)
		}, fmt.Sprintln(len(long), nil)},
		{"Rewrite", func() any {
			return fmt.Sprint(got(structural.Rewrite(array(), structural.PostOrder, structural.To(func(x string) (any, error) { return list(), nil }))))
		}, `(1, [1, "` + long + `"])`},
		{"Rewrite of an object", func() any {
			f := got(structural.Rewrite(function(), structural.PreOrder, structural.To(func(x *runtimetest.Var) (any, error) { return variable(), nil })))
			return tvmffi.TypeKey(f) + f.String()[:12]
		}, "program.Func" + "program.Func"},
		{"Mutate", func() any {
			return fmt.Sprint(got(structural.Mutate(array(), structural.OnMutate(func(x string, m *structural.Mutator) (any, error) { return list(), nil }))))
		}, `(1, [1, "` + long + `"])`},
		{"Mutator.Children", func() any {
			f := got(structural.Mutate(function(), structural.OnMutate(func(x *runtimetest.Func, m *structural.Mutator) (any, error) { return m.Children(x) }),
				structural.OnMutate(func(x *runtimetest.Var, m *structural.Mutator) (any, error) { return variable(), nil })))
			return tvmffi.TypeKey(f)
		}, "program.Func"},
		{"Mutator.Mutate", func() any {
			return fmt.Sprint(got(structural.Mutate[any](array(), structural.OnMutate(func(x *tvmffi.Array[any], m *structural.Mutator) (any, error) { return m.Mutate(list()) }))))
		}, `[1, "` + long + `"]`},
		{"Mutator.SetReplacement", func() any {
			return fmt.Sprint(got(structural.Mutate[any](array(), structural.OnMutate(func(x *tvmffi.Array[any], m *structural.Mutator) (any, error) {
				v := variable()
				if err := m.SetReplacement(v, list()); err != nil {
					return nil, err
				}
				return m.Replacement(v)
			}))))
		}, `[1, "` + long + `"]`},
		{"KeyOf", func() any { return key(array()) == key(array()) || key(array()).Hash() == key(array()).Hash() }, true},
		{"Key.String", func() any { return key(array()).String() != "" }, true},
		{"Key.Value", func() any { return key(array()).Value().String() }, `(1, "` + long + `")`},
		{"Key as an argument", func() any { return fmt.Sprint(got(got(tvmffi.NewArray(key(array()))).Contains(key(array())))) != "" }, true},
		{"AccessPath.Steps", func() any { return fmt.Sprint(path().Steps()) }, "[.body [1]]"},
		{"AccessPath.Depth", func() any { return path().Depth() }, 2},
		{"AccessPath.String", func() any { return path().String() }, "<root>.body[1]"},
		{"AccessPath.Equal", func() any { return path().Equal(path()) }, true},
		{"AccessPath.IsPrefixOf", func() any { return path().IsPrefixOf(path()) }, true},
		{"AccessPath.Find", func() any { return got(path().Find(function())).String() }, "1"},
		{"AccessPath.MarshalJSON", func() any { return len(got(json.Marshal(path()))) > 10 }, true},
		{"ErrorPaths", func() any {
			err := structural.Walk(function(), structural.PreOrder, failing)
			if !errors.Is(err, errBoom) {
				return err
			}
			return fmt.Sprint(got(structural.ErrorPaths(function(), err, true)))
		}, "[]"},
		{"ErrorPaths of the root", func() any {
			f := function()
			err := structural.Walk(f, structural.PreOrder, failing)
			return fmt.Sprint(got(structural.ErrorPaths(f, err, false)))
		}, "[<root>.params[0]]"},
		{"maps", func() any { return got(structural.Equal(table(), table())) }, true},
	})
}
