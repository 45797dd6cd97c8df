//go:build bindings

package main

import (
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/structural"

	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/ir"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/prim"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/transform"
)

// sumsForDoubles makes a pass of the compiler that is written in Go. It replaces x * 2 by x + x, and
// calls found for each.
func sumsForDoubles(found func(x *prim.Mul)) (*transform.ModulePass, error) {
	info, err := transform.NewPassInfo(0, "go.SumsForDoubles", nil, false)
	if err != nil {
		return nil, err
	}
	defer info.Release()
	replace := structural.To(func(x *prim.Mul) (any, error) {
		two, ok := tvmffi.Cast[*ir.FloatImm](x.B())
		if !ok || two.Value() != 2 {
			return x, nil
		}
		found(x)
		return prim.NewAdd(x.A(), x.A(), nil)
	})
	// The compiler calls this function like a pass of its own. An error of it is the error of RunPass.
	run := func(m *ir.IRModule, _ *transform.PassContext) (ir.IRModuleRef, error) {
		return structural.Rewrite(m, structural.PostOrder, replace)
	}
	return transform.MakeModulePass(run, info)
}
