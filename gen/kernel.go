package gen

import (
	"github.com/tvmffi-go/tvmffi/gen/internal/emit"
	"github.com/tvmffi-go/tvmffi/gen/internal/kernel"
	"github.com/tvmffi-go/tvmffi/gen/internal/source"
)

// KernelConfig says which CUDA kernels become typed funcs.
type KernelConfig struct {
	// Package is the name of the Go package.
	Package string
	Kernels []Kernel
	// Contents are the bytes of the images and programs of the kernels, by name. A kernel
	// that is not in them is an error; a file that is missing here is not looked into.
	Contents map[string][]byte
	// ToolVersion is written into the header of the file.
	ToolVersion string
}

// Kernel describes one kernel: its arguments, its code, and how it is launched.
type Kernel struct {
	// Spec describes the arguments in the notation of package cuda/spec, such as
	// "saxpy(x: Tensor([n], float32), y: Tensor([n], float32), a: float32, stream: Stream)".
	// A Stream becomes a parameter of the Go func; without one the kernel runs on the
	// environment stream of the device.
	Spec string
	// Name is the name of the Go func; without it, the name of the description as a Go
	// name. Doc becomes a part of its comment.
	Name, Doc string
	// Entry is the name of the kernel in the image; without it, the name of the
	// description.
	Entry string
	// Images are the cubins, fatbins and PTX files that hold the kernel, below the
	// folder of the package and relative to it, with forward slashes.
	Images []string
	// Program is a file with CUDA C++ in place of Images. It is compiled by NVRTC when
	// the kernel is first used, with Options, for Arch ("compute_80" or "sm_90a"), or
	// without it for the device at hand.
	Program string
	Arch    string
	Options []string
	// Args are the parameters of the kernel in order: names of parameters and of
	// sizes of the description. The default is all parameters except the stream.
	Args []string
	// Grid, Block and Cluster are one to three expressions each, of numbers, names of
	// sizes, + - * / %, ceildiv, min, max and parentheses. Shared is the dynamic shared
	// memory of a block in bytes. Division rounds down.
	Grid, Block, Cluster []string
	Shared               string
	// Cooperative and Programmatic are as in cuda.LaunchConfig.
	Cooperative  bool
	Programmatic bool
	// Empty says what a grid without blocks means: "skip", which is the default,
	// launches nothing, "error" refuses it.
	Empty string
	// Register is the name in the registry; without it, the name of the package, a dot
	// and the name of the description.
	Register string
}

// A KernelError is one mistake in a KernelConfig, with the place: the index of the
// kernel or -1, the key in the form of tvmffi.yaml, and the index in its list or -1.
type KernelError = kernel.Error

// Kernels returns the package of the kernels, which ReadExports reads
// too. The error joins all mistakes, each a [*KernelError].
func Kernels(c KernelConfig) ([]File, error) {
	sources := make([]kernel.Source, len(c.Kernels))
	for i, k := range c.Kernels {
		sources[i] = kernel.Source(k)
	}
	pkg, err := kernel.Make(c.Package, sources, c.Contents)
	if err != nil {
		return nil, err
	}
	tool := c.ToolVersion
	if tool == "" {
		tool = "(devel)"
	}
	content, err := emit.Kernels(pkg, tool)
	if err != nil {
		return nil, err
	}
	return []File{{Path: source.KernelsFile, Content: content}}, nil
}
