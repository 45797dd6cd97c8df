//go:build bindings

package main

import (
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/ir"
	"github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/script/irbuilder"
	build "github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/script/irbuilder/tirx"
	"github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/tirx"
	"github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/tl"
)

// This file has what TileLang's Python calls T.Tensor, T.Kernel, T.Parallel, T.copy and so on.
// They work on the builder of the current thread: each statement goes into the innermost frame.

// primFunc returns the function that body describes.
func primFunc(name string, body func()) (*tirx.PrimFunc, error) {
	return onThread(func() *tirx.PrimFunc {
		builder := must(irbuilder.NewIRBuilder())
		check(irbuilder.IRBuilderEnter(builder))
		defer irbuilder.IRBuilderExit(builder)
		frame := must(build.PrimFunc(false))
		within(frame, func() {
			check(build.FuncName(name))
			body()
		})
		result := must(irbuilder.IRBuilderGet(builder))
		return must(as[*tirx.PrimFunc](result))
	})
}

// within describes the statements of a frame.
func within(frame irbuilder.IRBuilderFrameRef, body func()) {
	check(irbuilder.IRBuilderFrameEnter(frame))
	body()
	check(irbuilder.IRBuilderFrameExit(frame))
}

// loop describes the body of one loop or of a nest of them, whose variables get the names.
func loop(frame *build.ForFrame, names []string, body func(vars ...ir.PrimExprRef)) {
	within(frame, func() { body(variables(frame.Vars(), names...)...) })
}

func variables(list *tvmffi.Array[*tirx.Var], names ...string) []ir.PrimExprRef {
	var all []ir.PrimExprRef
	for i, v := range list.All() {
		if i < len(names) {
			named(names[i], v)
		}
		all = append(all, tvmffi.Retain(v)) // the array lends it for a step of the loop
	}
	return all
}

// named gives a variable or a buffer its name in what is printed.
func named(name string, object tvmffi.ObjectRef) { must(irbuilder.IRBuilderName(name, object)) }

// kernel describes a grid of programs, each of which is run by so many threads on a GPU.
func kernel(programs []int64, threads int64, body func(index ...ir.PrimExprRef)) {
	frame := must(tl.KernelLaunch(ints(programs...), ints(threads, 1, 1), nil))
	within(frame, func() { body(variables(frame.GridVars())...) })
}

// parallel is a nest of loops whose steps TileLang shares among the threads.
func parallel(extents []int64, names []string, body func(index ...ir.PrimExprRef)) {
	loop(must(tl.Parallel(ints(extents...), nil)), names, body)
}

// grid is a nest of plain loops.
func grid(extents []int64, names []string, body func(index ...ir.PrimExprRef)) {
	loop(must(build.Grid(ints(extents...))), names, body)
}

// pipelined is a loop whose copies may run while the step before computes.
func pipelined(extent, stages int64, name string, body func(index ...ir.PrimExprRef)) {
	loop(must(tl.Pipelined(integer(0), integer(extent), stages, nil, nil, nil)), []string{name}, body)
}

// serial is a plain loop.
func serial(extent int64, name string, body func(index ...ir.PrimExprRef)) {
	loop(must(build.Serial(integer(0), integer(extent), nil, nil)), []string{name}, body)
}

// tensor is a parameter in the memory of the device.
func tensor(name string, shape ...int64) *tirx.Buffer {
	buffer := must(build.NewBuffer(ints(shape...), tvmffi.Float32, "", nil, nil, nil, "global", 0, 0, "", nil))
	return must(as[*tirx.Buffer](must(build.Arg(name, buffer))))
}

// tile is memory for a part of a tensor.
func tile(name, memory string, shape ...int64) *tirx.Buffer {
	buffer := must(build.SBlockAllocBuffer(ints(shape...), tvmffi.Float32, nil, nil, nil, memory, -1, 0, "default", nil))
	named(name, buffer)
	return buffer
}

// part is where a part of a matrix begins.
type part struct {
	buffer      *tirx.Buffer
	row, column ir.PrimExprRef
}

func whole(buffer *tirx.Buffer) part { return part{buffer, integer(0), integer(0)} }

// How a tile operator uses a part.
const (
	read  = 1
	write = 2
)

// region is a part as an argument of a tile operator.
func (p part) region(access, rows, columns int64) ir.PrimExprRef {
	return call("tl.region", load(p.buffer, p.row, p.column), integer(access), integer(rows), integer(columns))
}

// copyTile copies a part of one matrix into a part of another.
func copyTile(from, to part, rows, columns int64) {
	check(build.Evaluate(call("tl.tileop.copy", from.region(read, rows, columns), to.region(write, rows, columns))))
}

// clearTile sets a tile to zero.
func clearTile(buffer *tirx.Buffer, rows, columns int64) {
	all := whole(buffer).region(write, rows, columns)
	check(build.Evaluate(call("tl.tileop.fill", all, must(ir.NewFloatImm(tvmffi.Float32, 0, nil)))))
}

func load(buffer *tirx.Buffer, index ...ir.PrimExprRef) ir.PrimExprRef {
	return must(tirx.NewBufferLoad(buffer, tvmffi.Of(index...), nil, nil))
}

func store(buffer *tirx.Buffer, value ir.PrimExprRef, index ...ir.PrimExprRef) {
	check(build.BufferStore(buffer, value, tvmffi.Of(index...), nil))
}

func call(op string, args ...ir.PrimExprRef) ir.PrimExprRef {
	return must(tirx.NewCall(handle, must(ir.GetOp(op)), tvmffi.Of(args...), nil, nil))
}

func add(a, b ir.PrimExprRef) ir.PrimExprRef { return must(tirx.OpAdd(a, b, nil)) }
func mul(a, b ir.PrimExprRef) ir.PrimExprRef { return must(tirx.OpMul(a, b, nil)) }

func integer(n int64) ir.PrimExprRef { return must(ir.NewIntImm(tvmffi.Int32, n, nil)) }

func ints(numbers ...int64) tvmffi.Values[ir.PrimExprRef] {
	var all []ir.PrimExprRef
	for _, n := range numbers {
		all = append(all, integer(n))
	}
	return tvmffi.Of(all...)
}

// handle is the type of what a tile operator returns.
var handle = tvmffi.DataType{Code: 3, Bits: 64, Lanes: 1}
