package disco

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Reconnect makes new connections between the workers. After a collective operation has failed, all
// others of the session fail until Reconnect, which needs all workers.
func (s *Session) Reconnect(ctx context.Context) error { return s.connect(ctx) }

func (s *Session) connect(ctx context.Context) error {
	token := newToken()
	perHost := s.workers
	var hosts []string
	if s.nodes != nil {
		perHost = s.workers / (len(s.nodes) + 1)
		hosts = s.hosts()
	}
	d, err := s.command("listen", token, strings.Join(hosts, ","), perHost)
	if err != nil {
		return err
	}
	defer d.Release()
	addresses := make([]string, s.workers)
	for i := range addresses {
		v, err := d.Get(ctx, i)
		if err != nil {
			return err
		}
		if addresses[i], err = tvmffi.As[string](v); err != nil {
			return fmt.Errorf("the address of worker %d: %w", i, err)
		}
	}
	text, err := json.Marshal(addresses)
	if err != nil {
		return err
	}
	d, err = s.command("connect", string(text), s.options.Groups, s.options.Limit.Milliseconds())
	if err != nil {
		return err
	}
	d.Release()
	return s.Sync(ctx)
}

// command runs one of the commands on all workers.
func (s *Session) command(name string, args ...any) (*DRef, error) {
	return s.invoke(name, commandPrefix+name, args...)
}

// do runs a command whose result nobody needs.
func (s *Session) do(name string, args ...any) error {
	d, err := s.command(name, args...)
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
	number := lend(s.id, host)
	err := s.do("put", number, to)
	if err != nil {
		forgetTensor(s.id, number)
	}
	return err
}

// CopyFromWorker0 copies the tensor on worker 0 to a tensor of this process, and waits for the copy. It
// also returns an error of the call that made the tensor.
func (s *Session) CopyFromWorker0(ctx context.Context, host *tvmffi.Tensor, from *DRef) error {
	number := lend(s.id, host)
	d, err := s.command("take", number, from)
	if err != nil {
		forgetTensor(s.id, number)
		return err
	}
	defer d.Release()
	_, err = d.Get(ctx, 0)
	return err
}

// The collective operations below work on tensors in CPU memory, on all workers at once: together if
// inGroup is false, and otherwise in each group, with its first worker in place of worker 0. They do
// not wait, and Sync returns their errors. The numbers go directly from worker to worker. After a
// failure the tensor's contents are undefined.

// Broadcast copies a tensor of this process to each worker, and returns those. It does not wait:
// host must not be changed before the next Sync has returned.
func (s *Session) Broadcast(host *tvmffi.Tensor) (*DRef, error) {
	to, err := s.Empty(host.DataType(), host.Shape()...)
	if err != nil {
		return nil, err
	}
	return s.from0(host, to, "broadcast")
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
	return s.from0(host, to, "scatter")
}

// from0 copies host to worker 0 and from there, by the command, to the tensor to. Its result is
// the result of the command: the same tensor, or the failure.
func (s *Session) from0(host *tvmffi.Tensor, to *DRef, command string) (*DRef, error) {
	defer to.Release()
	from, err := s.EmptyOnWorker0(host.DataType(), host.Shape()...)
	if err != nil {
		return nil, err
	}
	defer from.Release()
	if err := s.CopyToWorker0(host, from); err != nil {
		return nil, err
	}
	return s.command(command, from, false, to)
}

// BroadcastFromWorker0 copies the tensor from of worker 0 to the tensor to of each worker. The
// other workers need no from.
func (s *Session) BroadcastFromWorker0(from, to *DRef, inGroup bool) error {
	return s.do("broadcast", from, inGroup, to)
}

// ScatterFromWorker0 copies one part of the tensor from of worker 0 to the tensor to of each
// worker, in the order of the workers. The other workers need no from.
func (s *Session) ScatterFromWorker0(from, to *DRef, inGroup bool) error {
	return s.do("scatter", from, inGroup, to)
}

// GatherToWorker0 copies the tensors from, one after the other, to the tensor to of worker 0. The
// other workers need no to.
func (s *Session) GatherToWorker0(from, to *DRef, inGroup bool) error {
	return s.do("gather", from, inGroup, to)
}

// Allgather copies the tensors from of all workers, one after the other, to the tensor to of each.
func (s *Session) Allgather(from, to *DRef, inGroup bool) error {
	return s.do("allgather", from, inGroup, to)
}

// Allreduce combines the tensors from of all workers, element by element, to the tensor to of each,
// which may be from itself. All workers get the same bits: numbers are combined in the order of the
// workers. 16-bit floats are computed in float32 and rounded once.
func (s *Session) Allreduce(from, to *DRef, op ReduceOp, inGroup bool) error {
	return s.do("allreduce", from, int64(op), inGroup, to)
}
