//go:build !linux

package dynlib

// Slots returns nil here: no library is opened lazily.
func (h Handle) Slots(func(address uint64, b []byte) error) map[uint64]string { return nil }
