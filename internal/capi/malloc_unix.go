//go:build !windows

package capi

import "github.com/ebitengine/purego"

// CFunction returns the address of a function of the C library.
func CFunction(name string) uintptr {
	f, err := purego.Dlsym(purego.RTLD_DEFAULT, name)
	if err != nil {
		panic("tvmffi: the C library has no " + name + ": " + err.Error())
	}
	return f
}
