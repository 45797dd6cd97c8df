//go:build bindings

package main

import (
	"math/big"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/ir"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/prim"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/te"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/tirx"
)

// twicePlusOne describes the kernel B[i] = A[i] * 2 + 1 for tensors of any length, element by element.
func twicePlusOne() (*ir.IRModule, error) {
	return describe(func() *ir.IRModule {
		float32Type := must(ir.NewPrimType(tvmffi.Float32))
		int64Type := must(ir.NewPrimType(tvmffi.Int64))
		n := must(ir.NewVar("n", int64Type, nil)) // known when the kernel is called
		a := must(te.Placeholder(shape(n), float32Type, "A"))

		i := must(ir.NewVar("i", int64Type, nil))
		axis := must(tirx.NewIterVar(must(ir.NewRange(number(0), n, nil)), i, 0, "", nil))
		element := must(te.TensorLoad(a, tvmffi.Of[ir.ExprRef](i)))
		twice := must(prim.NewMul(element, must(ir.NewFloatImm(tvmffi.Float32, 2, nil)), nil))
		sum := must(prim.NewAdd(twice, must(ir.NewFloatImm(tvmffi.Float32, 1, nil)), nil))
		op := must(te.NewComputeOp("B", "", nil, tvmffi.Of[tirx.IterVarRef](axis), tvmffi.Of[ir.ExprRef](sum)))
		return module(twicePlusOneName, a, must(te.OpGetOutput(op, 0)))
	})
}

const twicePlusOneName = "twice_plus_one"

// module returns a module with one function, which takes the tensors: the inputs, then the outputs.
func module(name string, tensors ...tvmffi.ObjectRef) *ir.IRModule {
	loops := must(te.CreatePrimFunc(tvmffi.Of(tensors...), nil))
	named := must(ir.BaseFuncWithAttr(loops, "global_symbol", name))
	functions := tvmffi.PairsOf(tvmffi.Pair[ir.GlobalVarRef, ir.BaseFuncRef]{
		Key:   must(ir.NewGlobalVar(name)),
		Value: named,
	})
	return must(ir.NewIRModule(functions, nil, nil))
}

func shape(sizes ...ir.ExprRef) te.ExprOrExprArray {
	return te.ExprOrExprArrayOfExprArray(tvmffi.Of(sizes...))
}

func number(n int64) *ir.IntImm {
	return must(ir.NewIntImm(tvmffi.Int64, big.NewInt(n), nil))
}
