package kernelrt_test

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/internal/checktest"
	"github.com/tvmffi-go/tvmffi/cuda/internal/fakecuda"
	"github.com/tvmffi-go/tvmffi/cuda/kernelrt/internal/testkernels"
	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// fake is the driver of testdata/fakecuda as the driver of this process.
type fake struct {
	*fakecuda.Driver
	t *testing.T
}

// load makes the fake the driver and loads libtvm_ffi. At the end of the test the
// kernels are unloaded, and nothing may be left.
func load(t *testing.T) *fake {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skipf("the fake driver is built for Linux, this is %s", runtime.GOOS)
	}
	ok(t, tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))))
	path := nativetest.FakeCUDA(t)
	if old := os.Getenv("TVMFFI_CUDA_LIBRARY"); old != "" && old != path {
		t.Skipf("TVMFFI_CUDA_LIBRARY names %s: this test is for the fake driver", old)
	}
	ok(t, os.Setenv("TVMFFI_CUDA_LIBRARY", path))
	ok(t, cuda.Available())
	d, err := fakecuda.Open(path)
	ok(t, err)
	f := &fake{d, t}
	f.reset()
	t.Cleanup(func() {
		if bad := f.Violations(); bad != "" {
			t.Errorf("the work of the test did what a device does not forgive:\n%s", bad)
		}
		f.reset()
		ok(t, testkernels.Unload())
		for d := range cuda.Device(2) { // what package cuda keeps for itself ends with the context
			ok(t, d.Release())
		}
		for what := range fakecuda.Contexts {
			if n := f.Live(what); n != 0 {
				t.Errorf("left on the driver: %d of kind %d", n, what)
			}
		}
		for d := range cuda.Device(2) {
			if l := d.Live(); l != (cuda.Live{}) {
				t.Errorf("left on %s: %+v", d, l)
			}
		}
	})
	return f
}

func (f *fake) reset() { f.Clear() }

// failing makes a function return code once.
func (f *fake) failing(name string, code int) { f.Fail(name, code, 0) }

// calls takes the log, which is empty then, without the numbers of threads.
func (f *fake) calls() []string {
	log := f.Log()
	f.reset()
	var calls []string
	for line := range strings.Lines(log) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		calls = append(calls, rest)
	}
	return calls
}

// expect compares the log with calls; a call that ends in a space matches all calls with
// that beginning.
func (f *fake) expect(want ...string) {
	f.t.Helper()
	got := f.calls()
	same := len(got) == len(want)
	for i := 0; same && i < len(got); i++ {
		same = got[i] == want[i] || strings.HasSuffix(want[i], " ") && strings.HasPrefix(got[i]+" ", want[i])
	}
	if !same {
		f.t.Errorf("calls\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tensor makes a tensor whose memory nobody touches.
func tensor(t testing.TB, d tvmffi.Device, dtype tvmffi.DataType, shape []int64, strides ...int64) *tvmffi.Tensor {
	t.Helper()
	x := checktest.Tensor(abi.DLTensor{Data: checktest.Base(), DType: abi.DLDataType(dtype), Device: abi.DLDevice(d)}, shape, strides)
	t.Cleanup(x.Release)
	return x
}

func f32(t testing.TB, d int, shape ...int64) *tvmffi.Tensor {
	t.Helper()
	return tensor(t, tvmffi.CUDA(d), tvmffi.Float32, shape)
}
