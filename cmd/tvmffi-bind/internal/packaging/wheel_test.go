package packaging

import (
	"strings"
	"testing"
	"time"
)

// TestTimestamp: a time that a wheel cannot have is an error, except for early ones.
func TestTimestamp(t *testing.T) {
	for text, want := range map[string]int64{"": 315532800, "0": 315532800, "315532799": 315532800, "1800000000": 1800000000, "4354819198": 4354819198} {
		t.Setenv("SOURCE_DATE_EPOCH", text)
		if got, err := timestamp(); err != nil || !got.Equal(time.Unix(want, 0)) {
			t.Errorf("%q: %v, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"now", "2026-11-29", "1e9", "-1", "4354819199", "99999999999999999999", " 1"} {
		t.Setenv("SOURCE_DATE_EPOCH", text)
		if got, err := timestamp(); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH is ") {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		if _, err := pack([]File{{Path: "a"}}); err == nil {
			t.Errorf("%q: a wheel was made", text)
		}
	}
}
