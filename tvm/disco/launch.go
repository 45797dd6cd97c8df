package disco

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	generated "github.com/tvmffi-go/tvmffi/generated/tvm/disco"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// poolName is the function that Disco asks for the processes of a session, and localWorker the one
// that a node of a socket session asks for the session of its own workers.
const (
	poolName    = "tvmffi.disco.pool"
	localWorker = "runtime.disco.create_socket_session_local_workers"
)

// host is the workers of one session on this host. Worker 0 is a thread of this process.
type host struct {
	processes []*process
	// ended is closed when the session of Disco has ended. The files of the processes must be open
	// until then: its destructor writes to them.
	ended chan struct{}
}

// launches has, by the thread that makes a session of Disco, the host that Disco is about to ask for, or the func that makes
// one: see expect.
var launches sync.Map

// startHost starts n-1 processes for n workers. All are started before Disco makes the session, because
// Disco would otherwise wait forever for one that cannot be started.
func startHost(n, groups int, out func(rank int, line string)) (*host, error) {
	h := &host{ended: make(chan struct{})}
	for i := 1; i < n; i++ {
		p, err := start(i, n, groups, func(line string) { out(i, line) })
		if err != nil {
			h.kill()
			h.release()
			return nil, err
		}
		h.processes = append(h.processes, p)
	}
	return h, nil
}

func (h *host) kill() {
	for _, p := range h.processes {
		p.kill()
	}
}

// release closes the files that Disco has used, after the end of its session and of the processes, or
// after kill.
func (h *host) release() {
	for _, p := range h.processes {
		p.release()
	}
	for _, p := range h.processes {
		<-p.gone
	}
}

// waitForEnd waits for the end of the session of Disco. A reference to it may be left to the
// collector, where calls need the path without assembly.
func (h *host) waitForEnd() {
	for {
		select {
		case <-h.ended:
			return
		case <-time.After(100 * time.Millisecond):
			runtime.GC()
		}
	}
}

// session makes the session of Disco for the workers of a host.
func (h *host) session(groups int) (*generated.Session, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer expect(h)()
	return generated.SessionProcess(int64(len(h.processes)+1), int64(groups), poolName, "")
}

// expect says what Disco asks for on this thread until done is called: a *host, or a func(n int) (*host, error).
func expect(what any) (done func()) {
	thread := threadID()
	launches.Store(thread, what)
	return func() { launches.Delete(thread) }
}

// pool is the function poolName. It returns the func that returns the files of a process.
func pool([]tvmffi.Any) (any, error) {
	what, _ := launches.Load(threadID())
	h, ok := what.(*host)
	if !ok {
		return nil, errors.New(poolName + ": package disco has not begun a session")
	}
	f, err := tvmffi.FuncOf(func(rank int) (any, error) {
		if rank == 0 { // the session says so once, at its end
			close(h.ended)
			return nil, nil
		}
		if rank < 0 || rank > len(h.processes) {
			return nil, fmt.Errorf("%s: worker %d of %d", poolName, rank, len(h.processes)+1)
		}
		p := h.processes[rank-1]
		files, err := tvmffi.NewShape(int64(p.replies.Fd()), int64(p.orders.Fd()))
		if err != nil {
			return nil, err
		}
		return tvmffi.Move(files), nil
	})
	if err != nil {
		return nil, err
	}
	return tvmffi.Move(f), nil
}

// localWorkers is the function localWorker.
func localWorkers(args []tvmffi.Any) (any, error) {
	what, _ := launches.Load(threadID())
	begin, ok := what.(func(n int) (*host, error))
	if !ok || len(args) != 1 {
		return nil, errors.New(localWorker + ": package disco has not begun a socket session")
	}
	n, err := tvmffi.As[int](args[0])
	if err != nil {
		return nil, err
	}
	h, err := begin(n)
	if err != nil {
		return nil, err
	}
	s, err := h.session(1)
	if err != nil {
		return nil, err
	}
	return tvmffi.Move(s), nil
}
