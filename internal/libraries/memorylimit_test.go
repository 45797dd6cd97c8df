package libraries

import (
	"math"
	"testing"
)

func TestParseLimit(t *testing.T) {
	for text, want := range map[string]int64{
		"off": math.MaxInt64, "0": 0, "7": 7, "7B": 7, "3KiB": 3 << 10, "3MiB": 3 << 20, "3GiB": 3 << 30, "3TiB": 3 << 40,
		"9223372036854775807": math.MaxInt64, "9223372036854775807B": math.MaxInt64, "8388607TiB": 8388607 << 40,
		"8388608TiB": -1, "9223372036854775808": -1, "": -1, "-1": -1, "-1KiB": -1, "KiB": -1, "1kb": -1, "1 MiB": -1, "OFF": -1, "1.5GiB": -1, "1KiBB": -1,
	} {
		got, err := parseLimit(text)
		if want < 0 && err == nil || want >= 0 && (err != nil || got != want) {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
}
