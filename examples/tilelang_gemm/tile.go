//go:build bindings

package main

import (
	"fmt"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/ir"
	"github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/script/irbuilder"
	build "github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/script/irbuilder/tirx"
	"github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/tirx"
	"github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/tl"
)

// problem is a product of matrices, C = A B, and how it is cut into tiles.
type problem struct {
	m, n, k int64 // A has m rows and k columns, B has k rows and n columns
	tile    int64 // rows and columns of the part of C that one program computes
	tileK   int64 // columns of A and rows of B that it copies at a time
}

// name is the name of the function in compiled code.
const name = "gemm"

// gemm describes the product as a tile program.
func gemm(p problem) (*tirx.PrimFunc, error) {
	// An index is an int32, and three tiles lie on the stack of a thread.
	if min(p.m, p.n, p.k, p.tile, p.tileK) < 1 || max(p.m, p.n, p.k) > 1<<14 || max(p.tile, p.tileK) > 64 || p.m%p.tile+p.n%p.tile+p.k%p.tileK != 0 {
		return nil, fmt.Errorf("the problem %+v: want sizes of 1 to %d, with tiles of 1 to 64 that divide them", p, 1<<14)
	}
	return primFunc(func() {
		a, b, c := tensor("A", p.m, p.k), tensor("B", p.k, p.n), tensor("C", p.m, p.n)
		launch := must(tl.KernelLaunch(ints(p.n/p.tile, p.m/p.tile), ints(1, 1, 1), nil))
		within(launch, func() {
			at := variables(launch.GridVars())
			row, column := mul(at[1], integer(p.tile)), mul(at[0], integer(p.tile))
			tileA, tileB, sums := tile("A_tile", p.tile, p.tileK), tile("B_tile", p.tileK, p.tile), tile("sums", p.tile, p.tile)
			evaluate("tl.tileop.fill", region(sums, write, integer(0), integer(0), p.tile, p.tile), must(ir.NewFloatImm(tvmffi.Float32, 0, nil)))
			loop(must(build.Serial(integer(0), integer(p.k/p.tileK), nil, nil)), []string{"step"}, func(step ...ir.PrimExprRef) {
				k := mul(step[0], integer(p.tileK))
				copyTile(region(a, read, row, k, p.tile, p.tileK), region(tileA, write, integer(0), integer(0), p.tile, p.tileK))
				copyTile(region(b, read, k, column, p.tileK, p.tile), region(tileB, write, integer(0), integer(0), p.tileK, p.tile))
				multiply(tileA, tileB, sums, p)
			})
			copyTile(region(sums, read, integer(0), integer(0), p.tile, p.tile), region(c, write, row, column, p.tile, p.tile))
		})
	})
}

// multiply adds the product of two tiles to a third one. k is outside, so that neighbours in a row become a vector.
func multiply(a, b, c *tirx.Buffer, p problem) {
	loop(must(build.Serial(integer(0), integer(p.tileK), nil, nil)), []string{"k"}, func(k ...ir.PrimExprRef) {
		loop(must(tl.Parallel(ints(p.tile, p.tile), nil)), []string{"i", "j"}, func(at ...ir.PrimExprRef) {
			product := mul(load(a, at[0], k[0]), load(b, k[0], at[1]))
			must(0, build.BufferStore(c, must(tirx.OpAdd(load(c, at...), product, nil)), tvmffi.Of(at...), nil))
		})
	})
}

// The rest of this file has what TileLang's Python calls T.Tensor, T.copy and so on. They work on the builder of the
// current thread: each statement goes into the innermost frame.

// primFunc returns the function that body describes.
func primFunc(body func()) (*tirx.PrimFunc, error) {
	return onThread(func() *tirx.PrimFunc {
		builder := must(irbuilder.NewIRBuilder())
		must(0, irbuilder.IRBuilderEnter(builder))
		defer irbuilder.IRBuilderExit(builder)
		within(must(build.PrimFunc(false)), func() {
			must(0, build.FuncName(name))
			body()
		})
		return as[*tirx.PrimFunc](must(irbuilder.IRBuilderGet(builder)))
	})
}

// within describes the statements of a frame.
func within(frame irbuilder.IRBuilderFrameRef, body func()) {
	must(0, irbuilder.IRBuilderFrameEnter(frame))
	body()
	must(0, irbuilder.IRBuilderFrameExit(frame))
}

// loop describes the body of one loop or of a nest of them, whose variables get the names.
func loop(frame *build.ForFrame, names []string, body func(vars ...ir.PrimExprRef)) {
	within(frame, func() { body(variables(frame.Vars(), names...)...) })
}

func variables(list *tvmffi.Array[*tirx.Var], names ...string) (all []ir.PrimExprRef) {
	for i, v := range list.All() {
		if i < len(names) {
			must(irbuilder.IRBuilderName(names[i], v))
		}
		all = append(all, tvmffi.Retain(v)) // the array lends it for a step of the loop
	}
	return all
}

// tensor is a parameter.
func tensor(name string, shape ...int64) *tirx.Buffer {
	return as[*tirx.Buffer](must(build.Arg(name, must(build.NewBuffer(ints(shape...), tvmffi.Float32, "", nil, nil, nil, "global", 0, 0, "", nil)))))
}

// tile is memory for a part of a tensor.
func tile(name string, shape ...int64) *tirx.Buffer {
	buffer := must(build.SBlockAllocBuffer(ints(shape...), tvmffi.Float32, nil, nil, nil, "local", -1, 0, "default", nil))
	must(irbuilder.IRBuilderName(name, buffer))
	return buffer
}

const read, write = 1, 2 // how a tile operator uses a region

// region is a part of a matrix as an argument of a tile operator.
func region(of *tirx.Buffer, access int64, row, column ir.PrimExprRef, rows, columns int64) ir.PrimExprRef {
	return call("tl.region", load(of, row, column), integer(access), integer(rows), integer(columns))
}

func copyTile(from, to ir.PrimExprRef) { evaluate("tl.tileop.copy", from, to) }

func evaluate(op string, args ...ir.PrimExprRef) { must(0, build.Evaluate(call(op, args...))) }

// call is the value of an operator, a handle.
func call(op string, args ...ir.PrimExprRef) ir.PrimExprRef {
	return must(tirx.NewCall(tvmffi.DataType{Code: 3, Bits: 64, Lanes: 1}, must(ir.GetOp(op)), tvmffi.Of(args...), nil, nil))
}

func load(buffer *tirx.Buffer, index ...ir.PrimExprRef) ir.PrimExprRef {
	return must(tirx.NewBufferLoad(buffer, tvmffi.Of(index...), nil, nil))
}

func mul(a, b ir.PrimExprRef) ir.PrimExprRef { return must(tirx.OpMul(a, b, nil)) }

func integer(n int64) ir.PrimExprRef { return must(ir.NewIntImm(tvmffi.Int32, n, nil)) }

func ints(numbers ...int64) tvmffi.Values[ir.PrimExprRef] {
	var all []ir.PrimExprRef
	for _, n := range numbers {
		all = append(all, integer(n))
	}
	return tvmffi.Of(all...)
}
