package tvmffi

import (
	"math"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// SetForeignMemoryLimit changes how much memory of the host may lie behind the
// tensors that this program holds before each further 64 MB make the collector
// run; it returns the limit before. A negative limit changes nothing.
//
// The collector does not see that memory, so the runtime counts it, and runs a
// collection when it has doubled since the last one, has grown by 512 MB at
// least, and in any case at the limit, 1.5 GB at first. That only matters for
// tensors that nobody released: Release frees at once. It is no limit for memory
// in use. The environment variable TVMFFI_MEMORY_LIMIT sets it at the start, in
// bytes or as in 3GiB. math.MaxInt64, or the word off there, ends the collections.
//
// Memory of devices is counted for each one, and may grow by a quarter, at least
// 512 MB, between collections. Tensors under 64 KB are not counted.
func SetForeignMemoryLimit(limit int64) int64 {
	environmentLimit() // it comes first
	return objects.SetForeignLimit(limit)
}

// ForeignMemory returns the number of bytes on a device behind the tensors that
// this program holds, without small ones and those over memory of Go.
func ForeignMemory(device Device) int64 { return objects.ForeignMemory(abi.DLDevice(device)) }

// environmentLimit applies TVMFFI_MEMORY_LIMIT, once.
var environmentLimit = sync.OnceValue(func() error {
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
		return 0, failure.Errorf(failure.KindValue, "TVMFFI_MEMORY_LIMIT: %q is no size: write bytes, or a number with B, KiB, MiB, GiB or TiB, or off", text)
	}
	return n * unit, nil
}
