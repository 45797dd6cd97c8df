package disco

import (
	"slices"
	"strings"
	"testing"
)

// TestLines: the output of a process comes line by line, also in pieces and without a line break at
// the end. A long line comes in parts, and the tail is the end of everything.
func TestLines(t *testing.T) {
	long := strings.Repeat("x", 65536)
	for _, c := range []struct {
		writes, want []string
		tail         string
	}{
		{[]string{"a\nb\n"}, []string{"a", "b"}, "a\nb\n"},
		{[]string{"a", "b\n\nc"}, []string{"ab", "", "c"}, "ab\n\nc"},
		{nil, nil, ""},
		{[]string{long[1:], "\n"}, []string{long[1:]}, long[:4095] + "\n"},
		{[]string{long, "y"}, []string{long, "y"}, long[:4095] + "y"},
		{[]string{"yz", long[:4095]}, []string{"yz" + long[:4095]}, "z" + long[:4095]},
	} {
		var got []string
		l := lines{line: func(s string) { got = append(got, s) }}
		for _, s := range c.writes {
			if n, err := l.Write([]byte(s)); n != len(s) || err != nil {
				t.Errorf("Write of %d bytes: %d, %v", len(s), n, err)
			}
		}
		l.end()
		l.end() // the last line comes once
		if !slices.Equal(got, c.want) || l.tail() != c.tail {
			t.Errorf("%.20q: %.40q and the tail %.20q, want %.40q and %.20q", c.writes, got, l.tail(), c.want, c.tail)
		}
	}
}
