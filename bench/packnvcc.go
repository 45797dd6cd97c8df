package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/bench/gpupack"
	"github.com/tvmffi-go/tvmffi/native"
)

// nvccArchs are the architectures of the kernels that nvcc compiles; code for 8.0 runs on 8.6 and 8.9 too. Some
// instructions exist with the suffix only.
var nvccArchs = []string{"8.0", "9.0", "10.0a", "12.0a"}

// nvccCUDA is the CUDA runtime that is linked into these kernels: that of the wheel of nvcc.
const nvccCUDA = 13000

// nvcc gets FlashInfer, which has CUTLASS, and nvcc, and returns the folder of their sources.
func (p *packer) nvcc(ctx context.Context) (sources string, err error) {
	python, err := p.pinned(ctx, "python3", "flashinfer")
	if err != nil {
		return "", err
	}
	environment := filepath.Dir(filepath.Dir(python))
	sites, err := filepath.Glob(filepath.Join(environment, "lib", "python3*", "site-packages"))
	if err != nil || len(sites) != 1 {
		return "", fmt.Errorf("the packages in %s: %q, %w", environment, sites, err)
	}
	for name, value := range map[string]string{"CUDA_HOME": filepath.Join(sites[0], "nvidia", "cu13"), "VIRTUAL_ENV": environment, "TVMFFI_LIBRARY": p.wheel.Library()} {
		if err := os.Setenv(name, value); err != nil {
			return "", err
		}
	}
	return filepath.Join(sites[0], "flashinfer", "data"), nil
}

// example is the path of a file of an example.
func (p *packer) example(names ...string) string {
	return filepath.Join(append([]string{p.root, "examples"}, names...)...)
}

// norm is what the example flashinfer compiles, for more architectures.
func (p *packer) norm(sources string) native.Code {
	source := filepath.Join(sources, "csrc")
	return native.Code{
		Name:      "flashinfer_norm",
		Files:     []string{filepath.Join(source, "norm.cu"), filepath.Join(source, "flashinfer_norm_binding.cu")},
		Include:   []string{filepath.Join(sources, "include"), source},
		NVCCFlags: []string{"--expt-relaxed-constexpr", "-DENABLE_BF16", "-DENABLE_FP8"},
		Arch:      nvccArchs,
	}
}

// gemm is what the example cutlass_gemm compiles, for more architectures.
func (p *packer) gemm(sources string) native.Code {
	return native.Code{
		Name:      "cutlass_gemm",
		Files:     []string{p.example("cutlass_gemm", "native", "gemm.cu")},
		Include:   []string{filepath.Join(sources, "cutlass", "include")},
		NVCCFlags: []string{"--expt-relaxed-constexpr"},
		Arch:      nvccArchs,
	}
}

// onFake is the same code with the CUDA runtime of testdata/fakecudart, which runs on the fake driver.
func (p *packer) onFake(code native.Code) native.Code {
	code.Files = append(slices.Clone(code.Files), filepath.Join(p.root, "testdata", "fakecudart", "fakecudart.cc"))
	code.NVCCFlags = append(slices.Clone(code.NVCCFlags), "--no-compress")
	code.Arch = []string{"9.0a"}
	return code
}

// kernels compiles kernels of an example, the first time, and packs them.
func (p *packer) kernels(ctx context.Context, example string, codes ...native.Code) error {
	for _, code := range codes {
		file, err := native.Build(ctx, code)
		if err != nil {
			return err
		}
		folder := example
		if strings.HasSuffix(code.Files[len(code.Files)-1], ".cc") {
			folder += "/fake"
		}
		if err := p.copy(file, folder+"/lib"+code.Name+".so"); err != nil {
			return err
		}
	}
	return nil
}

// libraryTests packs the tests of an example, and what they read.
func (p *packer) libraryTests(ctx context.Context, example string) error {
	if err := p.build(ctx, "bin/"+example, "./examples/"+example, "test", "-tags=flashinfer"); err != nil {
		return err
	}
	texts, err := filepath.Glob(p.example(example, "testdata", "*.txt"))
	if err != nil {
		return err
	}
	for _, text := range texts {
		if err := p.copy(text, example+"/testdata/"+filepath.Base(text)); err != nil {
			return err
		}
	}
	return nil
}

const fakeComputes = "launches and their arguments are compared, and no result, because the fake driver does not compute these kernels"

// libraryPart is a part whose results only a GPU can show: the fake driver gets another test, of the launches.
func libraryPart(name, example, results, launches string) gpupack.Part {
	part := testPart(name, "bin/"+example, results)
	part.Dir, part.CUDA = example, nvccCUDA
	if launches == "" {
		part.NotOnFake = cudaRuntime
		return part
	}
	fake := testPart(name, "bin/"+example, launches)
	part.OnFake, part.OnFakeTests, part.OnFakeNote = fake.Command[1:], fake.Tests, fakeComputes
	return part
}

// flashInfer packs the example flashinfer.
func (p *packer) flashInfer(ctx context.Context) error {
	sources, err := p.nvcc(ctx)
	if err != nil {
		return err
	}
	const example = "flashinfer"
	if err := p.kernels(ctx, example, p.norm(sources)); err != nil {
		return err
	}
	if err := p.libraryTests(ctx, example); err != nil {
		return err
	}
	refused := testPart("Example flashinfer, calls that are refused", "bin/"+example, "TestRefused")
	refused.Dir = example
	p.add(refused,
		libraryPart("Example flashinfer, norm compared with root mean squares in float64", example, "TestResults", ""))
	return nil
}

// cutlass packs the example cutlass_gemm.
func (p *packer) cutlass(ctx context.Context) error {
	sources, err := p.nvcc(ctx)
	if err != nil {
		return err
	}
	const example = "cutlass_gemm"
	gemm := p.gemm(sources)
	if err := p.kernels(ctx, example, gemm, p.onFake(gemm)); err != nil {
		return err
	}
	if err := p.libraryTests(ctx, example); err != nil {
		return err
	}
	refused := testPart("Example cutlass_gemm, calls that are refused", "bin/"+example, "TestRefused")
	refused.Dir = example
	p.add(refused, libraryPart("Example cutlass_gemm, compared with products in float64", example, "TestResults", "TestLaunch"))
	return nil
}
