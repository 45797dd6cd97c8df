package cuda

import (
	"testing"
	"unsafe"
)

// The numbers are those that a C compiler gives for cuda.h on 64-bit machines.
func TestMemoryLayout(t *testing.T) {
	var d copy2D
	var b copy3D
	var p memProperties
	var m multicastProperties
	for _, x := range []struct {
		what      string
		got, want uintptr
	}{
		{"sizeof(CUDA_MEMCPY2D)", unsafe.Sizeof(d), 128},
		{"CUDA_MEMCPY2D.srcMemoryType", unsafe.Offsetof(d.srcType), 16},
		{"CUDA_MEMCPY2D.srcHost", unsafe.Offsetof(d.srcHost), 24},
		{"CUDA_MEMCPY2D.srcDevice", unsafe.Offsetof(d.srcDevice), 32},
		{"CUDA_MEMCPY2D.srcPitch", unsafe.Offsetof(d.srcPitch), 48},
		{"CUDA_MEMCPY2D.dstXInBytes", unsafe.Offsetof(d.dstX), 56},
		{"CUDA_MEMCPY2D.dstMemoryType", unsafe.Offsetof(d.dstType), 72},
		{"CUDA_MEMCPY2D.dstHost", unsafe.Offsetof(d.dstHost), 80},
		{"CUDA_MEMCPY2D.dstDevice", unsafe.Offsetof(d.dstDevice), 88},
		{"CUDA_MEMCPY2D.dstPitch", unsafe.Offsetof(d.dstPitch), 104},
		{"CUDA_MEMCPY2D.WidthInBytes", unsafe.Offsetof(d.widthInBytes), 112},
		{"CUDA_MEMCPY2D.Height", unsafe.Offsetof(d.copyHeight), 120},
		{"sizeof(CUDA_MEMCPY3D)", unsafe.Sizeof(b), 200},
		{"CUDA_MEMCPY3D.srcMemoryType", unsafe.Offsetof(b.srcType), 32},
		{"CUDA_MEMCPY3D.srcDevice", unsafe.Offsetof(b.srcDevice), 48},
		{"CUDA_MEMCPY3D_PEER.srcContext", unsafe.Offsetof(b.srcContext), 64},
		{"CUDA_MEMCPY3D.srcPitch", unsafe.Offsetof(b.srcPitch), 72},
		{"CUDA_MEMCPY3D.srcHeight", unsafe.Offsetof(b.srcHeight), 80},
		{"CUDA_MEMCPY3D.dstXInBytes", unsafe.Offsetof(b.dstX), 88},
		{"CUDA_MEMCPY3D.dstMemoryType", unsafe.Offsetof(b.dstType), 120},
		{"CUDA_MEMCPY3D.dstDevice", unsafe.Offsetof(b.dstDevice), 136},
		{"CUDA_MEMCPY3D_PEER.dstContext", unsafe.Offsetof(b.dstContext), 152},
		{"CUDA_MEMCPY3D.dstHeight", unsafe.Offsetof(b.dstHeight), 168},
		{"CUDA_MEMCPY3D.WidthInBytes", unsafe.Offsetof(b.widthInBytes), 176},
		{"CUDA_MEMCPY3D.Depth", unsafe.Offsetof(b.depth), 192},
		{"sizeof(CUmemAllocationProp)", unsafe.Sizeof(p), 32},
		{"CUmemAllocationProp.location", unsafe.Offsetof(p.locationType), 8},
		{"CUmemAllocationProp.win32HandleMetaData", unsafe.Offsetof(p.security), 16},
		{"CUmemAllocationProp.allocFlags.usage", unsafe.Offsetof(p.usage), 26},
		{"sizeof(CUmulticastObjectProp)", unsafe.Sizeof(m), 32},
		{"CUmulticastObjectProp.size", unsafe.Offsetof(m.size), 8},
		{"CUmulticastObjectProp.handleTypes", unsafe.Offsetof(m.handles), 16},
		{"sizeof(CUipcMemHandle)", unsafe.Sizeof(IPCMemory{}.Handle), 64},
		{"sizeof(CUipcEventHandle)", unsafe.Sizeof(IPCEvent{}), 64},
		{"sizeof(CUmemPoolPtrExportData)", unsafe.Sizeof(IPCPoolMemory{}.Data), 64},
	} {
		if x.got != x.want {
			t.Errorf("%s is %d, want %d", x.what, x.got, x.want)
		}
	}
}
