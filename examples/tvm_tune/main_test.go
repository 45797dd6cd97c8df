//go:build bindings

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

func TestMain(m *testing.M) {
	rpc.ServeChild()
	os.Exit(m.Run())
}

// The program finds a schedule that is at least as fast as none, and says so.
func TestRun(t *testing.T) {
	clean := leavesNothing(t)
	var out bytes.Buffer
	o := options{rows: 128, trials: 32, batch: 8, seed: 1, dir: t.TempDir(), limit: 20 * time.Second, out: &out}
	if err := run(t.Context(), o); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	t.Logf("\n%s", &out)
	if lines := strings.Count(out.String(), "/  32 "); lines != 4 {
		t.Errorf("%d lines of progress, want one for each of 4 batches:\n%s", lines, &out)
	}
	if got := ratio(1, 2); !strings.HasPrefix(got, "not faster") {
		t.Errorf("a kernel that is slower is %s", got)
	}
	won := regexp.MustCompile(`([0-9.]+) times as fast; its results are right`).FindStringSubmatch(out.String())
	if won == nil {
		t.Fatalf("no result:\n%s", &out)
	}
	if factor, err := strconv.ParseFloat(won[1], 64); err != nil || factor < 1 {
		t.Errorf("the tuned kernel is %s times as fast as the untuned one, want 1 or more", won[1])
	}
	clean()
	python(t, o.dir, 32)
}

// python reads the database with the Python package of TVM, and applies the fastest schedule.
func python(t *testing.T, dir string, records int) {
	script := fmt.Sprintf(`
import sys
from tvm.s_tir import Schedule
from tvm.s_tir.meta_schedule.database import JSONDatabase

database = JSONDatabase(path_workload=sys.argv[1], path_tuning_record=sys.argv[2])
records = database.get_all_tuning_records()
assert len(records) == %d, len(records)
[best] = database.get_top_k(records[0].workload, 1)
assert 0 < float(best.run_secs[0]) < 1, best.run_secs
schedule = Schedule(best.workload.mod)
best.trace.apply_to_schedule(schedule, remove_postproc=False)
assert schedule.mod.script() != best.workload.mod.script(), schedule.mod.script()
`, records)
	cmd := exec.CommandContext(t.Context(), nativetest.TVM(t), "-c", script, filepath.Join(dir, workloadFile), filepath.Join(dir, recordFile))
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("Python cannot read the database: %v\n%s", err, output)
	}
}

// A search that is stopped keeps what it has measured, and shows the best of it.
func TestRun_stopped(t *testing.T) {
	clean := leavesNothing(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := &watcher{text: "4/4000 ", found: stop}
	o := options{rows: 64, trials: 4000, batch: 4, seed: 1, dir: t.TempDir(), limit: 20 * time.Second, out: out}
	start := time.Now()
	if err := run(ctx, o); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%v\n%s", time.Since(start), out)
	for _, want := range []string{"stopped after ", " of 4000 trials", "results are right"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output has no %q:\n%s", want, out)
		}
	}
	clean()
}

// A watcher calls found when a text is written.
type watcher struct {
	bytes.Buffer
	text  string
	found func()
}

func (w *watcher) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.text) {
		w.found()
	}
	return w.Buffer.Write(p)
}

// leavesNothing returns a func that fails the test if processes, files, sockets or goroutines of it are
// left.
func leavesNothing(t *testing.T) func() {
	t.Setenv("TMPDIR", t.TempDir())
	goroutines, sockets := runtime.NumGoroutine(), countSockets(t)
	return func() {
		t.Helper()
		if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
			t.Errorf("files are left: %v %v", left, err)
		}
		if left := children(t); left != "" {
			t.Errorf("processes are left: %s", left)
		}
		for wait := time.Now(); runtime.NumGoroutine() > goroutines || countSockets(t) > sockets; time.Sleep(10 * time.Millisecond) {
			runtime.GC() // remote objects hold the socket of their session
			if time.Since(wait) > 5*time.Second {
				stacks := make([]byte, 1<<16)
				t.Errorf("%d goroutines, %d before; %d sockets, %d before\n%s", runtime.NumGoroutine(), goroutines,
					countSockets(t), sockets, stacks[:runtime.Stack(stacks, true)])
				return
			}
		}
	}
}

// children returns the processes that this one has started and that run.
func children(t *testing.T) (ids string) {
	files, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if list, err := os.ReadFile(file); err == nil { // a thread may have ended
			ids += string(list)
		}
	}
	return ids
}

func countSockets(t *testing.T) (n int) {
	files, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if target, err := os.Readlink(file); err == nil && strings.HasPrefix(target, "socket:") {
			n++
		}
	}
	return n
}
