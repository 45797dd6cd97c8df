//go:build bindings

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/native"

	ms "github.com/tvmffi-go/tvmffi/examples/tvm_compile/tvm/stir/metaschedule"
	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

func TestMain(m *testing.M) {
	rpc.Main(nil)
	os.Exit(m.Run())
}

// The program finds a schedule that is faster than none. A second run goes on from the database of the first one.
func TestRun(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir := t.TempDir()
	for runs := 1; runs <= 2; runs++ {
		var out bytes.Buffer
		if err := run(t.Context(), &out, 128, 16, dir, nativetest.Patience(time.Minute)); err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
		if lines := strings.Count(out.String(), "candidates, 0 failed"); lines != 2 {
			t.Errorf("%d lines of progress, want one for each of 2 batches:\n%s", lines, &out)
		}
		won := regexp.MustCompile(`([0-9.]+) times as fast, with the same results`).FindStringSubmatch(out.String())
		if won == nil {
			t.Fatalf("no result:\n%s", &out)
		}
		t.Logf("the tuned kernel is %s times as fast as the untuned one", won[1]) // 1 or more if nothing else runs
		if n := ran(t, dir); n != 16*runs {
			t.Errorf("after run %d the database has %d candidates that ran, want %d", runs, n, 16*runs)
		}
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v %v", left, err)
	}
}

// ran counts the candidates in a database that ran.
func ran(t *testing.T, dir string) (n int) {
	t.Helper()
	tuning, err := newTuning(t.Context(), nil, newDevice("", 1, 0), "", dir)
	if err != nil {
		t.Fatal(err)
	}
	records, err := ms.DatabaseGetAllTuningRecords(tuning.database)
	if err != nil {
		t.Fatal(err)
	}
	defer records.Release()
	for _, record := range records.All() {
		if record.RunSecs().At(0).Value() < 1 { // TVM records a failure as 10¹⁰ seconds
			n++
		}
	}
	return n
}

// A search that is stopped keeps what it has measured, and shows the best of it.
func TestRun_stopped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := &watcher{text: "8 candidates", found: stop}
	if err := run(ctx, out, 64, 4000, t.TempDir(), nativetest.Patience(time.Minute)); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(out.String(), "with the same results") {
		t.Errorf("no result:\n%s", out)
	}
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

// Kernels that crash, hang or compute nothing are errors, and the next one runs.
func TestMeasure(t *testing.T) {
	server, err := rpc.Listen(rpc.Config{})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(context.Background()) }()
	defer func() { server.Close(); <-served }()
	d, short := newDevice(server.Addr().String(), 16, nativetest.Patience(time.Minute)), newDevice(server.Addr().String(), 16, 2*time.Second)
	const signature = "#include <unistd.h>\nint __tvm_ffi_main(void *self, const void *args, int n, void *result) "
	for body, want := range map[string]string{
		"{ return *(volatile int *)8; }": "crashed",
		"{ for (;;) sleep(1); }":         "running took more than 2s",
		"{ ((int *)result)[0] = 0; ((int *)result)[1] = 0; ((long long *)result)[1] = 0; return 0; }": "of the product is 0",
	} {
		source, file := filepath.Join(t.TempDir(), "kernel.c"), filepath.Join(t.TempDir(), "kernel.so")
		if err := os.WriteFile(source, []byte(signature+body), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := native.BuildTo(t.Context(), native.Code{Name: "kernel", Files: []string{source}}, file); err != nil {
			t.Fatal(err)
		}
		on := d
		if strings.Contains(body, "sleep") {
			on = short
		}
		if _, err := on.measure(t.Context(), file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", body, err, want)
		}
	}
	module, err := matmul(16)
	if err != nil {
		t.Fatal(err)
	}
	cpu, err := thisCPU()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "good.so")
	if err := compile(t.Context(), module, cpu, file); err != nil {
		t.Fatal(err)
	}
	if took, err := d.measure(t.Context(), file); err != nil || took <= 0 {
		t.Errorf("a good kernel: %v, %v", took, err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := d.measure(stopped, file); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}
