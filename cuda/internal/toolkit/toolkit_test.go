package toolkit

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

func TestVersion(t *testing.T) {
	for v, want := range map[int]string{12040: "12.4", 13000: "13.0", 11080: "11.8", 12120: "12.12"} {
		if got := VersionOf(v).String(); got != want {
			t.Errorf("%d is %s, want %s", v, got, want)
		}
	}
	for _, c := range []struct {
		compiler, driver int
		cubin, ptx       bool
	}{
		{12040, 12040, true, true}, {12090, 12020, true, false}, {12020, 12090, true, true}, {12090, 13000, true, true},
		{13000, 12090, false, false}, {13050, 13000, true, false}, {11080, 13000, true, true},
	} {
		v, driver := VersionOf(c.compiler), VersionOf(c.driver)
		if v.Cubin(driver) != c.cubin || v.PTX(driver) != c.ptx {
			t.Errorf("%s on %s: cubin %t, PTX %t", v, driver, v.Cubin(driver), v.PTX(driver))
		}
	}
}

// A folder below the working directory is never searched: somebody could plant a library there.
func TestRoots(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the folders of toolkits are those of Linux")
	}
	t.Setenv("CUDA_HOME", "here")
	t.Setenv("CUDA_PATH", "/opt/cuda/")
	if got, want := Roots(), []string{"/opt/cuda"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestCandidates has a wheel in the cache and a toolkit, for both kinds of systems. The names of the
// files are those of the wheels of NVRTC 13.5.37 for Linux and Windows.
func TestCandidates(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the folders of toolkits are those of Linux")
	}
	cache := t.TempDir()
	wheel := filepath.Join(cache, "wheels", "nvidia-cuda-nvrtc-13.5.37-0")
	library := Library{
		Name: "NVRTC", Variable: "TVMFFI_NVRTC_LIBRARY", Windows: []string{"nvrtc64_130_0.dll"}, Others: []string{"libnvrtc.so.13"}, File: "libnvrtc.so",
		Packages: []Package{{Distribution: "nvidia-cuda-nvrtc", File: "nvidia/cu13/lib/libnvrtc.so.13", DLL: "nvidia/cu13/bin/x86_64/nvrtc64_130_0.dll"}},
	}
	file, dll := filepath.Join(wheel, library.Packages[0].File), filepath.Join(wheel, library.Packages[0].DLL)
	for _, path := range []string{filepath.Join(wheel, ".tvmffi-complete"), file, dll} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{"TVMFFI_CACHE": cache, "CUDA_HOME": "/opt/cuda", "CUDA_PATH": "", "VIRTUAL_ENV": "", "CONDA_PREFIX": "", "PYENV_ROOT": "", "HOME": cache, library.Variable: ""} {
		t.Setenv(name, value)
	}
	for goos, want := range map[string][]string{
		"linux":   {"libnvrtc.so.13", file, "/opt/cuda/lib64/libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"},
		"windows": {"nvrtc64_130_0.dll", dll, "/opt/cuda/bin/x64/nvrtc64_130_0.dll", "/opt/cuda/bin/nvrtc64_130_0.dll"},
	} {
		if got, refused := library.candidates(goos); !slices.Equal(got, want) || len(refused) > 0 {
			t.Errorf("%s: %q, %v, want %q", goos, got, refused, want)
		}
	}
	t.Setenv(library.Variable, "here.dll")
	if got, _ := library.candidates("windows"); !slices.Equal(got, []string{"here.dll"}) {
		t.Errorf("%q, want what the variable names alone", got)
	}
}

// TestFindHeaders has a toolkit of each layout and version.
func TestFindHeaders(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"include/cuda.h": "#define CUDA_VERSION 13020\n", "include/cuda_fp16.h": "", "include/cccl/cuda/std/type_traits": "",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("CUDA_HOME", root)
	h := FindHeaders(Version{13, 0}, filepath.Join(root, "lib64", "libnvrtc.so"))
	if want := []string{filepath.Join(root, "include"), filepath.Join(root, "include", "cccl")}; !slices.Equal(h.Folders, want) || !h.Complete() {
		t.Errorf("%+v, want %q", h, want)
	}
	if h := FindHeaders(Version{12, 9}, filepath.Join(root, "lib64", "libnvrtc.so")); slices.Contains(h.Folders, filepath.Join(root, "include")) {
		t.Errorf("headers of 13.2 for 12.9: %q", h.Folders)
	}
	t.Setenv("CUDA_HOME", "")
	if h := FindHeaders(Version{13, 0}, filepath.Join(root, "targets", "x86_64-linux", "lib", "libnvrtc.so")); !slices.Contains(h.Folders, filepath.Join(root, "include")) {
		t.Errorf("the toolkit of the file: %q", h.Folders)
	}
}
