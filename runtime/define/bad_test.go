package define_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/define"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

type registrable interface{ Register() error }

type twiceDefined struct {
	A int64 `ffi:"a"`
}

// Register refuses an impossible type with the reason, and its key stays free.
func TestDefineBadInput(t *testing.T) {
	runtimetest.LoadDefine(t)
	if err := runtimetest.PointType.Register(); err != nil {
		t.Fatal(err)
	}
	type (
		none    struct{ A int64 }
		channel struct {
			A chan int `ffi:"a"`
		}
		same struct {
			A int64 `ffi:"a"`
			B int64 `ffi:"a"`
		}
		hidden struct {
			a int64 `ffi:"a"`
		} //lint:ignore U1000 refused
		option struct {
			A int64 `ffi:"a,what"`
		}
		number struct {
			A int8 `ffi:"a,default=300"`
		}
		word struct {
			A int64 `ffi:"a,default=three"`
		}
		malformed struct {
			A int64 `,ffi:"a"`
		}
		list struct {
			A []int64 `ffi:"a,default=1"`
		}
		nameless struct {
			A int64 `ffi:",optional"`
		}
		spaces struct {
			A int64 `ffi:"a b"`
		}
		pointer struct {
			A *chan int `ffi:"a"`
		}
		callback struct {
			A *func() `ffi:"a"`
		}
		integer struct {
			A *big.Int `ffi:"a"`
		}
		inherits struct {
			Label string `ffi:"label"`
		}
		one struct {
			A int64 `ffi:"a"`
		}
		late struct {
			A int64 `ffi:"a"`
			runtimetest.Point
		}
		base  struct{ *one }
		above struct {
			B int64 `ffi:"b"`
			*base
		}
		twoParents struct{ runtimetest.Point }
		selfish    struct {
			A []*define.Instance[runtimetest.Point] `ffi:"a"`
		}
	)
	_ = hidden{a: 1}
	key := "gotest.Bad"
	for name, c := range map[string]struct {
		define func(key string) registrable
		kind   error
		texts  []string
	}{
		"channel": {func(k string) registrable { return define.Object[channel](k) }, tvmffi.ErrType, []string{"field A", "chan int"}},
		"same":    {func(k string) registrable { return define.Object[same](k) }, tvmffi.ErrType, []string{"two fields are named a"}},
		"hidden":  {func(k string) registrable { return define.Object[hidden](k) }, tvmffi.ErrType, []string{"field a: it has a tag, but is not exported"}},
		"above": {func(k string) registrable { return define.Object[above](k) }, tvmffi.ErrType,
			[]string{"field base: it embeds the pointer *define_test.base, whose fields would be left out: embed the struct itself"}},
		"option":    {func(k string) registrable { return define.Object[option](k) }, tvmffi.ErrValue, []string{`field A: the tag has an unknown option "what": there are optional`}},
		"number":    {func(k string) registrable { return define.Object[number](k) }, tvmffi.ErrValue, []string{`field A: the default "300" does not fit int8`}},
		"word":      {func(k string) registrable { return define.Object[word](k) }, tvmffi.ErrValue, []string{`field A: the default "three" is not a valid int64`}},
		"malformed": {func(k string) registrable { return define.Object[malformed](k) }, tvmffi.ErrValue, []string{"field A: the tag ,ffi:\"a\" is malformed"}},
		"list":      {func(k string) registrable { return define.Object[list](k) }, tvmffi.ErrType, []string{"use the option Default"}},
		"nameless":  {func(k string) registrable { return define.Object[nameless](k) }, tvmffi.ErrValue, []string{"no name"}},
		"spaces":    {func(k string) registrable { return define.Object[spaces](k) }, tvmffi.ErrValue, []string{`"a b"`}},
		"pointer":   {func(k string) registrable { return define.Object[pointer](k) }, tvmffi.ErrType, []string{"chan int"}},
		"callback":  {func(k string) registrable { return define.Object[callback](k) }, tvmffi.ErrType, []string{"field A: ", "take func(), whose nil is None"}},
		"integer":   {func(k string) registrable { return define.Object[integer](k) }, tvmffi.ErrType, []string{"field A: ", "*big.Int has no form in memory: take tvmffi.Any"}},
		"no struct": {func(k string) registrable { return define.Object[int](k) }, tvmffi.ErrType, []string{"int is not a struct"}},
		"twice": {func(k string) registrable {
			define.Object[twiceDefined](k + "1")
			return define.Object[twiceDefined](k)
		}, tvmffi.ErrType, []string{"1 already: declare a struct for each type"}},
		"unknown": {func(k string) registrable { return define.Object[one](k, define.ParentKey("gotest.Nothing")) }, tvmffi.ErrAttribute, []string{"the parent gotest.Nothing is not registered: load the library that registers it first"}},
		"own parent": {func(k string) registrable {
			type one struct {
				A int64 `ffi:"a"`
			}
			return define.Object[one](k, define.ParentKey(k))
		}, tvmffi.ErrValue, []string{"it is its own parent"}},
		"hides": {func(k string) registrable { return define.Object[inherits](k, define.ParentKey("define.Base")) }, tvmffi.ErrType, []string{"field label hides the one of define.Base"}},
		"memory": {func(k string) registrable {
			type one struct {
				A int64 `ffi:"a"`
			}
			return define.Object[one](k, define.ParentKey("define.Hidden"))
		}, tvmffi.ErrType, []string{"define.Hidden", "memory from byte 32 to 56 that does not belong to a field"}},
		"builtin": {func(k string) registrable {
			type one struct {
				A int64 `ffi:"a"`
			}
			return define.Object[one](k, define.ParentKey("ffi.Array"))
		}, tvmffi.ErrType, []string{"ffi.Array", "no type can derive"}},
		"late":    {func(k string) registrable { return define.Object[late](k) }, tvmffi.ErrType, []string{"embedded first"}},
		"parents": {func(k string) registrable { return define.Object[twoParents](k, define.ParentKey("define.Base")) }, tvmffi.ErrType, []string{"two parents"}},
		"default": {func(k string) registrable {
			type one struct {
				A int64 `ffi:"a"`
			}
			return define.Object[one](k, define.Default("a", "text"))
		}, tvmffi.ErrType, []string{"the default of field a is a string, not a int64"}},
		"no field": {func(k string) registrable {
			type one struct {
				A int64 `ffi:"a"`
			}
			return define.Object[one](k, define.Default("b", int64(1)))
		}, tvmffi.ErrAttribute, []string{"given for b, but there is no such field"}},
		"receiver": {func(k string) registrable {
			type one struct {
				A int64 `ffi:"a"`
			}
			return define.Object[one](k, define.Method("m", func(int64) {}))
		}, tvmffi.ErrType, []string{"method m", "first parameter"}},
		"method": {func(k string) registrable {
			type one struct {
				A int64 `ffi:"a"`
			}
			return define.Object[one](k, define.Method("m", 3))
		}, tvmffi.ErrType, []string{"method m", "expected a func"}},
		"nil method": {func(k string) registrable {
			type one struct {
				A int64 `ffi:"a"`
			}
			return define.Object[one](k, define.Method("m", (func(one))(nil)))
		}, tvmffi.ErrType, []string{"method m", "one) is nil"}},
		"zero": {func(string) registrable { return &define.Type[int]{} }, tvmffi.ErrType, []string{"make it with define.Object"}},
		"methods": {func(k string) registrable {
			type one struct {
				A int64 `ffi:"a"`
			}
			f := func(one) {}
			return define.Object[one](k, define.Method("m", f), define.Method("m", f))
		}, tvmffi.ErrType, []string{"two methods are named m"}},
		"variadic": {func(k string) registrable {
			type one struct {
				A int64 `ffi:"a"`
			}
			return define.Object[one](k, define.StaticMethod("m", func(int64, ...chan int) {}))
		}, tvmffi.ErrType, []string{"func(int64, ...chan int): parameter 1", "no counterpart"}},
		"signature": {func(k string) registrable {
			type one struct {
				A int64 `ffi:"a"`
			}
			return define.Object[one](k, define.StaticMethod("m", func() {}, tvmffi.Signature("int ->")))
		}, tvmffi.ErrValue, []string{"method m"}},
		"attribute": {func(k string) registrable {
			type one struct {
				A int64 `ffi:"a"`
			}
			return define.Object[one](k, define.Attribute("__ffi_new__", 1))
		}, tvmffi.ErrValue, []string{"__ffi_new__"}},
		"hook": {func(k string) registrable {
			type one struct {
				A int64 `ffi:"a"`
			}
			return define.Object[one](k, define.Repr(func(int64) string { return "" }))
		}, tvmffi.ErrType, []string{"__ffi_repr__", "takes int64"}},
		"structural": {func(k string) registrable {
			type one struct {
				A int64 `ffi:"a"`
			}
			return define.Object[one](k, define.Structural(9))
		}, tvmffi.ErrValue, []string{"structural kind 9"}},
	} {
		t.Run(name, func(t *testing.T) {
			bad := c.define(key)
			for range 2 {
				runtimetest.WantError(t, bad.Register(), c.kind, c.texts...)
			}
		})
	}
	type noKey struct {
		A int64 `ffi:"a"`
	}
	type spacedKey struct{ noKey }
	type takenKey struct{ noKey }
	type controlKey struct{ noKey }
	for why, refused := range map[string]registrable{
		"the key is empty": define.Object[noKey](""), "a space or a quote": define.Object[spacedKey]("a b"),
		"belong to libtvm_ffi": define.Object[takenKey]("ffi.Mine"), "control characters": define.Object[controlKey]("a\x00b"),
	} {
		runtimetest.WantError(t, refused.Register(), tvmffi.ErrValue, why)
	}
	keys, err := tvmffi.TypeKeys()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if strings.HasPrefix(k, key) {
			t.Error("a definition that was refused is registered as", k)
		}
	}
	// A struct without tags is a type without fields.
	empty, err := define.Object[none]("gotest.None").New(none{A: 1})
	if err != nil || empty.Value() != (none{}) {
		t.Errorf("a struct without tags became %v, %v, want a zero struct", empty, err)
	}
	empty.Release()
	type again struct {
		X int64 `ffi:"x"`
	}
	runtimetest.WantError(t, define.Object[again]("gotest.Point").Register(), tvmffi.ErrRuntime, "registered already")
	bad, err := define.Object[selfish]("gotest.Selfish").New(selfish{A: []*define.Instance[runtimetest.Point]{nil}})
	if err != nil {
		t.Error(err)
	}
	bad.Release()
	type strict struct {
		A *define.Instance[runtimetest.Point] `ffi:"a"`
		B any                                 `ffi:"b"`
	}
	strictType := define.Object[strict]("gotest.Strict")
	_, err = strictType.New(strict{})
	runtimetest.WantError(t, err, tvmffi.ErrType, "gotest.Strict: field a: expected gotest.Point, got None")
	p := runtimetest.NewPoint(t, runtimetest.Point{Name: "p"})
	defer p.Release()
	_, err = strictType.New(strict{A: p, B: make(chan int)})
	runtimetest.WantError(t, err, tvmffi.ErrType, "field b", "no counterpart")
	if memstat.UseCount(p) != 1 {
		t.Errorf("use count %d after the failed New, want 1", memstat.UseCount(p))
	}
	var missing define.Instance[again]
	runtimetest.WantError(t, missing.SetValue(again{}), tvmffi.ErrRuntime, "was never set")
	runtimetest.WantPanic(t, tvmffi.ErrType, "the object is nil", func() { (*define.Instance[runtimetest.Point])(nil).Value() })
	released := runtimetest.NewPoint(t, runtimetest.Point{Name: "p"})
	released.Release()
	runtimetest.WantPanic(t, tvmffi.ErrRuntime, "was released", func() { released.Value() })
	runtimetest.WantPanic(t, tvmffi.ErrRuntime, "was released", func() { pointX.Get(released) })
	runtimetest.WantPanic(t, tvmffi.ErrAttribute, "must return a pointer to a field with a tag", func() {
		define.FieldOf(runtimetest.PointType, func(p *runtimetest.Point) *int { return &p.Private }).Get(p)
	})
}
