package disco

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"

	generated "github.com/tvmffi-go/tvmffi/generated/tvm/disco"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// InitCCL chooses the library for collective operations: "cpu" is part of this package, the library of a new session, and
// for development and tests; "nccl" and "rccl" are TVM's for GPUs, with the number of a device for each worker of
// a host. After a collective operation on CPUs has failed, all others fail until InitCCL("cpu") has connected the
// workers again. No collective operation may run at the same time. The error is of kind ErrValue if TVM was built without the library.
func (s *Session) InitCCL(ctx context.Context, name string, devices ...int64) error {
	if name == "cpu" {
		s.ccl = ""
		return s.connect(ctx)
	}
	err := s.use(ctx, func() error { return generated.SessionInitCCL(s.handle, name, tvmffi.Of(devices...)) })
	if err == nil {
		s.ccl = name
	}
	return err
}

func (s *Session) connect(ctx context.Context) error {
	if s.options.Plain {
		return fmt.Errorf("collective operations on CPUs: %w in a session with Options.Plain", errors.ErrUnsupported)
	}
	token := rand.Text()
	network, address := "unix", "@tvmffi-disco-"+token[:8] // nothing of an abstract address remains in the file system
	if s.nodes != nil {
		network, address = "tcp", net.JoinHostPort(hostOf(s.nodes[0].conn.LocalAddr()), "0") // as the nodes know this host
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return err
	}
	h := newHub(l, token)
	s.setHub(h)
	d, err := s.command("connect", fmt.Sprint(network, " ", l.Addr(), " ", token, " ", s.workers, " ", s.options.Groups, " ", int64(s.options.Limit)))
	if err != nil {
		h.fail(err) // Close may have looked before
		return err
	}
	d.Release()
	return s.Sync(ctx)
}

// command runs one of the commands on all workers.
func (s *Session) command(name string, args ...any) (*DRef, error) {
	return s.invoke(name, commandPrefix+name, args...)
}

// commandOr runs one of the commands on all workers, or TVM's own function in its place: in a plain session, or for
// collective operations after InitCCL.
func (s *Session) commandOr(name, function string, args ...any) (*DRef, error) {
	if s.options.Plain || s.ccl != "" && function != "runtime.disco.load_vm_module" {
		return s.invoke(function, function, args...)
	}
	return s.command(name, args...)
}

// do runs a command whose result nobody needs.
func (s *Session) do(name, function string, args ...any) error {
	d, err := s.commandOr(name, "runtime.disco."+function, args...)
	d.Release()
	return err
}

// Empty makes a tensor on each worker, on the device of the worker. Its contents are undefined.
func (s *Session) Empty(dtype tvmffi.DataType, shape ...int64) (*DRef, error) {
	return s.empty(dtype, false, shape)
}

// EmptyOnWorker0 makes a tensor on worker 0. The value on the other workers is None.
func (s *Session) EmptyOnWorker0(dtype tvmffi.DataType, shape ...int64) (*DRef, error) {
	return s.empty(dtype, true, shape)
}

func (s *Session) empty(dtype tvmffi.DataType, worker0 bool, shape []int64) (*DRef, error) {
	if _, err := dtype.BytesOf(shape); err != nil { // TVM multiplies without a look
		return nil, err
	}
	dims, err := tvmffi.NewShape(shape...)
	if err != nil {
		return nil, err
	}
	defer dims.Release()
	return s.Call(s.Function("runtime.disco.empty"), dims, dtype, nil, worker0, false)
}

// CopyToWorker0 copies a tensor of this process to the tensor on worker 0. It does not wait:
// host must not be changed before the next [Session.Sync] has returned.
func (s *Session) CopyToWorker0(host *tvmffi.Tensor, to *DRef) error {
	if s.options.Plain {
		return s.use(context.Background(), func() error { return generated.SessionCopyToWorker0(s.handle, host, to.handle) })
	}
	if err := dense(host); err != nil {
		return err
	}
	number := lend(s.id, host)
	d, err := s.command("put", number, to)
	d.Release()
	if err != nil {
		takeBack(number)
	}
	return err
}

// CopyFromWorker0 copies the tensor on worker 0 to a tensor of this process, and waits for the copy. It
// also returns an error of the call that made the tensor.
func (s *Session) CopyFromWorker0(ctx context.Context, host *tvmffi.Tensor, from *DRef) error {
	if s.options.Plain {
		return s.use(ctx, func() error {
			if err := generated.SessionCopyFromWorker0(s.handle, host, from.handle); err != nil {
				return err
			}
			return generated.SessionSyncWorker(s.handle, 0)
		})
	}
	if err := dense(host); err != nil {
		return err
	}
	number := lend(s.id, host)
	d, err := s.command("take", number, from)
	if err != nil {
		takeBack(number)
		return err
	}
	defer d.Release()
	_, err = d.Get(ctx, 0)
	return err
}

// dense returns an error for a tensor whose elements are not one after the other: workers copy no others.
func dense(host *tvmffi.Tensor) error {
	if host.Contiguous() {
		return nil
	}
	return fmt.Errorf("the tensor %v has gaps between its elements: pass a Clone of it, or copy to one", host)
}

// The collective operations below work on tensors in CPU memory, on all workers at once: together if
// inGroup is false, and otherwise in each group, with its first worker in place of worker 0. They do
// not wait, and Sync returns their errors. Tensors of another element type than the source, and results of different shapes on
// the workers, are errors. The numbers go directly from worker to worker. After a
// failure the tensor's contents are undefined.

// Broadcast copies a tensor of this process to each worker, and returns those. It does not wait:
// host must not be changed before the next Sync has returned.
func (s *Session) Broadcast(host *tvmffi.Tensor) (*DRef, error) {
	to, err := s.Empty(host.DataType(), host.Shape()...)
	if err != nil {
		return nil, err
	}
	return s.from0(host, to, "broadcast", "broadcast_from_worker0")
}

// Scatter gives each worker one item of the first dimension of a tensor of this process, whose
// size is the number of workers, and returns those. It does not wait: host must not be changed
// before the next Sync has returned.
func (s *Session) Scatter(host *tvmffi.Tensor) (*DRef, error) {
	shape := host.Shape()
	if len(shape) == 0 || shape[0] != int64(s.workers) {
		return nil, fmt.Errorf("a tensor of shape %v cannot be scattered: its first dimension must be %d, the number of workers", shape, s.workers)
	}
	to, err := s.Empty(host.DataType(), shape[1:]...)
	if err != nil {
		return nil, err
	}
	return s.from0(host, to, "scatter", "scatter_from_worker0")
}

// from0 copies host to worker 0 and from there, by the command, to the tensor to. Its result is
// the result of the command: the same tensor, or the failure. A function of TVM returns nothing.
func (s *Session) from0(host *tvmffi.Tensor, to *DRef, command, function string) (*DRef, error) {
	from, err := s.EmptyOnWorker0(host.DataType(), host.Shape()...)
	if err != nil {
		return nil, err
	}
	defer from.Release()
	if err := s.CopyToWorker0(host, from); err != nil {
		return nil, err
	}
	d, err := s.commandOr(command, "runtime.disco."+function, from, false, to)
	if err == nil && (s.ccl != "" || s.options.Plain) {
		d, to = to, d
	}
	to.Release()
	return d, err
}

// Gather copies the tensors from of all workers, one after the other, to a tensor of this process, and waits for that.
func (s *Session) Gather(ctx context.Context, host *tvmffi.Tensor, from *DRef) error {
	to, err := s.EmptyOnWorker0(host.DataType(), host.Shape()...)
	if err != nil {
		return err
	}
	defer to.Release()
	if err := s.GatherToWorker0(from, to, false); err != nil {
		return err
	}
	if err := s.CopyFromWorker0(ctx, host, to); err != nil {
		return err
	}
	return s.Sync(ctx)
}

// BroadcastFromWorker0 copies the tensor from of worker 0 to the tensor to of each worker. The
// other workers need no from.
func (s *Session) BroadcastFromWorker0(from, to *DRef, inGroup bool) error {
	return s.do("broadcast", "broadcast_from_worker0", from, inGroup, to)
}

// ScatterFromWorker0 copies one part of the tensor from of worker 0 to the tensor to of each
// worker, in the order of the workers. The other workers need no from.
func (s *Session) ScatterFromWorker0(from, to *DRef, inGroup bool) error {
	return s.do("scatter", "scatter_from_worker0", from, inGroup, to)
}

// GatherToWorker0 copies the tensors from, one after the other, to the tensor to of worker 0. The
// other workers need no to. All tensors have one element type. The tensors from may differ in their first dimension alone. One of
// 4-bit elements that ends within a byte is an error.
func (s *Session) GatherToWorker0(from, to *DRef, inGroup bool) error {
	return s.do("gather", "gather_to_worker0", from, inGroup, to)
}

// Allgather copies the tensors from of all workers, one after the other, to the tensor to of each. It follows the rules of
// [Session.GatherToWorker0] for types and shapes.
func (s *Session) Allgather(from, to *DRef, inGroup bool) error {
	return s.do("allgather", "allgather", from, inGroup, to)
}

// Allreduce combines the tensors from of all workers, element by element, to the tensor to of each,
// which may be from itself. All workers get the same bits: numbers are combined in the order of the
// workers. 16-bit floats are computed in float32 and rounded once. Sums and products of integers wrap around, as those of Go and of
// NCCL do.
func (s *Session) Allreduce(from, to *DRef, op ReduceOp, inGroup bool) error {
	if s.ccl == "" && !s.options.Plain {
		return s.do("allreduce", "", from, int64(op), inGroup, to)
	}
	kind, err := tvmffi.NewShape(int64(op))
	if err != nil {
		return err
	}
	defer kind.Release()
	return s.do("", "allreduce", from, kind, inGroup, to)
}

// ReduceOp is how [Session.Allreduce] combines numbers.
type ReduceOp int64

// These are the operators. On CPUs, there is no average of integers.
const (
	Sum ReduceOp = iota
	Product
	Min
	Max
	Average
)
