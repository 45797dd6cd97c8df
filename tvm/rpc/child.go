package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	tvmrpc "github.com/tvmffi-go/tvmffi/generated/tvm/rpc"
)

// childVariable holds the server's settings for the process of a session.
const childVariable = "TVMFFI_RPC_SESSION"

// The descriptors of the process of a session.
const (
	childSocket = 3
	childLife   = 4 // a pipe that ends when the server does
)

// childReady reports whether main has called ServeChild.
var childReady atomic.Bool

// childTask is the value of childVariable.
type childTask struct {
	Dir        string
	MaxMemory  int64
	MaxArchive int64
}

// ServeChild serves a session and ends the process, if a server of this program has started the
// process for that. Otherwise it returns at once. A program whose server isolates sessions in
// processes calls it first in main, after registering its functions and loading its libraries:
// the process of a session does that too.
func ServeChild() {
	childReady.Store(true)
	text, ok := os.LookupEnv(childVariable)
	if !ok {
		return
	}
	os.Unsetenv(childVariable)
	if err := serveChild(text); err != nil {
		fmt.Fprintln(os.Stderr, "rpc: the session failed:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serveChild(text string) error {
	var task childTask
	if err := json.Unmarshal([]byte(text), &task); err != nil {
		return fmt.Errorf("%s in the environment is %q: only a server sets it: %w", childVariable, text, err)
	}
	go func() { // the server is gone: so is the session, even while a kernel runs
		io.Copy(io.Discard, os.NewFile(childLife, "life"))
		os.RemoveAll(task.Dir)
		os.Exit(3)
	}()
	defer os.RemoveAll(task.Dir) // the session may see the end of the server first
	if err := errors.Join(loadDevices(), registerEnvironment()); err != nil {
		return err
	}
	if err := os.Chdir(task.Dir); err != nil {
		return err
	}
	if err := limitMemory(task.MaxMemory); err != nil {
		return err
	}
	runtime.LockOSThread() // callbacks of the session run on this thread
	defer folders.enter(folder{task.Dir, task.MaxArchive})()
	return tvmrpc.ServerLoop(childSocket)
}

// errLeft is the cause of the end of a process whose client has left.
var errLeft = errors.New("the client has left")

// errBroken is the error of a session whose process was too slow to notice the loss.
var errBroken = errors.New("the connection to the client broke: it was reset, or the client has stopped reading")

// inChild serves a session in its own process.
func (s *Server) inChild(ctx context.Context, socket *socket, dir string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd, life, err := s.child(ctx, socket, dir)
	if err != nil {
		return err
	}
	defer life.Close()
	stop := watch(socket, func() { cancel(errLeft) })
	endGroup(cmd)
	err = cmd.Wait()
	stop()
	defer socket.abort()
	switch {
	case context.Cause(ctx) == errTimeout:
		expire(socket)
	case context.Cause(ctx) == errLeft && socket.broken():
		err = errBroken
	case ctx.Err() != nil:
		err = nil // the server was closed, or nobody waits for the result
	case crashed(err):
		sendException(socket, fmt.Sprintf("the process of the session crashed: %v; the output of the server says where", err))
	}
	return err
}

// child starts the process of a session. The process ends when the result life is closed.
func (s *Server) child(ctx context.Context, socket *socket, dir string) (*exec.Cmd, io.Closer, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, nil, err
	}
	task, err := json.Marshal(childTask{dir, s.config.MaxMemory, s.config.MaxArchive})
	if err != nil {
		return nil, nil, err
	}
	conn, err := socket.file()
	if err != nil {
		return nil, nil, err
	}
	defer conn.Close()
	ended, life, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer ended.Close()
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), childVariable+"="+string(task))
	cmd.ExtraFiles = []*os.File{conn, ended} // childSocket, childLife
	cmd.Stdout, cmd.Stderr = s.config.Output, s.config.Output
	cmd.WaitDelay = time.Second // for processes that a kernel has started and that keep the output
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		life.Close()
		return nil, nil, err
	}
	return cmd, life, nil
}

// crashed reports whether native code crashed the process, which Go reports as exit status 2, and
// C++ as a signal.
func crashed(err error) bool {
	var e *exec.ExitError
	if !errors.As(err, &e) {
		return false
	}
	state := e.String()
	return e.ExitCode() == 2 || strings.HasPrefix(state, "signal: ") && !strings.HasPrefix(state, "signal: killed")
}

// After its client has left, a session's process has this long to end before it is killed.
const (
	watchPeriod = 500 * time.Millisecond
	watchGrace  = 4
)

// watch calls f if the client closes the connection and the session does not end by itself,
// because a function still computes. The result ends the watch, and waits for f.
func watch(socket *socket, f func()) (stop func()) {
	stopped, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(watchPeriod)
		defer tick.Stop()
		for gone := 0; gone < watchGrace; {
			select {
			case <-stopped:
				return
			case <-tick.C:
			}
			if socket.hungUp() {
				gone++
			}
		}
		f()
	}()
	return func() { close(stopped); <-done }
}
