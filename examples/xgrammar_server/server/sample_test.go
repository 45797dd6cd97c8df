package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestSampling: what the members of a request do with three scores.
func TestSampling(t *testing.T) {
	scores := func() []float32 { return []float32{0, 2, 1, float32(math.Inf(-1))} }
	for text, want := range map[string]string{
		`{}`:                                             "[0 1 2]",
		`{"temperature": 0}`:                             "[1]",
		`{"temperature": 0.001}`:                         "[1]",
		`{"top_p": 0}`:                                   "[1]",
		`{"temperature": 1, "top_p": 0.66}`:              "[1]", // they have the probabilities 0.09, 0.67 and 0.24
		`{"temperature": 1, "top_p": 0.68}`:              "[1 2]",
		`{"temperature": 1, "top_p": 0.92}`:              "[0 1 2]",
		`{"logit_bias": {"1": -100}}`:                    "[0 2]",
		`{"logit_bias": {"0": 100, "3": 100}}`:           "[0]",
		`{"temperature": 0, "presence_penalty": 1.5}`:    "[2]",
		`{"temperature": 0, "frequency_penalty": 0.6}`:   "[2]",
		`{"temperature": 0, "frequency_penalty": 0.4}`:   "[1]",
		`{"temperature": 0.001, "presence_penalty": -2}`: "[1]",
	} {
		var s sampling
		if err := errors.Join(json.Unmarshal([]byte(text), &s), s.check(4)); err != nil {
			t.Fatal(err)
		}
		s.Seed = new(int64(1))
		c, counts, seen := s.sampler(0), [4]int{}, []int(nil)
		for range 1000 {
			now := scores()
			c.adjust(now, []int32{1, 1})
			counts[c.sample(now)]++
		}
		for token, n := range counts {
			if n > 0 {
				seen = append(seen, token)
			}
		}
		if fmt.Sprint(seen) != want {
			t.Errorf("%s chooses %v, want %s", text, counts, want)
		}
		if text == `{}` && (counts[1] < 650 || counts[1] > 800) { // exp(2/0.8) of 1 + exp(1/0.8) + exp(2/0.8) is 0.73
			t.Errorf("of 1000 tokens %v", counts)
		}
	}
}

// TestStops: a text ends before the first of its stops, however it comes.
func TestStops(t *testing.T) {
	for _, c := range []struct{ stops, text, want string }{
		{"", "abc", "abc"},
		{"b", "abc", "a|"},
		{"cd bc", "abcd", "a|"},
		{"abab x", "aababab", "a|"},
		{"aab", "aaab", "a|"},
		{"xyz", "wxy", "wxy"},
		{"é", "caféine", "caf|"},
	} {
		for size := 1; size <= len(c.text); size++ {
			var got strings.Builder
			next := tail{stops: strings.Fields(c.stops)}
			stopped := false
			for rest := []rune(c.text); len(rest) > 0 && !stopped; rest = rest[min(size, len(rest)):] {
				var part string
				part, stopped = next.add(string(rest[:min(size, len(rest))]))
				got.WriteString(part)
			}
			if stopped {
				next.text = "|"
			}
			got.WriteString(next.text)
			if got.String() != c.want {
				t.Errorf("%q with the stops %q by %d: %q, want %q", c.text, c.stops, size, &got, c.want)
			}
		}
	}
}
