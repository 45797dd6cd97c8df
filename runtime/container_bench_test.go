package tvmffi_test

import (
	"fmt"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func benchTexts(n int) []string {
	s := make([]string, n)
	for i := range s {
		s[i] = fmt.Sprint("string number ", i)
	}
	return s
}

func BenchmarkContainers(b *testing.B) {
	runtimetest.Load(b)
	ints := make([]int64, 1_000_000)
	for i := range ints {
		ints[i] = int64(i)
	}
	texts := benchTexts(1000)
	array := runtimetest.Must[*tvmffi.Array[int64]](b)(tvmffi.NewArray(ints...))
	words := runtimetest.Must[*tvmffi.Array[string]](b)(tvmffi.NewArray(texts...))
	pairs := make([]tvmffi.Pair[string, int64], len(texts))
	for i, s := range texts {
		pairs[i] = tvmffi.Pair[string, int64]{Key: s, Value: int64(i)}
	}
	table := runtimetest.Must[*tvmffi.Map[string, int64]](b)(tvmffi.NewMap(tvmffi.PairsOf(pairs...)))
	dict := runtimetest.Must[*tvmffi.Dict[string, int64]](b)(tvmffi.NewDict(tvmffi.PairsOf(pairs...)))
	list := runtimetest.Must[*tvmffi.List[int64]](b)(tvmffi.NewList[int64]())
	for _, item := range []struct {
		name string
		run  func() error
	}{
		{"ints build", func() error { a, err := tvmffi.NewArray(ints...); a.Release(); return err }},
		{"ints 4 build", func() error { a, err := tvmffi.NewArray(ints[:4]...); a.Release(); return err }},
		{"ints slice", func() error { _, err := array.Slice(); return err }},
		{"strings build", func() error { a, err := tvmffi.NewArray(texts...); a.Release(); return err }},
		{"strings slice", func() error { _, err := words.Slice(); return err }},
		{"map build", func() error { m, err := tvmffi.NewMap(tvmffi.PairsOf(pairs...)); m.Release(); return err }},
		{"map lookup", func() error { _, ok := table.Get(texts[500]); _ = ok; return nil }},
		{"map miss", func() error { table.Get("no such key"); return nil }},
		{"map has", func() error { table.Has(texts[500]); return nil }},
		{"map iterate", func() error {
			for k, v := range table.All() {
				_, _ = k, v
			}
			return nil
		}},
		{"map copy", func() error { _, err := table.Map(); return err }},
		{"dict iterate", func() error {
			for k, v := range dict.All() {
				_, _ = k, v
			}
			return nil
		}},
		{"dict set", func() error { return dict.Set(texts[500], 1) }},
		{"list append and pop", func() error {
			if err := list.Append(1); err != nil {
				return err
			}
			_, err := list.Pop()
			return err
		}},
	} {
		b.Run(item.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := item.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
