package disco

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/tvmffi-go/tvmffi/generated/tvm"
	generated "github.com/tvmffi-go/tvmffi/generated/tvm/disco"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// setup is what Main got, and what is registered once in each process.
var setup struct {
	sync.Mutex
	main  bool
	user  func() error
	ready bool
}

// Main prepares this program for workers. Call it first in main, or in TestMain.
//
// In the process that a user starts, Main returns at once. In a process that a session has started as a
// worker, it runs the worker and does not return. register registers the workers' Go funcs with
// [tvmffi.Register]; it runs once in each process, in the user's process when the first session is
// made. It may be nil.
func Main(register func() error) {
	setup.Lock()
	setup.main, setup.user = true, register
	setup.Unlock()
	place, isWorker := os.LookupEnv(workerVariable)
	if !isWorker {
		return
	}
	if err := errors.Join(os.Unsetenv(workerVariable), runWorker(place)); err != nil {
		fmt.Fprintln(os.Stderr, "tvm/disco:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runWorker(place string) error {
	var rank, size, groups int64
	if _, err := fmt.Sscanf(place, "%d,%d,%d", &rank, &size, &groups); err != nil {
		return fmt.Errorf("%s is %q, which no session has set: %w", workerVariable, place, err)
	}
	go endWithController()
	if err := prepare(); err != nil {
		return err
	}
	runtime.LockOSThread()
	return generated.WorkerProcess(rank, size, groups, ordersFile, repliesFile)
}

// endWithController ends the process when the controller has ended. A worker that waits for orders
// notices that; this is for one that works.
func endWithController() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	time.Sleep(time.Second)
	fmt.Fprintln(os.Stderr, "tvm/disco: the controller has ended")
	os.Exit(1)
}

// prepare loads the libraries and registers what workers need, once.
func prepare() error {
	setup.Lock()
	defer setup.Unlock()
	if setup.ready {
		return nil
	}
	if !supported {
		return fmt.Errorf("sessions of Disco need linux and a build without the tag tvmffi_portable: %w", errors.ErrUnsupported)
	}
	if err := generated.Load(); err != nil {
		return err
	}
	if _, err := tvm.Sidecars(); err != nil {
		return err
	}
	register := map[string]any{
		entry:       tvmffi.Packed(serve),
		poolName:    tvmffi.Packed(pool),
		localWorker: tvmffi.Packed(localWorkers),
	}
	for name, f := range collectives() {
		register[name] = f
	}
	for name, f := range register {
		if err := tvmffi.Register(name, f, tvmffi.Override()); err != nil {
			return err
		}
	}
	if setup.user != nil {
		if err := setup.user(); err != nil {
			return fmt.Errorf("the func passed to Main: %w", err)
		}
	}
	setup.ready = true
	return nil
}

// needMain returns an error unless this program can be started as a worker.
func needMain() error {
	setup.Lock()
	defer setup.Unlock()
	if !setup.main {
		return errors.New("the workers are processes of this program, which has not called disco.Main: call it first in main")
	}
	return nil
}
