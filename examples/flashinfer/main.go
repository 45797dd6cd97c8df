// Flashinfer compiles kernels of FlashInfer with nvcc and calls them through the Go packages that
// tvmffi-bind wrote for them: normalisation, pages of a cache of keys and values, rotary
// embedding, and attention. Without a GPU it shows what the kernels refuse; with one it runs one of norm too,
// and attention, whose results it compares with the definition.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/native"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/flashinfer/attention"
	"github.com/tvmffi-go/tvmffi/examples/flashinfer/norm"
	"github.com/tvmffi-go/tvmffi/examples/flashinfer/page"
	"github.com/tvmffi-go/tvmffi/examples/flashinfer/rope"
)

const usage = `usage: go run . FOLDER [norm | page | rope | attention]
FOLDER is where the Python packages lie, flashinfer among them`

// library is a set of kernels that FlashInfer compiles together, and its Go package.
type library struct {
	load    func(...tvmffi.LoadOption) error
	refused func() ([]attempt, error)
	results func(io.Writer) error // nil if nothing is computed
}

// libraries are those that this example has bindings of.
var libraries = map[string]library{
	"norm":      {norm.Load, refusedNorm, resultsNorm},
	"page":      {page.Load, refusedPage, nil},
	"rope":      {rope.Load, refusedRope, nil},
	"attention": {attention.Load, refusedAttention, resultsAttention},
}

func main() {
	name := "norm"
	if len(os.Args) == 3 {
		name = os.Args[2]
	}
	if _, ok := libraries[name]; !ok || len(os.Args) < 2 || len(os.Args) > 3 {
		log.Fatal(usage)
	}
	err := load(context.Background(), os.Args[1], name)
	if err == nil {
		err = refused(os.Stdout, name)
	}
	if compute := libraries[name].results; err == nil && compute != nil {
		err = compute(os.Stdout)
	}
	if errors.Is(err, cuda.ErrUnavailable) {
		fmt.Println("no results:", err)
		return
	}
	if err != nil {
		log.Fatal(err)
	}
}

// load compiles the kernels of a library, the first time, and loads them.
func load(ctx context.Context, packages, name string) error {
	file, err := native.Build(ctx, kernels(packages, name))
	if err != nil {
		return err
	}
	return libraries[name].load(tvmffi.WithFile(file))
}

// kernels is what to compile of the sources that FlashInfer comes with. Those of attention are
// templates, which the files in native/attention make kernels of.
func kernels(packages, name string) native.Code {
	data := filepath.Join(packages, "flashinfer", "data")
	source := filepath.Join(data, "csrc")
	code := native.Code{
		Name:      "flashinfer_" + name,
		Files:     []string{filepath.Join(source, name+".cu"), filepath.Join(source, "flashinfer_"+name+"_binding.cu")},
		Include:   []string{filepath.Join(data, "include"), source},
		NVCCFlags: []string{"--expt-relaxed-constexpr", "-DENABLE_BF16", "-DENABLE_FP8"},
	}
	if name == "attention" {
		own := filepath.Join("native", "attention")
		code.Files = nil
		for _, kind := range []string{"single_decode", "batch_decode", "single_prefill", "batch_prefill"} {
			code.Files = append(code.Files, filepath.Join(own, kind+"_attention.cu"))
		}
		code.Include = append(code.Include, own)
	}
	return code
}

// resultsNorm runs a kernel on the first GPU.
func resultsNorm(out io.Writer) error {
	if err := cuda.Available(); err != nil {
		return err
	}
	x := []float32{1, 2, 3, 4, 5, 6, 7, 8, -1, -1, -1, -1, -1, -1, -1, -1}
	weight := []float32{1, 1, 1, 1, 2, 2, 2, 2}
	got, err := rmsNorm(x, weight, 1e-6)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "rows divided by their root mean square:", got)
	return nil
}

// rmsNorm divides each row of x by its root mean square and multiplies it by the
// weights, in the precision of BF16. A row has as many values as there are weights.
func rmsNorm(x, weight []float32, eps float64) (result []float32, err error) {
	stream, err := cuda.Device(0).NewStream()
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	var memories []*cuda.Memory
	defer func() {
		for _, m := range memories {
			err = errors.Join(err, m.Free())
		}
	}()
	upload := func(values []float32, shape ...int64) *tvmffi.Tensor {
		if err != nil {
			return nil
		}
		short := make([]tvmffi.BF16, len(values))
		for i, v := range values {
			short[i] = tvmffi.ToBF16(v)
		}
		var m *cuda.Memory
		if m, err = cuda.AllocOf(0, short); err != nil {
			return nil
		}
		memories = append(memories, m)
		var t *tvmffi.Tensor
		t, err = m.Tensor(tvmffi.BFloat16, shape...)
		return t
	}
	columns := int64(len(weight))
	rows := int64(len(x)) / columns
	in, w := upload(x, rows, columns), upload(weight, columns)
	out := upload(make([]float32, rows*columns), rows, columns)
	if err != nil {
		return nil, err
	}
	// The kernel runs on the environment stream, which WithStream sets for the call.
	err = cuda.WithStream(stream, func() error { return norm.Rmsnorm(out, in, w, eps, false) })
	if err = errors.Join(err, stream.Synchronize()); err != nil {
		return nil, err
	}
	short := make([]tvmffi.BF16, rows*columns)
	if err := cuda.CopyOut(short, memories[2]); err != nil {
		return nil, err
	}
	for _, v := range short {
		result = append(result, v.Float32())
	}
	return result, nil
}
