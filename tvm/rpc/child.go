package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	tvmrpc "github.com/tvmffi-go/tvmffi/generated/tvm/rpc"
	"github.com/tvmffi-go/tvmffi/internal/child"
)

// role is the name of a session's process.
const role = "rpc"

// childSocket is the descriptor of the connection in the process of a session.
const childSocket = 3

// childTask is what the process of a session gets.
type childTask struct {
	Dir       string
	MaxMemory int64
	Silence   time.Duration // of a client in the middle of a message; 0 if a relay limits it
}

// silentStatus is the exit status of a process whose client was silent for too long.
const silentStatus = 4

// errSilent is the error of such a session.
var errSilent = errors.New("a message ended early: the client was silent in the middle of it")

func init() { child.Role(role, serveChild) }

// Main prepares this program for sessions, which run in processes that are this program again. Call it, or disco.Main,
// once and first in main, or in TestMain.
//
// In the process that a user starts, Main returns at once. In the process of a session, it serves the session and does
// not return. register, which may be nil, registers the Go funcs that clients may call, with [tvmffi.Register]. It runs
// once in each process of a session.
func Main(register func() error) { child.Main(register) }

func serveChild(text string) (err error) {
	serves := false
	defer func() {
		if err != nil && !serves && load() == nil {
			sendException(ofChild(), fmt.Sprintf("the process of the session cannot serve: %v", err))
		}
	}()
	var task childTask
	if err := json.Unmarshal([]byte(text), &task); err != nil {
		return fmt.Errorf("the task %q: %w", text, err)
	}
	if err := makeFolder(task.Dir); err != nil {
		return err
	}
	go func() { // the server is gone: so is the session, even while a kernel runs
		child.Ended()
		for range 10 { // a file of an upload may come meanwhile
			if os.RemoveAll(task.Dir) == nil {
				break
			}
		}
		os.Exit(3)
	}()
	defer os.RemoveAll(task.Dir) // the session may see the end of the server first
	if err := child.Prepare(role, loadDevices); err != nil {
		return err
	}
	if err := folder(task.Dir).register(); err != nil {
		return err
	}
	if err := os.Chdir(task.Dir); err != nil {
		return err
	}
	ignoreFileLimit()
	if err := child.LimitMemory(task.MaxMemory); err != nil {
		return err
	}
	if task.Silence > 0 {
		runtime.LockOSThread()
		go endSilent(threadID(), task.Silence)
	}
	serves = true
	return tvmrpc.ServerLoop(childSocket)
}

// endSilent ends this process when its client is silent for too long in the middle of a message, which C++ waits for
// without limit on the thread.
func endSilent(thread int, limit time.Duration) {
	for tick := time.Tick(min(limit/4+time.Millisecond, 5*time.Second)); ; <-tick {
		if silent(thread, limit) {
			os.Exit(silentStatus)
		}
	}
}

// errLeft is the cause of the end of a process whose client has left.
var errLeft = errors.New("the client has left")

// errBroken is the error of a session whose process was too slow to notice the loss.
var errBroken = errors.New("the connection to the client broke: it was reset, or the client has stopped reading")

// inChild serves a session in its own process.
func (s *Server) inChild(ctx context.Context, socket *socket, dir string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd, err := s.child(ctx, socket, dir)
	if err != nil {
		err = fmt.Errorf("the process of the session cannot start: %w", err)
		sendException(socket, err.Error())
		socket.abort()
		return err
	}
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
	case cmd.ProcessState.ExitCode() == silentStatus:
		err = fmt.Errorf("%w for %v", errSilent, s.config.PeerTimeout)
	case crashed(err):
		sendException(socket, fmt.Sprintf("the process of the session crashed: %v; the output of the server says where", err))
	}
	return err
}

// child starts the process of a session.
func (s *Server) child(ctx context.Context, socket *socket, dir string) (*exec.Cmd, error) {
	task := childTask{Dir: dir, MaxMemory: s.config.MaxMemory}
	if !s.config.Relay {
		task.Silence = s.config.PeerTimeout
	}
	text, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	conn, err := socket.file()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	cmd, err := child.Command(ctx, role, string(text), conn)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = s.config.Output, s.config.Output
	ownGroup(cmd)
	return cmd, cmd.Start()
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
