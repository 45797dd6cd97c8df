package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// Outcomes of a mutant.
const (
	caught   = "caught"
	survived = "survived"
	broken   = "does not compile"
)

// judge builds and runs tests.
type judge struct {
	root string
	// work has the test programs and the changed files, cache what the compiler made.
	work, cache string
	// took is how long each package of tests runs without a change.
	took   map[string]time.Duration
	locked *os.File
}

// lock makes the folder work and keeps other runs out of it until the process ends.
func (j *judge) lock() error {
	if err := os.MkdirAll(j.work, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(j.work, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	j.locked = f
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("another run uses %s: %w", j.work, err)
	}
	return nil
}

// measure runs the tests of a package without a change, once.
func (j *judge) measure(ctx context.Context, pkg string) error {
	if _, ok := j.took[pkg]; ok {
		return nil
	}
	if out, err := j.build(ctx, pkg, ""); err != nil {
		return fmt.Errorf("%s: %w\n%s", pkg, err, out)
	}
	start := time.Now()
	out, err := j.test(ctx, pkg, 10*time.Minute)
	if err != nil {
		return fmt.Errorf("the tests of %s fail without a change: %w\n%s", pkg, err, out)
	}
	j.took[pkg] = time.Since(start)
	return nil
}

// try returns what the tests say to a mutant, and which of them failed.
func (j *judge) try(ctx context.Context, m *mutant, tests []string) (outcome, by string, err error) {
	file := filepath.Join(j.root, filepath.FromSlash(m.File))
	src, err := os.ReadFile(file)
	if err != nil {
		return "", "", err
	}
	changed := filepath.Join(j.work, "changed.go")
	overlay := filepath.Join(j.work, "overlay.json")
	text, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		return "", "", err
	}
	if err := errors.Join(os.WriteFile(changed, m.apply(src), 0o600), os.WriteFile(overlay, text, 0o600)); err != nil {
		return "", "", err
	}
	for _, pkg := range tests {
		if err := j.measure(ctx, pkg); err != nil {
			return "", "", err
		}
		if out, err := j.build(ctx, pkg, overlay); err != nil {
			if ctx.Err() != nil {
				return "", "", ctx.Err()
			}
			line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n# ")
			return broken, oneLine(line), nil
		}
		limit := 20*time.Second + 8*j.took[pkg]
		out, err := j.test(ctx, pkg, limit)
		if ctx.Err() != nil {
			return "", "", ctx.Err()
		}
		if err != nil {
			return caught, pkg + " " + failure(out, err), nil
		}
	}
	return survived, "", nil
}

// build makes the test program of a package, with the replaced files of an overlay.
func (j *judge) build(ctx context.Context, pkg, overlay string) ([]byte, error) {
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", j.program()} // linked faster
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	// Of a package without tests none is made, and the one before must not run.
	if err := os.Remove(j.program()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return j.run(ctx, j.root, "go", append(args, "./"+pkg)...)
}

func (j *judge) program() string { return filepath.Join(j.work, "tests.test") }

// mostMemory is the address space of a test program in KiB: a changed loop may allocate
// without end.
const mostMemory = 16 << 20

// test runs the test program.
func (j *judge) test(ctx context.Context, pkg string, limit time.Duration) ([]byte, error) {
	if _, err := os.Stat(j.program()); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no end after %s", limit.Round(time.Second)))
	defer cancel()
	out, err := j.run(ctx, filepath.Join(j.root, filepath.FromSlash(pkg)), "sh", "-c", fmt.Sprintf("ulimit -v %d; exec \"$0\" \"$@\"", mostMemory),
		j.program(), "-test.short", "-test.failfast", "-test.timeout=0")
	if err != nil && context.Cause(ctx) != nil {
		err = context.Cause(ctx)
	}
	return out, err
}

// run runs a program in a folder and returns what it writes. Whatever it has started ends
// with it.
func (j *judge) run(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOCACHE="+j.cache)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 5 * time.Second // for a pipe that a child has kept
	group := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = group
	var out output
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if cmd.Process != nil {
		group() //nolint:errcheck // usually none is left
	}
	return out.Bytes(), err
}

// output keeps the beginning of what a process writes.
type output struct{ bytes.Buffer }

// Write keeps p as far as there is room, and never fails.
func (o *output) Write(p []byte) (int, error) {
	if room := 1<<20 - o.Len(); room > 0 {
		o.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// failure names the test that failed, or how the process ended.
func failure(out []byte, err error) string {
	if m := failed.FindSubmatch(out); m != nil {
		return string(m[1])
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") || strings.HasPrefix(line, "SIG") {
			return oneLine(line)
		}
	}
	return err.Error()
}
