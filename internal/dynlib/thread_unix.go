//go:build !windows

package dynlib

import "github.com/ebitengine/purego"

// ThreadSelf returns the address of the C function, without arguments, that
// identifies the calling thread.
func ThreadSelf() (uintptr, error) { return purego.Dlsym(purego.RTLD_DEFAULT, "pthread_self") }
