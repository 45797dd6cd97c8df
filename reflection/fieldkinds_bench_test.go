package reflection_test

import (
	"testing"

	garden "github.com/tvmffi-go/tvmffi/generated/testing"
	"github.com/tvmffi-go/tvmffi/runtime/define"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

type benchNode struct {
	N    int64                `ffi:"n"`
	Any  any                  `ffi:"any"`
	List *tvmffi.Array[int64] `ffi:"list"`
}

var (
	benchNodeType = define.Object[benchNode]("gotest.BenchNode")
	benchNodeN    = define.FieldOf(benchNodeType, func(p *benchNode) *int64 { return &p.N })
	benchNodeAny  = define.FieldOf(benchNodeType, func(p *benchNode) *any { return &p.Any })
	benchNodeList = define.FieldOf(benchNodeType, func(p *benchNode) **tvmffi.Array[int64] { return &p.List })
)

// The fields of generated types and of types made in Go, by what they hold.
func BenchmarkFieldKinds(b *testing.B) {
	typeByKey(b, "testing.SchemaAllTypes")
	x := must2(b, func() (*garden.SchemaAllTypes, error) {
		return garden.SchemaAllTypesMakeWith(5, 2.5, "a text of some length")
	})
	defer x.Release()
	list := must2(b, func() (*tvmffi.Array[int64], error) { return tvmffi.NewArray[int64](1, 2) })
	defer list.Release()
	node := must2(b, func() (*define.Instance[benchNode], error) { return benchNodeType.New(benchNode{5, 7, list}) })
	defer node.Release()
	for _, kind := range []struct {
		name string
		read func()
	}{
		{"int", func() { x.VInt() }},
		{"float", func() { x.VFloat() }},
		{"string", func() { _ = x.VString() }},
		{"dtype", func() { x.VDtype() }},
		{"object", func() { x.VArrInt().Release() }},
		{"optional", func() { x.VOptInt() }},
		{"defined int", func() { benchNodeN.Get(node) }},
		{"defined any", func() { benchNodeAny.Get(node) }},
		{"defined object", func() { benchNodeList.Get(node).Release() }},
		{"defined struct", func() { node.Value().List.Release() }},
	} {
		b.Run(kind.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				kind.read()
			}
		})
	}
}
