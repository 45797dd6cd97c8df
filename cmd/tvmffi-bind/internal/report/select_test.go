package report

import "testing"

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "a.b", true}, {"b", "a.b", true}, {"c", "a.b", false},
		{"a.*", "a.b", true}, {"*", "a.b", true}, {"?.c", "a.b", false},
	} {
		if got := matches(c.pattern, c.name); got != c.want {
			t.Errorf("matches(%q, %q) = %v", c.pattern, c.name, got)
		}
	}
}
