//go:build !linux && !darwin

package nvtx

import "os"

// environ returns the library of the profiler.
func environ() string { return os.Getenv(variable) }
