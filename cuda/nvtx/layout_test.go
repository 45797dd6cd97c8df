package nvtx

import (
	"testing"
	"unsafe"
)

// The numbers are those that a C compiler gives for nvToolsExt.h on 64-bit machines.
func TestLayout(t *testing.T) {
	var a attributes
	for _, x := range []struct {
		what      string
		got, want uintptr
	}{
		{"sizeof(nvtxEventAttributes_t)", unsafe.Sizeof(a), 48},
		{"category", unsafe.Offsetof(a.category), 4},
		{"colorType", unsafe.Offsetof(a.colorType), 8},
		{"color", unsafe.Offsetof(a.color), 12},
		{"payloadType", unsafe.Offsetof(a.payloadType), 16},
		{"payload", unsafe.Offsetof(a.payload), 24},
		{"messageType", unsafe.Offsetof(a.messageType), 32},
		{"message", unsafe.Offsetof(a.message), 40},
		{"sizeof(NvtxExportTableCallbacks)", unsafe.Sizeof(tables.callbacks), 16},
		{"sizeof(NvtxExportTableVersionInfo)", unsafe.Sizeof(tables.version), 24},
		{"SetInjectionNvtxVersion", unsafe.Offsetof(tables.version.set), 16},
	} {
		if x.got != x.want {
			t.Errorf("%s is %d, want %d", x.what, x.got, x.want)
		}
	}
}
