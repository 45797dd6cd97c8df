//go:build bindings

package main

import (
	"fmt"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/ir"
	stir "github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/stir/transform"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/target"
	tir "github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/tirx/transform"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/transform"
)

// thisCPU is the target for the processor of this machine, with all of its vector instructions.
func thisCPU() (*target.Target, error) {
	name, err := target.LLVMGetSystemCPU()
	if err != nil {
		return nil, err
	}
	cpu, err := target.NewTarget(map[string]any{"kind": "llvm", "mcpu": name})
	if err != nil {
		return nil, err
	}
	return target.WithHost(cpu, cpu) // the same processor runs the code around the kernel
}

// compile returns the machine code of a module for cpu. Its functions can be called at once.
func compile(m *ir.IRModule, cpu *target.Target) (*tvmffi.Module, error) {
	lowering, err := lowering(cpu)
	if err != nil {
		return nil, err
	}
	lowered, err := transform.RunPass(lowering, m)
	if err != nil {
		return nil, fmt.Errorf("lower the module: %w", err)
	}
	return target.Build(lowered, cpu)
}

// lowering is the pass from a description of a kernel to what LLVM takes.
func lowering(cpu *target.Target) (*transform.Sequential, error) {
	return describe(func() *transform.Sequential {
		passes := []transform.PassRef{
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
			// Loops that a schedule has marked become vectors and repeated statements.
			must(tir.VectorizeLoop(true)),
			must(tir.UnrollLoop()),
			must(tir.StmtSimplify()),
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
