// Command tvmffi-bind writes typed Go bindings for TVM-FFI libraries, and shows,
// compares and calls what such libraries offer.
//
// Its exit codes are 0 for success, 1 for a negative answer (stale, refused, nothing
// found, the called function failed), and 2 when a command could not run.
//
// This folder holds main.go and one cmd_*.go for each command. The parts of commands are
// packages below cmd/tvmffi-bind/internal.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
	"github.com/tvmffi-go/tvmffi/internal/advice"
	"github.com/tvmffi-go/tvmffi/internal/find"
)

// The exit codes of the tool.
const (
	exitOK      = 0
	exitRefused = 1
	exitFailed  = 2
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // a command ends soon, and collects less
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // the write fails instead: under "go tool", a signal is a message
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, &console.Console{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Args[1:])
	stop()
	os.Exit(code)
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, con *console.Console, args []string) int {
	root := newRoot(con)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if con.Closed() {
		err = withoutClosedPipe(err)
	} else if lost := con.Lost(); lost != nil {
		con.Notef("tvmffi-bind: %v\n", lost)
		return exitFailed
	}
	if err == nil {
		return exitOK
	}
	err = advised(err)
	var r *console.Refusal
	refused := errors.As(err, &r)
	if !refused || !r.Quiet {
		con.Notef("tvmffi-bind: %v\n", err)
	}
	if refused {
		return exitRefused
	}
	return exitFailed
}

// advised adds what to do about a full disk, which the error of a linker has in its text, unless err says it.
func advised(err error) error {
	full := find.DiskFull(err) || strings.Contains(err.Error(), "no space left on device")
	if !full || strings.Contains(err.Error(), "free some space") {
		return err
	}
	return advice.Add(err, "free some space, and run it again")
}

// withoutClosedPipe removes from err that nobody reads standard output any more, which is not a failure.
func withoutClosedPipe(err error) error {
	if !errors.Is(err, syscall.EPIPE) {
		return err
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	var left []error
	for _, e := range joined.Unwrap() {
		left = append(left, withoutClosedPipe(e))
	}
	return errors.Join(left...)
}

func newRoot(con *console.Console) *cobra.Command {
	p := &probe.Prober{Console: con}
	root := &cobra.Command{
		Use:   "tvmffi-bind",
		Short: "Typed Go bindings for TVM-FFI libraries",
		Long: `tvmffi-bind reads a TVM-FFI library and writes a Go package for it: typed
functions, object types with fields, methods, constructors and docs.

Exit codes: 0 ok; 1 negative answer: stale, refused, nothing found, or the called
function failed; 2 could not run.
TVMFFI_LIBRARY names the libtvm_ffi to use. NO_COLOR turns colours off.`,
		Version:       console.Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          console.UnknownCommand,

		SuggestionsMinimumDistance: 2,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(con.In)
	root.SetOut(con.Out)
	root.SetErr(con.Err)
	root.SetFlagErrorFunc(console.BadFlag)
	root.PersistentFlags().BoolVar(&p.Offline, "offline", false, "never download: use what is installed or cached")
	root.PersistentFlags().DurationVar(&p.Timeout, "timeout", time.Minute, "time limit for loading and reading libraries")
	root.PersistentFlags().Int64Var(&p.Most, "most", 0, "megabytes that an unknown wheel may have when it is unpacked (default 64 and 20 times its size)")
	root.AddCommand(
		newGen(con, p), newExport(con), newInit(con, p), newDemo(con, p), newSetup(con, p), newShip(con), newCompilerFlags(con, p), newBuild(con, p), newDoctor(con, p),
		newLs(con, p), newDump(con, p), newDiff(con, p), newCall(con, p), newNames(con, p), newChild(con),
	)
	refuseUnknown(root)
	return root
}

// refuseUnknown makes "help" and "completion" fail for what they do not know; the ones of
// cobra print some help and succeed.
func refuseUnknown(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			cmd.Args = console.UnknownCommand
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		case "help":
			cmd.Args = func(_ *cobra.Command, args []string) error {
				if found, _, err := root.Find(args); err == nil && found != root {
					return nil
				}
				return console.UnknownCommand(root, args)
			}
		}
	}
}
