//go:build bindings

package main

import (
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/ir"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/stir"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/stir/schedule"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/te"
	"github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/topi"
)

// matmul describes the product of two square matrices of n rows: what it is, not how it is computed.
func matmul(n int64) (*ir.IRModule, error) {
	return describe(func() *ir.IRModule {
		float32Type := must(ir.NewPrimType(tvmffi.Float32))
		a := must(te.Placeholder(shape(number(n), number(n)), float32Type, "A"))
		b := must(te.Placeholder(shape(number(n), number(n)), float32Type, "B"))
		return module(matmulName, a, b, must(topi.Matmul(a, b, false, false)))
	})
}

const (
	matmulName  = "matmul"
	matmulBlock = "T_matmul" // the block of the sum, as topi names it
)

// tiled says how matmul is computed: by square tiles of the output, each a sum over strips of the inputs
// that stay in the cache. A row of a tile is a vector. The module m stays as it is.
func tiled(m *ir.IRModule, tile int64) (*ir.IRModule, error) {
	return describe(func() *ir.IRModule {
		const anySeed, noDebugging, fullErrors = -1, 0, 0
		s := must(schedule.NewConcrete(m, anySeed, noDebugging, fullErrors, true))
		check(schedule.WorkOn(s, matmulName))
		sum := must(schedule.GetSBlock(s, matmulBlock, nil))
		loops := must(schedule.GetLoops(s, sum)) // over rows, columns, and what is summed

		row, rowInTile := split(s, loops.At(0), tile)
		column, columnInTile := split(s, loops.At(1), tile)
		strip, inStrip := split(s, loops.At(2), stripLength)
		order := tvmffi.Of[stir.LoopRVRef](row, column, strip, rowInTile, inStrip, columnInTile)
		check(schedule.Reorder(s, order))
		check(schedule.Vectorize(s, columnInTile))
		must(schedule.DecomposeReduction(s, sum, strip)) // the zeros get a loop of their own
		return must(schedule.GetMod(s))
	})
}

const stripLength = 4

// split divides a loop into an outer one and an inner one of so many steps.
func split(s *stir.Schedule, loop *stir.LoopRV, steps int64) (outer, inner *stir.LoopRV) {
	const keepUnitLoops, noPredicates = true, false
	factors := tvmffi.Of[ir.ExprRef](nil, number(steps)) // nil: whatever is left
	parts := must(schedule.Split(s, loop, factors, keepUnitLoops, noPredicates))
	return parts.At(0), parts.At(1)
}
