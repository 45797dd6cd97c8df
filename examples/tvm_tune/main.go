//go:build bindings

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

func main() {
	rpc.ServeChild() // does not return in the processes that run the candidates
	o := options{out: os.Stdout}
	flag.Int64Var(&o.rows, "n", 256, "rows of the matrices")
	flag.IntVar(&o.trials, "trials", 32, "candidates to measure")
	flag.IntVar(&o.batch, "batch", 8, "candidates in a batch")
	flag.Int64Var(&o.seed, "seed", 1, "of the search")
	flag.StringVar(&o.dir, "dir", "tuned", "folder for the database and the log")
	flag.StringVar(&o.device, "device", "", "`host:port` of an RPC server that runs the candidates, by default one in this program")
	flag.DurationVar(&o.limit, "limit", 10*time.Second, "time to compile a candidate, and to run it")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "tvm_tune:", err)
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	rows          int64
	trials, batch int
	seed          int64
	dir           string
	device        string
	limit         time.Duration
	out           io.Writer
}

// run tunes until all trials are done or ctx ends, and shows what was won.
func run(ctx context.Context, o options) error {
	scratch, err := os.MkdirTemp("", "tvm_tune")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	t, err := newTuning(ctx, o)
	if err != nil {
		return err
	}
	d, closeDevice, err := openDevice(ctx, o)
	if err != nil {
		return err
	}
	defer closeDevice()

	b := &builder{ctx: ctx, dir: scratch, workers: runtime.NumCPU(), limit: o.limit, compile: compile}
	err = t.run(b, &runner{ctx: ctx, measure: d.measure})
	if err != nil && ctx.Err() == nil {
		return err
	}
	t.summary()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Minute)
	defer cancel()
	return t.report(ctx, d, o.rows, scratch)
}

// openDevice connects to the server that the options name, or starts one.
func openDevice(ctx context.Context, o options) (d *device, closeDevice func(), err error) {
	if o.device != "" {
		d := &device{address: o.device, limit: o.limit}
		return d, d.Close, d.connect(ctx)
	}
	output, err := os.OpenFile(filepath.Join(o.dir, logFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, nil, err
	}
	logger := slog.New(slog.NewTextHandler(output, &slog.HandlerOptions{Level: slog.LevelWarn}))
	server, err := rpc.Listen(rpc.Config{Logger: logger, Output: output})
	if err != nil {
		return nil, nil, errors.Join(err, output.Close())
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(context.Background()) }()
	d = &device{address: server.Addr().String(), limit: o.limit}
	return d, func() {
		d.Close()
		server.Close()
		<-served
		output.Close()
	}, nil
}

// summary says what became of the trials.
func (t *tuning) summary() {
	p := t.progress
	if t.ctx.Err() != nil {
		fmt.Fprintf(t.out, "stopped after %d of %d trials\n", p.done, p.trials)
	}
	if p.errors > 0 {
		fmt.Fprintf(t.out, "%d of %d trials failed, the first one with: %s\n%s says more\n",
			p.errors, p.done, gist(p.example), filepath.Join(t.dir, logFile))
	}
}

// report measures the kernel before and after, and checks what it computes.
func (t *tuning) report(ctx context.Context, d *device, rows int64, scratch string) error {
	k, err := t.bestOf(ctx, scratch)
	if err != nil {
		return err
	}
	matrix := tensorType{dtype: tvmffi.Float32, shape: []int64{rows, rows}}
	untuned, tuned, err := compare(ctx, d, k, []tensorType{matrix, matrix, matrix})
	if err != nil {
		return err
	}
	if err := verify(ctx, d, k.tuned, rows); err != nil {
		return err
	}
	fmt.Fprintf(t.out, "untuned  %10s  %8s GFLOPS\n", duration(untuned), gflops(t.progress.flop, untuned))
	fmt.Fprintf(t.out, "tuned    %10s  %8s GFLOPS  %s; its results are right\n",
		duration(tuned), gflops(t.progress.flop, tuned), ratio(untuned, tuned))
	fmt.Fprintf(t.out, "%s has the schedules\n", filepath.Join(t.dir, recordFile))
	return nil
}

// ratio says what tuning won.
func ratio(untuned, tuned float64) string {
	if tuned > untuned {
		return "not faster: more trials may find a better schedule"
	}
	return fmt.Sprintf("%.1f times as fast", untuned/tuned)
}
