package kernelrt_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda/kernelrt"
)

// TestBounds launches with random numbers at their limits. The first number that is out of its range is the error, then the
// threads of a block; a grid without blocks is nothing to launch if all else is right.
func TestBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	one := func(most int64) int64 {
		switch edges := []int64{0, most, most + 1, -1, math.MinInt64, math.MaxInt64, 1 << 32, 2, 33}; r.IntN(16) {
		case 0:
			return edges[r.IntN(len(edges))]
		case 1, 2:
			return most - r.Int64N(2)
		case 3, 4, 5:
			return 1 + r.Int64N(most)
		}
		return 1
	}
	count := map[string]int{}
	most := map[string][3]int64{"grid": {math.MaxInt32, 65535, 65535}, "block": {1024, 1024, 64}, "cluster": {math.MaxInt32, 65535, 65535}}
	for range 300_000 {
		k := &kernelrt.Kernel{Name: "k", Full: r.IntN(2) == 0, Cluster: [][]string{nil, {"2"}}[r.IntN(2)]}
		var d kernelrt.Dims
		want := ""
		check := func(what string, v, least, most int64) {
			if want == "" && (v < least || v > most) {
				want = fmt.Sprintf("%s|it must be %d to %d", what, least, most)
			}
		}
		all := func(what string, d *[3]int64, least int64) {
			for i := range d {
				d[i] = one(most[what][i])
				check(fmt.Sprintf("%s %c", what, 'x'+i), d[i], least, most[what][i])
			}
		}
		least := int64(0)
		if k.Full {
			least = 1
		}
		all("grid", &d.Grid, least)
		none := d.Grid[0] == 0 || d.Grid[1] == 0 || d.Grid[2] == 0
		all("block", &d.Block, 1)
		if n := d.Block[0] * d.Block[1] * d.Block[2]; want == "" && n > 1024 {
			want = fmt.Sprintf("has %d threads|a block has at most 1024", n)
		}
		if k.Cluster != nil {
			all("cluster", &d.Cluster, 1)
		}
		d.Shared = one(math.MaxInt32)
		check("shared", d.Shared, 0, math.MaxInt32)
		what, says, _ := strings.Cut(want, "|")
		empty, err := kernelrt.Check(k, &d)
		if (err == nil) != (want == "") || empty != (err == nil && none) || err != nil && (!strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), says)) {
			t.Fatalf("%+v with clusters %q, full %t: empty %t, %v, want %q", d, k.Cluster, k.Full, empty, err, want)
		}
		count[what]++
	}
	if len(count) < 12 || count[""] < 10_000 {
		t.Errorf("%d kinds of results, %d launches: too few to see anything", len(count), count[""])
	}
}

// TestExact computes with numbers at the ends of an int64, as math/big does.
func TestExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	floor := func(a, b *big.Int) *big.Int {
		q, m := new(big.Int).DivMod(a, new(big.Int).Abs(b), new(big.Int)) // m >= 0
		if b.Sign() < 0 && m.Sign() > 0 {
			q.Add(q, big.NewInt(1))
		}
		return q.Mul(q, big.NewInt(int64(b.Sign())))
	}
	numbers := []int64{kernelrt.NoValue, kernelrt.NoValue + 1, math.MaxInt64, 0, 1, -1, 2, -2, 7, -7, 256, 257, 1 << 31, 1 << 32, 1 << 62, -1 << 62}
	for range 50_000 {
		a, b := numbers[r.IntN(len(numbers))], numbers[r.IntN(len(numbers))]
		if r.IntN(4) == 0 {
			a, b = int64(r.Uint64()>>r.IntN(64)), int64(r.Uint64()>>r.IntN(64))*(1-2*r.Int64N(2))
		}
		x, y, z := big.NewInt(a), big.NewInt(b), new(big.Int)
		var quotient, rest, up *big.Int
		if b != 0 {
			quotient = floor(x, y)
			rest = new(big.Int).Sub(x, z.Mul(quotient, y))
			up = new(big.Int).Neg(floor(new(big.Int).Neg(x), y))
		}
		least, most := x, x
		if a > b {
			least = y
		} else {
			most = y
		}
		for name, c := range map[string]struct {
			got  int64
			want *big.Int
		}{
			"Add": {kernelrt.Add(a, b), new(big.Int).Add(x, y)}, "Sub": {kernelrt.Sub(a, b), new(big.Int).Sub(x, y)}, "Mul": {kernelrt.Mul(a, b), new(big.Int).Mul(x, y)},
			"Div": {kernelrt.Div(a, b), quotient}, "Mod": {kernelrt.Mod(a, b), rest}, "CeilDiv": {kernelrt.CeilDiv(a, b), up}, "Min": {kernelrt.Min(a, b), least}, "Max": {kernelrt.Max(a, b), most},
		} {
			want := int64(kernelrt.NoValue)
			if c.want != nil && c.want.IsInt64() && a != kernelrt.NoValue && b != kernelrt.NoValue {
				want = c.want.Int64()
			}
			if c.got != want {
				t.Fatalf("%s(%d, %d) = %d, want %d", name, a, b, c.got, want)
			}
		}
	}
}
