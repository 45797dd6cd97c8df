//go:build !darwin && !linux && !windows

package dynlib

import "errors"

var errUnsupported = errors.New("loading libraries is not supported on this platform")

func open(string, bool) (Handle, error)      { return 0, errUnsupported }
func loaded(string) (Handle, error)          { return 0, ErrNotLoaded }
func symbol(Handle, string) (uintptr, error) { return 0, errUnsupported }
func fileOf(uintptr) string                  { return "" }
func saveSignalAction() (restore func())     { return func() {} }

// Images returns nil: the system does not say.
func Images() []string { return nil }

func pathOf(Handle) string { return "" }
