package kernelrt_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda/kernelrt"
	"github.com/tvmffi-go/tvmffi/cuda/nvrtc"
)

// TestBounds sets one number of a launch to each side of its limits. With clusters, all
// launches go the way of those that are wrong.
func TestBounds(t *testing.T) {
	type bound struct {
		what        string
		set         func(d *kernelrt.Dims, v int64)
		least, most int64
	}
	var bounds []bound
	for i, most := range []int64{math.MaxInt32, 65535, 65535} {
		axis := string(rune('x' + i))
		bounds = append(bounds,
			bound{"grid " + axis, func(d *kernelrt.Dims, v int64) { d.Grid[i] = v }, 1, most},
			bound{"cluster " + axis, func(d *kernelrt.Dims, v int64) { d.Cluster[i] = v }, 1, most})
	}
	for i, most := range []int64{1024, 1024, 64} {
		bounds = append(bounds, bound{"block " + string(rune('x'+i)), func(d *kernelrt.Dims, v int64) { d.Block[i] = v }, 1, most})
	}
	bounds = append(bounds, bound{"shared", func(d *kernelrt.Dims, v int64) { d.Shared = v }, 0, math.MaxInt32})
	for _, cluster := range [][]string{nil, {"2"}} {
		k := &kernelrt.Kernel{Name: "k", Cluster: cluster, Full: true, Grid: []string{"n"}}
		for _, b := range bounds {
			if cluster == nil && strings.HasPrefix(b.what, "cluster") {
				continue
			}
			for v, good := range map[int64]bool{b.least - 1: false, b.least: true, b.most: true, b.most + 1: false, math.MinInt64: false, math.MaxInt64: false} {
				d := kernelrt.Dims{Grid: [3]int64{1, 1, 1}, Block: [3]int64{1, 1, 1}, Cluster: [3]int64{1, 1, 1}}
				b.set(&d, v)
				empty, err := kernelrt.Check(k, &d)
				want := fmt.Sprintf("it must be %d to %d", b.least, b.most)
				if empty || (err == nil) != good || err != nil && (!strings.Contains(err.Error(), b.what) || !strings.Contains(err.Error(), want)) {
					t.Errorf("clusters %q, %s = %d: empty %t, %v, want an error: %t", cluster, b.what, v, empty, err, !good)
				}
			}
		}
		for threads, block := range map[int64][3]int64{1024: {16, 16, 4}, 1056: {33, 32, 1}, 2048: {1024, 2, 1}, 65536: {32, 32, 64}} {
			_, err := kernelrt.Check(k, &kernelrt.Dims{Grid: [3]int64{1, 1, 1}, Block: block, Cluster: [3]int64{1, 1, 1}})
			if good := threads <= 1024; (err == nil) != good || err != nil && !strings.Contains(err.Error(), fmt.Sprintf("has %d threads", threads)) {
				t.Errorf("clusters %q, block %v: %v", cluster, block, err)
			}
		}
	}
	// A grid of 0 blocks is nothing to launch, unless the kernel needs its whole grid. The
	// rest is still checked.
	for i := range 3 {
		for _, full := range []bool{false, true} {
			k := &kernelrt.Kernel{Name: "k", Full: full}
			d := kernelrt.Dims{Grid: [3]int64{1, 1, 1}, Block: [3]int64{1, 1, 1}}
			d.Grid[i] = 0
			if empty, err := kernelrt.Check(k, &d); empty == full || (err == nil) == full {
				t.Errorf("grid %v, full %t: empty %t, %v", d.Grid, full, empty, err)
			}
			d.Grid[i] = -1
			if empty, err := kernelrt.Check(k, &d); empty || err == nil || strings.Contains(err.Error(), "must be 0 to ") == full {
				t.Errorf("grid %v, full %t: empty %t, %v", d.Grid, full, empty, err)
			}
			d.Grid[i], d.Block[0] = 0, 0
			if _, err := kernelrt.Check(k, &d); err == nil {
				t.Errorf("grid %v, block %v, full %t: no error", d.Grid, d.Block, full)
			}
		}
	}
}

// TestWithoutNVRTC runs in a process of its own, because a process looks for NVRTC once.
func TestWithoutNVRTC(t *testing.T) {
	const child = "TVMFFI_TEST_CHILD"
	if os.Getenv(child) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWithoutNVRTC$")
		cmd.Env = append(os.Environ(), child+"=nvrtc", "TVMFFI_NVRTC_LIBRARY="+t.TempDir()+"/libnvrtc.so")
		if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "SKIP") {
			t.Errorf("the child ended with %v:\n%s", err, out)
		}
		return
	}
	load(t)
	l, err := program("", "saxpy", "").Begin(0, &kernelrt.Dims{Grid: [3]int64{1, 1, 1}, Block: [3]int64{1, 1, 1}})
	if l != nil || !errors.Is(err, nvrtc.ErrUnavailable) {
		t.Errorf("got %v, want %v", err, nvrtc.ErrUnavailable)
	}
}
