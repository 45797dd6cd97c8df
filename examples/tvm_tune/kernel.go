//go:build bindings

package main

import (
	"context"
	"math/big"
	"os"
	"runtime"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/native"

	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/ir"
	stir "github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/stir/transform"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/target"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/te"
	tir "github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/tirx/transform"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/topi"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/transform"
)

// entry is the name that MetaSchedule gives the function of a module, and that it looks for.
const entry = "main"

// matmul describes C = A·B for square float32 matrices of n rows: what it is, not how it is computed.
func matmul(n int64) (*ir.IRModule, error) {
	return describe(func() *ir.IRModule {
		float32Type := must(ir.NewPrimType(tvmffi.Float32))
		rows := must(ir.NewIntImm(tvmffi.Int64, big.NewInt(n), nil))
		shape := te.ExprOrExprArrayOfExprArray(tvmffi.Of[ir.ExprRef](rows, rows))
		a := must(te.Placeholder(shape, float32Type, "A"))
		b := must(te.Placeholder(shape, float32Type, "B"))
		c := must(topi.Matmul(a, b, false, false))

		kernel := must(te.CreatePrimFunc(tvmffi.Of[tvmffi.ObjectRef](a, b, c), nil))
		attributes := map[string]any{"global_symbol": entry, "tirx.noalias": true}
		function := must(ir.BaseFuncWithAttrs(kernel, tvmffi.MapOf(attributes)))
		functions := tvmffi.PairsOf(tvmffi.Pair[ir.GlobalVarRef, ir.BaseFuncRef]{Key: must(ir.NewGlobalVar(entry)), Value: function})
		return must(ir.NewIRModule(functions, nil, nil))
	})
}

// thisCPU is the target for the processor of this machine. MetaSchedule makes as many parallel tasks as
// it has cores.
func thisCPU() (*target.Target, error) {
	return describe(func() *target.Target {
		name := must(target.LLVMGetSystemCPU())
		cpu := must(target.NewTarget(map[string]any{"kind": "llvm", "mcpu": name, "num-cores": int64(runtime.NumCPU())}))
		return must(target.WithHost(cpu, cpu)) // the same processor runs the code around the kernel
	})
}

// compile writes the machine code of a module for cpu into the shared library file. ctx ends the linker; the passes and
// LLVM run to their end, because nothing can stop native code.
func compile(ctx context.Context, m *ir.IRModule, cpu *target.Target, file string) error {
	_, err := describe(func() int {
		passes := must(lowering(cpu))
		defer passes.Release()
		lowered := must(transform.RunPass(passes, m))
		defer lowered.Release()
		code := must(target.Build(lowered, cpu))
		defer code.Release()
		object := file + ".o"
		defer os.Remove(object)
		must(0, code.WriteToFile(object, "o"))
		return must(0, native.BuildTo(ctx, native.Code{Name: "kernel", Files: []string{object}}, file))
	})
	return err
}

// lowering is the pass from a schedule to what LLVM takes.
func lowering(cpu *target.Target) (*transform.Sequential, error) {
	return describe(func() *transform.Sequential {
		return must(transform.NewSequential(tvmffi.Of[transform.PassRef](
			must(tir.BindTarget(cpu)),
			// Blocks become loops over buffers.
			must(stir.CanonicalizeLoop()),
			must(stir.LowerInitBlock()),
			must(stir.PlanAndUpdateBufferAllocationLocation()),
			must(stir.ConvertBlocksToOpaque()),
			must(stir.CompactBufferAllocation(true)),
			must(stir.LowerMatchBuffer()),
			must(stir.StmtSimplify()),
			must(stir.LowerOpaqueBlock()),
			must(tir.FlattenBuffer()),
			must(tir.NarrowDataType(32)),
			// Loops that a schedule has marked become vectors and repeated statements.
			must(tir.VectorizeLoop(true)),
			must(tir.StorageRewrite()),
			must(tir.UnrollLoop()),
			must(tir.StmtSimplify()),
			// The function gets the interface that TVM-FFI calls.
			must(tir.AnnotateEntryFunc()),
			must(tir.SplitHostDevice()),
			must(tir.MakePackedAPI()),
			must(tir.LowerTVMBuiltin()),
			must(tir.LowerIntrin()),
		), 0, "lowering", nil, false))
	})
}

// failure is what must panics with.
type failure struct{ err error }

// must returns v. It ends the function around it that describe runs if err is not nil: what is
// described consists of many small calls, and each of them can fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(failure{err})
	}
	return v
}

// describe returns what f returns, or the error with which must ended it.
func describe[T any](f func() T) (result T, err error) {
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
