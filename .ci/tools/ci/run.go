package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// run is one run of steps.
type run struct {
	out     io.Writer
	scratch string
	changed *changes

	mu      sync.Mutex // for what follows, and for out
	skips   []skip
	results []result

	installs sync.Mutex
}

type result struct {
	order     int // in the list of steps
	name      string
	err       error
	wall, cpu time.Duration
}

// all runs the steps, two at a time, and judges what they skipped.
func (r *run) all(ctx context.Context, chosen []step) error {
	begun := time.Now()
	slots := make(chan struct{}, 2)
	var wait sync.WaitGroup
	for i, s := range chosen {
		if s.alone {
			wait.Wait()
		}
		slots <- struct{}{}
		wait.Go(func() {
			r.step(ctx, i, s)
			<-slots
		})
		if s.alone {
			wait.Wait()
		}
	}
	wait.Wait()
	r.step(ctx, len(chosen), step{name: "skips", do: judgeSkips})

	fmt.Fprintf(r.out, "\n==== summary\n%7s %7s\n", "s", "CPU s")
	var cpu time.Duration
	var failed []string
	slices.SortStableFunc(r.results, func(a, b result) int { return a.order - b.order })
	for _, res := range r.results {
		cpu += res.cpu
		word := ""
		if res.err != nil {
			failed = append(failed, res.name)
			word = ": FAILED: " + strings.ReplaceAll(res.err.Error(), "\n", "; ")
		}
		fmt.Fprintf(r.out, "%7.0f %7.0f %s%s\n", res.wall.Seconds(), res.cpu.Seconds(), res.name, word)
	}
	fmt.Fprintf(r.out, "%7.0f %7.0f in all\n", time.Since(begun).Seconds(), cpu.Seconds())
	if len(failed) > 0 {
		return fmt.Errorf("failed: %s", strings.Join(failed, " "))
	}
	fmt.Fprintln(r.out, "all steps passed")
	return nil
}

// step runs a step, prints its output, and keeps its result.
func (r *run) step(ctx context.Context, order int, s step) {
	out := &buffer{}
	j := &job{run: r, step: s, ctx: ctx, out: out}
	begun := time.Now()
	err := ctx.Err()
	if err == nil {
		err = j.try()
	}
	if ctx.Err() != nil {
		err = errors.Join(errors.New("interrupted"), err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, "\n==== %s\n%s", s.name, out)
	word := "passed"
	if err != nil {
		word = "FAILED"
		fmt.Fprintln(r.out, err)
	}
	res := result{order, s.name, err, time.Since(begun), j.cpu}
	r.results = append(r.results, res)
	fmt.Fprintf(r.out, "==== %s: %s, %.0f s\n", s.name, word, res.wall.Seconds())
}

// buffer is the output of a step, which a command and the reader of another's log write at once.
type buffer struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write appends to the output.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns the output so far.
func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// job is a step that runs.
type job struct {
	*run
	step
	ctx context.Context
	out io.Writer
	dir string        // of its commands; the root if it is empty
	cpu time.Duration // of all its commands
}

// failed ends a step. The steps are like tests: any failure ends them, so they have no errors to return.
type failed struct{ error }

func (j *job) must(err error) {
	if err != nil {
		panic(failed{err})
	}
}

// try runs the step and returns why it ended early.
func (j *job) try() (err error) {
	defer func() {
		switch f := recover().(type) {
		case nil:
		case failed:
			err = f.error
		default:
			panic(f)
		}
	}()
	j.install()
	j.do(j)
	return nil
}

// command returns a command whose whole process group ends with the run.
func (j *job) command(words ...string) *exec.Cmd {
	c := exec.CommandContext(j.ctx, words[0], words[1:]...)
	c.Dir, c.Stdout, c.Stderr = j.dir, j.out, j.out
	c.Env = append(os.Environ(), j.env()...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	c.WaitDelay = 10 * time.Second // for a process that keeps the output open
	return c
}

// finish runs a command, counts its CPU time, and ends what it has left behind.
func (j *job) finish(c *exec.Cmd) error {
	err := c.Run()
	if c.Process != nil {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // fails if there is nothing left
	}
	if c.ProcessState != nil {
		j.cpu += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(append(j.env(), c.Args...), " "), err)
	}
	return nil
}

// sh runs a command.
func (j *job) sh(words ...string) { j.must(j.finish(j.command(words...))) }

// commands returns a step that is a list of commands for the shell.
func commands(lines ...string) func(*job) {
	return func(j *job) {
		for _, line := range lines {
			j.sh("sh", "-c", line)
		}
	}
}

// text runs a command and returns the lines that it prints.
func (j *job) text(words ...string) []string {
	c := j.command(words...)
	out := &strings.Builder{}
	c.Stdout = out
	j.must(j.finish(c))
	return strings.FieldsFunc(out.String(), func(r rune) bool { return r == '\n' })
}

// quietly runs a command and prints the end of its output if it fails.
func (j *job) quietly(words ...string) {
	c := j.command(words...)
	out := &buffer{}
	c.Stdout, c.Stderr = out, out
	err := j.finish(c)
	if err != nil {
		text := strings.SplitAfter(out.String(), "\n")
		fmt.Fprint(j.out, strings.Join(text[max(0, len(text)-100):], ""))
	}
	j.must(err)
}

// env and flags are the two kinds of words in the row of a step.
func (s step) env() []string {
	return slices.DeleteFunc(slices.Clone(s.args), func(w string) bool { return strings.HasPrefix(w, "-") })
}

func (s step) flags() []string {
	return slices.DeleteFunc(slices.Clone(s.args), func(w string) bool { return !strings.HasPrefix(w, "-") })
}

// spend lets compilers and linkers, but not the tests, use more memory and less time: GOGC=400 saves a seventh.
const spend = "-toolexec=env GOGC=400"

// goTest runs go test with the flags of the step. The step vet has looked at the code, and nobody debugs the programs.
func (j *job) goTest(args ...string) {
	j.readTest(j.command(slices.Concat(words{"go", "test", "-json", "-timeout=40m", "-vet=off", "-ldflags=-w", spend}, j.flags(), args)...))
}

// readTest prints the lines of a command `go test -json` that count, and keeps the skips.
func (j *job) readTest(c *exec.Cmd) {
	pr, pw := io.Pipe()
	c.Stdout = pw
	var skips []skip
	var bad error
	var read sync.WaitGroup
	read.Go(func() { skips, bad = readLog(pr, j.out, j.name) })
	err := j.finish(c)
	pw.Close()
	read.Wait()
	j.mu.Lock()
	j.run.skips = append(j.run.skips, skips...)
	j.mu.Unlock()
	if failed, ok := errors.AsType[failures](bad); ok {
		j.again(c, failed)
	}
	j.must(errors.Join(bad, err))
}

// again runs the tests that failed five times more, alone, and prints how often they failed: one that depends on time or on
// what runs beside it mostly passes. The step has failed all the same.
func (j *job) again(c *exec.Cmd, failed failures) {
	flags := slices.DeleteFunc(slices.Clone(c.Args), regexp.MustCompile(`^([^-]|-json$|-(run|skip|count|timeout)=)`).MatchString)
	for pkg, tests := range failed {
		if len(tests) == 0 || len(tests) > 5 {
			continue
		}
		run := "-run=^(" + strings.Join(tests, "|") + ")$"
		again := j.command(slices.Concat(words{"go", "test", pkg, run, "-count=5", "-timeout=5m"}, flags)...)
		out := &buffer{}
		again.Env, again.Dir, again.Stdout, again.Stderr = c.Env, c.Dir, out, out
		err := j.finish(again)
		n := strings.Count("\n"+out.String(), "\n--- FAIL: ")
		fmt.Fprintf(j.out, "again, 5 times, alone: %s of %s: %d failures", strings.Join(tests, " "), pkg, n)
		if err != nil && n == 0 {
			fmt.Fprintf(j.out, ", %v\n%s", err, out)
		}
		fmt.Fprintln(j.out)
	}
}

// install gets the Debian packages of programs that the machine does not have.
func (j *job) install() {
	j.installs.Lock()
	defer j.installs.Unlock()
	for program, packages := range j.needs {
		if _, err := exec.LookPath(program); err == nil {
			continue
		}
		apt := words{"env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-y", "--no-install-recommends"}
		if os.Geteuid() != 0 {
			apt = append(words{"sudo", "-n"}, apt...) // nobody is there to type a password
		}
		j.sh(append(apt, "update")...)
		j.sh(slices.Concat(apt, words{"install"}, strings.Fields(packages))...)
	}
}

// removeAll removes a folder that may hold a module cache, which the go command protects.
func removeAll(dir string) {
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(name, 0o700)
		}
		return err
	})
	if err := os.RemoveAll(dir); err != nil {
		fmt.Println(err)
	}
}
