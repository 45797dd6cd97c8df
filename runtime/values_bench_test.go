package tvmffi_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/jsongraph"
	"github.com/tvmffi-go/tvmffi/runtime/structural"
)

func BenchmarkWalkMillion(b *testing.B) {
	runtimetest.LoadProgram(b)
	tree := runtimetest.MustCall(b, "program.tree", 1<<20)
	b.ResetTimer()
	for b.Loop() {
		n := 0
		if err := structural.Walk(tree, structural.PreOrder, structural.On(func(x int64) error { n++; return nil })); err != nil || n != 1<<20 {
			b.Fatalf("Walk visited %d ints, %v, want %d", n, err, 1<<20)
		}
	}
}

func BenchmarkGraphMillion(b *testing.B) {
	runtimetest.LoadProgram(b)
	tree := runtimetest.MustCall(b, "program.tree", 1<<20)
	text, err := jsongraph.Marshal(tree, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Log(len(text))
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			if _, err := jsongraph.Marshal(tree, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			x, err := jsongraph.Unmarshal[tvmffi.Any](text)
			if err != nil {
				b.Fatal(err)
			}
			x.Release()
		}
	})
	b.Run("fields", func(b *testing.B) {
		for b.Loop() {
			if _, err := tree.MarshalJSON(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
