package check_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda/internal/checktest"
	"github.com/tvmffi-go/tvmffi/cuda/spec/check"
)

// ways makes calls of a description in all ways: by the checks in order, by the fast way, packed and in forms of Go. They have one
// error, or bind the same values. used is a Values that other descriptions have used.
func ways(t *testing.T, used *check.Values, signature, call []byte) (refused, both bool) {
	c, err := check.New(checktest.New(signature).Signature())
	if err != nil {
		t.Fatal(err)
	}
	m := checktest.New(call)
	defer m.Release()
	description := c.Plan().Func
	args := m.Args(description)
	var fresh check.Values
	want := text(check.Slowly(c, &fresh, args))
	same := func(way string, err error) {
		t.Helper()
		if got := text(err); got != want {
			t.Fatalf("%s %x %s:\ngot  %s\nwant %s", description, call, way, got, want)
		}
		for i, v := range c.Plan().Vars {
			n, ok := used.At(i)
			if wantN, wantOK := fresh.Int(v.Name); n != wantN || ok != wantOK {
				t.Fatalf("%s %x %s: %s is %d %t, want %d %t", description, call, way, v.Name, n, ok, wantN, wantOK)
			}
		}
	}
	same("packed", c.BindPacked(used, args))
	forms, plain, ok := m.Go(args)
	if !ok {
		return want != "accepted", false
	}
	same("as values of Go", c.Bind(used, forms...))
	same("checked", c.Check(forms...))
	if knows, accepts := check.Fast(c, forms...); knows && plain && accepts != (want == "accepted") {
		t.Fatalf("%s of %v: the fast way accepts: %t, the checks say: %s", description, forms, accepts, want)
	}
	return want != "accepted", true
}

// TestWays makes random calls of random descriptions, from some goroutines at once.
func TestWays(t *testing.T) {
	use(t)
	for seed := range uint64(4) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			var used check.Values
			if n, ok := used.Int("n"); n != 0 || ok {
				t.Error("a value before a call")
			}
			r := rand.New(rand.NewPCG(1, seed))
			count := map[bool]int{}
			for range 300 {
				signature := checktest.Random(r, 100)
				for range 20 {
					if refused, both := ways(t, &used, signature, checktest.Random(r, 100)); both {
						count[refused]++
					}
				}
			}
			if count[false] < 600 || count[true] < 600 {
				t.Errorf("%d calls were accepted and %d refused: too few to see anything", count[false], count[true])
			}
		})
	}
}

// FuzzWays does the same with the bytes of the fuzzer.
func FuzzWays(f *testing.F) {
	use(f)
	f.Add([]byte{0, 1, 1, 12, 1, 0, 0, 1, 1, 7}, []byte{checktest.Nothing})
	f.Add([]byte{2, 1, 1, 0, 9, 1, 1, 0, 1, 1, 7}, []byte{checktest.Nothing, 9, 0, 5, 11, 0, 7})
	// A description with more names than Values has places for, and a call that is refused before one has a value.
	f.Add([]byte("\x01\x01\x00\xff"), []byte("\x01\x01\x00\xff\xff\x00\t\x01\x02\x00\x01\x00\xe2\xe2\xe2\xe2\xe2\xe2\xe2\t\x01\x01\x00\x8a\x8a\x8a\x8a\x8a\x01\x01\x00\x00\x05\v\x00\a"))
	var used check.Values
	f.Fuzz(func(t *testing.T, signature, call []byte) { ways(t, &used, signature, call) })
}
