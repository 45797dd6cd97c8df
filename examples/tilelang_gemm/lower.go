//go:build bindings

package main

import (
	"fmt"
	"runtime"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/ir"
	stir "github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/stir/transform"
	"github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/target"
	"github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/target/build"
	"github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/tirx"
	tir "github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/tirx/transform"
	cpu "github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/tl/cpu/transform"
	tl "github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/tl/transform"
	"github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/transform"
)

// source returns a tile program in C: the kernel, and the function of TVM-FFI which checks the arguments and calls it.
func source(f *tirx.PrimFunc) (kernel, host string, err error) {
	_, err = onThread(func() int {
		// A host that differs from the target makes the kernel a function of its own file.
		self := must(target.NewTarget(`{"kind": "c", "keys": ["cpu", "host"]}`))
		to := must(target.WithHost(must(target.NewTarget("c")), self))
		must(0, target.TargetEnterScope(to))
		defer target.TargetExitScope(to)
		named := must(ir.BaseFuncWithAttr(f, "global_symbol", name))
		functions := tvmffi.PairsOf(tvmffi.Pair[ir.GlobalVarRef, ir.BaseFuncRef]{Key: must(ir.NewGlobalVar(name)), Value: named})
		module := apply(must(ir.NewIRModule(functions, nil, nil)), passes(to)...)

		kernels := apply(module, must(tir.Filter(isNamed(name+"_kernel", true))), must(tl.LowerIntrin()), must(tir.Simplify()))
		kernel = must(must(build.TilelangC(kernels, to)).Source(""))
		entries := apply(module, must(tir.Filter(isNamed(name+"_kernel", false))), must(tir.BindTarget(self)), must(tir.FP8StorageLegalize()),
			must(tir.BF16StorageLegalize()), must(tir.LowerTVMBuiltin()), must(tir.LowerCustomDatatypes()), must(tl.LowerIntrin()))
		host = must(must(build.TilelangCHost(entries, self)).Source(""))
		return 0
	})
	return kernel, host, err
}

// passes turn a tile program into loops over memory, and split it into kernel and host. Their order is a fact of the
// TileLang that they belong to.
func passes(to *target.Target) []*transform.Pass {
	return []*transform.Pass{
		must(tir.BindTarget(to)),
		must(tl.MaterializeKernelLaunch(false, false, nil, tvmffi.Of("cluster_dims"), nil)), // no grid, no threads
		must(tl.LegalizeNegativeIndex()), must(tl.InjectAssumes()), must(tl.Simplify(false)),
		must(tl.CanonicalizeLegacyReducer()), must(tl.VerifyReducerEpoch()), must(tl.VerifyBufferInit()),
		must(tl.IfStmtBinding()), must(tl.Simplify(false)), must(tl.LayoutInference()), must(tl.ReducerPlanAndMaterialize()),
		must(tl.LowerTileOp()), // copies and fills become loops
		must(tl.VerifyReducerConsumed()), must(cpu.LowerCPUAtomics()), must(tl.LegalizeVectorizedLoop()),
		must(tl.LegalizeSafeMemoryAccess()), must(tl.LowerAccessPtr()), must(tl.Simplify(false)), must(tl.HoistNonRestrictParams()),
		must(tl.PlanAndUpdateBufferAllocationLocation()), must(tl.HoistGlobalBufferAllocations()),
		must(tl.LowerOpaqueBlock()), must(tl.Simplify(false)), must(tir.NarrowDataType(32)), must(tl.FlattenBuffer()),
		must(tir.BF16ComputeLegalize()), must(tl.ConfigIndexBitwidth()), must(tir.Simplify()),
		must(tl.VectorizeLoop(true)), must(tl.StorageRewrite()), must(tl.LoopUnswitching()), must(tl.UnrollLoop()),
		must(stir.RenormalizeSplitPattern()), must(tir.Simplify()), must(tir.RemoveNoOp()), must(stir.HoistIfThenElse()),
		must(tir.VerifyMemory()), must(tir.AnnotateEntryFunc()), must(stir.InferFragment()),
		must(tl.AnnotateDeviceRegions()), must(tl.SplitHostDevice()), must(tl.AnnotateReadOnlyParams()), must(tl.MergeIfStmt()),
		must(tl.MakePackedAPI()), must(tl.Simplify(false)), must(tl.LowerDeviceKernelLaunch()),
	}
}

func apply(module *ir.IRModule, passes ...*transform.Pass) *ir.IRModule {
	for _, pass := range passes {
		module = must(transform.RunPass(pass, module))
	}
	return module
}

// isNamed reports of a function whether it has a name, or whether it has not.
func isNamed(name string, want bool) func(*tirx.PrimFunc) (bool, error) {
	return func(f *tirx.PrimFunc) (bool, error) {
		value, ok := f.Attrs().Dict().Get("global_symbol")
		if !ok {
			return !want, nil
		}
		defer value.Release()
		symbol, err := tvmffi.As[string](value)
		return (symbol == name) == want, err
	}
}

// failure is what must panics with.
type failure struct{ err error }

// must returns v. It ends the function around it that onThread runs if err is not nil: a description
// of a kernel consists of many small calls, and each of them can fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(failure{err})
	}
	return v
}

// as returns an object as a T, which it is.
func as[T tvmffi.ObjectType[T]](x tvmffi.ObjectRef) T {
	v, ok := tvmffi.Cast[T](x)
	if !ok {
		must(0, fmt.Errorf("TileLang made a %s, want a %T", tvmffi.TypeKey(x), v))
	}
	return v
}

// onThread returns what f returns, or the error with which must ended it. It keeps f on one thread of the system: TVM
// keeps the builder and the target of each thread apart.
func onThread[T any](f func() T) (result T, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer func() {
		r := recover()
		if failed, ok := r.(failure); ok {
			err = failed.err
		} else if r != nil {
			panic(r)
		}
	}()
	return f(), nil
}
