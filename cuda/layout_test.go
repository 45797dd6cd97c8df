package cuda

import (
	"testing"
	"unsafe"
)

// The numbers are those that a C compiler gives for cuda.h on 64-bit machines.
func TestLayout(t *testing.T) {
	var c launchConfig
	var a launchAttribute
	var p poolProperties
	for _, x := range []struct {
		what      string
		got, want uintptr
	}{
		{"sizeof(CUlaunchConfig)", unsafe.Sizeof(c), 56},
		{"CUlaunchConfig.hStream", unsafe.Offsetof(c.stream), 32},
		{"CUlaunchConfig.attrs", unsafe.Offsetof(c.attributes), 40},
		{"CUlaunchConfig.numAttrs", unsafe.Offsetof(c.n), 48},
		{"sizeof(CUlaunchAttribute)", unsafe.Sizeof(a), 72},
		{"CUlaunchAttribute.value", unsafe.Offsetof(a.value), 8},
		{"sizeof(CUmemPoolProps)", unsafe.Sizeof(p), 88},
		{"CUmemPoolProps.location", unsafe.Offsetof(p.locationType), 8},
		{"CUmemPoolProps.maxSize", unsafe.Offsetof(p.maxSize), 24},
	} {
		if x.got != x.want {
			t.Errorf("%s is %d, want %d", x.what, x.got, x.want)
		}
	}
}
