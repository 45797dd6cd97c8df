package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tvmffi-go/tvmffi/bench/gpupack"
)

// most is the longest time for a part.
const most = 30 * time.Minute

// run runs all parts, writes the log, and returns the exit status.
func (r *runner) run(ctx context.Context) int {
	now := time.Now().UTC()
	var err error
	if r.log, err = newLog(r.logs, r.fake, r.out, now); err != nil {
		fmt.Fprintf(r.errors, "run: nothing was run: the log cannot be written: %v\n", err)
		return 2
	}
	r.head(ctx, now)
	var v verdict
	for _, p := range r.manifest.Parts {
		r.log.printf("\n## %s\n\nCommand: `%s`\n\n", p.Name, strings.Join(r.args(p), " "))
		r.judge(ctx, p, &v)
	}
	v.left = append(v.left, r.manifest.Left...)
	v.print(r.log)
	os.RemoveAll(r.file("tmp"))
	if err := r.log.close(); err != nil {
		fmt.Fprintf(r.errors, "run: the log %s is not complete: %v\n", r.log.file, err)
		return 1
	}
	fmt.Fprintf(r.out, "%sthe log is %s\n", r.log.mark, r.log.file)
	if len(v.failed) > 0 || len(v.passed) == 0 {
		return 1
	}
	return 0
}

// verdict is the end of the log: the names of parts and what was wrong.
type verdict struct {
	passed, lacking, left, failed []string
}

func (v *verdict) print(l *log) {
	list := func(title string, all []string) {
		if len(all) > 0 {
			l.printf("\n%s:\n\n- %s", title, strings.Join(all, "\n- "))
		}
	}
	l.printf("\n## Verdict")
	list("Passed", v.passed)
	list("Not supported by this device, so neither passed nor failed", v.lacking)
	list("Not run", v.left)
	list("Failed", v.failed)
	switch {
	case len(v.failed) > 0:
		l.printf("\nFAILED: %d of %d parts.", len(v.failed), len(v.failed)+len(v.passed))
	case len(v.passed) == 0:
		l.printf("\nFAILED: no part was run.")
	default:
		l.printf("\nPASSED: all %d parts that this machine can run.", len(v.passed))
	}
}

// judge runs a part and adds it to the verdict.
func (r *runner) judge(ctx context.Context, p gpupack.Part, v *verdict) {
	if ctx.Err() != nil {
		r.log.printf("FAILED: the run was interrupted.")
		v.failed = append(v.failed, p.Name+": the run was interrupted before it")
		return
	}
	if why := r.unfit(p); why != "" {
		r.log.printf("NOT RUN: %s.", why)
		v.left = append(v.left, p.Name+": "+why)
		return
	}
	if r.fake && p.OnFakeNote != "" {
		r.log.printf("A dry run: %s.\n\n", p.OnFakeNote)
	}
	started := time.Now()
	lacking, passed, err := r.part(ctx, p)
	took := time.Since(started).Seconds()
	for _, l := range lacking {
		v.lacking = append(v.lacking, p.Name+": "+l)
	}
	switch {
	case err != nil:
		r.log.printf("\nFAILED: %v.", err)
		v.failed = append(v.failed, p.Name+": "+err.Error())
	case len(lacking) > 0 && passed == 0:
		r.log.printf("\nNOT RUN: this device supports nothing of it.")
	case len(lacking) > 0:
		r.log.printf("\nPASSED in %.1f s, without what this device does not support: %s.", took, strings.Join(lacking, "; "))
		v.passed = append(v.passed, p.Name+", without what this device does not support")
	default:
		r.log.printf("\nPASSED in %.1f s.", took)
		v.passed = append(v.passed, p.Name+r.reservation(p))
	}
}

// head is the begin of the log: what ran where.
func (r *runner) head(ctx context.Context, now time.Time) {
	title := "GPU tests"
	if r.fake {
		title = "Dry run on the fake driver"
	}
	m, d := r.manifest, r.report
	r.log.printf("# %s of %s\n\n", title, now.Format(time.DateOnly))
	r.log.printf("Command: `run%s`, at %s. Pack of %s, commit %s, %s, %s.\n", map[bool]string{true: " -with-fake"}[r.fake],
		now.Format("15:04Z"), m.Made, m.Commit, m.Go, m.Compiler)
	if len(m.NVRTC) > 0 {
		r.log.printf("Images: %s; this driver gets those of %s.\n", strings.Join(m.NVRTC, "; "), gpupack.ImagesFor(d.CUDA))
	}
	r.log.printf("Driver: %s, CUDA %s, %s.", filepath.Base(d.Driver), version(d.CUDA), driverVersion(ctx, r.fake))
	if r.loader == nil {
		r.log.printf("The programs use the C and C++ libraries of the machine.")
	} else {
		r.log.printf("The programs use the C and C++ libraries of the pack, because those of the machine do not do: %s.", r.why)
	}
	r.log.printf("\n| device | name | architecture | memory | multiprocessors |\n|---|---|---|---|---|")
	for i, v := range d.Devices {
		r.log.printf("| %d | %s | %s | %.1f GiB | %d |", i, v.Name, v.Arch, float64(v.Memory)/(1<<30), v.Multiprocessors)
	}
	if mig := partitions(ctx, r.fake); mig > 0 {
		r.log.printf("\nMIG: nvidia-smi lists %d parts of GPUs. What a part can do, and how fast, is not what the whole GPU can.", mig)
	}
}

// smi runs nvidia-smi, which is beside the driver, under WSL too.
func smi(ctx context.Context, args ...string) string {
	for _, program := range []string{"nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi"} {
		if out, err := exec.CommandContext(ctx, program, args...).Output(); err == nil {
			return strings.TrimSpace(string(out))
		}
	}
	return ""
}

var driverNumber = regexp.MustCompile(`\b\d{3,4}\.\d+(\.\d+)?\b`)

// driverVersion returns the version of the driver as NVIDIA counts it.
func driverVersion(ctx context.Context, fake bool) string {
	if fake {
		return "which is testdata/fakecuda of this project"
	}
	text, err := os.ReadFile("/proc/driver/nvidia/version")
	if number := driverNumber.FindString(string(text)); err == nil && number != "" {
		return "version " + number
	}
	if first, _, _ := strings.Cut(smi(ctx, "--query-gpu=driver_version", "--format=csv,noheader"), "\n"); first != "" {
		return "version " + first
	}
	return "version unknown: there is neither /proc/driver/nvidia/version nor nvidia-smi"
}

// partitions returns how many parts of GPUs there are.
func partitions(ctx context.Context, fake bool) int {
	if fake {
		return 0
	}
	return strings.Count(smi(ctx, "-L"), "MIG-")
}

// reservation is what a verdict on the fake driver says of a part that did something else there.
func (r *runner) reservation(p gpupack.Part) string {
	if r.fake && p.OnFakeNote != "" {
		return " (a dry run: " + p.OnFakeNote + ")"
	}
	return ""
}

// args returns the command of a part for the driver at hand.
func (r *runner) args(p gpupack.Part) []string {
	if r.fake && p.OnFake != nil {
		return slices.Concat(p.Command[:1], p.OnFake)
	}
	return p.Command
}

// unfit says why this machine cannot run a part, or returns "".
func (r *runner) unfit(p gpupack.Part) string {
	switch {
	case r.fake && p.NotOnFake != "":
		return p.NotOnFake
	case len(r.report.Devices) < p.Devices:
		return fmt.Sprintf("it needs %d devices, this machine has %d", p.Devices, len(r.report.Devices))
	case r.report.CUDA < p.CUDA:
		return fmt.Sprintf("it needs a driver of CUDA %s or newer, this one is of CUDA %s", version(p.CUDA), version(r.report.CUDA))
	}
	return ""
}

var result = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (\S+)`)

// progress is what a measurement prints while it runs.
var progress = regexp.MustCompile(`^(run|round) \d+ of \d+ *$`)

// unsupported is what a test says before it is skipped because the device or its driver lacks something.
var unsupported = regexp.MustCompile(`not supported by this device: (.*)`)

// running is how a program says which test the lines after it are of.
var running = regexp.MustCompile(`^=== (?:RUN|NAME|CONT) +(\S+)`)

// outcome is what the lines of a program say about its tests.
type outcome struct {
	tests   map[string][]string // by PASS, FAIL and SKIP
	lacking []string            // tests that were skipped for what the device lacks, with the reason
	now     string              // the test whose lines come
	reasons map[string]string   // of tests; the results of parts of a test come after all of it
}

func (o *outcome) line(line string) {
	if m := running.FindStringSubmatch(line); m != nil {
		o.now = m[1]
	}
	if m := unsupported.FindStringSubmatch(line); m != nil {
		o.reasons[o.now] = m[1]
	}
	m := result.FindStringSubmatch(line)
	if m == nil {
		return
	}
	kind, test := m[1], m[2]
	if reason := o.reasons[test]; kind == "SKIP" && reason != "" {
		kind = "LACK"
		o.lacking = append(o.lacking, test+": "+reason)
	}
	o.tests[kind] = append(o.tests[kind], test)
}

// missing lists the tests that have no result.
func (o *outcome) missing(tests []string) (wrong []error) {
	for _, test := range tests {
		if !slices.ContainsFunc(slices.Collect(maps.Values(o.tests)), func(all []string) bool { return slices.Contains(all, test) }) {
			wrong = append(wrong, fmt.Errorf("%s did not run", test))
		}
	}
	return wrong
}

// part runs a part. It returns what the device lacks for it, how many tests passed, and what was wrong.
func (r *runner) part(ctx context.Context, p gpupack.Part) (lacking []string, passed int, err error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	o := outcome{tests: map[string][]string{}, reasons: map[string]string{}}
	tests := p.Tests
	if r.fake && p.OnFakeTests != nil {
		tests = p.OnFakeTests
	}
	out := &lines{to: func(line string) {
		o.line(line)
		if len(tests) > 0 {
			line = "    " + line
		}
		r.log.printf("%s", line)
	}}
	args := r.args(p)
	cmd := r.command(ctx, args[0], args[1:]...)
	cmd.Dir = r.file(p.Dir)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, out // one writer: the lines keep their order
	if len(tests) == 0 {
		cmd.Stderr = &said
	}
	err = cmd.Run()
	out.end()
	for line := range strings.SplitSeq(strings.ReplaceAll(said.String(), "\r", "\n"), "\n") {
		if line != "" && !progress.MatchString(line) {
			r.log.printf("    %s", line)
		}
	}
	var wrong []error
	if ctx.Err() != nil {
		wrong = append(wrong, fmt.Errorf("it was stopped: %w", ctx.Err()))
	} else if err != nil {
		wrong = append(wrong, err)
	}
	if failed := o.tests["FAIL"]; len(failed) > 0 {
		wrong = append(wrong, fmt.Errorf("failed: %s", strings.Join(failed, ", ")))
	}
	if skipped := o.tests["SKIP"]; len(skipped) > 0 {
		wrong = append(wrong, fmt.Errorf("skipped, which is a failure here: %s", strings.Join(skipped, ", ")))
	}
	if err := errors.Join(append(wrong, o.missing(tests)...)...); err != nil {
		return o.lacking, 0, errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return o.lacking, len(o.tests["PASS"]), nil
}
