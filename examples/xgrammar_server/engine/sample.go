package engine

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// sample returns a token that the mask allows: the best one if the temperature is 0, otherwise one
// by chance, with probabilities from the scores. The mask allows one at least.
func sample(scores []float32, mask []int32, temperature float64, seed, place uint64) int32 {
	best, top := int32(-1), float32(math.Inf(-1))
	each(mask, func(t int32) bool {
		if best < 0 || scores[t] > top {
			best, top = t, scores[t]
		}
		return true
	})
	if temperature <= 0 || math.IsInf(float64(top), 0) {
		return best
	}
	weight := func(t int32) float64 { return math.Exp(float64(scores[t]-top) / temperature) }
	sum := 0.0
	each(mask, func(t int32) bool { sum += weight(t); return true })
	rest := rand.New(rand.NewPCG(seed, place)).Float64() * sum
	chosen := best
	each(mask, func(t int32) bool {
		w := weight(t)
		if w > 0 {
			chosen = t
		}
		rest -= w
		return rest >= 0
	})
	return chosen
}

// each calls f for each token that a mask allows, in order, until f returns false.
func each(mask []int32, f func(token int32) bool) {
	for i, w := range mask {
		for u := uint32(w); u != 0; u &= u - 1 {
			if !f(int32(i*32 + bits.TrailingZeros32(u))) {
				return
			}
		}
	}
}
