//go:build linux

package disktest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A Fault is what happens to a program.
type Fault int

const (
	// None lets the program run, and its changes are counted.
	None Fault = iota
	// Kill ends the process that is about to make the change, and the group of the program, by SIGKILL.
	Kill
	// Full makes the change fail as on a full disk, and also all later ones that need space.
	Full
)

// String returns the words for a message.
func (f Fault) String() string { return [...]string{"no fault", "a kill", "a full disk"}[f] }

// variable says, in the environment of the test program, which program it becomes when it has the filter.
const variable = "TVMFFI_TEST_DISK"

// A Run is a program that runs under the filter.
type Run struct {
	cmd      *exec.Cmd
	dir      string
	fault    Fault
	at       int
	listener int
	changes  int
	hit      string
	failed   error
	done     chan struct{}
}

// Start starts cmd, whose changes below dir are counted, with those of the processes that it starts. The change with the
// number at, from 0 on, meets the fault. It skips the test where the system cannot do that.
func Start(t testing.TB, cmd *exec.Cmd, dir string, fault Fault, at int) *Run {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	theirs := os.NewFile(uintptr(pair[1]), "filter")
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, theirs)
	cmd.Env = append(slices.Clone(cmd.Env), fmt.Sprint(variable, "=", 2+len(cmd.ExtraFiles), " ", cmd.Path))
	cmd.Path = self
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		t.Fatal(err)
	}
	r := &Run{cmd: cmd, dir: dir, fault: fault, at: at, done: make(chan struct{})}
	if r.listener, err = receive(pair[0]); err != nil {
		_ = cmd.Wait()
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) {
			t.Skipf("this system does not let a test see the system calls of a program: %v", err)
		}
		t.Fatal(err)
	}
	go r.watch()
	return r
}

// Wait waits for the end of the program. It returns how many changes there were, and the error of [exec.Cmd.Wait].
func (r *Run) Wait(t testing.TB) (changes int, err error) {
	t.Helper()
	err = r.cmd.Wait()
	<-r.done
	if r.failed != nil {
		t.Fatalf("the filter of system calls: %v", r.failed)
	}
	return r.changes, err
}

// Hit returns the change that met the fault, such as "write PATH", "" if there was none. It is for messages.
func (r *Run) Hit() string { return r.hit }

// Output runs cmd to its end as [Start] does, and returns its output as well.
func Output(t testing.TB, cmd *exec.Cmd, dir string, fault Fault, at int) (out string, r *Run, err error) {
	t.Helper()
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	cmd.WaitDelay = 10 * time.Second // for what a killed program has started and that keeps the output
	r = Start(t, cmd, dir, fault, at)
	_, err = r.Wait(t)
	return b.String(), r, err
}

// Changes returns how many changes a run has made.
func (r *Run) Changes() int { return r.changes }

// Moments returns numbers of changes at which a test has its faults: the first, the last, and others that the seed chooses.
// They are n, or as many as the variable TVMFFI_TEST_MOMENTS says, or all if there are no more.
func Moments(t testing.TB, changes, n int, seed uint64) []int {
	t.Helper()
	if text, ok := os.LookupEnv("TVMFFI_TEST_MOMENTS"); ok {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatalf("TVMFFI_TEST_MOMENTS: %v", err)
		}
	}
	all := rand.New(rand.NewPCG(seed, 1)).Perm(changes)
	if n < changes {
		all = append([]int{0, changes - 1}, slices.DeleteFunc(all, func(i int) bool { return i == 0 || i == changes-1 })...)[:max(n, 2)]
	}
	slices.Sort(all)
	return all
}

// watch answers the system calls of the program until the last process with the filter has ended.
func (r *Run) watch() {
	defer close(r.done)
	defer unix.Close(r.listener)
	for {
		poll := []unix.PollFd{{Fd: int32(r.listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); err == unix.EINTR {
			continue
		} else if err != nil {
			r.failed = err
			return
		}
		if poll[0].Revents&unix.POLLIN == 0 {
			return
		}
		var n notice
		if err := control(r.listener, receiveNotice, &n); err == unix.ENOENT || err == unix.EINTR {
			continue // its process was killed
		} else if err != nil {
			r.failed = err
			return
		}
		a := answer{ID: n.ID, Flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		if c := r.change(&n); c != "" {
			full := r.fault == Full && r.changes >= r.at && calls[int(n.Nr)].space && !exists(c)
			if (full || r.changes == r.at) && r.hit == "" {
				r.hit = c
			}
			if full {
				a.Flags, a.Error = 0, -int32(unix.ENOSPC)
			}
			r.changes++
			if r.fault == Kill && r.changes > r.at {
				r.kill(n.PID)
				continue // with an answer, it may make the change before it ends
			}
		}
		if err := control(r.listener, sendAnswer, &a); err != nil && err != unix.ENOENT {
			r.failed = err
			return
		}
	}
}

// kill ends the process with the thread, and the group of the program.
func (r *Run) kill(thread uint32) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", thread))
	_, rest, _ := strings.Cut(string(text), "\nTgid:\t")
	line, _, _ := strings.Cut(rest, "\n")
	if pid, err := strconv.Atoi(line); err == nil && pid > 1 {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	_ = unix.Kill(-r.cmd.Process.Pid, unix.SIGKILL)
}

// change describes a system call that changes something below the folder, "" for others.
func (r *Run) change(n *notice) string {
	c, ok := calls[int(n.Nr)]
	if !ok {
		return ""
	}
	if c.file >= 0 {
		path, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", n.PID, int32(n.Args[c.file])))
		if err != nil || !r.below(path) {
			return ""
		}
		return c.name + " " + path
	}
	for _, at := range c.paths {
		folder := fmt.Sprintf("/proc/%d/cwd", n.PID)
		if at.folder >= 0 && int32(n.Args[at.folder]) != unix.AT_FDCWD {
			folder = fmt.Sprintf("/proc/%d/fd/%d", n.PID, int32(n.Args[at.folder]))
		}
		path := text(n.PID, n.Args[at.path])
		if !filepath.IsAbs(path) {
			base, _ := os.Readlink(folder)
			path = filepath.Join(base, path)
		}
		if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			path = filepath.Join(folder, filepath.Base(path))
		}
		if r.below(path) {
			return c.name + " " + path
		}
	}
	return ""
}

// exists reports whether a change makes what is there, which needs no space, or is an error of its own.
func exists(change string) bool {
	verb, path, _ := strings.Cut(change, " ")
	if verb != "make" && verb != "create" {
		return false
	}
	_, err := os.Lstat(path)
	return err == nil
}

func (r *Run) below(path string) bool { return path == r.dir || strings.HasPrefix(path, r.dir+"/") }

// text reads a C string of another process.
func text(pid uint32, address uint64) string {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return ""
	}
	defer f.Close()
	var b []byte
	for page := uint64(os.Getpagesize()); len(b) < unix.PathMax; {
		part := make([]byte, page-address%page)
		if _, err := f.ReadAt(part, int64(address)); err != nil {
			return ""
		}
		if i := bytes.IndexByte(part, 0); i >= 0 {
			return string(append(b, part[:i]...))
		}
		b, address = append(b, part...), address+uint64(len(part))
	}
	return ""
}
