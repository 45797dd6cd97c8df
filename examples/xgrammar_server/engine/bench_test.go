package engine_test

import (
	"fmt"
	"testing"

	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/engine"
	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/grammar"
	"github.com/tvmffi-go/tvmffi/examples/xgrammar_server/model"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

var benchmarked = grammar.Spec{Kind: grammar.JSONSchema, Source: `{"type":"array","items":{"type":"object","properties":{"name":{"type":"string","maxLength":12},"age":{"type":"integer","minimum":0,"maximum":120}},"required":["name","age"]},"minItems":20,"maxItems":20}`}

// BenchmarkTexts writes texts, so many at a time; each has 20 objects. It reports the time for
// each token with the model, and without it.
func BenchmarkTexts(b *testing.B) {
	nativetest.Library(b)
	nativetest.Pinned(b, "xgrammar")
	m := model.New()
	c, err := grammar.NewCompiler(m.Vocabulary(), int64(m.Stop()), grammar.DefaultLimits())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close(b.Context())
	for _, many := range []int{1, 8, 32} {
		b.Run(fmt.Sprint(many), func(b *testing.B) {
			e, err := engine.New(m, engine.DefaultOptions())
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			tokens := 0
			for seed := uint64(0); b.Loop(); seed++ {
				texts := make([]*engine.Text, many)
				for i := range texts {
					matcher, _, err := c.Matcher(b.Context(), benchmarked)
					if err != nil {
						b.Fatal(err)
					}
					texts[i], err = e.Start(b.Context(), engine.Request{Matcher: matcher, JSON: true, MaxTokens: 1000, Temperature: 1, Seed: seed*100 + uint64(i)})
					if err != nil {
						b.Fatal(err)
					}
				}
				for _, text := range texts {
					result, err := text.Wait()
					if err != nil {
						b.Fatal(err)
					}
					tokens += result.Output
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(tokens), "ns/token")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds()-e.ModelTime.Sum().Nanoseconds())/float64(tokens), "ns/token-without-model")
		})
	}
}

// BenchmarkMask fills one mask, accepts one token and takes it back.
func BenchmarkMask(b *testing.B) {
	nativetest.Library(b)
	nativetest.Pinned(b, "xgrammar")
	m := model.New()
	c, err := grammar.NewCompiler(m.Vocabulary(), int64(m.Stop()), grammar.DefaultLimits())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close(b.Context())
	matcher, _, err := c.Matcher(b.Context(), benchmarked)
	if err != nil {
		b.Fatal(err)
	}
	defer matcher.Release()
	tensor, err := tvmffi.FromSlice(make([]int32, model.Size/32), 1, model.Size/32)
	if err != nil {
		b.Fatal(err)
	}
	defer tensor.Release()
	if _, err := matcher.AcceptString(`[{"name": "an`, false); err != nil {
		b.Fatal(err)
	}
	token := int64(m.Encode("a")[0])
	b.Run("fill", func(b *testing.B) {
		for b.Loop() {
			if _, err := matcher.FillNextTokenBitmask(tensor, 0, false); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("accept and rollback", func(b *testing.B) {
		for b.Loop() {
			if ok, err := matcher.AcceptToken(token, false); !ok || err != nil {
				b.Fatal(ok, err)
			}
			if err := matcher.Rollback(1); err != nil {
				b.Fatal(err)
			}
		}
	})
}
