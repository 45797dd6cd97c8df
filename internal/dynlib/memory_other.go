//go:build !darwin && !linux

package dynlib

import "errors"

// Memory returns a func that copies memory of the process. Here it returns an error.
func Memory() (read func(address uint64, b []byte) error, err error) {
	return nil, errors.New("memory of the process cannot be read on this system")
}
