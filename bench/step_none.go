//go:build !linux || !amd64

package main

import "errors"

// canStep says that step works here.
const canStep = false

func step(pid, tid int, follow bool, start func() error, at func(pc uint64)) error {
	return errors.New("instructions are counted on linux/amd64 only")
}
