package reflection_test

import (
	"testing"

	garden "github.com/tvmffi-go/tvmffi/generated/testing"
	"github.com/tvmffi-go/tvmffi/reflection"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// The fields of an object, by generated code and by name.
func BenchmarkField(b *testing.B) {
	x, err := typeByKey(b, "testing.TestIntPair").Construct(1, 2)
	if err != nil {
		b.Fatal(err)
	}
	defer x.Release()
	pair, _ := tvmffi.Cast[*garden.TestIntPair](x)
	f, v := fieldOf(b, reflection.TypeOf(x), "a"), reflection.ValueOf(x)
	b.Run("generated", func(b *testing.B) {
		for b.Loop() {
			pair.A()
		}
	})
	b.Run("handle", func(b *testing.B) {
		for b.Loop() {
			f.Int(x)
		}
	})
	b.Run("any", func(b *testing.B) {
		for b.Loop() {
			_, _ = f.Get(x)
		}
	})
	b.Run("name", func(b *testing.B) {
		for b.Loop() {
			_, _ = v.Get("a")
		}
	})
	b.Run("set", func(b *testing.B) {
		y := must2(b, func() (*tvmffi.Object, error) { return typeByKey(b, "testing.TestObjectBase").Construct() })
		defer y.Release()
		g := fieldOf(b, reflection.TypeOf(y), "v_i64")
		for b.Loop() {
			_ = g.Set(y, 5)
		}
	})
}

func BenchmarkConstruct(b *testing.B) {
	typ := typeByKey(b, "testing.TestCxxAutoInit")
	b.Run("construct", func(b *testing.B) {
		for b.Loop() {
			x, _ := typ.Construct(1, reflection.Kwargs{"c": 3})
			x.Release()
		}
	})
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			x, _ := typ.New(reflection.Kwargs{"a": 1, "c": 3})
			x.Release()
		}
	})
}

// A graph of 1e5 nodes: a list of pairs of objects.
func BenchmarkWalk(b *testing.B) {
	const n = 100000
	pair := typeByKey(b, "testing.TestIntPair")
	items := make([]any, n)
	for i := range items {
		items[i] = must2(b, func() (*tvmffi.Object, error) { return pair.Construct(i, -i) })
	}
	root := must2(b, func() (*tvmffi.Array[any], error) { return tvmffi.NewArray(items...) })
	defer root.Release()
	for _, x := range items {
		x.(*tvmffi.Object).Release()
	}
	walk := func(b *testing.B, options ...reflection.WalkOption) {
		steps := 0
		for b.Loop() {
			for range reflection.Walk(root, options...).All() {
				steps++
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/step")
	}
	b.Run("all", func(b *testing.B) { walk(b) })
	b.Run("objects", func(b *testing.B) { walk(b, reflection.ObjectsOnly()) })
}
