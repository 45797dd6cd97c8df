//go:build bindings

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/native"

	"github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/ir"
	ms "github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/stir/metaschedule"
	"github.com/tvmffi-go/tvmffi/examples/tvm_tune/tvm/target"
)

// Candidates that crash, hang, raise an error or cannot be compiled are recorded as errors, and the search
// goes on.
func TestFailures(t *testing.T) {
	clean := leavesNothing(t)
	var out bytes.Buffer
	o := options{rows: 64, trials: 16, batch: 8, seed: 1, dir: t.TempDir(), limit: 10 * time.Second, out: &out}
	search, err := newTuning(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	s := newSaboteur(t)
	d, closeDevice, err := openDevice(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	b := &builder{ctx: t.Context(), dir: t.TempDir(), workers: 2, limit: o.limit, compile: s.compile}
	if err := search.run(b, &runner{ctx: t.Context(), measure: d.measure}); err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
	closeDevice()
	close(s.end)
	search.summary()
	t.Logf("\n%s", &out)

	if want := "5 of 16 trials failed, the first one with: "; !strings.Contains(out.String(), want) {
		t.Errorf("the output has no %q", want)
	}
	report, err := os.ReadFile(filepath.Join(o.dir, logFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"the process of the session crashed", "SIGSEGV", "running took more than 10s", "no memory for that", "compiling took more than 10s", "Invalid A.shape[0]"} {
		if !strings.Contains(string(report), want) {
			t.Errorf("%s has no %q", logFile, want)
		}
	}
	if left, err := os.ReadDir(b.dir); err != nil || len(left) > 0 {
		t.Errorf("libraries of candidates are left: %v %v", left, err)
	}
	if n := valid(t, search.database); n != 11 {
		t.Errorf("the database has %d candidates that ran, want 11", n)
	}
	clean()
}

// A saboteur compiles, but spoils five candidates.
type saboteur struct {
	t           *testing.T
	crash, hang string        // libraries
	end         chan struct{} // ends the compilation that hangs
}

func newSaboteur(t *testing.T) *saboteur {
	const signature = "int __tvm_ffi_main(void *self, const void *args, int n, void *result) "
	build := func(name, body string) string {
		source, file := filepath.Join(t.TempDir(), name+".c"), filepath.Join(t.TempDir(), name+".so")
		if err := os.WriteFile(source, []byte("#include <unistd.h>\n"+signature+body), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := native.BuildTo(t.Context(), native.Code{Name: name, Files: []string{source}}, file); err != nil {
			t.Fatal(err)
		}
		return file
	}
	return &saboteur{
		t: t, end: make(chan struct{}),
		crash: build("crash", "{ return *(volatile int *)8; }"),
		hang:  build("hang", "{ for (;;) sleep(1); }"),
	}
}

// compile is like the real one, except for some files.
func (s *saboteur) compile(ctx context.Context, m *ir.IRModule, cpu *target.Target, file string) error {
	switch filepath.Base(file) {
	case "candidate2.so":
		return copyFile(file, s.crash)
	case "candidate3.so":
		return copyFile(file, s.hang)
	case "candidate5.so":
		return errors.New("no memory for that")
	case "candidate6.so":
		<-s.end
		return nil
	case "candidate7.so":
		other, err := matmul(32)
		if err != nil {
			return err
		}
		return compile(ctx, other, cpu, file)
	}
	return compile(ctx, m, cpu, file)
}

func copyFile(to, from string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o700)
}

// A search that is stopped in a batch keeps what has run of the batch, and no more.
func TestStop_inBatch(t *testing.T) {
	clean := leavesNothing(t)
	ctx, stop := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	var out bytes.Buffer
	o := options{rows: 64, trials: 16, batch: 8, seed: 1, dir: t.TempDir(), limit: 20 * time.Second, out: &out}
	search, err := newTuning(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	d, closeDevice, err := openDevice(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	measured := 0
	r := &runner{ctx: ctx, measure: func(ctx context.Context, file string, arguments []tensorType) ([]float64, error) {
		if measured == 3 {
			stop(enough) // while the fourth one runs
		}
		measured++
		return d.measure(ctx, file, arguments)
	}}
	err = search.run(&builder{ctx: ctx, dir: t.TempDir(), workers: 2, limit: o.limit, compile: compile}, r)
	if !errors.Is(err, enough) {
		t.Errorf("the search ended with %v, want %v", err, enough)
	}
	closeDevice()
	if n := valid(t, search.database); n != 3 || search.progress.errors != 0 {
		t.Errorf("the database has %d candidates that ran, and %d errors; want 3 and none", n, search.progress.errors)
	}
	if records, err := ms.DatabaseSize(search.database); err != nil || records != 3 {
		t.Errorf("%d records, %v, want 3", records, err)
	}
	clean()
}

// valid counts the candidates in a database that ran.
func valid(t *testing.T, database *ms.Database) (n int) {
	t.Helper()
	records, err := ms.DatabaseGetAllTuningRecords(database)
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
