package nvjitlink_test

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/nvjitlink"
	"github.com/tvmffi-go/tvmffi/cuda/nvrtc"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// A process looks for libraries and the driver once: tests of others start the test binary again
// with childName set.
const childName = "TVMFFI_TEST_CHILD"

var children = map[string]func() error{"unavailable": unavailable, "links": links, "choose": choose}

func TestMain(m *testing.M) {
	if name := os.Getenv(childName); name != "" {
		if err := children[name](); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child runs a program of children that sees no library of the machine, but those of more.
func child(t *testing.T, name string, more ...string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := nativetest.Command(t.Context(), exe)
	empty := t.TempDir()
	cmd.Env = append(os.Environ(), childName+"="+name, "TVMFFI_CACHE="+empty, "TVMFFI_NVRTC_LIBRARY=", "TVMFFI_NVJITLINK_LIBRARY=", "CUDA_HOME=", "CUDA_PATH=",
		"VIRTUAL_ENV=", "CONDA_PREFIX=", "PYTHONPATH=", "PYENV_ROOT=", "PATH=", "HOME="+empty)
	cmd.Env = append(cmd.Env, more...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

func pinned(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the wheels of CUDA are pinned for linux/amd64 only")
	}
}

// versions are the libraries of both versions of CUDA.
var versions = map[int]struct{ nvrtc, nvrtcFile, link, linkFile string }{
	12: {"nvidia-cuda-nvrtc-cu12", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12", "nvidia-nvjitlink-cu12", "nvidia/nvjitlink/lib/libnvJitLink.so.12"},
	13: {"nvidia-cuda-nvrtc", "nvidia/cu13/lib/libnvrtc.so.13", "nvidia-nvjitlink", "nvidia/cu13/lib/libnvJitLink.so.13"},
}

// cacheWith returns an empty cache with the wheels of packages in it.
func cacheWith(t *testing.T, packages ...string) string {
	t.Helper()
	cache := t.TempDir()
	if err := os.Mkdir(filepath.Join(cache, "wheels"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		root := nativetest.Pinned(t, p).Root()
		if err := os.Symlink(root, filepath.Join(cache, "wheels", filepath.Base(root))); err != nil {
			t.Fatal(err)
		}
	}
	return "TVMFFI_CACHE=" + cache
}

// Two units: the kernel calls a function of the other one, which calls one of the first.
const (
	first = `extern __device__ float twice(float);
__device__ float once(float a) { return a + 1; }
extern "C" __global__ void both(float* x) { x[threadIdx.x] = twice(x[threadIdx.x]); }`
	second = `extern __device__ float once(float);
__device__ float twice(float a) { return 2 * once(a); }`
)

func compile(source, arch string, options ...string) (cuda.LinkInput, error) {
	c, err := nvrtc.Compile(nvrtc.Program{Source: source, Arch: arch, Options: options})
	if err != nil {
		return cuda.LinkInput{}, err
	}
	return cuda.LinkInput{Data: c.Image}, nil
}

// kernels lists the kernels of a cubin, and the functions that it lacks.
func kernels(image []byte) (have, lacks []string, err error) {
	image = bytes.Clone(image)
	copy(image[20:24], []byte{1, 0, 0, 0}) // the version of the file format, where CUDA 12 has its own
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, nil, err
	}
	for _, s := range f.Sections {
		if name, ok := strings.CutPrefix(s.Name, ".text."); ok {
			have = append(have, name)
		}
	}
	symbols, err := f.Symbols()
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF && s.Name != "" && !strings.HasPrefix(s.Name, ".nv.") {
			lacks = append(lacks, s.Name)
		}
	}
	return have, lacks, err
}

// form is how a unit is compiled.
type form struct {
	arch    string
	options []string
}

// links links the two units in each form with each, and checks the result.
func links() error {
	major, _, err := nvjitlink.Version()
	if err != nil {
		return err
	}
	if fmt.Sprint(major) != os.Getenv("TVMFFI_TEST_MAJOR") {
		return fmt.Errorf("nvJitLink %d", major)
	}
	forms := map[cuda.ImageKind]form{
		cuda.ImagePTX:   {"compute_80", []string{"-rdc=true"}},
		cuda.ImageCubin: {"sm_90", []string{"-rdc=true"}},
		cuda.ImageLTOIR: {"sm_90", []string{"-dlto"}},
	}
	for ka, fa := range forms {
		for kb, fb := range forms {
			a, err := compile(first, fa.arch, fa.options...)
			if err != nil {
				return err
			}
			b, err := compile(second, fb.arch, fb.options...)
			if err != nil {
				return err
			}
			if cuda.KindOf(a.Data) != ka || cuda.KindOf(b.Data) != kb {
				return fmt.Errorf("%s and %s were compiled", cuda.KindOf(a.Data), cuda.KindOf(b.Data))
			}
			c, err := nvjitlink.Link(nvjitlink.Program{Arch: "sm_90", Inputs: []cuda.LinkInput{a, b}})
			if err != nil {
				return fmt.Errorf("%s with %s: %w", ka, kb, err)
			}
			have, lacks, err := kernels(c.Image)
			if err != nil || c.Kind != cuda.ImageCubin || c.Major != major || !slices.Contains(have, "both") || len(lacks) > 0 {
				return fmt.Errorf("%s with %s: %s of version %d has %q and lacks %q: %v", ka, kb, c.Kind, c.Major, have, lacks, err)
			}
			// The linker has put LTO IR into one function.
			if ka == cuda.ImageLTOIR && kb == cuda.ImageLTOIR && slices.ContainsFunc(have, func(s string) bool { return strings.Contains(s, "twice") }) {
				return fmt.Errorf("twice is a function of its own: %q", have)
			}
		}
	}
	return nil
}

func TestLink(t *testing.T) {
	pinned(t)
	for major, v := range versions {
		child(t, "links", fmt.Sprint("TVMFFI_TEST_MAJOR=", major), cacheWith(t, v.nvrtc, v.link))
	}
}

// use makes the libraries of CUDA 13 available to this process.
func use(t *testing.T) {
	t.Helper()
	pinned(t)
	v := versions[13]
	t.Setenv("TVMFFI_NVRTC_LIBRARY", nativetest.Pinned(t, v.nvrtc).Path(v.nvrtcFile))
	t.Setenv("TVMFFI_NVJITLINK_LIBRARY", nativetest.Pinned(t, v.link).Path(v.linkFile))
	t.Setenv("TVMFFI_CACHE", t.TempDir())
}

func must(t *testing.T) func(cuda.LinkInput, error) cuda.LinkInput {
	t.Helper()
	return func(in cuda.LinkInput, err error) cuda.LinkInput {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
}

func TestOptions(t *testing.T) {
	use(t)
	a, b := must(t)(compile(first, "sm_90", "-dlto")), must(t)(compile(second, "sm_90", "-dlto"))
	c, err := nvjitlink.Link(nvjitlink.Program{Arch: "9.0", Inputs: []cuda.LinkInput{a, b}, Options: []string{"-ptx", "-maxrregcount=32"}})
	if err != nil || c.Kind != cuda.ImagePTX || !bytes.Contains(c.Image, []byte(".entry both(")) || bytes.IndexByte(c.Image, 0) >= 0 || cuda.KindOf(c.Image) != cuda.ImagePTX {
		t.Fatalf("%+v, %v", c, err)
	}
	p := must(t)(compile(first, "compute_80", "-rdc=true"))
	q := must(t)(compile(second, "compute_80", "-rdc=true"))
	c, err = nvjitlink.Link(nvjitlink.Program{Arch: "sm_86", Inputs: []cuda.LinkInput{p, q}, Options: []string{"-verbose"}})
	if err != nil || !strings.Contains(c.Log, "Compiling entry function 'both' for 'sm_86'") {
		t.Errorf("%+v, %v", c, err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			again, err := nvjitlink.Link(nvjitlink.Program{Arch: "sm_86", Inputs: []cuda.LinkInput{p, q}})
			if err != nil {
				t.Errorf("at once with others: %v", err)
			} else if have, lacks, err := kernels(again.Image); err != nil || !slices.Contains(have, "both") || len(lacks) > 0 {
				t.Errorf("at once with others: %q, %q, %v", have, lacks, err)
			}
		})
	}
	wg.Wait()
}

func TestErrors(t *testing.T) {
	use(t)
	lto, p, cubin := must(t)(compile(first, "sm_90", "-dlto")), must(t)(compile(first, "compute_80", "-rdc=true")), must(t)(compile(second, "sm_90", "-rdc=true"))
	p.Name = "first.ptx"
	broken := cuda.LinkInput{Name: "broken.ptx", Data: []byte(".version 8.0\nnonsense")}
	for _, c := range []struct {
		p    nvjitlink.Program
		name string // of the error of nvJitLink, "" for one of Go
		says []string
	}{
		{nvjitlink.Program{Arch: "sm_90", Inputs: []cuda.LinkInput{p}}, "NVJITLINK_ERROR_INTERNAL", []string{"Undefined reference to '_Z5twicef' in 'first.ptx'"}},
		{nvjitlink.Program{Arch: "sm_90", Inputs: []cuda.LinkInput{lto}}, "NVJITLINK_ERROR_PTX_COMPILE", []string{"Unresolved extern function '_Z5twicef'"}},
		{nvjitlink.Program{Arch: "sm_90", Inputs: []cuda.LinkInput{cubin, broken}}, "NVJITLINK_ERROR_PTX_COMPILE", []string{"nvjitlink: broken.ptx: NVJITLINK_ERROR_PTX_COMPILE (4):\n", "Missing .target directive"}},
		{nvjitlink.Program{Arch: "sm_80", Inputs: []cuda.LinkInput{cubin}}, "NVJITLINK_ERROR_INVALID_INPUT", []string{"nvjitlink: input 0: NVJITLINK_ERROR_INVALID_INPUT"}},
		{nvjitlink.Program{Arch: "sm_12", Inputs: []cuda.LinkInput{cubin}}, "NVJITLINK_ERROR_UNSUPPORTED_ARCH", []string{"unsupported architecture"}},
		{nvjitlink.Program{Arch: "sm_90", Inputs: []cuda.LinkInput{cubin}, Options: []string{"-none"}}, "NVJITLINK_ERROR_UNRECOGNIZED_OPTION", []string{"unrecognized option: -none"}},
		{nvjitlink.Program{Arch: "sm_90", Inputs: []cuda.LinkInput{p, cubin}, Options: []string{"-ptx"}}, "NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS", []string{"-ptx requires -lto"}},
		{nvjitlink.Program{Arch: "sm_90", Inputs: []cuda.LinkInput{{Data: append([]byte("\xed\x43\x4e\x7f"), make([]byte, 64)...)}}}, "NVJITLINK_ERROR_", nil},
		{nvjitlink.Program{Arch: "sm_90"}, "", []string{"nvjitlink: there are no inputs"}},
		{nvjitlink.Program{Inputs: []cuda.LinkInput{cubin}}, "", []string{`nvjitlink: Arch is empty`, "or call LinkFor"}},
		{nvjitlink.Program{Arch: "sm_90", Inputs: []cuda.LinkInput{cubin, {Data: []byte("text")}}}, "", []string{"input 1 is code of an unknown form"}},
		{nvjitlink.Program{Arch: "sm_90", Inputs: []cuda.LinkInput{cubin}, Options: []string{"-arch=sm_80"}}, "", []string{"the option -arch=sm_80: set Arch in place of it"}},
		{nvjitlink.Program{Arch: "sm_90", Inputs: []cuda.LinkInput{cubin}, Options: []string{"-g\x00"}}, "", []string{"NUL byte"}},
	} {
		code, err := nvjitlink.Link(c.p)
		if err == nil {
			t.Errorf("%+v: no error, %d bytes", c.p.Options, len(code.Image))
			continue
		}
		for _, s := range c.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%q does not say %q", err, s)
			}
		}
		var e *nvjitlink.Error
		if errors.As(err, &e) != (c.name != "") || e != nil && (!strings.HasPrefix(e.Name, c.name) || !errors.Is(err, tvmffi.ErrRuntime)) || c.name == "" && !errors.Is(err, tvmffi.ErrValue) {
			t.Errorf("%T %v, want %q", err, err, c.name)
		}
	}
}

func unavailable() error {
	_, _, err := nvjitlink.Version()
	_, failed := nvjitlink.Link(nvjitlink.Program{Arch: "sm_90", Inputs: []cuda.LinkInput{{Data: []byte(".version 8.0")}}})
	if !errors.Is(err, nvjitlink.ErrUnavailable) || err != failed {
		return fmt.Errorf("%v, %v", err, failed)
	}
	fmt.Print(err)
	return nil
}

func TestUnavailable(t *testing.T) {
	for library, want := range map[string]string{
		filepath.Join(t.TempDir(), "none.so"): "correct or unset TVMFFI_NVJITLINK_LIBRARY",
		nativetest.Library(t):                 "nvJitLink 12.3 or newer is needed",
		"":                                    "install the Python package nvidia-nvjitlink or the CUDA toolkit, or set TVMFFI_NVJITLINK_LIBRARY",
	} {
		if out := child(t, "unavailable", "TVMFFI_NVJITLINK_LIBRARY="+library); !strings.Contains(out, "nvJitLink is not available") || !strings.Contains(out, want) {
			t.Errorf("%s", out)
		}
	}
}

// choose links for a device, in each form, and loads the result.
func choose() error {
	const d = cuda.Device(0)
	for _, f := range []form{{"", []string{"-rdc=true"}}, {"compute_80", []string{"-rdc=true"}}, {"", []string{"-dlto"}}} {
		var in []cuda.LinkInput
		for _, source := range []string{first, second} {
			c, err := nvrtc.CompileFor(d, nvrtc.Program{Source: source, Arch: f.arch, Options: f.options})
			if err != nil {
				return err
			}
			in = append(in, cuda.LinkInput{Data: c.Image})
		}
		c, err := nvjitlink.LinkFor(d, nvjitlink.Program{Inputs: in, Options: []string{"-lineinfo"}})
		if err != nil {
			fmt.Println(err)
			continue
		}
		m, err := d.LoadModule(c.Image)
		if err != nil {
			return err
		}
		_, err = m.Kernel("both")
		if err := errors.Join(err, m.Close()); err != nil {
			return err
		}
		fmt.Printf("%d.%d %s\n", c.Major, c.Minor, c.Kind)
	}
	if _, err := nvjitlink.LinkFor(d, nvjitlink.Program{Inputs: []cuda.LinkInput{{Data: []byte(".version 8.0")}}, Options: []string{"-split-compile=0"}}); err != nil {
		fmt.Println("with an option:", err)
	}
	return nil
}

// TestLinkFor has drivers of several versions, which the fake driver stands for: it shows
// that the driver links where no nvJitLink suits.
func TestLinkFor(t *testing.T) {
	pinned(t)
	v12, v13 := versions[12], versions[13]
	fake := "TVMFFI_CUDA_LIBRARY=" + nativetest.FakeCUDA(t)
	all := cacheWith(t, v12.nvrtc, v12.link, v13.nvrtc, v13.link)
	for _, c := range []struct {
		cache, version string
		want           []string
	}{
		{all, "12040", []string{"12.4 a cubin\n12.4 a cubin\n12.4 a cubin\n"}},
		{all, "13050", []string{"13.5 a cubin\n13.5 a cubin\n13.5 a cubin\n"}},
		{cacheWith(t, v12.nvrtc), "12040", []string{"0.0 a cubin\n0.0 a cubin\nnvJitLink is not available; tried:\n", "install the Python package nvidia-nvjitlink or", "with an option: nvJitLink is not available"}},
		{cacheWith(t, v12.nvrtc, v13.link), "12040", []string{"0.0 a cubin\n0.0 a cubin\nRuntimeError: nvjitlink: link for cuda:0: no nvJitLink of this machine makes what the driver loads, which supports CUDA 12.4; there is:\n  nvJitLink 13.5: ",
			"install the Python package nvidia-nvjitlink-cu12 of a version of CUDA 12", "with an option: RuntimeError: nvjitlink: link for cuda:0: no nvJitLink"}},
	} {
		out := child(t, "choose", c.cache, fake, "FAKECUDA_VERSION="+c.version, "FAKECUDA_ABORT=1")
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("driver %s: %q is not in:\n%s", c.version, want, out)
			}
		}
	}
}

// TestRemedy names packages that exist: the package index has nvidia-nvjitlink-cu12 from 12.0 on and
// nvidia-nvjitlink from 13.0 on, and none for CUDA 11.
func TestRemedy(t *testing.T) {
	for _, c := range []struct {
		driver int
		ptx    bool
		want   string
	}{
		{11080, false, "nvJitLink begins with CUDA 12: update the NVIDIA driver, or link inputs that are not LTO IR by cuda.Device.Link"},
		{11080, true, "nvJitLink begins with CUDA 12: update the NVIDIA driver, or link inputs that are not LTO IR by cuda.Device.Link"},
		{12040, false, "install the Python package nvidia-nvjitlink-cu12 of a version of CUDA 12, or update the NVIDIA driver"},
		{12040, true, "install the Python package nvidia-nvjitlink-cu12 of version 12.4 or older, or update the NVIDIA driver"},
		{13000, true, "install the Python package nvidia-nvjitlink of version 13.0 or older, or update the NVIDIA driver"},
		{14000, false, "install the Python package nvidia-nvjitlink of a version of CUDA 14, or update the NVIDIA driver"},
	} {
		if got := nvjitlink.Remedy(c.driver, c.ptx); got != c.want {
			t.Errorf("driver %d, PTX %t: %s\nwant %s", c.driver, c.ptx, got, c.want)
		}
	}
}

// TestHeader compares the numbers with the headers of both versions.
func TestHeader(t *testing.T) {
	pinned(t)
	for major, v := range versions {
		folder := "nvidia/cu13/include/nvJitLink.h"
		if major == 12 {
			folder = "nvidia/nvjitlink/include/nvJitLink.h"
		}
		text, err := os.ReadFile(nativetest.Pinned(t, v.link).Path(folder))
		if err != nil {
			t.Fatal(err)
		}
		number := func(enum string) map[string]int {
			_, after, _ := strings.Cut(string(text), "typedef enum {\n  "+enum)
			body, _, _ := strings.Cut(enum+after, "}")
			numbers, next := map[string]int{}, 0
			for _, m := range regexp.MustCompile(`(?m)^\s*(NVJITLINK_\w+)(?: = (\d+))?`).FindAllStringSubmatch(body, -1) {
				if m[2] != "" {
					next, _ = strconv.Atoi(m[2])
				}
				numbers[m[1]] = next
				next++
			}
			return numbers
		}
		inputs := number("NVJITLINK_INPUT_NONE")
		for name, kind := range map[string]cuda.ImageKind{"CUBIN": cuda.ImageCubin, "PTX": cuda.ImagePTX, "LTOIR": cuda.ImageLTOIR, "FATBIN": cuda.ImageFatbin, "OBJECT": cuda.ImageObject, "LIBRARY": cuda.ImageLibrary} {
			if n := inputs["NVJITLINK_INPUT_"+name]; n == 0 || n != int(nvjitlink.InputTypes[kind]) {
				t.Errorf("version %d: %s is %d, here %d", major, name, n, nvjitlink.InputTypes[kind])
			}
		}
		minor := map[int]int{12: 4, 13: 5}[major]
		known := number("NVJITLINK_SUCCESS")
		if len(known) < 15 {
			t.Errorf("version %d: results %v", major, known)
		}
		for name, n := range known {
			if got := nvjitlink.ResultName(major, minor, n); n != 0 && got != name {
				t.Errorf("version %d: %d is %s, here %s", major, n, name, got)
			}
		}
	}
	for rc, want := range map[int]string{9: "NVJITLINK_ERROR_FINALIZE", 13: "NVJITLINK_ERROR_ARCH_MISMATCH", 99: "NVJITLINK_ERROR", -1: "NVJITLINK_ERROR"} {
		if got := nvjitlink.ResultName(12, 6, rc); got != want {
			t.Errorf("version 12.6: %d is %s, want %s", rc, got, want)
		}
	}
}
