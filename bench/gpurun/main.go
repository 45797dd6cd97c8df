// Command gpurun is the program run of a folder that "bench/gpu -pack" makes. It runs everything in that folder on the
// GPU of a machine that has an NVIDIA driver and nothing else, and writes one log. It is linked statically, so that it
// starts where there is not even a C library.
//
// The exit status is 0 only if every part that this machine can run passed: 1 after a failure, 2 if nothing could be run.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := home(os.Args[0])
	if err != nil {
		fmt.Fprintf(os.Stderr, "run: nothing was run and no log was written: %v\n", err)
		os.Exit(2)
	}
	os.Exit(start(ctx, dir, os.Args[1:], os.Stdout, os.Stderr))
}

// start runs the pack in a folder and returns the exit status.
func start(ctx context.Context, dir string, args []string, out, errors io.Writer) int {
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.SetOutput(errors)
	fake := flags.Bool("with-fake", false, "a dry run on the fake driver of the pack; each line of the log says so")
	logs := flags.String("log", filepath.Join(dir, "log"), "write the log to this folder")
	flags.Usage = func() {
		fmt.Fprintln(errors, "usage: run [-with-fake] [-log DIR]\nREADME.md beside this program says what it does.")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err == flag.ErrHelp {
		return 0
	} else if err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(errors, "run: %q is not an argument\n", flags.Arg(0))
		flags.Usage()
		return 2
	}
	r := &runner{dir: dir, fake: *fake, out: out, errors: errors, logs: *logs}
	if err := r.prepare(ctx); err != nil {
		if ctx.Err() != nil { // programs that are ended say nothing about this machine
			err = fmt.Errorf("it was interrupted")
		}
		fmt.Fprintf(errors, "run: nothing was run and no log was written: %v\n", err)
		return 2
	}
	return r.run(ctx)
}

// home returns the folder of this program. Without /proc only its name says where that is.
func home(name string) (string, error) {
	if exe, err := os.Executable(); err == nil {
		return filepath.Dir(exe), nil
	}
	if !strings.Contains(name, "/") {
		return "", fmt.Errorf("there is no /proc here: start this program by its path, such as ./%s", name)
	}
	exe, err := filepath.Abs(name)
	return filepath.Dir(exe), err
}
