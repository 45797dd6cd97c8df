//go:build !linux

package child

import (
	"errors"
	"fmt"
	"runtime"
)

// LimitMemory reports that it cannot limit the memory, unless n is 0.
func LimitMemory(n int64) error {
	if n <= 0 {
		return nil
	}
	return fmt.Errorf("MaxMemory on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// memory returns 0: it is not known.
func memory() int64 { return 0 }

func narrow(string, string) error { return nil }
