// Package child is what packages rpc, disco and xgrammar share: processes that are this program again.
package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// variable says, in the environment of a child, its role, the version of its program and its task.
const variable = "TVMFFI_CHILD"

// roles are what a child can be. The packages put theirs in when they are initialized.
var roles = map[string]func(task string) error{}

// Role makes serve what a child with the role does. Its error ends the process.
func Role(name string, serve func(task string) error) { roles[name] = serve }

var program = struct {
	sync.Mutex
	called   bool
	register func() error    // nil when it has been called
	loaded   map[string]bool // by role
}{loaded: map[string]bool{}}

// Main does not return in a child.
func Main(register func() error) {
	program.Lock()
	again := program.called
	if !again {
		program.called, program.register = true, register
	}
	program.Unlock()
	if again {
		panic("rpc.Main, disco.Main or xgrammar.Main was called before: one call is for all")
	}
	text, ok := os.LookupEnv(variable)
	role, rest, _ := strings.Cut(text, " ")
	parent, task, _ := strings.Cut(rest, " ")
	parent, trusted = strings.CutPrefix(parent, byRunning)
	version := itself().version // before the file of the program can change
	if !ok {
		return
	}
	err := fmt.Errorf("%s is %q, which no session has set", variable, text)
	if serve := roles[role]; serve != nil && parent != version {
		err = fmt.Errorf("this program has the version %s, and the one that has started it %.50s: restart that program", version, parent)
	} else if serve != nil {
		called()
		err = errors.Join(os.Unsetenv(variable), serve(task))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", role, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Needed returns an error unless this program can be started as a child.
func Needed() error {
	program.Lock()
	defer program.Unlock()
	if !program.called {
		return errors.New("processes that are this program again are needed, so main must call rpc.Main, disco.Main or xgrammar.Main first")
	}
	return nil
}

// Prepare calls load once in each process, and then, also once, what Main got.
func Prepare(role string, load func() error) error {
	program.Lock()
	defer program.Unlock()
	if !program.loaded[role] {
		if err := load(); err != nil {
			return err
		}
		program.loaded[role] = true
	}
	if register := program.register; register != nil {
		if err := register(); err != nil {
			return fmt.Errorf("the func passed to Main: %w", err)
		}
		program.register = nil
	}
	return nil
}

// Command returns the command of a child, which has the files from descriptor 3 on. The end of ctx kills it. The end of this
// process closes its standard input: see [Ended].
func Command(ctx context.Context, role, task string, files ...*os.File) (*exec.Cmd, error) {
	if runtime.GOOS == "windows" && len(files) > 0 {
		return nil, errors.New("a process that is this program again gets open files from it, which Go can do on Linux and macOS only: run this part of your program there")
	}
	program, err := Program()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Args = os.Args[:min(1, len(os.Args))]
	cmd.Env = append(os.Environ(), order(program, role, task))
	cmd.ExtraFiles = files
	cmd.WaitDelay = time.Second // for processes that the child has started and that keep its output
	_, err = cmd.StdinPipe()    // Wait closes it
	return cmd, err
}

// Ended returns when the process that started this child has ended.
func Ended() { _, _ = io.Copy(io.Discard, os.Stdin) }
