//go:build bindings

package main

import (
	"math/big"
	"runtime"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/ir"
	"github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/target"
	"github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/te"
	"github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/topi"
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
		functions := tvmffi.PairsOf(tvmffi.Pair[ir.GlobalVarRef, ir.BaseFuncRef]{
			Key: must(ir.NewGlobalVar(entry)), Value: function,
		})
		return must(ir.NewIRModule(functions, nil, nil))
	})
}

// thisCPU is the target for the processor of this machine. MetaSchedule makes as many parallel tasks as
// it has cores.
func thisCPU() (*target.Target, error) {
	return describe(func() *target.Target {
		cpu := must(target.NewTarget(map[string]any{
			"kind":      "llvm",
			"mcpu":      must(target.LLVMGetSystemCPU()),
			"num-cores": int64(runtime.NumCPU()),
		}))
		return must(target.WithHost(cpu, cpu)) // the same processor runs the code around the kernel
	})
}
