package cuda

import (
	"testing"
	"unsafe"
)

// The numbers are those that a C compiler gives for cuda.h of CUDA 12.9 and 13.0 on 64-bit machines.
func TestGraphLayout(t *testing.T) {
	var f fillNode
	var h hostNode
	var a allocParams
	var n nodeParams
	var e edge
	for _, x := range []struct {
		what      string
		got, want uintptr
	}{
		{"sizeof(CUDA_MEMSET_NODE_PARAMS_v1)", unsafe.Sizeof(f), 40},
		{"CUDA_MEMSET_NODE_PARAMS_v1.value", unsafe.Offsetof(f.value), 16},
		{"CUDA_MEMSET_NODE_PARAMS_v1.elementSize", unsafe.Offsetof(f.size), 20},
		{"CUDA_MEMSET_NODE_PARAMS_v1.width", unsafe.Offsetof(f.width), 24},
		{"CUDA_MEMSET_NODE_PARAMS_v1.height", unsafe.Offsetof(f.height), 32},
		{"sizeof(CUDA_HOST_NODE_PARAMS_v1)", unsafe.Sizeof(h), 16},
		{"CUDA_HOST_NODE_PARAMS_v1.userData", unsafe.Offsetof(h.data), 8},
		{"sizeof(CUDA_MEM_ALLOC_NODE_PARAMS_v1)", unsafe.Sizeof(a), 120},
		{"CUDA_MEM_ALLOC_NODE_PARAMS_v1.accessDescs", unsafe.Offsetof(a.access), 88},
		{"CUDA_MEM_ALLOC_NODE_PARAMS_v1.bytesize", unsafe.Offsetof(a.bytes), 104},
		{"CUDA_MEM_ALLOC_NODE_PARAMS_v1.dptr", unsafe.Offsetof(a.address), 112},
		{"sizeof(CUgraphNodeParams)", unsafe.Sizeof(n), 256},
		{"CUgraphNodeParams.conditional.handle", unsafe.Offsetof(n.condition), 16},
		{"CUgraphNodeParams.conditional.type", unsafe.Offsetof(n.what), 24},
		{"CUgraphNodeParams.conditional.size", unsafe.Offsetof(n.size), 28},
		{"CUgraphNodeParams.conditional.phGraph_out", unsafe.Offsetof(n.bodies), 32},
		{"CUgraphNodeParams.conditional.ctx", unsafe.Offsetof(n.context), 40},
		{"sizeof(CUgraphEdgeData)", unsafe.Sizeof(e), 8},
		{"CUgraphEdgeData.type", unsafe.Offsetof(e.kind), 2},
	} {
		if x.got != x.want {
			t.Errorf("%s is %d, want %d", x.what, x.got, x.want)
		}
	}
}

// GraphCalls counts the functions of Go that graphs keep.
func GraphCalls() (n int) {
	graphCalls.Range(func(any, any) bool { n++; return true })
	return n
}
