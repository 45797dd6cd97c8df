//go:build tvm

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
)

// TestMain is the program itself if a test, or the program, starts it again.
func TestMain(m *testing.M) {
	if os.Getenv("TVM_DISCO_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	nativetest.StartsCompiler(t)
	nativetest.Pinned(t, "apache-tvm")
	nativetest.Wheel(t, wheel.TVMNeeds)
	ctx, cancel := context.WithTimeout(t.Context(), nativetest.Patience(2*time.Minute))
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), "TVM_DISCO_MAIN=1")
	return cmd
}

// result is what the network computes for two rows, without workers.
func result() []float32 {
	x := [][]float32{{1, 2, 3, 4}, {4, 3, 2, 1}}
	out := make([]float32, 2*outputs)
	for i, row := range x {
		for k := range hidden {
			var sum float32
			for j, v := range row {
				sum += v * float32((j*hidden+k)%5-2)
			}
			for o := range outputs {
				out[i*outputs+o] += max(sum, 0) * float32((k*outputs+o)%3) / 2
			}
		}
	}
	return out
}

func TestProgram(t *testing.T) {
	out, err := program(t).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(string(out), "\n")
	for _, want := range []string{
		"2 processes", "4 processes", "2 hosts with 2 workers each", "[worker 3] a worker has checked 1",
		"the error is worker 1: demo.check: ValueError: -1 is negative", "the next call returns 2",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("the program has not printed %q", want)
		}
	}
	for worker, times := range []int{3, 3, 2, 2} { // in sessions of 2, 4 and 4 workers
		want := fmt.Sprintf("worker %d: %v", worker, result())
		if got := strings.Count(string(out), want); got != times {
			t.Errorf("%q was printed %d times, want %d", want, got, times)
		}
	}
	if t.Failed() {
		t.Logf("it printed\n%s", out)
	}
}

// TestRoles starts the two sides as on two hosts.
func TestRoles(t *testing.T) {
	controller := program(t, "-listen", "127.0.0.1:0", "-workers", "1")
	stdout, err := controller.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := controller.Start(); err != nil {
		t.Fatal(err)
	}
	var address string
	if _, err := fmt.Fscanf(stdout, "waiting for nodes at %s\n", &address); err != nil {
		t.Fatal(err)
	}
	if out, err := program(t, "-join", address, "-local", "127.0.0.2").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	text := make([]byte, 1<<12)
	n := 0
	for {
		m, err := stdout.Read(text[n:])
		if n += m; err != nil {
			break
		}
	}
	if want := fmt.Sprintf("worker 1: %v", result()); !strings.Contains(string(text[:n]), want) {
		t.Errorf("the controller printed\n%s\nwant %s", text[:n], want)
	}
	if err := controller.Wait(); err != nil {
		t.Error(err)
	}
}
