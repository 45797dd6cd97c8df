package kernelrt_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda/kernelrt"
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
	}
}

// TestBlocks counts the threads of blocks with sizes from 1 to their limits. 1025 threads are
// 5 x 5 x 41: no single size shows the limit of a block.
func TestBlocks(t *testing.T) {
	sizes := []int64{1, 2, 5, 16, 31, 32, 33, 41, 64, 1023, 1024}
	at := map[int64]bool{}
	for _, cluster := range [][]string{nil, {"2"}} {
		k := &kernelrt.Kernel{Name: "k", Cluster: cluster}
		for _, x := range sizes {
			for _, y := range sizes {
				for _, z := range sizes[:9] {
					_, err := kernelrt.Check(k, &kernelrt.Dims{Grid: [3]int64{1, 1, 1}, Block: [3]int64{x, y, z}, Cluster: [3]int64{1, 1, 1}})
					if good := x*y*z <= 1024; (err == nil) != good || err != nil && !strings.Contains(err.Error(), fmt.Sprintf("has %d threads", x*y*z)) {
						t.Errorf("clusters %q, block %d x %d x %d: %v", cluster, x, y, z, err)
					}
					at[x*y*z] = true
				}
			}
		}
	}
	if !at[1024] || !at[1025] {
		t.Error("no block has 1024 threads, or none has 1025")
	}
}

// TestGrids sets all three sizes of the grid, and the shared memory, to values around their
// limits. A grid without blocks is nothing to launch only if all else is in range.
func TestGrids(t *testing.T) {
	const huge = math.MaxInt64
	within := func(n, least, most int64) bool { return n >= least && n <= most }
	for _, x := range []int64{huge, math.MinInt64, -1, 0, 1, 2, math.MaxInt32 - 1, math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32, math.MaxUint32 + 1} {
		for _, y := range []int64{huge, math.MinInt64, -1, 0, 1, 65534, 65535, 65536, 1 << 32} {
			for _, z := range []int64{huge, -1, 0, 1, 65535, 65536} {
				for _, shared := range []int64{huge, math.MinInt64, -1, 0, 1, math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32 + 1} {
					for _, full := range []bool{false, true} {
						least := int64(0)
						if full {
							least = 1
						}
						good := within(x, least, math.MaxInt32) && within(y, least, 65535) && within(z, least, 65535) && within(shared, 0, math.MaxInt32)
						none := good && (x == 0 || y == 0 || z == 0)
						d := kernelrt.Dims{Grid: [3]int64{x, y, z}, Block: [3]int64{1, 1, 1}, Shared: shared}
						if empty, err := kernelrt.Check(&kernelrt.Kernel{Name: "k", Full: full}, &d); (err == nil) != good || empty != none {
							t.Errorf("grid %v, shared %d, full %t: empty %t, %v, want empty %t and an error: %t", d.Grid, shared, full, empty, err, none, !good)
						}
					}
				}
			}
		}
	}
}
