//go:build !windows

package core

import "github.com/ebitengine/purego"

func findMalloc() uintptr {
	f, err := purego.Dlsym(purego.RTLD_DEFAULT, "malloc")
	if err != nil {
		panic("tvmffi: the C library has no malloc: " + err.Error())
	}
	return f
}
