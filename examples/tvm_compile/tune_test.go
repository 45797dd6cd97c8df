//go:build bindings

package main

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func TestTune(t *testing.T) {
	cpu, err := thisCPU()
	if err != nil {
		t.Fatal(err)
	}
	const n = 256
	found, err := tune(t.Context(), cpu, n, []int64{16, 32, 64})
	if err != nil {
		t.Fatal(err)
	}
	var tiles []int64
	for i, c := range found {
		tiles = append(tiles, c.tile)
		if c.median <= 0 || i > 0 && c.median < found[i-1].median {
			t.Errorf("tile %v takes %v in row %d", c, c.median, i)
		}
	}
	if found[0].tile == 0 {
		t.Errorf("no tile is faster than no schedule: %v", found)
	}
	if slices.Sort(tiles); !slices.Equal(tiles, []int64{0, 16, 32, 64}) {
		t.Errorf("it measured the tiles %v", tiles)
	}
	var out bytes.Buffer
	if err := table(&out, n, found); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(out.String(), "\n"); len(lines) != 6 || !strings.Contains(lines[4], "none") {
		t.Errorf("the table is\n%s", &out)
	}
}

// A tile that does not divide the rows is right too.
func TestTune_remainders(t *testing.T) {
	cpu, err := thisCPU()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tune(t.Context(), cpu, 50, []int64{16}); err != nil {
		t.Error(err)
	}
}

func TestTune_ends(t *testing.T) {
	cpu, err := thisCPU()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tune(ctx, cpu, 64, []int64{16}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended the error is %v", err)
	}
}

// TestSchedule reads what tiled makes of the loops.
func TestSchedule(t *testing.T) {
	m, err := matmul(256)
	if err != nil {
		t.Fatal(err)
	}
	before := m.String()
	tiledModule, err := tiled(m, 32)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"T.grid(T.int64(8), T.int64(8))",               // tiles
		"T.grid(T.int64(64), T.int64(32), T.int64(4))", // strips, rows of a tile, elements of a strip
		"in T.vectorized(T.int64(32))",                 // columns of a tile
		`T.sblock("T_matmul_init")`,                    // the zeros
		`T.sblock("T_matmul_update")`,                  // the sums
	} {
		if !strings.Contains(tiledModule.String(), want) {
			t.Errorf("%q is missing in\n%v", want, tiledModule)
		}
	}
	if m.String() != before {
		t.Errorf("the schedule has changed the module that it began with:\n%v", m)
	}
}

// A step that does not fit is an error that shows the kernel.
func TestSchedule_errors(t *testing.T) {
	m, err := twicePlusOne()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tiled(m, 32); err == nil || !strings.Contains(err.Error(), matmulName) {
		t.Errorf("without matmul: %v", err)
	}
}

// TestProblem asks whether a wrong kernel is noticed.
func TestProblem(t *testing.T) {
	p, err := newProblem(8)
	if err != nil {
		t.Fatal(err)
	}
	defer p.release()
	idle, err := tvmffi.FuncOf(func(a, b, product *tvmffi.Tensor) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Release()
	if err := p.check(idle); err == nil || !strings.Contains(err.Error(), "of the product is 0") {
		t.Errorf("a kernel that writes nothing: %v", err)
	}
}
