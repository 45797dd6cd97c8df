package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/tvmffi-go/tvmffi/native"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

//go:embed native/kernels.cc
var kernels string

// client asks the tracker for a server, and uses it.
func client(ctx context.Context, tracker, key string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	fleet := rpc.TrackerClient{Addr: tracker}
	session, err := fleet.Request(ctx, key, 1)
	if err != nil {
		return err
	}
	defer session.Close()
	fmt.Println("the tracker gave a session at", session.Addr())
	module, err := upload(ctx, session)
	if err != nil {
		return err
	}
	defer module.Release()
	for _, part := range []func(context.Context, *rpc.Session, *rpc.Module) error{compute, measure, fail, crash} {
		if err := part(ctx, session, module); err != nil {
			return err
		}
	}
	return nil
}

// upload compiles the kernels for this machine, and loads them on the server.
func upload(ctx context.Context, session *rpc.Session) (*rpc.Module, error) {
	file, err := native.Build(ctx, native.Code{
		Name: "kernels",
		CPP:  []string{kernels},
		Exports: map[string]string{
			"Saxpy": "Adds a times x to y.",
			"Crash": "Writes where nothing is.",
		},
	})
	if err != nil {
		return nil, err
	}
	library, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := session.Upload(ctx, "kernels.so", library); err != nil {
		return nil, err
	}
	fmt.Printf("uploaded %d kB\n", len(library)>>10)
	return session.LoadModule(ctx, "kernels.so")
}

// vector copies numbers to a tensor on the server.
func vector(ctx context.Context, session *rpc.Session, x []float32) (*tvmffi.Tensor, error) {
	t, err := session.NewTensor(ctx, tvmffi.Float32, tvmffi.CPU, int64(len(x)))
	if err != nil {
		return nil, err
	}
	return t, rpc.CopyFrom(ctx, session, t, x)
}

// compute calls the kernel with tensors of the server.
func compute(ctx context.Context, session *rpc.Session, module *rpc.Module) error {
	var all tvmffi.Scope
	defer all.Release()
	x, err := vector(ctx, session, []float32{1, 2, 3, 4})
	all.Add(x)
	if err != nil {
		return err
	}
	y, err := vector(ctx, session, []float32{10, 10, 10, 10})
	all.Add(y)
	if err != nil {
		return err
	}
	saxpy, err := module.Function(ctx, "Saxpy")
	if err != nil {
		return err
	}
	defer saxpy.Release()
	if _, err := saxpy.Call(ctx, 2.0, x, y); err != nil {
		return err
	}
	result, err := rpc.ReadSlice[float32](ctx, session, y)
	if err != nil {
		return err
	}
	fmt.Println("2 * [1 2 3 4] + 10 =", result)
	return nil
}

// measure measures the kernel on the server, and a call from here.
func measure(ctx context.Context, session *rpc.Session, module *rpc.Module) error {
	var all tvmffi.Scope
	defer all.Release()
	x, err := vector(ctx, session, make([]float32, 1<<20))
	all.Add(x)
	if err != nil {
		return err
	}
	timer, err := module.Timer(ctx, "Saxpy", rpc.TimerOptions{Number: 10, Repeat: 5})
	if err != nil {
		return err
	}
	defer timer.Release()
	times, err := timer.Run(ctx, 2.0, x, x)
	if err != nil {
		return err
	}
	fmt.Println("a million elements on the server:", slices.Min(times))
	threads, err := session.Function(ctx, "runtime.NumThreads")
	if err != nil {
		return err
	}
	defer threads.Release()
	const calls = 1000
	start := time.Now()
	for range calls {
		if _, err := threads.Call(ctx); err != nil {
			return err
		}
	}
	fmt.Println("a call from here:", (time.Since(start) / calls).Round(time.Microsecond/10))
	return nil
}

// fail calls the kernel with tensors that do not fit. The session goes on.
func fail(ctx context.Context, session *rpc.Session, module *rpc.Module) error {
	var all tvmffi.Scope
	defer all.Release()
	x, err := vector(ctx, session, make([]float32, 4))
	all.Add(x)
	if err != nil {
		return err
	}
	y, err := vector(ctx, session, make([]float32, 5))
	all.Add(y)
	if err != nil {
		return err
	}
	saxpy, err := module.Function(ctx, "Saxpy")
	if err != nil {
		return err
	}
	defer saxpy.Release()
	_, err = saxpy.Call(ctx, 2.0, x, y)
	var remote *tvmffi.Error
	if !errors.As(err, &remote) || remote.Kind != "RPCError" {
		return fmt.Errorf("a call with tensors that do not fit returned %w", err)
	}
	fmt.Println("an error of the server:", remote.Message)
	return nil
}

// crash calls a kernel that ends the process of its session. The server goes on.
func crash(ctx context.Context, _ *rpc.Session, module *rpc.Module) error {
	f, err := module.Function(ctx, "Crash")
	if err != nil {
		return err
	}
	defer f.Release()
	_, err = f.Call(ctx)
	var lost *rpc.ConnectionError
	if !errors.As(err, &lost) {
		return fmt.Errorf("a call that crashes returned %w", err)
	}
	fmt.Println("a crash on the server:", lost)
	return nil
}
