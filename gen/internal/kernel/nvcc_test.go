//go:build flashinfer

package kernel

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// TestFatbin_nvcc reads what nvcc and fatbinary write, in each way of compression.
func TestFatbin_nvcc(t *testing.T) {
	_, packages := nativetest.FlashInfer(t)
	bin := filepath.Join(packages, "nvidia", "cu13", "bin")
	dir := t.TempDir()
	run := func(program string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, program), args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", program, args, err, out)
		}
	}
	const text = `extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
template <class T> __global__ void twice(T* x) { x[threadIdx.x] *= 2; }
template __global__ void twice<float>(float*);
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void young(float* x) { *x = 1; }
#endif
`
	if err := os.WriteFile(filepath.Join(dir, "k.cu"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	archs := []string{"-gencode", "arch=compute_80,code=sm_80", "-gencode", "arch=compute_90,code=[sm_90,compute_90]"}
	files := map[string][]string{
		"default.fatbin":  archs,
		"lineinfo.fatbin": append([]string{"-lineinfo"}, archs...),
		"rdc.fatbin":      append([]string{"-rdc=true"}, archs...),
	}
	for _, mode := range []string{"none", "size", "speed", "balance"} { // Zstandard, but LZ4 for speed
		files[mode+".fatbin"] = append([]string{"--compress-mode=" + mode}, archs...)
	}
	for file, flags := range files {
		run("nvcc", append(slices.Clone(flags), "-fatbin", "k.cu", "-o", file)...)
	}
	run("nvcc", "-cubin", "-arch=sm_90", "k.cu", "-o", "k.sm_90.cubin")
	for _, mode := range []string{"size", "speed"} {
		file := "all_" + mode + ".fatbin"
		run("fatbinary", "--create="+file, "-64", "--compress-all", "--compress-mode="+mode, "--image3=kind=elf,sm=90,file=k.sm_90.cubin")
		files[file] = nil
	}
	want := []string{"_Z5twiceIfEvPT_", "saxpy", "young"}
	ways := map[uint64]bool{}
	for file := range files {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		entries, ok := fatbinEntries(data)
		names := namesOf(entries)
		slices.Sort(names)
		for _, e := range entries {
			if want := map[string][]int{"saxpy": {4, 4, 8, 8}}[e.name]; want != nil && (!e.known || !slices.Equal(e.sizes, want)) {
				t.Errorf("%s: the parameters of %s have %v bytes, %t, want %v", file, e.name, e.sizes, e.known, want)
			}
		}
		if !ok || !slices.Equal(names, want) {
			t.Errorf("%s: %q, %t, want %q", file, names, ok, want)
		}
		for at := fatHeader; at+fatEntry <= len(data); {
			entry := data[at:]
			ways[binary.LittleEndian.Uint64(entry[40:])&(fatLZ4|fatZstd)] = true
			at += int(binary.LittleEndian.Uint32(entry[4:])) + int(binary.LittleEndian.Uint64(entry[8:]))
		}
	}
	if len(ways) != 3 {
		t.Errorf("these ways of compression were read: %v", ways)
	}

	// Code for the linker of the driver is not read.
	run("nvcc", "-dc", "-gencode", "arch=compute_90,code=lto_90", "-fatbin", "k.cu", "-o", "lto.fatbin")
	data, err := os.ReadFile(filepath.Join(dir, "lto.fatbin"))
	if err != nil {
		t.Fatal(err)
	}
	if entries, ok := fatbinEntries(data); ok {
		t.Errorf("code for the linker: %v", entries)
	}
}
