package libraries

import (
	"math"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// EnvironmentLimit applies TVMFFI_MEMORY_LIMIT, once.
var EnvironmentLimit = sync.OnceValue(func() error {
	text := os.Getenv("TVMFFI_MEMORY_LIMIT")
	if text == "" {
		return nil
	}
	limit, err := parseLimit(text)
	if err == nil {
		objects.SetForeignLimit(limit)
	}
	return err
})

func parseLimit(text string) (int64, error) {
	if text == "off" {
		return math.MaxInt64, nil
	}
	digits, unit := text, int64(1)
	for i, suffix := range []string{"KiB", "MiB", "GiB", "TiB", "B"} {
		if d, ok := strings.CutSuffix(text, suffix); ok {
			digits = d
			if suffix != "B" {
				unit = 1 << (10 * (i + 1))
			}
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return 0, failure.Errorf(failure.KindValue, "invalid TVMFFI_MEMORY_LIMIT %q: write bytes, or a number with B, KiB, MiB, GiB or TiB, or off", text)
	}
	return n * unit, nil
}
