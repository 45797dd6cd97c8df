//go:build bindings

package main

import (
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/ir"
	"github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/target"
	"github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/target/build"
	"github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/tirx"
	tir "github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/tirx/transform"
	"github.com/tvmffi-go/tvmffi/examples/tilelang_gemm/tilelang/transform"
)

// How a function of a lowered module is called: ir.CallingConv of TVM.
const (
	fromTVMFFI = 1 // with arguments of TVM-FFI, which it checks
	onDevice   = 2 // by a launch on a GPU
)

// forCPU returns the source of a tile program in C: that of the kernel, and that of the function
// of TVM-FFI which checks the arguments and calls it.
func forCPU(f *tirx.PrimFunc) (kernel, host string, err error) {
	if err := registerGemm(); err != nil {
		return "", "", err
	}
	_, err = onThread(func() bool {
		// A host that differs from the target makes the kernel a function of its own file.
		self := must(target.NewTarget(`{"kind": "c", "keys": ["cpu", "host"]}`))
		cpu := must(target.WithHost(must(target.NewTarget("c")), self))
		module := lower(f, cpu, cpuPasses(cpu))

		kernels := apply(module, must(tir.Filter(isCalled(fromTVMFFI, false))))
		kernels = apply(kernels, devicePasses()...)
		kernel = must(must(build.TilelangC(kernels, cpu)).Source(""))

		entries := apply(module, must(tir.Filter(isCalled(fromTVMFFI, true))))
		entries = apply(entries, hostPasses(self)...)
		host = must(must(build.TilelangCHost(entries, self)).Source(""))
		return true
	})
	return kernel, host, err
}

// forCUDA returns the source of a tile program in CUDA, for an architecture such as sm_80.
func forCUDA(f *tirx.PrimFunc, arch string) (kernel string, err error) {
	if err := registerGemm(); err != nil {
		return "", err
	}
	return onThread(func() string {
		host := must(target.NewTarget("c"))
		gpu := must(target.WithHost(must(target.NewTarget(`{"kind": "cuda", "arch": "`+arch+`"}`)), host))
		module := lower(f, gpu, cudaPasses(gpu))
		kernels := apply(module, must(tir.Filter(isCalled(onDevice, true))))
		kernels = apply(kernels, devicePasses()...)
		return must(must(build.TilelangCUDAWithoutCompile(kernels, gpu)).Source(""))
	})
}

// lower applies passes to a module of one function. The target is that of the thread meanwhile.
func lower(f *tirx.PrimFunc, to *target.Target, passes []*transform.Pass) *ir.IRModule {
	type function = tvmffi.Pair[ir.GlobalVarRef, ir.BaseFuncRef]
	named := must(ir.BaseFuncWithAttr(f, "global_symbol", name))
	functions := tvmffi.PairsOf(function{Key: must(ir.NewGlobalVar(name)), Value: named})
	check(target.TargetEnterScope(to))
	defer target.TargetExitScope(to)
	return apply(must(ir.NewIRModule(functions, nil, nil)), passes...)
}

func apply(module *ir.IRModule, passes ...*transform.Pass) *ir.IRModule {
	for _, pass := range passes {
		module = must(transform.RunPass(pass, module))
	}
	return module
}

// isCalled reports of a function whether it is called in a way, or whether it is not.
func isCalled(way int64, want bool) func(*tirx.PrimFunc) (bool, error) {
	return func(f *tirx.PrimFunc) (bool, error) {
		value, ok := f.Attrs().Dict().Get("calling_conv")
		if !ok {
			return !want, nil
		}
		defer value.Release()
		is, err := number(value)
		return (is == way) == want, err
	}
}

// number returns an attribute that is a number, or the expression of one.
func number(attribute tvmffi.Any) (int64, error) {
	if constant, err := tvmffi.As[*ir.IntImm](attribute); err == nil {
		return constant.Value(), nil
	}
	return tvmffi.As[int64](attribute)
}
