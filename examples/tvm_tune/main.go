//go:build bindings

// This program tunes a product of matrices for the processor of this machine with MetaSchedule of Apache
// TVM. TVM searches; the builder, the runner and the measure callback are Go. No Python takes part in it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

func main() {
	rpc.Main(nil) // does not return in the processes that run the candidates
	rows := flag.Int64("n", 256, "rows of the matrices")
	trials := flag.Int64("trials", 32, "candidates to measure")
	dir := flag.String("dir", "tuned", "folder for the database")
	limit := flag.Duration("limit", 10*time.Second, "time to run a candidate")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	if err := run(ctx, os.Stdout, *rows, *trials, *dir, *limit); err != nil {
		log.Fatal(err)
	}
}

// run searches until all trials are done or ctx ends, and shows what was won.
func run(ctx context.Context, out io.Writer, rows, trials int64, dir string, limit time.Duration) error {
	_, err := describe(func() int {
		scratch := must(os.MkdirTemp("", "tvm_tune"))
		defer os.RemoveAll(scratch)
		server := must(rpc.Listen(rpc.Config{Logger: slog.New(slog.DiscardHandler)}))
		go func() { _ = server.Serve(context.Background()) }() // until Close
		defer server.Close()

		d := newDevice(server.Addr().String(), rows, limit)
		t := must(newTuning(ctx, out, d, scratch, dir))
		if err := t.search(trials); ctx.Err() == nil {
			must(0, err)
		}
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
		defer cancel()
		untuned, tuned := filepath.Join(scratch, "untuned.so"), filepath.Join(scratch, "tuned.so")
		must(0, compile(last, t.module, t.cpu, untuned))
		must(0, compile(last, must(t.best()), t.cpu, tuned))
		before, after := must(d.measure(last, untuned)), must(d.measure(last, tuned))
		return must(fmt.Fprintf(out, "untuned %v, tuned %v: %.1f times as fast, with the same results\n", before, after, float64(before)/float64(after)))
	})
	return err
}

// A device is an RPC server that runs kernels. It has a process for each session, so a kernel that crashes or does
// not end costs that process only.
type device struct {
	address    string
	limit      time.Duration // for one kernel
	rows       int64
	a, b, want []float32
}

// newDevice computes the product in Go. The numbers are small integers, so that every order of the additions has the same
// result.
func newDevice(address string, n int64, limit time.Duration) *device {
	d := &device{address: address, limit: limit, rows: n, a: make([]float32, n*n), b: make([]float32, n*n), want: make([]float32, n*n)}
	for i := range d.a {
		d.a[i], d.b[i] = float32(i%7)-3, float32(i%5)-2
	}
	for i := range n {
		for k := range n {
			for j, x := range d.b[k*n : (k+1)*n] {
				d.want[i*n+int64(j)] += d.a[i*n+k] * x
			}
		}
	}
	return d
}

// measure runs the kernel in a file, compares its result, and returns the time of one call.
func (d *device) measure(ctx context.Context, file string) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.limit, fmt.Errorf("running took more than %v, the -limit", d.limit))
	defer cancel()
	took, err := describe(func() time.Duration {
		session := must(rpc.Dial(ctx, d.address, rpc.DialOptions{}))
		defer session.Close()
		must(0, session.Upload(ctx, "kernel.so", must(os.ReadFile(file))))
		kernels := must(session.LoadModule(ctx, "kernel.so"))
		defer kernels.Release()
		var tensors []any
		for _, numbers := range [][]float32{d.a, d.b, make([]float32, len(d.want))} {
			t := must(session.NewTensor(ctx, tvmffi.Float32, tvmffi.CPU, d.rows, d.rows))
			defer t.Release()
			must(0, rpc.CopyFrom(ctx, session, t, numbers))
			tensors = append(tensors, t)
		}
		timer := must(kernels.Timer(ctx, entry, rpc.TimerOptions{Repeat: 1, MinRepeat: 50 * time.Millisecond}))
		defer timer.Release()
		times := must(timer.Run(ctx, tensors...))
		for i, x := range must(rpc.ReadSlice[float32](ctx, session, tensors[2].(*tvmffi.Tensor))) {
			if x != d.want[i] {
				must(0, fmt.Errorf("element %d of the product is %v, want %v", i, x, d.want[i]))
			}
		}
		return times[0]
	})
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return took, err
}
