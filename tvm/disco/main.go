package disco

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/tvmffi-go/tvmffi/generated/tvm"
	generated "github.com/tvmffi-go/tvmffi/generated/tvm/disco"
	"github.com/tvmffi-go/tvmffi/internal/child"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// role is the name of a worker's process.
const role = "disco"

func init() { child.Role(role, runWorker) }

// Main prepares this program for workers. Call it, or rpc.Main, once and first in main, or in TestMain.
//
// In the process that a user starts, Main returns at once. In a process that a session has started as a
// worker, it runs the worker and does not return. register registers the workers' Go funcs with
// [tvmffi.Register]; it runs once in each process, in the user's process when the first session is
// made. It may be nil.
func Main(register func() error) { child.Main(register) }

func runWorker(place string) error {
	var rank, size, groups int64
	if _, err := fmt.Sscanf(place, "%d,%d,%d", &rank, &size, &groups); err != nil {
		return fmt.Errorf("the place %q: %w", place, err)
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
	child.Ended()
	time.Sleep(time.Second)
	fmt.Fprintln(os.Stderr, "tvm/disco: the controller has ended")
	os.Exit(1)
}

// prepare loads the libraries and registers what workers need, once.
func prepare() error { return child.Prepare(role, registerAll) }

func registerAll() error {
	if !supported {
		return fmt.Errorf("sessions of Disco need linux and a build without the tag tvmffi_portable: %w", errors.ErrUnsupported)
	}
	if err := generated.Load(); err != nil {
		return err
	}
	if _, err := tvm.Sidecars(); err != nil {
		return err
	}
	// Modules call collective operations by these names: TVM puts the name of the library, which is empty for ours,
	// between the dots.
	register := map[string]any{
		entry:       tvmffi.Packed(serve),
		poolName:    tvmffi.Packed(pool),
		localWorker: tvmffi.Packed(localWorkers),
	}
	for command, name := range map[string]string{"broadcast": "broadcast_from_worker0", "scatter": "scatter_from_worker0", "gather": "gather_to_worker0", "allgather": "allgather", "allreduce": "allreduce"} {
		register["runtime.disco.."+name] = tvmffi.Packed(func(args []tvmffi.Any) (any, error) {
			w, err := current()
			if err != nil {
				return nil, err
			}
			return collective(command)(w, args)
		})
	}
	for name, f := range register {
		if err := tvmffi.Register(name, f, tvmffi.Override()); err != nil {
			return err
		}
	}
	return nil
}
