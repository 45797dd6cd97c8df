package docs

import (
	"strings"
	"testing"
)

func TestList(t *testing.T) {
	cases := []struct {
		links string
		most  int
		want  string
	}{
		{"", 4, ""},
		{"[A]", 4, "[A]"},
		{"[A] [B]", 4, "[A] and [B]"},
		{"[A] [B] [C]", 2, "[A], [B] and [C]"}, // no shorter with a number
		{"[A] [B] [C] [D]", 2, "[A], [B] and 2 more types"},
	}
	for _, c := range cases {
		if got := list(strings.Fields(c.links), "and", c.most, "type"); got != c.want {
			t.Errorf("list(%s, %d) = %q, want %q", c.links, c.most, got, c.want)
		}
	}
}
