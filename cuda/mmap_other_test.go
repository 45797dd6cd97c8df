//go:build !linux

package cuda_test

import "errors"

// The tests that need it have the fake driver, which is for Linux.
func mapMemory(bytes int) ([]byte, error) { return nil, errors.New("only on Linux") }

func inherited(uintptr) bool { return false }

func unmapMemory([]byte) {}
