package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/bench/gpupack"
)

// pack makes a pack of shell scripts. The programs of a real one are started in the same way; the mode gpupack of
// .ci/run runs those.
type pack struct {
	t        *testing.T
	dir      string
	report   gpupack.Report
	manifest gpupack.Manifest
}

func newPack(t *testing.T) *pack {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a pack is for Linux")
	}
	for _, name := range []string{gpupack.DriverVariable, gpupack.LoaderVariable} {
		t.Setenv(name, "")
	}
	p := &pack{t: t, dir: t.TempDir()}
	p.report = gpupack.Report{Driver: "/usr/lib/libcuda.so.1", CUDA: 12040, Devices: []gpupack.ReportDevice{{Name: "GPU", Arch: "sm_90"}}}
	p.script(gpupack.PeerName, "echo usage >&2; exit 1")
	p.script("bin/good", "echo '--- PASS: TestA (0.00s)'; echo '--- PASS: TestB (0.00s)'")
	p.write(gpupack.LibraryName, "a library")
	p.write("images/cuda12/gpu.sm_90.cubin", "an image")
	p.add(gpupack.Part{Name: "first", Command: []string{"bin/good"}, Tests: []string{"TestA", "TestB"}})
	return p
}

func (p *pack) write(name, text string) {
	p.t.Helper()
	file := filepath.Join(p.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pack) script(name, text string) {
	p.t.Helper()
	p.write(name, "#!/bin/sh\n"+text+"\n")
}

func (p *pack) add(part gpupack.Part) { p.manifest.Parts = append(p.manifest.Parts, part) }

// finish writes the report and the manifest.
func (p *pack) finish() {
	p.t.Helper()
	if _, err := os.Stat(filepath.Join(p.dir, gpupack.ReportName)); err != nil {
		said, err := json.Marshal(p.report)
		if err != nil {
			p.t.Fatal(err)
		}
		p.script(gpupack.ReportName, "cat <<END\n"+string(said)+"\nEND")
	}
	if err := p.manifest.Write(p.dir); err != nil {
		p.t.Fatal(err)
	}
}

// run runs the pack, and returns the status, what it printed, and the log with its name.
func (p *pack) run(args ...string) (status int, printed, log, name string) {
	p.t.Helper()
	var out, errors strings.Builder
	status = start(p.t.Context(), p.dir, args, &out, &errors)
	if _, file, found := strings.Cut(out.String(), "the log is "); found {
		file = strings.TrimSpace(file)
		text, err := os.ReadFile(file)
		if err != nil {
			p.t.Fatal(err)
		}
		log, name = string(text), filepath.Base(file)
	} else if _, err := os.Stat(filepath.Join(p.dir, "log")); err == nil {
		p.t.Error("there is a folder for logs, and no log")
	}
	return status, out.String() + errors.String(), log, name
}

// TestVerdict: the status is 0 only if all ran and passed, and what was wrong is said.
func TestVerdict(t *testing.T) {
	tests := func(name, script string) func(*pack) {
		return func(p *pack) {
			p.script("bin/planted", script)
			p.add(gpupack.Part{Name: name, Command: []string{"bin/planted"}, Tests: []string{"TestA", "TestB"}})
		}
	}
	const lacking = "echo '=== RUN   TestA'; echo '    a.go:1: not supported by this device: multicast'; "
	for name, c := range map[string]struct {
		plant  func(*pack)
		status int
		says   string
	}{
		"all pass":                 {func(*pack) {}, 0, "PASSED: all 1 parts that this machine can run."},
		"a failing test":           {tests("x", "echo '--- FAIL: TestB (0.1s)'; echo '--- PASS: TestA (0.1s)'; exit 1"), 1, "FAILED: exit status 1; failed: TestB."},
		"a hidden failure":         {tests("x", "echo '--- FAIL: TestB (0.1s)'; echo '--- PASS: TestA (0.1s)'"), 1, "FAILED: failed: TestB."},
		"a skipped test":           {tests("x", "echo '--- SKIP: TestB (0.1s)'; echo '--- PASS: TestA (0.1s)'"), 1, "skipped, which is a failure here: TestB"},
		"a skipped subtest":        {tests("x", "echo '--- PASS: TestA (0s)'; echo '--- PASS: TestB (0s)'; echo '    --- SKIP: TestB/one (0s)'"), 1, "skipped, which is a failure here: TestB/one"},
		"a test that is not there": {tests("x", "echo '--- PASS: TestA (0.1s)'"), 1, "TestB did not run"},
		"a crash":                  {tests("x", "echo '--- PASS: TestA (0.1s)'; echo '--- PASS: TestB (0.1s)'; kill -SEGV $$"), 1, "signal: segmentation fault"},
		"a missed bar": {func(p *pack) {
			p.script("bin/bars", "echo '| empty | 1.02 | 1.3 | **missed** |'; echo 'bench: missed: empty' >&2; exit 1")
			p.add(gpupack.Part{Name: "bars", Command: []string{"bin/bars"}})
		}, 1, "    bench: missed: empty\n\nFAILED: exit status 1."},
		"one device": {func(p *pack) {
			p.add(gpupack.Part{Name: "two", Command: []string{"bin/good"}, Tests: []string{"TestA"}, Devices: 2})
		}, 0, "NOT RUN: it needs 2 devices, this machine has 1."},
		"an older driver": {func(p *pack) {
			p.add(gpupack.Part{Name: "new", Command: []string{"bin/good"}, Tests: []string{"TestA"}, CUDA: 13000})
		}, 0, "NOT RUN: it needs a driver of CUDA 13.0 or newer, this one is of CUDA 12.4."},
		"nothing that can run":  {func(p *pack) { p.manifest.Parts[0].Devices = 2 }, 1, "FAILED: no part was run."},
		"what the device lacks": {tests("x", lacking+"echo '--- SKIP: TestA (0s)'; echo '--- PASS: TestB (0s)'"), 0, "PASSED: all 2 parts that this machine can run."},
		"what the device lacks, in the verdict": {tests("x", lacking+"echo '--- SKIP: TestA (0s)'; echo '--- PASS: TestB (0s)'"),
			0, "- x, without what this device does not support\n\nNot supported by this device, so neither passed nor failed:\n\n- x: TestA: multicast\n"},
		"a part of a test": {tests("x", "echo '=== RUN   TestA/one'; "+lacking+"echo '=== RUN   TestA/two'; echo '=== NAME  TestA/one'; echo 'not supported by this device: switch'; "+
			"echo '--- PASS: TestA (0s)'; echo '    --- SKIP: TestA/one (0s)'; echo '    --- PASS: TestA/two (0s)'; echo '--- PASS: TestB (0s)'"), 0, "- x: TestA/one: switch\n"},
		"a device that lacks all of it": {tests("x", "for t in TestA TestB; do echo \"=== RUN   $t\"; echo 'not supported by this device: graphs'; echo \"--- SKIP: $t (0s)\"; done"),
			0, "NOT RUN: this device supports nothing of it."},
		"another skip beside it":   {tests("x", lacking+"echo '--- SKIP: TestA (0s)'; echo '--- SKIP: TestB (0s)'"), 1, "skipped, which is a failure here: TestB."},
		"a part that was left out": {func(p *pack) { p.manifest.Left = []string{"cute: not built"} }, 0, "Not run:\n\n- cute: not built\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPack(t)
			c.plant(p)
			p.finish()
			status, printed, log, file := p.run()
			if status != c.status || !strings.Contains(log, c.says) || !strings.Contains(printed, c.says) || !strings.HasSuffix(file, "-gpu.md") {
				t.Errorf("status %d, want %d; in %s no %q:\n%s", status, c.status, file, c.says, printed)
			}
			for _, what := range []string{"Command: `run`", "Driver: libcuda.so.1, CUDA 12.4", "| 0 | GPU | sm_90 |", "Command: `bin/good`"} {
				if !strings.Contains(log, what) {
					t.Errorf("the log does not say %q:\n%s", what, log)
				}
			}
			if verdict := strings.Contains(log, "\nFAILED: "); verdict != (status != 0) {
				t.Errorf("status %d, and the log says\n%s", status, log)
			}
		})
	}
}

// TestNothingRun: where nothing can be run, the text says why, and there is no log that could be taken for one.
func TestNothingRun(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(*pack)
		args  []string
		says  string
	}{
		"a missing file":    {func(p *pack) { os.Remove(filepath.Join(p.dir, gpupack.LibraryName)) }, nil, "lib/libtvm_ffi.so is missing"},
		"a changed file":    {func(p *pack) { p.write("images/cuda12/gpu.sm_90.cubin", "another") }, nil, "images/cuda12/gpu.sm_90.cubin has changed"},
		"no manifest":       {func(p *pack) { os.Remove(filepath.Join(p.dir, gpupack.ManifestName)) }, nil, "is not a pack"},
		"a broken manifest": {func(p *pack) { p.write(gpupack.ManifestName, "{") }, nil, "make the pack again"},
		"an empty manifest": {func(p *pack) { p.write(gpupack.ManifestName, "{}") }, nil, "lists nothing to run"},
		"another driver":    {func(p *pack) { p.t.Setenv(gpupack.DriverVariable, "libother.so") }, nil, "TVMFFI_CUDA_LIBRARY names libother.so: unset it"},
		"wrong arguments":   {func(*pack) {}, []string{"-fast"}, "usage: run"},
		"a part without its program": {func(p *pack) {
			p.add(gpupack.Part{Name: "lost", Command: []string{"bin/lost"}})
			p.finish()
		}, nil, `the program of the part "lost" is not in the pack`},
		"no GPU": {func(p *pack) {
			p.script(gpupack.ReportName, `[ "$2" = -libraries ] || { echo report: no driver >&2; exit 1; }`)
			p.finish()
		}, nil, "run: nothing was run and no log was written: this machine has no GPU that CUDA can use.\n\nThe reason: no driver\n\nNext: install the NVIDIA driver, in which \"nvidia-smi\" must list a GPU, " +
			"or start the container with --gpus all; then start this program again.\nDo not set TVMFFI_CUDA_LIBRARY, which the reason may name: "},
		"programs that may not be executed": {func(p *pack) {
			if err := os.Chmod(filepath.Join(p.dir, gpupack.PeerName), 0o644); err != nil {
				p.t.Fatal(err)
			}
		}, nil, "bin/cpp may not be executed: it was copied without its mode\ncopy it again, whole and with the modes"},
		"a fake driver": {func(p *pack) {
			p.report.Fake = true
			os.Remove(filepath.Join(p.dir, gpupack.ReportName))
			p.finish()
		}, nil, "is a fake of this project, not that of a GPU"},
		"a dry run on another driver": {func(*pack) {}, []string{"-with-fake"}, "is not the fake of this pack"},
		"CUDA 11": {func(p *pack) {
			p.report.CUDA = 11080
			os.Remove(filepath.Join(p.dir, gpupack.ReportName))
			p.finish()
		}, nil, "the driver supports CUDA 11.8, and the pack has no images for that"},
		"programs that do not start": {func(p *pack) {
			p.script(gpupack.PeerName, "echo 'GLIBC_2.99 not found' >&2; exit 1")
			p.finish()
		}, nil, "start neither with the libraries of the machine (GLIBC_2.99 not found) nor with those of the pack"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPack(t)
			p.finish()
			c.plant(p)
			status, printed, _, file := p.run(c.args...)
			if status != 2 || !strings.Contains(printed, c.says) || file != "" {
				t.Errorf("status %d, log %q, no %q:\n%s", status, file, c.says, printed)
			}
		})
	}
}

// TestFake: no line of a dry run, and no name of its log, can be taken for those of a GPU.
func TestFake(t *testing.T) {
	p := newPack(t)
	p.report.Fake = true
	p.script("bin/args", `printf '%s\n\nwithout an end' "$*"`)
	p.add(gpupack.Part{Name: "args", Command: []string{"bin/args", "-judge"}, OnFake: []string{"-runs", "1"}})
	p.add(gpupack.Part{Name: "results", Command: []string{"bin/good"}, Tests: []string{"TestA"}, NotOnFake: "only a GPU computes"})
	p.add(gpupack.Part{Name: "launches", Command: []string{"bin/good"}, Tests: []string{"TestResults"}, OnFakeTests: []string{"TestB"}, OnFakeNote: "no result is compared"})
	p.finish()
	for n := 1; n <= 2; n++ { // a second log does not replace the first one
		status, printed, log, file := p.run("-with-fake")
		if want := fmt.Sprintf("fake-driver%s.md", map[int]string{2: "-2"}[n]); status != 0 || !strings.HasSuffix(file, want) {
			t.Fatalf("status %d, log %s, want one that ends in %s:\n%s", status, file, want, printed)
		}
		for line := range strings.Lines(log) {
			if !strings.HasPrefix(line, fakeMark) {
				t.Errorf("a line without the mark: %q", line)
			}
		}
		for _, what := range []string{"-runs 1\n", "without an end\n", "NOT RUN: only a GPU computes.", "A dry run: no result is compared.", "- launches (a dry run: no result is compared)\n", "testdata/fakecuda"} {
			if !strings.Contains(log, what) {
				t.Errorf("the log does not say %q:\n%s", what, log)
			}
		}
	}
}

// TestInterrupted: a run that is interrupted has failed, and says which parts are missing.
func TestInterrupted(t *testing.T) {
	p := newPack(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	p.finish()
	var out, errors strings.Builder
	r := &runner{dir: p.dir, logs: filepath.Join(p.dir, "log"), out: &out, errors: &errors}
	if err := r.prepare(ctx); err != nil {
		t.Fatal(err)
	}
	stop()
	if status := r.run(ctx); status != 1 || !strings.Contains(out.String(), "- first: the run was interrupted before it\n\nFAILED: 1 of 1 parts.") {
		t.Errorf("status %d\n%s%s", status, &out, &errors)
	}
	// Before the first part nothing is known about the machine.
	errors.Reset()
	if status := start(ctx, p.dir, nil, &out, &errors); status != 2 || errors.String() != "run: nothing was run and no log was written: it was interrupted\n" {
		t.Errorf("status %d\n%s", status, &errors)
	}
}

// TestHelp: asking for help does not fail.
func TestHelp(t *testing.T) {
	for arg, want := range map[string]int{"-h": 0, "-fast": 2, "fast": 2} {
		var out, errors strings.Builder
		if status := start(t.Context(), t.TempDir(), []string{arg}, &out, &errors); status != want || !strings.Contains(errors.String(), "usage: run [-with-fake] [-log DIR]\nREADME.md") {
			t.Errorf("%s: status %d\n%s%s", arg, status, &out, &errors)
		}
	}
}
