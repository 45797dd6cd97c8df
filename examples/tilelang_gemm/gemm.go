//go:build bindings

package main

import (
	"fmt"

	"github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/ir"
	"github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/tirx"
)

// problem is a product of matrices, C = A B, and how it is cut into tiles.
type problem struct {
	m, n, k int64 // A has m rows and k columns, B has k rows and n columns
	tile    int64 // rows and columns of the part of C that one program computes
	tileK   int64 // columns of A and rows of B that it copies at a time
}

// check refuses what would not be cut into whole tiles.
func (p problem) check() error {
	const most = 1 << 14  // the product of two of them fits int32, the type of an index
	const mostOfTile = 64 // three tiles lie on the stack of a thread
	for _, dim := range []struct {
		name       string
		size, tile int64
	}{{"m", p.m, p.tile}, {"n", p.n, p.tile}, {"k", p.k, p.tileK}} {
		if dim.size < 1 || dim.size > most || dim.tile < 1 || dim.tile > mostOfTile || dim.size%dim.tile != 0 {
			return fmt.Errorf("%s is %d with tiles of %d: want 1 to %d with tiles of 1 to %d that divide it", dim.name, dim.size, dim.tile, most, mostOfTile)
		}
	}
	return nil
}

// machine is what a tile program has to know of the machine that runs it.
type machine struct {
	tiles, sums string // the memory for tiles of A and B, and for the sums
	threads     int64  // of a program; a CPU has one
	stages      int64  // how many steps of a loop are in flight, 0 for one after the other
	// multiply adds the product of two tiles to a third one.
	multiply func(p problem, a, b, c *tirx.Buffer)
}

var (
	onCPU = machine{tiles: "local", sums: "local", threads: 1, multiply: gemmTile}
	onGPU = machine{tiles: "shared.dyn", sums: "local.fragment", threads: 128, stages: 2, multiply: multiplyInParallel}
)

// name is that of the function in compiled code.
const name = "gemm"

// gemm describes the product as a tile program.
func gemm(p problem, on machine) (*tirx.PrimFunc, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return primFunc(name, func() {
		a, b, c := tensor("A", p.m, p.k), tensor("B", p.k, p.n), tensor("C", p.m, p.n)
		kernel([]int64{p.n / p.tile, p.m / p.tile}, on.threads, func(at ...ir.PrimExprRef) {
			row, column := mul(at[1], integer(p.tile)), mul(at[0], integer(p.tile))
			tileA := tile("A_tile", on.tiles, p.tile, p.tileK)
			tileB := tile("B_tile", on.tiles, p.tileK, p.tile)
			sums := tile("sums", on.sums, p.tile, p.tile)
			clearTile(sums, p.tile, p.tile)
			pipelined(p.k/p.tileK, on.stages, "step", func(step ...ir.PrimExprRef) {
				k := mul(step[0], integer(p.tileK))
				copyTile(part{a, row, k}, whole(tileA), p.tile, p.tileK)
				copyTile(part{b, k, column}, whole(tileB), p.tileK, p.tile)
				on.multiply(p, tileA, tileB, sums)
			})
			copyTile(whole(sums), part{c, row, column}, p.tile, p.tile)
		})
	})
}

// multiplyInParallel is a product whose elements the threads of a program share.
func multiplyInParallel(p problem, a, b, c *tirx.Buffer) {
	serial(p.tileK, "k", func(k ...ir.PrimExprRef) { // outside, so that neighbours in a row become a vector
		parallel([]int64{p.tile, p.tile}, []string{"i", "j"}, func(at ...ir.PrimExprRef) {
			multiplyAdd(a, b, c, at[0], at[1], k[0])
		})
	})
}
