package child_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/child"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// The task of the tests does what its request says. Its setup is a folder.
func init() {
	child.Answers("test", func(dir string) (func(string) (string, error), error) {
		if dir == "broken" {
			return nil, errors.New("a broken setup")
		}
		if dir == "large" {
			held = make([]byte, 100<<20)
			clear(held)
		}
		for told := false; exists(filepath.Join(dir, "slow")); time.Sleep(5 * time.Millisecond) {
			if !told {
				told = os.WriteFile(filepath.Join(dir, "pid"), []byte(strconv.Itoa(os.Getpid())), 0o600) == nil
			}
		}
		return func(request string) (string, error) {
			switch request {
			case "pid":
				return strconv.Itoa(os.Getpid()), nil
			case "sleep":
				os.WriteFile(filepath.Join(dir, "pid"), []byte(strconv.Itoa(os.Getpid())), 0o600)
				time.Sleep(time.Hour)
			case "exit":
				fmt.Fprintln(os.Stderr, "Warning: not the reason\nthe reason")
				os.Exit(7)
			case "grow":
				var all [][]byte
				for {
					all = append(all, make([]byte, 1<<20))
					clear(all[len(all)-1])
				}
			case "hold":
				held = make([]byte, 100<<20)
				clear(held)
			case "name":
				text, err := os.ReadFile("/proc/self/comm")
				return strings.TrimSpace(string(text)), err
			case "refuse":
				return "", errors.New("out of memory")
			case "print":
				fmt.Println("not an answer")
			}
			return request, nil
		}, nil
	})
}

var held []byte

func TestMain(m *testing.M) {
	if os.Getenv("CHILD_TEST_BY_PATH") != "" {
		child.NoRunning()
	}
	child.Main(nil)
	if dir := os.Getenv("CHILD_TEST_UPDATED"); dir != "" { // for TestProgram
		if err := updated(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir := os.Getenv("CHILD_TEST_LOAD"); dir != "" { // for TestProgram_underLoad
		if err := loaded(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir := os.Getenv("CHILD_TEST_DIR"); dir != "" { // for TestParent
		p, err := child.NewPool("test", dir, child.Limits{})
		if err == nil {
			_, err = p.Call(context.Background(), "sleep")
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// little is a limit of memory. The race detector needs four times what the program itself has.
var little = func() int64 {
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return 1 << 30
	}
	return 256 << 20
}()

func pool(t *testing.T, l child.Limits) (call func(string) (string, error)) {
	p, err := child.NewPool("test", t.TempDir(), l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return func(request string) (string, error) { return p.Call(t.Context(), request) }
}

// TestLimits: a request that reaches a limit or crashes its process is an error, and the next one has another process.
func TestLimits(t *testing.T) {
	limit := nativetest.Patience(500 * time.Millisecond)
	quick, small := pool(t, child.Limits{MaxTime: limit}), pool(t, child.Limits{MaxMemory: little})
	memory := fmt.Sprintf("it takes more memory than %d MiB (MaxMemory)", little>>20)
	last := ""
	for _, x := range []struct {
		call          func(string) (string, error)
		request, want string
	}{
		{quick, "sleep", fmt.Sprintf("it takes more time than %v (MaxTime)", limit)},
		{small, "exit", memory + ", or is too deep: its process crashed: exit status 7: the reason"},
		{small, "grow", memory + ", or is too deep: its process crashed: exit status "},
		{small, "refuse", memory},
	} {
		before, err := x.call("pid")
		if again, err2 := x.call("pid"); err != nil || err2 != nil || before != again || before == last {
			t.Fatalf("processes %s and %s, %v, %v; the last one was %s", before, again, err, err2, last)
		}
		last = before
		_, err = x.call(x.request)
		if limit := (*child.LimitError)(nil); !errors.As(err, &limit) || !strings.HasPrefix(err.Error(), x.want) {
			t.Errorf("%s: %v, want %s", x.request, err, x.want)
		}
		if pid, _ := strconv.Atoi(before); syscall.Kill(pid, 0) == nil {
			t.Errorf("%s: its process lives", x.request)
		}
	}
}

// TestFull: a process that keeps much memory gives its place to another one.
func TestFull(t *testing.T) {
	call := pool(t, child.Limits{MaxMemory: little})
	first, err := call("pid")
	if err != nil {
		t.Fatal(err)
	}
	if reply, err := call("print"); err != nil || reply != "print" {
		t.Errorf("%q %v", reply, err)
	}
	if reply, err := call("hold"); err != nil || reply != "hold" {
		t.Errorf("%q %v", reply, err)
	}
	if second, err := call("pid"); err != nil || second == first {
		t.Errorf("%s and %s %v", first, second, err)
	}
}

// TestFull_setup: only the memory that requests keep counts, not the one that the setup takes.
func TestFull_setup(t *testing.T) {
	p, err := child.NewPool("test", "large", child.Limits{MaxMemory: little})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	first, err1 := p.Call(t.Context(), "pid")
	if second, err2 := p.Call(t.Context(), "pid"); first != second || err1 != nil || err2 != nil {
		t.Errorf("processes %s and %s, %v, %v", first, second, err1, err2)
	}
}

// TestCancel: the end of a context, and of the pool, kills the process at once.
func TestCancel(t *testing.T) {
	dir := t.TempDir()
	p, err := child.NewPool("test", dir, child.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("why")
	for _, end := range []func(context.CancelCauseFunc){func(f context.CancelCauseFunc) { f(why) }, func(context.CancelCauseFunc) { p.Close() }} {
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := p.Call(ctx, "sleep")
			done <- err
		}()
		pid := waitForPid(t, dir)
		waiting, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if _, err := p.Call(waiting, "pid"); !errors.Is(err, context.DeadlineExceeded) { // no process is free
			t.Error(err)
		}
		stop()
		end(cancel)
		if err := <-done; err != why && err.Error() != "it was released" {
			t.Error(err)
		}
		if syscall.Kill(pid, 0) == nil {
			t.Error("the process lives")
		}
		cancel(nil)
	}
	if _, err := p.Call(t.Context(), "pid"); err == nil {
		t.Error("a closed pool answers")
	}
}

// TestStart: a start holds no caller whose context ends, is of use to the next one, and ends with its time and the pool.
func TestStart(t *testing.T) {
	dir, dir2 := t.TempDir(), t.TempDir()
	p, err := child.NewPool("test", dir, child.Limits{})
	p2, err2 := child.NewPool("test", dir2, child.Limits{MaxTime: 100 * time.Millisecond})
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	defer p2.Close()
	first, err := p.Call(t.Context(), "pid")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		if _, err := p.Call(ended, "pid"); err != context.Canceled {
			t.Fatal(err)
		}
	}
	if again, err2 := p.Call(t.Context(), "pid"); again != first {
		t.Errorf("processes %s and %s, %v, %v", first, again, err, err2)
	}

	slow := filepath.Join(dir, "slow")
	begin := func(ctx context.Context) (done chan error, pid int) {
		if _, err := p.Call(t.Context(), "exit"); err == nil {
			t.Fatal("the process did not end")
		}
		if err := os.WriteFile(slow, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		done = make(chan error, 1)
		go func() {
			_, err := p.Call(ctx, "pid")
			done <- err
		}()
		return done, waitForPid(t, dir)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done, pid := begin(ctx)
	cancel()
	if err := <-done; err != context.Canceled {
		t.Error(err)
	}
	os.Remove(slow)
	if next, err := p.Call(t.Context(), "pid"); next != strconv.Itoa(pid) {
		t.Errorf("process %s, want the one that was starting, %d: %v", next, pid, err)
	}

	_, err = p2.Call(t.Context(), "exit")
	if err2 := os.WriteFile(filepath.Join(dir2, "slow"), nil, 0o600); err == nil || err2 != nil {
		t.Fatal(err, err2)
	}
	restore := child.SetStartTime(0)
	if _, err := p2.Call(t.Context(), "pid"); err == nil || err.Error() != "the process did not start in 100ms" {
		t.Error(err)
	}
	restore()

	done, pid = begin(t.Context())
	p.Close()
	if err := <-done; err == nil || err.Error() != "it was released" {
		t.Error(err)
	}
	for end := time.Now().Add(nativetest.Patience(2 * time.Second)); syscall.Kill(pid, 0) == nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the process lives")
		}
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func waitForPid(t *testing.T, dir string) int {
	t.Helper()
	file := filepath.Join(dir, "pid")
	for end := time.Now().Add(nativetest.Patience(20 * time.Second)); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if text, err := os.ReadFile(file); err == nil && len(text) > 0 {
			os.Remove(file)
			pid, err := strconv.Atoi(string(text))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatal("the task did not start")
	return 0
}

// TestParent: a task ends with the process that has started it, even while it works.
func TestParent(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CHILD_TEST_DIR="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := waitForPid(t, dir)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for end := time.Now().Add(nativetest.Patience(2 * time.Second)); syscall.Kill(pid, 0) == nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the task lives")
		}
		var status syscall.WaitStatus
		_, _ = syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
	}
}

// TestClose: a pool ends its processes, also if it has not started all of them.
func TestClose(t *testing.T) {
	p, err := child.NewPool("test", t.TempDir(), child.Limits{Processes: 2})
	if err != nil {
		t.Fatal(err)
	}
	text, err := p.Call(t.Context(), "pid") // the next one would start the other process
	p.Close()
	pid, err2 := strconv.Atoi(text)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(nativetest.Patience(2 * time.Second)); syscall.Kill(pid, 0) == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("its process lives")
		}
	}
}

// updated starts processes after the file of this program was removed, and after it was replaced.
func updated(dir string) error {
	p, err := child.NewPool("test", dir, child.Limits{})
	if err != nil {
		return err
	}
	defer p.Close()
	for _, change := range []func() error{
		func() error { return nil },
		func() error { return os.Remove(os.Args[0]) },
		func() error { return os.WriteFile(os.Args[0], []byte("#!/bin/sh\nexit 7\n"), 0o700) },
	} {
		if err := change(); err != nil {
			return err
		}
		if _, err := p.Call(context.Background(), "exit"); err == nil {
			return errors.New("the process did not end")
		}
		if name, err := p.Call(context.Background(), "name"); err != nil || name != filepath.Base(os.Args[0]) {
			return fmt.Errorf("a process has the name %q: %w", name, err)
		}
	}
	return nil
}

// TestProgram: processes are the program that runs, whatever happens to its file. Where the system cannot do that, it is an
// error, and not another program.
func TestProgram(t *testing.T) {
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ variable, want string }{
		{"", ""},
		{"CHILD_TEST_BY_PATH=1", "program was removed or replaced, and the system cannot start what runs in another way: restart the program: stat "},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "program")
		if err := os.WriteFile(file, program, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(file)
		cmd.Env = append(os.Environ(), "CHILD_TEST_UPDATED="+dir, x.variable)
		out, err := cmd.CombinedOutput()
		if (err == nil) != (x.want == "") || !strings.Contains(string(out), x.want) {
			t.Errorf("%s: %v, want %q: %.1000s", x.variable, err, x.want, out)
		}
	}
}

func TestErrors(t *testing.T) {
	if _, err := child.NewPool("test", "broken", child.Limits{}); err == nil || !strings.Contains(err.Error(), "the process did not start: exit status 1: test: a broken setup") {
		t.Errorf("got %v", err)
	}
	for task, want := range map[string]string{
		"unknown 0":      `unknown: TVMFFI_CHILD is "unknown 0", which no session has set`,
		"test another 0": "and the one that has started it another: restart that program",
	} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "TVMFFI_CHILD="+task)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v %s", err, out)
		}
	}
}
