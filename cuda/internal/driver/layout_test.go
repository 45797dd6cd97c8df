package driver

import (
	"testing"
	"unsafe"
)

// The numbers are those that a C compiler gives for cuda.h on 64-bit machines.
func TestLayout(t *testing.T) {
	var c LaunchConfig
	var a LaunchAttribute
	var p PoolProperties
	var m MemoryAccess
	for _, x := range []struct {
		what      string
		got, want uintptr
	}{
		{"sizeof(CULaunchConfig)", unsafe.Sizeof(c), 56},
		{"CULaunchConfig.hStream", unsafe.Offsetof(c.Stream), 32},
		{"CULaunchConfig.attrs", unsafe.Offsetof(c.Attributes), 40},
		{"CULaunchConfig.numAttrs", unsafe.Offsetof(c.Count), 48},
		{"sizeof(CULaunchAttribute)", unsafe.Sizeof(a), 72},
		{"CULaunchAttribute.value", unsafe.Offsetof(a.Value), 8},
		{"sizeof(CUmemPoolProps)", unsafe.Sizeof(p), 88},
		{"CUmemPoolProps.location", unsafe.Offsetof(p.LocationType), 8},
		{"CUmemPoolProps.maxSize", unsafe.Offsetof(p.MaxSize), 24},
		{"sizeof(CUmemAccessDesc)", unsafe.Sizeof(m), 12},
	} {
		if x.got != x.want {
			t.Errorf("%s is %d, want %d", x.what, x.got, x.want)
		}
	}
}
