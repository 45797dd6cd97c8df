package nearest

import (
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	garden := []string{"garden.water", "garden.waters", "garden.Rose", "garden.weeds", "pond.water", "libgarden.so", "libgarden2.so"}
	for _, c := range []struct {
		want string
		near []string
	}{
		{"garden.watr", []string{"garden.water", "garden.waters"}},
		{"garden.wtaer", []string{"garden.water", "garden.waters"}},
		{"garden.waetr", []string{"garden.water", "garden.waters"}},
		{"GARDEN.WATER", []string{"garden.water", "garden.waters"}},
		{"garden.water", []string{"garden.waters"}}, // not itself
		{"water", []string{"garden.water", "pond.water"}},
		{"my.garden.rose", []string{"garden.Rose"}},
		{"libgarden.so", []string{"libgarden2.so"}},
		{"libgarden-v1.so", []string{"libgarden.so", "libgarden2.so"}},
		{"libpond.so", nil},
		{"x", nil},
		{"", nil},
		{strings.Repeat("garden.water", 30), nil},
	} {
		if got := Names(c.want, garden); !slices.Equal(got, c.near) {
			t.Errorf("%q: %q, want %q", c.want, got, c.near)
		}
	}
	many := []string{"aaaa1", "aaaa3", "aaaa2", "aaaa0", "aaaa1"}
	if got := Names("aaaa", many); !slices.Equal(got, []string{"aaaa0", "aaaa1", "aaaa2"}) {
		t.Errorf("of equal ones the first three, each once: %q", got)
	}
}

func TestWordQuestion(t *testing.T) {
	names := []string{"apache-tvm", "apache-tvm-tirx", "jax-tvm-ffi", "my-tvm", "tilelang"}
	for want, question := range map[string]string{
		"JAX":      "; did you mean jax-tvm-ffi?",
		"tvm":      "; did you mean apache-tvm, apache-tvm-tirx or jax-tvm-ffi?",
		"tilelan":  "; did you mean tilelang?",
		"jax-tvm":  "",
		"til":      "",
		"my-tvmm":  "; did you mean my-tvm?",
		"tvm-tirx": "",
	} {
		if got := WordQuestion(want, names); got != question {
			t.Errorf("%q: %q, want %q", want, got, question)
		}
	}
}

func TestQuestion(t *testing.T) {
	names := []string{"add", "adds", "app"}
	for want, question := range map[string]string{
		"adda": "; did you mean add or adds?",
		"apps": "; did you mean app?",
		"zero": "",
	} {
		if got := Question(want, names); got != question {
			t.Errorf("%q: %q, want %q", want, got, question)
		}
	}
	if got := Question("aaaa", []string{"aaaa1", "aaaa2", "aaaa3"}); got != "; did you mean aaaa1, aaaa2 or aaaa3?" {
		t.Error(got)
	}
}

func FuzzDistance(f *testing.F) {
	f.Add("garden.water", "garden.watr")
	f.Add("\xff", "ÿ")
	f.Fuzz(func(t *testing.T, a, b string) {
		if x, y := distance(a, b, 5), distance(b, a, 5); x != y && min(x, y) <= 5 {
			t.Errorf("%q and %q: %d, but the other way %d", a, b, x, y)
		}
	})
}
