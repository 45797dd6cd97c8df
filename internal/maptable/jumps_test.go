package maptable

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestJumps compares the jumps with those of the header. Only the largest maps have the long ones.
func TestJumps(t *testing.T) {
	for _, dir := range nativetest.Include(t) {
		header, err := os.ReadFile(filepath.Join(dir, "tvm/ffi/container/map_base.h"))
		if err != nil {
			continue
		}
		_, list, _ := strings.Cut(string(header), "kNextProbeLocation[kNumJumpDists] {")
		list, _, _ = strings.Cut(list, "}")
		want := strings.Fields(strings.ReplaceAll(regexp.MustCompile(`//.*`).ReplaceAllString(list, ""), ",", " "))
		if got := fmt.Sprint(jumps[:len(want)]); got != fmt.Sprint(want) || len(want) < 100 {
			t.Errorf("%s, want %s", got, want)
		}
		return
	}
	t.Error("no header has the jumps")
}
