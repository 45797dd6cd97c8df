package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/bench/gpupack"
)

// runner runs a pack.
type runner struct {
	dir, logs   string
	fake        bool
	out, errors io.Writer

	manifest *gpupack.Manifest
	report   gpupack.Report
	loader   []string // the command that starts programs, none for those of the machine
	why      string   // the loader is needed
	env      []string
	log      *log
}

// prepare finds out what there is, before a log is begun.
func (r *runner) prepare(ctx context.Context) (err error) {
	if r.manifest, err = gpupack.Read(r.dir); err != nil {
		return err
	}
	if err := r.manifest.Check(r.dir); err != nil {
		return fmt.Errorf("the pack is damaged:\n%w\ncopy it again, whole and with the modes of its files, such as by tar or cp -a; if that does not help, make it again with bench/gpu -pack DIR", err)
	}
	if given := os.Getenv(gpupack.DriverVariable); given != "" {
		return fmt.Errorf("%s names %s: unset it, because the log must be of the driver of this machine", gpupack.DriverVariable, given)
	}
	if err := r.environment(); err != nil {
		return err
	}
	if err := r.libraries(ctx); err != nil {
		return err
	}
	said, err := r.ask(ctx, gpupack.ReportName, r.file(gpupack.LibraryName))
	if err != nil {
		return noGPU(err)
	}
	if err := json.Unmarshal(said, &r.report); err != nil {
		return fmt.Errorf("%s: %w", gpupack.ReportName, err)
	}
	if r.report.Fake && !r.fake {
		return fmt.Errorf("the driver %s is a fake of this project, not that of a GPU: remove it, or say -with-fake for a dry run", r.report.Driver)
	}
	if !r.report.Fake && r.fake {
		return fmt.Errorf("the driver %s is not the fake of this pack: make the pack again with bench/gpu -pack DIR", r.report.Driver)
	}
	images := gpupack.ImagesFor(r.report.CUDA)
	if _, err := os.Stat(r.file(images)); err != nil && r.hasImages() {
		return fmt.Errorf("the driver supports CUDA %s, and the pack has no images for that: it needs a driver of CUDA 12 or newer", version(r.report.CUDA))
	}
	r.set(gpupack.ImagesVariable, r.file(images))
	return nil
}

// noGPU is the error where the programs find no device. err is what the program report says.
func noGPU(err error) error {
	return fmt.Errorf("this machine has no GPU that CUDA can use.\n\nThe reason: %w\n\n"+
		"Next: install the NVIDIA driver, in which \"nvidia-smi\" must list a GPU, or start the container with --gpus all; then start this program again.\n"+
		"Do not set %s, which the reason may name: the log must be of the driver of this machine.\nA dry run needs no GPU: start it with -with-fake", err, gpupack.DriverVariable)
}

// hasImages reports whether any part of the pack needs images.
func (r *runner) hasImages() bool {
	for name := range r.manifest.Files {
		if strings.HasPrefix(name, "images/") {
			return true
		}
	}
	return false
}

// file returns the path of a file of the pack.
func (r *runner) file(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

// set sets a variable of the programs.
func (r *runner) set(name, value string) {
	r.env = slices.DeleteFunc(r.env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	r.env = append(r.env, name+"="+value)
}

// environment sets what all programs get. Nothing is written outside the pack and its log.
func (r *runner) environment() error {
	r.env = os.Environ()
	temp := r.file("tmp")
	if err := os.MkdirAll(temp, 0o700); err != nil {
		return fmt.Errorf("the pack must be writable: copy it to a folder of your own: %w", err)
	}
	for _, name := range []string{"TVMFFI_ALLOW_SKIP", gpupack.LoaderVariable, gpupack.ImagesVariable} {
		r.env = slices.DeleteFunc(r.env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	}
	r.set("TMPDIR", temp)
	r.set("TVMFFI_CACHE", filepath.Join(temp, "cache"))
	r.set(gpupack.PackVariable, r.dir)
	if r.fake {
		r.set(gpupack.DriverVariable, r.file(gpupack.FakeName))
		r.set("FAKECUDA_ABORT", "1") // a use of memory that a GPU does not forgive ends the process
	}
	return nil
}

// libraries decides whether the C and C++ libraries of the machine will do, or those of the pack are needed: the
// machine has none, or older ones than the one that made the pack.
func (r *runner) libraries(ctx context.Context) error {
	err := r.starts(ctx)
	if err == nil {
		return nil
	}
	r.why = strings.SplitN(err.Error(), "\n", 2)[0]
	r.loader = []string{r.file(gpupack.LoaderName), "--library-path", r.file("libc")}
	r.set(gpupack.LoaderVariable, strings.Join(r.loader, " "))
	if strings.ContainsAny(r.dir, " \t:;") {
		return fmt.Errorf("the libraries of the machine do not do (%s), and those of the pack cannot be used in the folder %q: "+
			"move it to one without spaces and colons in its name", r.why, r.dir)
	}
	if err := r.starts(ctx); err != nil {
		return fmt.Errorf("the programs of the pack start neither with the libraries of the machine (%s) nor with those of the pack: %w", r.why, err)
	}
	return nil
}

// starts checks that programs in Go and in C++ start, and load libtvm_ffi.
func (r *runner) starts(ctx context.Context) error {
	if _, err := r.ask(ctx, gpupack.ReportName, r.file(gpupack.LibraryName), "-libraries"); err != nil {
		return err
	}
	// Without arguments it prints how to use it.
	if _, err := r.ask(ctx, gpupack.PeerName); err != nil && !strings.Contains(err.Error(), "usage") {
		return err
	}
	return nil
}

// command returns a command of the pack.
func (r *runner) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	all := slices.Concat(r.loader, []string{r.file(program)}, args)
	cmd := exec.CommandContext(ctx, all[0], all[1:]...)
	cmd.Dir, cmd.Env = r.dir, r.env
	cmd.Stdin = new(bytes.Buffer) // a pipe: there may be no /dev/null
	return cmd
}

// ask runs a program and returns what it printed; the error shows the rest.
func (r *runner) ask(ctx context.Context, program string, args ...string) ([]byte, error) {
	var out, wrong bytes.Buffer
	cmd := r.command(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = &out, &wrong
	if err := cmd.Run(); err != nil {
		if said := strings.TrimSpace(wrong.String()); said != "" { // the exit status says no more
			return nil, errors.New(strings.TrimPrefix(said, filepath.Base(program)+": "))
		}
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	return out.Bytes(), nil
}

// version writes a version of CUDA the way CUDA writes it: 12040 is "12.4".
func version(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }
