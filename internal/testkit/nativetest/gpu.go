package nativetest

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Packed returns the folder of "bench/gpu -pack" that the test runs in, "" in a checkout. That folder has all that the test
// needs: the machine has a driver, and no Go, no compiler and no network.
func Packed() string { return os.Getenv("TVMFFI_TEST_PACK") }

// GPU reports whether this machine has a driver of NVIDIA, under Linux or under WSL.
func GPU() bool {
	for _, device := range []string{"/dev/nvidiactl", "/dev/dxg"} {
		if _, err := os.Stat(device); err == nil {
			return true
		}
	}
	return false
}

// CUDA gives the process the driver that TVMFFI_CUDA_LIBRARY names, or the driver of the machine, or else the one of
// testdata/fakecuda, which computes on the host and ends the process at the first use of memory that a device does not
// forgive. A process has one driver, so it is the one of later tests too.
func CUDA(t testing.TB) {
	t.Helper()
	if os.Getenv("TVMFFI_CUDA_LIBRARY") != "" || Packed() != "" || GPU() {
		return
	}
	t.Log("no GPU: on the fake driver")
	for name, value := range map[string]string{"TVMFFI_CUDA_LIBRARY": FakeCUDA(t), "FAKECUDA_ABORT": "1"} {
		if err := os.Setenv(name, value); err != nil {
			t.Fatal(err)
		}
	}
}

// NVRTC gives the test the NVRTC that TVMFFI_NVRTC_LIBRARY names, or the newest pinned one whose PTX and cubins a driver
// loads that supports a version of CUDA, such as 13000.
func NVRTC(t testing.TB, driver int) {
	t.Helper()
	pinnedCUDA(t, "TVMFFI_NVRTC_LIBRARY", driver, "nvidia-cuda-nvrtc", "nvidia/cu13/lib/libnvrtc.so.13", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12")
}

// pinnedCUDA sets a variable that names a library of CUDA to the one of a wheel, which has another name for CUDA 12.
func pinnedCUDA(t testing.TB, variable string, driver int, pkg, file, older string) {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the wheels of CUDA are pinned for linux/amd64 only, and the fake driver is built for Linux")
	}
	if os.Getenv(variable) != "" {
		return
	}
	if driver < 13050 {
		pkg, file = pkg+"-cu12", older
	}
	t.Setenv(variable, Pinned(t, pkg).Path(file))
}

// Images returns the folder with the images that the driver at hand takes, in a pack; "" in a checkout, where NVRTC
// makes them.
func Images(t testing.TB) string {
	t.Helper()
	if Packed() == "" {
		return ""
	}
	dir := os.Getenv("TVMFFI_TEST_IMAGES")
	if dir == "" {
		t.Fatal("nativetest: TVMFFI_TEST_PACK is set and TVMFFI_TEST_IMAGES is not: start the script run of the pack")
	}
	return dir
}

// packed returns a file of a pack.
func packed(t testing.TB, name string) string {
	t.Helper()
	file := filepath.Join(Packed(), filepath.FromSlash(name))
	if _, err := os.Stat(file); err != nil {
		Unavailable(t, errors.Join(err, errors.New("the pack is not complete: make it again with bench/gpu -pack DIR")))
	}
	return file
}

// Self is the command of this test's own program, which may have been started through another one.
func Self() string {
	if exe, err := os.Executable(); err == nil && !strings.HasPrefix(filepath.Base(exe), "ld-linux") {
		return exe
	}
	exe, err := filepath.Abs(os.Args[0])
	if err != nil {
		return os.Args[0]
	}
	return exe
}
