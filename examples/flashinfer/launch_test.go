//go:build flashinfer

package main

import (
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/native"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/examples/flashinfer/attention"
)

// childLibrary names the library for a process that computes attention on the driver without a GPU, and nothing else.
const childLibrary = "TVMFFI_TEST_ATTENTION"

func TestMain(m *testing.M) {
	file := os.Getenv(childLibrary)
	if file == "" {
		os.Exit(m.Run())
	}
	err := attention.Load(tvmffi.WithFile(file))
	for _, b := range []struct {
		counts         []int
		decode, causal bool
	}{{[]int{1, 1, 1}, true, false}, {[]int{5, 20, 41}, false, false}, {[]int{5, 20, 41}, false, true}} {
		if err == nil {
			_, err = newBatch(b.counts, b.causal).run(b.decode)
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// TestLaunch shows what the program gives the driver, on one without a GPU that computes nothing for these kernels: the
// plan that is copied, and the kernels with their grids, names and addresses, for three orders of work. That the results
// are right only a GPU can show, see resultsAttention.
func TestLaunch(t *testing.T) {
	file := buildForFake(t)
	for seed := range 3 {
		logFile := filepath.Join(t.TempDir(), "log")
		cmd := nativetest.Command(t.Context(), nativetest.Self())
		cmd.Stdin = strings.NewReader("") // there may be no /dev/null
		cmd.Env = append(os.Environ(), childLibrary+"="+file, "TVMFFI_CUDA_LIBRARY="+nativetest.FakeCUDA(t), "TVMFFI_LIBRARY="+nativetest.Library(t),
			"FAKECUDA_LOG="+logFile, "FAKECUDA_SEED="+strconv.Itoa(seed), "FAKECUDA_ABORT=") // the output is read, which nothing has written here
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, out)
		}
		data, err := os.ReadFile(logFile)
		if err != nil {
			t.Fatal(err)
		}
		checkLaunches(t, string(data))
	}
}

// buildForFake compiles attention with the CUDA runtime of testdata/fakecudart, or finds what a pack has of it.
func buildForFake(t *testing.T) string {
	t.Helper()
	if pack := nativetest.Packed(); pack != "" {
		return filepath.Join(pack, "flashinfer", "fake", "libflashinfer_attention.so")
	}
	build(t, "attention") // sets the environment
	_, packages := nativetest.FlashInfer(t)
	code := kernels(packages, "attention")
	code.Files = append(code.Files, "../../testdata/fakecudart/fakecudart.cc")
	code.NVCCFlags = append(code.NVCCFlags, "--no-compress")
	code.Arch = []string{"9.0a"}
	file, err := native.Build(t.Context(), code)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// checkLaunches compares the log of decode, prefill and causal prefill: the kernel, its grid, the bytes of the plan, which
// are copied on its stream before it, and the addresses of keys, values and queries.
func checkLaunches(t *testing.T, log string) {
	t.Helper()
	copies := regexp.MustCompile(`T\d+ cuMemcpyHtoD\w* (\w+) \w+ (\d+) (\w+)`)
	launches := regexp.MustCompile(`T\d+ cuLaunchKernel grid=(\S+) block=(\S+) shared=\d+ stream=(\w+) args=(\w+) `).FindAllStringSubmatchIndex(log, -1)
	if len(launches) != 3 {
		t.Fatalf("%d kernels were launched:\n%s", len(launches), log)
	}
	from := 0
	for i, want := range []struct{ name, grid, block, plan string }{
		{"BatchDecodeWithPagedKVCacheKernel", "3,2,1", "16,2,4", "52"},
		{"MaskModeE0", "4,1,2", "32,4,1", "68"},
		{"MaskModeE1", "4,1,2", "32,4,1", "68"},
	} {
		at := launches[i]
		group := func(n int) string { return log[at[2*n]:at[2*n+1]] }
		before := log[from:at[0]]
		from = at[1]
		if !strings.Contains(before, want.name) || group(1) != want.grid || group(2) != want.block {
			t.Errorf("kernel %d, not of %+v: grid %s, block %s", i, want, group(1), group(2))
		}
		made := copies.FindAllStringSubmatch(before, -1) // keys, values, queries, indices, plan
		if len(made) != 5 || made[4][2] != want.plan || made[4][3] != group(3) {
			t.Fatalf("kernel %d on stream %s comes after the copies %q", i, group(3), made)
		}
		for _, c := range made[:3] {
			address, err := strconv.ParseUint(c[1], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(group(4), fmt.Sprintf("%016x", bits.ReverseBytes64(address))) {
				t.Errorf("kernel %d has no argument %s: %s", i, c[1], group(4))
			}
		}
	}
}
