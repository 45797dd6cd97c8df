package nvrtc_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/nvrtc"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

const saxpy = `extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) y[i] += a * x[i];
}`

func TestCompile(t *testing.T) {
	use(t)
	if major, _, err := nvrtc.Version(); err != nil || major != 13 {
		t.Errorf("version %d, %v", major, err)
	}
	archs, err := nvrtc.Architectures()
	if err != nil || !slices.Contains(archs, cuda.Arch{Major: 9}) {
		t.Errorf("architectures %v, %v", archs, err)
	}
	ptx := compile(t, nvrtc.Program{Source: saxpy, Arch: "compute_90"})
	if ptx.Kind != cuda.ImagePTX || ptx.Major != 13 || !strings.Contains(string(ptx.Image), ".target sm_90") || !strings.Contains(string(ptx.Image), ".entry saxpy(") || bytes.IndexByte(ptx.Image, 0) >= 0 {
		t.Errorf("PTX: %s", ptx.Image)
	}
	for _, arch := range []string{"sm_90a", "9.0", "90"} {
		c := compile(t, nvrtc.Program{Source: saxpy, Arch: arch})
		if c.Kind != cuda.ImageCubin || !bytes.HasPrefix(c.Image, []byte("\x7fELF")) || !bytes.Contains(c.Image, []byte("saxpy")) {
			t.Errorf("%s: no cubin, %d bytes", arch, len(c.Image))
		}
	}
}

func TestOptionsHeadersNames(t *testing.T) {
	use(t)
	c := compile(t, nvrtc.Program{
		Name:    "scale.cu",
		Source:  "#include \"by.h\"\ntemplate <typename T> __global__ void scale(T* x) { int unused = 1; x[threadIdx.x] *= BY * TIMES; }\n",
		Headers: map[string]string{"by.h": "#include \"times.h\"\n#define BY 7\n", "times.h": ""},
		Options: []string{"-DTIMES=3", "--std=c++20"},
		Arch:    "compute_80",
		Kernels: []string{"scale<float>", "scale<int>"},
	})
	for _, k := range []string{"scale<float>", "scale<int>"} {
		if name := c.Names[k]; !strings.HasPrefix(name, "_Z5scaleI") || !strings.Contains(string(c.Image), ".entry "+name+"(") {
			t.Errorf("%s is called %q", k, name)
		}
	}
	if !strings.Contains(c.Log, "scale.cu(2)") || !strings.Contains(c.Log, "unused") {
		t.Errorf("the log has no warning: %q", c.Log)
	}
}

func TestErrors(t *testing.T) {
	use(t)
	for _, c := range []struct {
		p    nvrtc.Program
		name string // of the error of NVRTC, "" for one of Go
		want string
	}{
		{nvrtc.Program{Name: "bad.cu", Source: "__global__ void f() {\n  return undeclared;\n}", Arch: "90"}, "NVRTC_ERROR_COMPILATION",
			"nvrtc: compile bad.cu: NVRTC_ERROR_COMPILATION (6):\nbad.cu(2): error: "},
		{nvrtc.Program{Source: "#include <missing.h>", Arch: "90"}, "NVRTC_ERROR_COMPILATION", "open source file \"missing.h\""},
		{nvrtc.Program{Source: saxpy, Arch: "90", Options: []string{"--no-such-option"}}, "NVRTC_ERROR_INVALID_OPTION", "no-such-option"},
		{nvrtc.Program{Source: saxpy, Arch: "sm_12"}, "NVRTC_ERROR_INVALID_OPTION", `(-arch)` + "\n" + `Arch is "sm_12", and NVRTC `},
		{nvrtc.Program{Source: saxpy, Arch: "90", Kernels: []string{"nothing<int>"}}, "NVRTC_ERROR_COMPILATION", "nothing"},
		{nvrtc.Program{Source: saxpy}, "", `nvrtc: compile "program.cu": Arch is empty: name an architecture such as sm_90a or compute_80, or call CompileFor`},
		{nvrtc.Program{Source: saxpy, Arch: "x"}, "", `"x" is not an architecture: write it as sm_90, sm_90a or 9.0`},
		{nvrtc.Program{Source: saxpy + "\x00", Arch: "90"}, "", `nvrtc: compile "program.cu": a text has a NUL byte: remove it`},
		{nvrtc.Program{Source: saxpy, Arch: "90", Options: []string{"-arch=sm_80"}}, "", `nvrtc: compile "program.cu": the option -arch=sm_80: set Arch in place of it`},
	} {
		_, err := nvrtc.Compile(c.p)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
			continue
		}
		var e *nvrtc.Error
		if errors.As(err, &e) {
			if e.Name != c.name || !errors.Is(err, tvmffi.ErrRuntime) || e.Program == "" {
				t.Errorf("%+v, want %s", e, c.name)
			}
		} else if c.name != "" || !errors.Is(err, tvmffi.ErrValue) {
			t.Errorf("%T %v", err, err)
		}
	}
}

func TestCache(t *testing.T) {
	use(t)
	files := func() []string {
		f, err := filepath.Glob(filepath.Join(os.Getenv("TVMFFI_CACHE"), "nvrtc", "*", "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	p := nvrtc.Program{Source: saxpy, Arch: "sm_80", Kernels: []string{"saxpy"}}
	first := compile(t, p)
	again := compile(t, p)
	if first.Cached || !again.Cached || !bytes.Equal(first.Image, again.Image) || again.Names["saxpy"] != "saxpy" {
		t.Errorf("cached: %v, then %v", first.Cached, again.Cached)
	}
	for what, change := range map[string]func(*nvrtc.Program){
		"source":  func(p *nvrtc.Program) { p.Source += "\n" },
		"name":    func(p *nvrtc.Program) { p.Name = "other.cu" },
		"arch":    func(p *nvrtc.Program) { p.Arch = "compute_80" },
		"options": func(p *nvrtc.Program) { p.Options = []string{"-lineinfo"} },
		"headers": func(p *nvrtc.Program) { p.Headers = map[string]string{"x.h": ""} },
		"kernels": func(p *nvrtc.Program) { p.Kernels = nil },
	} {
		other := p
		change(&other)
		if compile(t, other).Cached {
			t.Errorf("another %s is taken for the same program", what)
		}
	}
	headers := map[string]string{"own.h": ""}
	own := nvrtc.Program{Source: "#include <own.h>\n#include \"own.h\"\n" + saxpy, Headers: headers, Arch: "sm_80"}
	compile(t, own)
	if !compile(t, own).Cached {
		t.Error("a program with headers of its own was not kept")
	}
	own.Headers = map[string]string{"own.h": "\n"}
	if compile(t, own).Cached {
		t.Error("a header that was given with another text is taken for the same one")
	}
	for _, f := range files() {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, data[:len(data)-9], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if compile(t, p).Cached {
		t.Error("a damaged file was used")
	}
	if !compile(t, p).Cached {
		t.Error("the damaged file was not replaced")
	}
	info, err := os.Stat(filepath.Join(os.Getenv("TVMFFI_CACHE"), "nvrtc"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(filepath.Join(os.Getenv("TVMFFI_CACHE"), "nvrtc"), 0o777); err != nil {
		t.Fatal(err)
	}
	if compile(t, p).Cached {
		t.Error("a file was used that others may have planted")
	}
}

func TestConcurrent(t *testing.T) {
	use(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			source := strings.ReplaceAll(saxpy, "saxpy", []string{"first", "second"}[i%2])
			c, err := nvrtc.Compile(nvrtc.Program{Source: source, Arch: "compute_75"})
			if err != nil || !strings.Contains(string(c.Image), []string{".entry first(", ".entry second("}[i%2]) {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	wg.Wait()
}

func init() {
	children["unavailable"] = func() error {
		_, _, err := nvrtc.Version()
		_, failed := nvrtc.Compile(nvrtc.Program{Source: saxpy, Arch: "90"})
		_, third := nvrtc.Architectures()
		if !errors.Is(err, nvrtc.ErrUnavailable) || err != failed || err != third {
			return fmt.Errorf("%v, %v, %v", err, failed, third)
		}
		fmt.Print(err)
		return nil
	}
}

func TestUnavailable(t *testing.T) {
	for library, want := range map[string]string{
		filepath.Join(t.TempDir(), "none.so"): "correct or unset TVMFFI_NVRTC_LIBRARY",
		nativetest.Library(t):                 "NVRTC 11.2 or newer is needed",
	} {
		out := child(t, "unavailable", "TVMFFI_NVRTC_LIBRARY="+library)
		if !strings.Contains(out, "NVRTC is not available") || !strings.Contains(out, want) || !strings.Contains(out, filepath.Base(library)) {
			t.Errorf("%s", out)
		}
	}
	if out := child(t, "unavailable", alone(t, t.TempDir())...); !strings.Contains(out, "install the Python package nvidia-cuda-nvrtc or the CUDA toolkit, or set TVMFFI_NVRTC_LIBRARY") {
		t.Errorf("%s", out)
	}
}

// A header of the host is not one that can be installed.
func TestHint(t *testing.T) {
	use(t)
	_, err := nvrtc.Compile(nvrtc.Program{Source: "#include <stdint.h>", Arch: "90"})
	var e *nvrtc.Error
	if !errors.As(err, &e) || !strings.Contains(e.Hint, `"stdint.h" is neither in Headers nor in a folder of an option -I`) || !strings.HasSuffix(err.Error(), e.Hint) {
		t.Errorf("%v", err)
	}
	if _, err = nvrtc.Compile(nvrtc.Program{Source: "none", Arch: "90"}); !errors.As(err, &e) || e.Hint != "" {
		t.Errorf("%v", err)
	}
}

// TestOtherForms asks for what is neither PTX nor a cubin: it is refused.
func TestOtherForms(t *testing.T) {
	use(t)
	for _, c := range []struct{ option, want string }{
		{"-dlto", `nvrtc: compile "program.cu": the option -dlto makes code for a linker or for OptiX, which no driver loads: leave it out`},
		{"--dlink-time-opt", "the option --dlink-time-opt makes code for a linker"},
		{"--optix-ir", "the option --optix-ir makes code for a linker or for OptiX"},
		{"--tile-only", "NVRTC"},
	} {
		for range 2 { // the second time there must be nothing in the cache
			code, err := nvrtc.Compile(nvrtc.Program{Source: saxpy, Arch: "compute_90", Options: []string{c.option}})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %+v, %v", c.option, code, err)
			}
		}
	}
}
