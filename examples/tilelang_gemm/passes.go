//go:build bindings

package main

import (
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	stir "github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/stir/transform"
	"github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/target"
	tir "github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/tirx/transform"
	cpu "github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/tl/cpu/transform"
	cuda "github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/tl/cuda/transform"
	tl "github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/tl/transform"
	"github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/transform"
)

// The order of the passes is a fact of the TileLang that they belong to: see the README.

// cpuPasses turn a tile program into loops over memory, and split it into kernel and host.
func cpuPasses(to *target.Target) []*transform.Pass {
	return []*transform.Pass{
		must(tir.BindTarget(to)),
		must(tl.MaterializeKernelLaunch(false, false, nil, tvmffi.Of("cluster_dims"), nil)), // no grid, no threads
		must(tl.LegalizeNegativeIndex()),
		must(tl.InjectAssumes()),
		must(tl.Simplify(false)),
		must(tl.CanonicalizeLegacyReducer()),
		must(tl.VerifyReducerEpoch()),
		must(tl.VerifyBufferInit()),
		must(tl.IfStmtBinding()),
		must(tl.Simplify(false)),
		must(tl.LayoutInference()),
		must(tl.ReducerPlanAndMaterialize()),
		must(tl.LowerTileOp()), // copies and fills become loops
		must(tl.VerifyReducerConsumed()),
		must(cpu.LowerCPUAtomics()),
		must(tl.LegalizeVectorizedLoop()),
		must(tl.LegalizeSafeMemoryAccess()),
		must(tl.LowerAccessPtr()),
		must(tl.Simplify(false)),
		must(tl.HoistNonRestrictParams()),
		must(tl.PlanAndUpdateBufferAllocationLocation()),
		must(tl.HoistGlobalBufferAllocations()),
		must(tl.LowerOpaqueBlock()),
		must(tl.Simplify(false)),
		must(tir.NarrowDataType(32)),
		must(tl.FlattenBuffer()),
		must(tir.BF16ComputeLegalize()),
		must(tl.ConfigIndexBitwidth()),
		must(tir.Simplify()),
		must(tl.VectorizeLoop(true)),
		must(tl.StorageRewrite()),
		must(tl.LoopUnswitching()),
		must(tl.UnrollLoop()),
		must(stir.RenormalizeSplitPattern()),
		must(tir.Simplify()),
		must(tir.RemoveNoOp()),
		must(stir.HoistIfThenElse()),
		must(tir.VerifyMemory()),
		must(tir.AnnotateEntryFunc()),
		must(stir.InferFragment()),
		must(tl.AnnotateDeviceRegions()),
		must(tl.SplitHostDevice()),
		must(tl.AnnotateReadOnlyParams()),
		must(tl.MergeIfStmt()),
		must(tl.MakePackedAPI()),
		must(tl.Simplify(false)),
		must(tl.LowerDeviceKernelLaunch()),
	}
}

// cudaPasses do the same for a GPU, where threads share the loops.
func cudaPasses(to *target.Target) []*transform.Pass {
	return append(cudaTilePasses(to), cudaThreadPasses()...)
}

// cudaTilePasses turn tiles into the shared memory and the registers of threads.
func cudaTilePasses(to *target.Target) []*transform.Pass {
	return []*transform.Pass{
		must(tir.BindTarget(to)),
		must(tl.MaterializeKernelLaunch(true, true, ints(128, 1, 1), nil, nil)),
		must(cuda.AnnotateDeviceBoundTmaCopies()),
		must(tl.LegalizeNegativeIndex()),
		must(tl.InjectAssumes()),
		must(tl.Simplify(false)),
		must(tl.CanonicalizeLegacyReducer()),
		must(tl.VerifyReducerEpoch()),
		must(tl.VerifyBufferInit()),
		must(cuda.LowerBlackwell2SM()),
		must(tl.IfStmtBinding()),
		must(tl.UnrollLoop()),
		must(tl.Simplify(false)),
		must(tl.PipelinePlanning()),
		must(tl.InjectSoftwarePipeline()), // copies of the next step run while this one computes
		must(tl.Simplify(false)),
		must(tl.LayoutInference()), // which thread has which element
		must(tl.ReducerPlanAndMaterialize()),
		must(tl.LowerTileOp()),
		must(tl.VerifyReducerConsumed()),
		must(cuda.LowerL2Persistent()),
		must(tl.LegalizeVectorizedLoop()),
		must(tl.LegalizeSafeMemoryAccess()),
		must(tl.LowerAccessPtr()),
		must(tl.Simplify(false)),
		must(tl.HoistNonRestrictParams()),
	}
}

// cudaThreadPasses place memory and barriers, and split the program into kernel and host.
func cudaThreadPasses() []*transform.Pass {
	const align = 16 // bytes, of an allocation in shared memory
	return []*transform.Pass{
		must(cuda.LowerSharedTmem()),
		must(tl.PlanAndUpdateBufferAllocationLocation()),
		must(cuda.LowerSharedBarrier()),
		must(tl.HoistGlobalBufferAllocations()),
		must(tl.LowerOpaqueBlock()),
		must(tl.Simplify(false)),
		must(tir.NarrowDataType(32)),
		must(tl.FlattenBuffer()),
		must(tl.ConfigIndexBitwidth()),
		must(tir.Simplify()),
		must(tl.VectorizeLoop(true)),
		must(tl.StorageRewrite()),
		must(tl.LoopUnswitching()),
		must(tl.UnrollLoop()),
		must(stir.RenormalizeSplitPattern()),
		must(tir.Simplify()),
		must(tir.RemoveNoOp()),
		must(stir.HoistIfThenElse()),
		must(tir.VerifyMemory()),
		must(tir.AnnotateEntryFunc()),
		must(stir.InferFragment()),
		must(tl.LowerThreadAllreduce()),
		must(cuda.LowerLDGSTG()),
		must(cuda.LowerHopperIntrin()),
		must(tl.AnnotateDeviceRegions()),
		must(tl.SplitHostDevice()),
		must(cuda.MarkCudaSyncCalls(false)),
		must(tl.AnnotateReadOnlyParams()),
		must(tl.MergeSharedMemoryAllocations(false, align, false)),
		must(cuda.InjectFenceProxy()),
		must(tl.ThreadSync("shared")),
		must(tl.ThreadSync("shared.dyn")),
		must(cuda.InjectTcgen05Fence()),
		must(tl.MergeIfStmt()),
		must(tl.MakePackedAPI()),
		must(tl.Simplify(false)),
		must(tl.LowerDeviceKernelLaunch()),
		must(cuda.PersistThreadblock()),
	}
}

// devicePasses prepare kernels for the writer of their source.
func devicePasses() []*transform.Pass {
	return []*transform.Pass{must(tl.LowerIntrin()), must(tir.Simplify())}
}

// hostPasses prepare the functions around kernels.
func hostPasses(host *target.Target) []*transform.Pass {
	return []*transform.Pass{
		must(tir.BindTarget(host)),
		must(tir.FP8StorageLegalize()),
		must(tir.BF16StorageLegalize()),
		must(tir.LowerTVMBuiltin()),
		must(tir.LowerCustomDatatypes()),
		must(tl.LowerIntrin()),
	}
}
