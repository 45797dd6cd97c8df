package disco

import (
	"errors"
	"fmt"
	"net"
	"strings"
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
		"broadcast_from_worker0": collective(spread("broadcast", false)),
		"scatter_from_worker0":   collective(spread("scatter", true)),
		"gather_to_worker0":      collective(collect("gather", false)),
		"allgather":              collective(collect("allgather", true)),
		"allreduce":              (*worker).allreduce,
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

// memory returns the bytes of a tensor that an operation works on.
func memory(t *tvmffi.Tensor, what string) ([]byte, error) {
	if t == nil {
		return nil, fmt.Errorf("the worker has no tensor for the %s", what)
	}
	b, err := t.Bytes()
	if err != nil {
		return nil, fmt.Errorf("the tensor for the %s: %w", what, err)
	}
	return b, nil
}

// shares returns an error unless whole has the parts of size workers.
func shares(whole []byte, size, each int) error {
	if len(whole) != size*each {
		return fmt.Errorf("the tensor of all workers has %d bytes, expected %d workers with %d bytes each", len(whole), size, each)
	}
	return nil
}

func (g *group) allreduce(op ReduceOp, inGroup bool, from, to *tvmffi.Tensor) error {
	if op < Sum || op > Average {
		return fmt.Errorf("%v is not an operator", op)
	}
	out, err := memory(from, "source")
	if err != nil {
		return err
	}
	in, err := memory(to, "result")
	if err != nil {
		return err
	}
	t := from.DataType()
	if len(in) != len(out) || t != to.DataType() {
		return fmt.Errorf("the source is %d bytes of %v, and the result %d bytes of %v", len(out), t, len(in), to.DataType())
	}
	if _, err := reduceAll(op, t, [][]byte{nil}); err != nil { // before anything is sent
		return err
	}
	return g.ask("allreduce", inGroup, out, in, op, t)
}

// spread is a transfer from the first worker: broadcast, or scatter with parts.
func spread(op string, parts bool) transfer {
	return func(g *group, inGroup bool, from, to *tvmffi.Tensor) error {
		first, size := g.team(inGroup)
		in, err := memory(to, "result")
		var out []byte
		if err == nil && g.rank == first {
			if out, err = memory(from, "source"); err == nil && parts {
				err = shares(out, size, len(in))
			} else if err == nil && len(in) != len(out) {
				err = fmt.Errorf("the source has %d bytes, and the result %d", len(out), len(in))
			}
		}
		if err != nil {
			return err
		}
		return g.ask(op, inGroup, out, in, 0, tvmffi.DataType{})
	}
}

// collect is a transfer to all workers, or to the first one.
func collect(op string, toAll bool) transfer {
	return func(g *group, inGroup bool, from, to *tvmffi.Tensor) error {
		first, size := g.team(inGroup)
		out, err := memory(from, "source")
		var in []byte
		if err == nil && (toAll || g.rank == first) {
			if in, err = memory(to, "result"); err == nil {
				err = shares(in, size, len(out))
			}
		}
		if err != nil {
			return err
		}
		return g.ask(op, inGroup, out, in, 0, tvmffi.DataType{})
	}
}

// listen starts the hub on worker 0. It gets the token and the host to listen on, which is empty if all workers are on
// one host. It returns the address.
func (w *worker) listen(args []tvmffi.Any) (any, error) {
	w.close()
	if w.id.rank != 0 {
		return nil, nil
	}
	token, err1 := tvmffi.As[string](args[0])
	host, err2 := tvmffi.As[string](args[1])
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	network, address := "unix", "@tvmffi-disco-"+token[:8] // nothing of an abstract address remains in the file system
	if host != "" {
		network, address = "tcp", net.JoinHostPort(host, "0")
	}
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	workers.Lock()
	w.hub = newHub(l, token)
	workers.Unlock()
	return network + " " + l.Addr().String(), nil
}

// connect connects a worker with the hub. It gets the address, the token, the numbers of workers and groups and the limit
// for one operation in milliseconds.
func (w *worker) connect(args []tvmffi.Any) (any, error) {
	address, err1 := tvmffi.As[string](args[0])
	token, err2 := tvmffi.As[string](args[1])
	size, err3 := tvmffi.As[int](args[2])
	groups, err4 := tvmffi.As[int](args[3])
	limit, err5 := tvmffi.As[int64](args[4])
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return nil, err
	}
	g := &group{rank: int(w.id.rank), size: size, groups: groups, limit: time.Duration(limit) * time.Millisecond}
	network, place, _ := strings.Cut(address, " ")
	if err := joinGroup(g, network, place, token); err != nil {
		return nil, err
	}
	workers.Lock()
	w.group = g
	workers.Unlock()
	return nil, nil
}
