package tvm

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// A Sidecar is a library of TVM's runtime for one kind of device, such as libtvm_runtime_cuda.so.
type Sidecar struct {
	// Path is its file, beside libtvm_runtime.so.
	Path string
	// Err is why it is not used, nil if it is: mostly the driver of the device is missing.
	Err error
}

// Sidecars loads the libraries for devices that lie beside libtvm_runtime.so, if it has not done so, and returns
// them. Without the one for CUDA, TVM reports that the device API is not enabled. A library whose driver is missing is
// not an error: see [Sidecar]. Packages tvm/rpc, tvm/disco and tvm/vm call it in the processes that compute. No GPU has
// run it.
func Sidecars() ([]Sidecar, error) { return sidecars() }

var sidecars = sync.OnceValues(func() ([]Sidecar, error) {
	if err := libraryTVMRuntime.Ensure(); err != nil {
		return nil, err
	}
	runtime, err := libraryTVMRuntime.PathOf("libtvm_runtime.so")
	if err != nil {
		return nil, err
	}
	end := filepath.Ext(runtime) // tvm_runtime.dll on Windows
	names, err := fs.Glob(os.DirFS(filepath.Dir(runtime)), strings.TrimSuffix(filepath.Base(runtime), end)+"_*"+end)
	var all []Sidecar
	for _, name := range names {
		if !strings.HasSuffix(name, "_extra"+end) { // it is for no device, and loaded on its first use
			file := filepath.Join(filepath.Dir(runtime), name)
			all = append(all, Sidecar{file, tvmffi.LoadLibrary(file)})
		}
	}
	return all, err
})
