package server

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
)

// sampling are the members of a request that say how a token is chosen.
type sampling struct {
	Temperature *float64           `json:"temperature"`
	TopP        *float64           `json:"top_p"`
	Seed        *int64             `json:"seed"`
	Presence    float64            `json:"presence_penalty"`
	Frequency   float64            `json:"frequency_penalty"`
	Bias        map[string]float64 `json:"logit_bias"`
}

// check returns the first mistake, and fills in defaults. The vocabulary is the number of tokens.
func (s *sampling) check(vocabulary int) error {
	for _, x := range []struct {
		name            string
		value           **float64
		otherwise, most float64
	}{{"temperature", &s.Temperature, 0.8, 2}, {"top_p", &s.TopP, 1, 1}} {
		if *x.value == nil {
			*x.value = &x.otherwise
		}
		if v := **x.value; !(v >= 0 && v <= x.most) {
			return invalid(x.name, "it is %v, want 0 to %v", v, x.most)
		}
	}
	switch {
	case !(math.Abs(s.Presence) <= 2):
		return invalid("presence_penalty", "it is %v, want -2 to 2", s.Presence)
	case !(math.Abs(s.Frequency) <= 2):
		return invalid("frequency_penalty", "it is %v, want -2 to 2", s.Frequency)
	}
	for token, v := range s.Bias {
		if n, err := strconv.Atoi(token); err != nil || strconv.Itoa(n) != token || n < 0 || n >= vocabulary || !(math.Abs(v) <= 100) {
			return invalid("logit_bias", "token %.20q has %v, want a token from 0 to %d, and -100 to 100", token, v, vocabulary-1)
		}
	}
	return nil
}

// sampler chooses the tokens of one answer.
type sampler struct {
	*sampling
	chance *rand.Rand
	bias   map[int32]float32
	counts map[int32]int
	seen   int
	weight []weighted
}

type weighted struct {
	token  int32
	weight float64
}

// sampler returns a new sampler. With one seed, each choice of an answer has its own chance.
func (s *sampling) sampler(choice int) *sampler {
	seed := rand.Uint64()
	if s.Seed != nil {
		seed = uint64(*s.Seed)
	}
	c := &sampler{sampling: s, chance: rand.New(rand.NewPCG(seed, uint64(choice))), bias: map[int32]float32{}, counts: map[int32]int{}}
	for token, v := range s.Bias {
		n, _ := strconv.ParseInt(token, 10, 32) // check has read it
		c.bias[int32(n)] = float32(v)
	}
	return c
}

// adjust changes the scores by the bias, and by the penalties for the tokens of the answer, which only grows.
func (c *sampler) adjust(scores []float32, answer []int32) {
	for token, v := range c.bias {
		scores[token] += v
	}
	if c.Presence == 0 && c.Frequency == 0 {
		return
	}
	for _, token := range answer[c.seen:] {
		c.counts[token]++
	}
	c.seen = len(answer)
	for token, n := range c.counts {
		scores[token] -= float32(c.Presence + c.Frequency*float64(n))
	}
}

// sample returns the token with the best score if the temperature is 0, otherwise one by chance: of all tokens, or of the best
// ones that together have the probability top_p.
func (c *sampler) sample(scores []float32) (token int32) {
	for t, score := range scores {
		if score > scores[token] {
			token = int32(t)
		}
	}
	top, sum := float64(scores[token]), 0.0
	if *c.Temperature == 0 || *c.TopP == 0 || math.IsInf(top, 0) {
		return token
	}
	c.weight = c.weight[:0]
	for t, score := range scores {
		if w := math.Exp((float64(score) - top) / *c.Temperature); w > 0 {
			c.weight = append(c.weight, weighted{int32(t), w})
			sum += w
		}
	}
	if *c.TopP < 1 {
		slices.SortStableFunc(c.weight, func(a, b weighted) int { return cmp.Compare(b.weight, a.weight) })
		limit := sum * *c.TopP
		sum = 0
		for i := range c.weight {
			if sum += c.weight[i].weight; sum >= limit {
				c.weight = c.weight[:i+1]
				break
			}
		}
	}
	left := c.chance.Float64() * sum
	for _, w := range c.weight {
		if left -= w.weight; left < 0 {
			return w.token
		}
	}
	return token // sum was rounded
}
