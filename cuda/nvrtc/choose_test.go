package nvrtc_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/nvrtc"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestForDevice checks the rule of NVIDIA: cubins of the driver's major version and older ones, PTX
// of compilers that are not newer than the driver.
func TestForDevice(t *testing.T) {
	var (
		any   cuda.Arch
		sm61  = cuda.Arch{Major: 6, Minor: 1}
		sm86  = cuda.Arch{Major: 8, Minor: 6}
		sm90  = cuda.Arch{Major: 9}
		sm103 = cuda.Arch{Major: 10, Minor: 3}
	)
	const cubin, ptx = cuda.ImageCubin, cuda.ImagePTX
	for _, c := range []struct {
		have         []int
		arch, device cuda.Arch
		kind         cuda.ImageKind
		driver       int
		want         string
	}{
		{[]int{13050, 12040}, any, sm90, cubin, 12040, "12.4 sm_90"},
		{[]int{13050, 12040}, any, sm90, cubin, 13000, "13.5 sm_90"},
		{[]int{13050, 12040}, any, sm90, cubin, 14000, "13.5 sm_90"},
		{[]int{12090}, any, sm90, cubin, 12020, "12.9 sm_90"}, // minor version compatibility
		{[]int{12090, 12040}, any, sm86, cubin, 12050, "12.4 compute_80"},
		{[]int{12040}, any, sm86, cubin, 12040, "12.4 compute_80"},
		{[]int{12040}, any, sm103, cubin, 12090, "12.4 compute_90"},
		{[]int{13050, 12040}, any, sm103, cubin, 13000, "12.4 compute_90"},
		{[]int{13050, 12040}, any, sm103, cubin, 13050, "13.5 compute_100"},
		{[]int{13050, 12080, 12040}, any, sm61, cubin, 13050, "12.8 compute_50"},
		{[]int{13050, 12080}, sm90, sm90, ptx, 12080, "12.8 compute_90"},
		{[]int{13050, 12080}, sm90, sm90, ptx, 13050, "13.5 compute_90"},
		{[]int{13050, 12080}, sm90, sm90, cubin, 12020, "12.8 sm_90"},
		{[]int{13050, 12040}, cuda.Arch{Major: 5}, sm90, ptx, 13050, "12.4 compute_50"},

		{[]int{13050}, any, sm90, cubin, 12040, "nvrtc: compile p.cu for cuda:1: no NVRTC of this machine makes a cubin that the driver loads, which supports CUDA 12.4; there is:\n  NVRTC 13.5, which compiles for sm_75 to sm_120: lib13.5\ninstall the Python package nvidia-cuda-nvrtc-cu12 of a version of CUDA 12, or update the NVIDIA driver"},
		{[]int{12080}, sm90, sm90, ptx, 12040, "no NVRTC of this machine makes PTX that the driver loads, which supports CUDA 12.4; there is:\n  NVRTC 12.8, which compiles for sm_50 to sm_120: lib12.8\ninstall the Python package nvidia-cuda-nvrtc-cu12 of version 12.4 or older, compile to a cubin, or update the NVIDIA driver"},
		{[]int{12080}, sm90, sm90, ptx, 11020, "no NVRTC of this machine makes PTX that the driver loads, which supports CUDA 11.2; there is:\n  NVRTC 12.8, which compiles for sm_50 to sm_120: lib12.8\nupdate the NVIDIA driver, or set TVMFFI_NVRTC_LIBRARY to the NVRTC of a toolkit of CUDA 11.2"},
		{[]int{13050}, any, sm90, cubin, 11080, "update the NVIDIA driver, or set TVMFFI_NVRTC_LIBRARY to the NVRTC of a toolkit of CUDA 11.8"},
		{[]int{13050}, any, sm61, cubin, 13050, "no NVRTC of this machine that suits the driver, which supports CUDA 13.5, compiles for sm_61; there is:\n"},
		{[]int{12040}, cuda.Arch{Major: 12}, sm90, cubin, 13050, "install a version of the Python package nvidia-cuda-nvrtc that does, or ship an image"},
	} {
		if got := nvrtc.ForDevice(c.have, c.arch, c.device, c.kind, c.driver); got != c.want && (strings.HasPrefix(got, "1") || !strings.Contains(got, c.want)) {
			t.Errorf("%v for %s, %s on %s with a driver of %d: %q, want %q", c.have, c.arch, c.kind, c.device, c.driver, got, c.want)
		}
	}
}

func init() {
	// choose compiles by both ways and loads the result.
	children["choose"] = func() error {
		const d = cuda.Device(0)
		for _, p := range []nvrtc.Program{{Source: saxpy}, {Source: saxpy, Arch: "compute_80"}, {Source: saxpy, Arch: "sm_90"}} {
			c, err := nvrtc.CompileFor(d, p)
			if err != nil {
				fmt.Println(err)
				continue
			}
			m, err := d.LoadModule(c.Image)
			if err != nil {
				return err
			}
			if _, err := m.Kernel("saxpy"); err != nil {
				return err
			}
			if err := m.Close(); err != nil {
				return err
			}
			fmt.Printf("for the device: %d.%d %s\n", c.Major, c.Minor, c.Kind)
		}
		c, err := nvrtc.Compile(nvrtc.Program{Source: saxpy, Arch: os.Getenv("TVMFFI_TEST_ARCH")})
		if err != nil {
			return err
		}
		fmt.Printf("for any: %d.%d %s\n", c.Major, c.Minor, c.Kind)
		return nil
	}
}

// TestChoose has the NVRTC of CUDA 12 and of CUDA 13 in one process, with drivers of several
// versions, which the fake driver stands for, and with none.
func TestChoose(t *testing.T) {
	pinned(t)
	both := cacheWith(t, "nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12")
	only13 := cacheWith(t, "nvidia-cuda-nvrtc")
	fake := "TVMFFI_CUDA_LIBRARY=" + nativetest.FakeCUDA(t)
	for _, c := range []struct {
		cache, arch, driver, version string
		want                         []string
	}{
		{both, "sm_90", fake, "12040", []string{"for the device: 12.4 a cubin\nfor the device: 12.4 PTX\nfor the device: 12.4 a cubin\nfor any: 12.4 a cubin\n"}},
		{both, "compute_80", fake, "13050", []string{"for the device: 13.5 a cubin\nfor the device: 13.5 PTX\nfor the device: 13.5 a cubin\nfor any: 13.5 PTX\n"}},
		{both, "compute_80", fake, "13000", []string{"for the device: 13.5 a cubin\nfor the device: 12.4 PTX\nfor the device: 13.5 a cubin\nfor any: 12.4 PTX\n"}},
		{both, "sm_50", fake, "13050", []string{"for any: 12.4 a cubin\n"}},
		{both, "sm_100", fake, "12040", []string{"for any: 13.5 a cubin\n"}}, // for another machine
		{both, "compute_80", fake, "12020", []string{"for the device: 12.4 a cubin\n", "no NVRTC of this machine makes PTX that the driver loads, which supports CUDA 12.2", "for any: 13.5 PTX\n"}},
		{only13, "sm_90", fake, "12040", []string{"no NVRTC of this machine makes a cubin that the driver loads, which supports CUDA 12.4; there is:\n  NVRTC 13.5, which compiles for sm_75 to sm_121: ", "install the Python package nvidia-cuda-nvrtc-cu12 of a version of CUDA 12", "for any: 13.5 a cubin\n"}},
		{both, "sm_50", "TVMFFI_CUDA_LIBRARY=/none", "", []string{"for any: 12.4 a cubin\n"}}, // which 13.5 does not know
		{both, "sm_90", "TVMFFI_CUDA_LIBRARY=/none", "", []string{"CUDA is not available", "for any: 13.5 a cubin\n"}},
	} {
		out := child(t, "choose", alone(t, c.cache, c.driver, "FAKECUDA_VERSION="+c.version, "TVMFFI_TEST_ARCH="+c.arch)...)
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("driver %s: %q is not in:\n%s", c.version, want, out)
			}
		}
	}
}
