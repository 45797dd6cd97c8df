//go:build !linux

package rpc

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
)

// limitMemory reports that it cannot limit the memory.
func limitMemory(n int64) error {
	if n <= 0 {
		return nil
	}
	return fmt.Errorf("MaxMemory on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// endGroup does nothing: processes that a kernel has started outlive the session.
func endGroup(*exec.Cmd) {}
