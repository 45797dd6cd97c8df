//go:build bindings

package main

import (
	"context"
	"fmt"
	"os"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/native"

	"github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/ir"
	stir "github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/stir/transform"
	"github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/target"
	tir "github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/tirx/transform"
	"github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/transform"
)

// compile writes the machine code of a module for cpu into the shared library file. ctx ends the
// linker; the passes and LLVM run to their end.
func compile(ctx context.Context, m *ir.IRModule, cpu *target.Target, file string) error {
	passes, err := lowering(cpu)
	if err != nil {
		return err
	}
	defer passes.Release()
	lowered, err := transform.RunPass(passes, m)
	if err != nil {
		return fmt.Errorf("lower the module: %w", err)
	}
	defer lowered.Release()
	if err := ctx.Err(); err != nil {
		return err
	}
	code, err := target.Build(lowered, cpu)
	if err != nil {
		return fmt.Errorf("generate code: %w", err)
	}
	defer code.Release()
	return link(ctx, code, file)
}

// link writes machine code as an object file and links it with the C++ compiler of this machine.
func link(ctx context.Context, code *tvmffi.Module, file string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	object := file + ".o"
	defer os.Remove(object)
	if err := code.WriteToFile(object, "o"); err != nil {
		return fmt.Errorf("write the object file: %w", err)
	}
	return native.BuildTo(ctx, native.Code{Name: "kernel", Files: []string{object}}, file)
}

// lowering is the pass from a schedule to what LLVM takes.
func lowering(cpu *target.Target) (*transform.Sequential, error) {
	return describe(func() *transform.Sequential {
		passes := []transform.PassRef{
			must(stir.RemoveWeightLayoutRewriteBlock(true)),
			must(tir.BindTarget(cpu)),
			// Blocks become loops over buffers.
			must(stir.CanonicalizeLoop()),
			must(stir.LowerCrossThreadReduction()),
			must(stir.LowerInitBlock()),
			must(stir.PlanAndUpdateBufferAllocationLocation()),
			must(stir.ConvertBlocksToOpaque()),
			must(stir.CompactBufferAllocation(true)),
			must(stir.LowerMatchBuffer()),
			must(stir.StmtSimplify()),
			must(stir.LowerOpaqueBlock()),
			must(tir.FlattenBuffer()),
			must(tir.NarrowDataType(32)),
			// What a schedule has marked becomes vectors and repeated statements.
			must(stir.LoopPartition()),
			must(tir.VectorizeLoop(true)),
			must(tir.StorageRewrite()),
			must(tir.UnrollLoop()),
			must(stir.RenormalizeSplitPattern()),
			must(tir.StmtSimplify()),
			must(tir.RemoveNoOp()),
			must(tir.CommonSubexprElim()),
			// The function gets the interface that TVM-FFI calls.
			must(tir.AnnotateEntryFunc()),
			must(tir.SplitHostDevice()),
			must(tir.MakePackedAPI()),
			must(tir.LowerTVMBuiltin()),
			must(tir.LowerIntrin()),
		}
		return must(transform.NewSequential(tvmffi.Of(passes...), 0, "lowering", nil, false))
	})
}
