//go:build bindings

package main

import (
	"errors"
	"fmt"
	"sync"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/ir"
	build "github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/script/irbuilder/tirx"
	"github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/tirx"
	"github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/tl"
)

// gemmTile is T.gemm of TileLang, the operator that adds the product of two tiles to a third one.
// The library asks the global function tl.gemm.lower what it becomes: see lowerGemm.
func gemmTile(p problem, a, b, c *tirx.Buffer) {
	no := must(ir.NewIntImm(tvmffi.Bool, 0, nil))
	const square = 0 // how warps share the tile, on a GPU
	check(build.Evaluate(call("tl.tileop.gemm",
		whole(a).region(read, p.tile, p.tileK), whole(b).region(read, p.tileK, p.tile), whole(c).region(read|write, p.tile, p.tile),
		no, no, // neither a nor b is transposed
		integer(p.tile), integer(p.tile), integer(p.tileK), integer(square),
		no,         // c is not cleared before
		integer(0), // no barrier
		integer(0), integer(0))))
}

// registerGemm registers what TileLang's Python registers for T.gemm. It must come before the
// first program with that operator is lowered.
var registerGemm = sync.OnceValue(func() error {
	err := tvmffi.Register("tl.gemm.infer_layout", layoutsOfGemm,
		tvmffi.Doc("layoutsOfGemm says where the elements of the tiles are: in the order of rows."))
	if err != nil {
		return err
	}
	return tvmffi.Register("tl.gemm.lower", lowerGemm, tvmffi.Doc("lowerGemm turns T.gemm into loops."))
})

func layoutsOfGemm(*tl.Gemm, *ir.Target, *ir.Range) (*tvmffi.Map[*tirx.Buffer, *tl.Layout], error) {
	return tvmffi.NewMap(tvmffi.PairsOf[*tirx.Buffer, *tl.Layout]()) // no layout of its own
}

// lowerGemm returns the function that takes the place of a T.gemm. TileLang calls it in the pass
// LowerTileOp.
func lowerGemm(op *tl.Gemm, layouts tvmffi.Any, to *ir.Target, bounds, index, phase tvmffi.Any) (*tirx.PrimFunc, error) {
	if kind := to.Kind().Name(); kind != "c" {
		return nil, fmt.Errorf("lower T.gemm for the target %s: this program lowers it for c only, where no threads share a tile", kind)
	}
	if op.TransA() || op.TransB() {
		return nil, errors.New("lower T.gemm of a transposed tile: this program lowers products of tiles as they are")
	}
	return primFunc("gemm_tile", func() {
		extents := []int64{op.K(), op.M(), op.N()} // k outside, so that neighbours in a row become a vector
		grid(extents, []string{"k", "i", "j"}, func(at ...ir.PrimExprRef) {
			multiplyAdd(op.A(), op.B(), op.C(), at[1], at[2], at[0])
		})
	})
}

// multiplyAdd adds a product of two elements to the element in row i and column j of c.
func multiplyAdd(a, b, c *tirx.Buffer, i, j, k ir.PrimExprRef) {
	store(c, add(load(c, i, j), mul(load(a, i, k), load(b, k, j))), i, j)
}
