package disco

import (
	"errors"
	"fmt"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// transfer is an operation that copies the tensors of some workers to the tensors of others.
// A worker that only gives or only takes may have no tensor for the other part.
type transfer func(g *group, inGroup bool, from, to *tvmffi.Tensor) error

// collective returns the command for a transfer. Its arguments are those that modules give to the
// function of the same name: the tensor to send, whether each group is for itself, the tensor to
// receive, which is the result too.
func collective(f transfer) func(*worker, []tvmffi.Any) (any, error) {
	return func(w *worker, args []tvmffi.Any) (any, error) {
		var result any
		err := w.operate(args, func(g *group) error {
			if len(args) != 3 {
				return fmt.Errorf("the number of arguments is %d, expected 3", len(args))
			}
			result = args[2]
			from, err1 := tvmffi.As[*tvmffi.Tensor](args[0])
			inGroup, err2 := tvmffi.As[bool](args[1])
			to, err3 := tvmffi.As[*tvmffi.Tensor](args[2])
			if err := errors.Join(err1, err2, err3); err != nil {
				return err
			}
			return f(g, inGroup, from, to)
		})
		return result, err
	}
}

// operate runs an operation. If it fails here, it fails in all workers.
func (w *worker) operate(args []tvmffi.Any, f func(*group) error) error {
	g := w.group
	if g == nil {
		return errors.New("the workers are not connected")
	}
	if err := g.failure(); err != nil {
		return fmt.Errorf("an earlier collective operation has failed, and Session.InitCCL was not called since: %w", err)
	}
	for _, a := range args {
		if f, ok := failureIn(a); ok {
			_ = g.close(fmt.Errorf("an argument is the result of a call that has failed: %s: %s", f.Function, f.Message))
			return f.of(int(w.id.rank)).Err
		}
	}
	if err := f(g); err != nil {
		return g.close(err)
	}
	return nil
}

// allreduce is the command; its arguments are the tensor to send, the operator, whether each group
// is for itself, and the tensor to receive.
func (w *worker) allreduce(args []tvmffi.Any) (any, error) {
	return nil, w.operate(args, func(g *group) error {
		if len(args) != 4 {
			return fmt.Errorf("the number of arguments is %d, expected 4", len(args))
		}
		from, err1 := tvmffi.As[*tvmffi.Tensor](args[0])
		op, err2 := tvmffi.As[int64](args[1])
		inGroup, err3 := tvmffi.As[bool](args[2])
		to, err4 := tvmffi.As[*tvmffi.Tensor](args[3])
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			return err
		}
		return g.allreduce(ReduceOp(op), inGroup, from, to)
	})
}

// collectives returns what modules call. TVM looks for these names in a worker that has no
// library for collective operations, because the name of the library is empty then.
func collectives() map[string]any {
	const prefix = "runtime.disco.."
	all := map[string]any{}
	for name, command := range map[string]func(*worker, []tvmffi.Any) (any, error){
		"broadcast_from_worker0": collective((*group).broadcast),
		"scatter_from_worker0":   collective((*group).scatter),
		"gather_to_worker0":      collective((*group).gather),
		"allgather":              collective((*group).allgather),
		"allreduce":              (*worker).allreduce,
		"recv_from_worker0":      point(func(*group) int { return 0 }, true),
		"send_to_next_group":     point(func(g *group) int { return g.rank + len(g.peers)/g.groups }, false),
		"recv_from_prev_group":   point(func(g *group) int { return g.rank - len(g.peers)/g.groups }, true),
		"send_to_worker":         point(nil, false),
		"recv_from_worker":       point(nil, true),
	} {
		all[prefix+name] = tvmffi.Packed(func(args []tvmffi.Any) (any, error) {
			w, err := current()
			if err != nil {
				return nil, err
			}
			return command(w, args)
		})
	}
	return all
}

// point returns an operation between two workers: the other one is peer, or the second argument.
func point(other func(*group) int, receive bool) func(*worker, []tvmffi.Any) (any, error) {
	return func(w *worker, args []tvmffi.Any) (any, error) {
		return nil, w.operate(args, func(g *group) error {
			t, err := tvmffi.As[*tvmffi.Tensor](args[0])
			if err != nil {
				return err
			}
			var rank int
			if other != nil {
				rank = other(g)
			} else if rank, err = tvmffi.As[int](args[1]); err != nil {
				return err
			}
			if rank < 0 || rank >= len(g.peers) || rank == g.rank {
				return fmt.Errorf("worker %d has no peer %d among %d workers", g.rank, rank, len(g.peers))
			}
			b, err := memory(t, "message")
			if err != nil {
				return err
			}
			if end := time.Now().Add(g.limit); receive {
				return g.receive(opPoint, rank, b, end)
			} else {
				return g.send(opPoint, rank, b, end)
			}
		})
	}
}

func (g *group) broadcast(inGroup bool, from, to *tvmffi.Tensor) error {
	first, size := g.team(inGroup)
	in, err := memory(to, "result")
	if err != nil {
		return err
	}
	if g.rank != first {
		return g.exchange(opBroadcast, first, 1, nil, func(_ int, end time.Time) error {
			return g.receive(opBroadcast, first, in, end)
		})
	}
	out, err := memory(from, "source")
	if err != nil {
		return err
	}
	if len(in) != len(out) {
		return fmt.Errorf("the source has %d bytes, and the result %d", len(out), len(in))
	}
	return g.exchange(opBroadcast, first, size, func(int) []byte { return out }, func(i int, _ time.Time) error {
		if i == 0 {
			copy(in, out)
		}
		return nil
	})
}

// shares returns the parts of b, one for each of size workers.
func shares(b []byte, size, each int) (func(i int) []byte, error) {
	if len(b) != size*each {
		return nil, fmt.Errorf("the tensor of all workers has %d bytes, expected %d workers with %d bytes each", len(b), size, each)
	}
	return func(i int) []byte { return b[i*each : (i+1)*each] }, nil
}

func (g *group) scatter(inGroup bool, from, to *tvmffi.Tensor) error {
	first, size := g.team(inGroup)
	in, err := memory(to, "result")
	if err != nil {
		return err
	}
	if g.rank != first {
		return g.exchange(opScatter, first, 1, nil, func(_ int, end time.Time) error {
			return g.receive(opScatter, first, in, end)
		})
	}
	out, err := memory(from, "source")
	if err != nil {
		return err
	}
	share, err := shares(out, size, len(in))
	if err != nil {
		return err
	}
	return g.exchange(opScatter, first, size, share, func(i int, _ time.Time) error {
		if i == 0 {
			copy(in, share(0))
		}
		return nil
	})
}

func (g *group) gather(inGroup bool, from, to *tvmffi.Tensor) error {
	first, size := g.team(inGroup)
	out, err := memory(from, "source")
	if err != nil {
		return err
	}
	if g.rank != first {
		return g.exchange(opGather, first, 1, func(int) []byte { return out }, func(int, time.Time) error { return nil })
	}
	return g.collect(opGather, first, size, out, to, nil)
}

func (g *group) allgather(inGroup bool, from, to *tvmffi.Tensor) error {
	first, size := g.team(inGroup)
	out, err := memory(from, "source")
	if err != nil {
		return err
	}
	return g.collect(opAllgather, first, size, out, to, func(int) []byte { return out })
}

// collect receives the shares of all workers, of which out is the own one.
func (g *group) collect(op operation, first, size int, out []byte, to *tvmffi.Tensor, send func(int) []byte) error {
	in, err := memory(to, "result")
	if err != nil {
		return err
	}
	share, err := shares(in, size, len(out))
	if err != nil {
		return err
	}
	return g.exchange(op, first, size, send, func(i int, end time.Time) error {
		if first+i == g.rank {
			copy(share(i), out)
			return nil
		}
		return g.receive(op, first+i, share(i), end)
	})
}
