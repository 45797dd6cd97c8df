package cuda

import (
	"testing"
	"unsafe"
)

// The numbers are those that a C compiler gives for cuda.h on 64-bit machines.
func TestStreamLayout(t *testing.T) {
	var a launchAttribute
	var v attributeValue
	var w accessPolicyWindow
	var r devResource
	for _, x := range []struct {
		what      string
		got, want uintptr
	}{
		{"sizeof(CUlaunchAttributeValue)", unsafe.Sizeof(v), 64},
		{"alignof(CUlaunchAttributeValue)", unsafe.Alignof(v), 8},
		{"sizeof(CUlaunchAttribute)", unsafe.Sizeof(a), 72},
		{"sizeof(CUaccessPolicyWindow)", unsafe.Sizeof(w), 32},
		{"CUaccessPolicyWindow.num_bytes", unsafe.Offsetof(w.bytes), 8},
		{"CUaccessPolicyWindow.hitRatio", unsafe.Offsetof(w.ratio), 16},
		{"CUaccessPolicyWindow.hitProp", unsafe.Offsetof(w.hit), 20},
		{"CUaccessPolicyWindow.missProp", unsafe.Offsetof(w.miss), 24},
		{"sizeof(CUdevResource)", unsafe.Sizeof(r), 144},
		{"CUdevResource.sm.smCount", unsafe.Offsetof(r.count), 96},
		{"CUdevResource.sm.minSmPartitionSize", unsafe.Offsetof(r.least), 100},
		{"CUdevResource.sm.smCoscheduledAlignment", unsafe.Offsetof(r.alignment), 104},
	} {
		if x.got != x.want {
			t.Errorf("%s is %d, want %d", x.what, x.got, x.want)
		}
	}
}
