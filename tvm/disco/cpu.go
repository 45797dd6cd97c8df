package disco

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"slices"
	"sync"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// The collective operations on CPUs, for development and tests: every worker sends its part to a hub in the process of the
// controller, which gives the parts of all to each when they have come. If an operation fails, all later ones fail.

// A part is what one worker brings to an operation. It has no type of its own, which net/rpc would want to be exported.
type part = struct {
	Op                string // with what the workers must agree on: Size too
	First, Size, Rank int    // the workers that take part, and this one
	Takes             bool   // whether it needs the parts of the others
	Data              []byte
}

// hub answers the workers of a session.
type hub struct {
	listener net.Listener
	token    string // that workers must know
	mu       sync.Mutex
	rounds   map[int]*round // by the first one of those who take part
	failed   chan struct{}
	err      error // valid when failed is closed
}

// A round is an operation whose parts come.
type round struct {
	op    string
	parts [][]byte
	left  int
	done  chan struct{}
}

func newHub(l net.Listener, token string) *hub {
	h := &hub{listener: l, token: token, rounds: map[int]*round{}, failed: make(chan struct{})}
	server := rpc.NewServer()
	if err := server.RegisterName("hub", h); err != nil {
		panic(err) // Exchange suits it
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // fail has closed it
			}
			go h.serve(server, c)
		}
	}()
	return h
}

// greetingLimit is how long a peer may take to send its token.
const greetingLimit = 5 * time.Second

func (h *hub) serve(server *rpc.Server, c net.Conn) {
	defer closeAll(c)
	var rank uint32
	token := make([]byte, len(h.token))
	_ = c.SetReadDeadline(time.Now().Add(greetingLimit))
	if binary.Read(c, binary.LittleEndian, token) != nil || string(token) != h.token || binary.Read(c, binary.LittleEndian, &rank) != nil {
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	left := func() { h.fail(fmt.Errorf("worker %d has left; its own error says why", rank)) }
	server.ServeConn(watched{c, left})
	left()
}

// watched is a connection that calls left at its end. ServeConn itself returns only when all calls have, and they may wait
// for the worker that has left.
type watched struct {
	net.Conn
	left func()
}

// Read calls left if it fails.
func (w watched) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if err != nil {
		w.left()
	}
	return n, err
}

// Exchange waits for the parts of all.
func (h *hub) Exchange(p part, parts *[][]byte) error {
	at := p.Rank - p.First // of this part among the parts
	h.mu.Lock()
	r := h.rounds[p.First]
	if r == nil {
		r = &round{p.Op, make([][]byte, p.Size), p.Size, make(chan struct{})}
		h.rounds[p.First] = r
	}
	if r.op != p.Op {
		h.mu.Unlock()
		h.fail(fmt.Errorf("worker %d is at %s, and another one at %s", p.Rank, p.Op, r.op))
		return h.err
	}
	r.parts[at] = p.Data
	if r.left--; r.left == 0 {
		delete(h.rounds, p.First)
		close(r.done)
	}
	h.mu.Unlock()
	select {
	case <-r.done:
		if p.Takes {
			*parts = r.parts
		}
		return nil
	case <-h.failed:
		return h.err
	}
}

// fail ends the hub. All workers that wait, or begin later, get the error.
func (h *hub) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		h.err = err
		close(h.failed)
		closeAll(h.listener)
	}
}

// group is a worker among the others. Only the thread of the worker uses it, apart from close.
type group struct {
	rank, size, groups int
	limit              time.Duration
	conn               net.Conn
	hub                *rpc.Client
	mu                 sync.Mutex
	err                error
}

// connect connects a worker with the hub. It gets the network, the address, the token, the numbers of workers and groups,
// and the limit for one operation.
func (w *worker) connect(args []tvmffi.Any) (any, error) {
	place, err := tvmffi.As[string](args[0])
	if err != nil {
		return nil, err
	}
	var network, address, token string
	g := &group{rank: int(w.id.rank)}
	if _, err := fmt.Sscan(place, &network, &address, &token, &g.size, &g.groups, (*int64)(&g.limit)); err != nil {
		return nil, err
	}
	if err := g.join(network, address, token); err != nil {
		return nil, fmt.Errorf("the controller cannot be reached: %w", err)
	}
	workers.Lock()
	defer workers.Unlock()
	w.setGroup(g)
	return nil, nil
}

func (g *group) join(network, address, token string) (err error) {
	if g.conn, err = net.DialTimeout(network, address, g.limit); err != nil {
		return err
	}
	_ = g.conn.SetWriteDeadline(time.Now().Add(g.limit))
	if _, err = g.conn.Write(binary.LittleEndian.AppendUint32([]byte(token), uint32(g.rank))); err != nil {
		closeAll(g.conn)
		return err
	}
	g.hub = rpc.NewClient(g.conn)
	return nil
}

// close ends the group with the reason err, nil for none, and returns the reason that came first.
func (g *group) close(err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil && err != nil {
		g.err = err
		_ = g.hub.Close() // the hub notices
	}
	return g.err
}

// exchange sends the part of this worker and returns the parts of all.
func (g *group) exchange(p part) (parts [][]byte, err error) {
	p.Rank = g.rank
	_ = g.conn.SetDeadline(time.Now().Add(g.limit))
	if err = g.hub.Call("hub.Exchange", p, &parts); err != nil {
		err = fmt.Errorf("%s: %w", p.Op, err)
	}
	_ = g.conn.SetDeadline(time.Time{}) // the client of net/rpc reads all the time
	return parts, err
}

// operate makes the operation with the name. A tensor that this worker neither sends nor gets may be nil.
func (g *group) operate(name string, op ReduceOp, inGroup bool, from, to *tvmffi.Tensor) error {
	p := part{Size: g.size}
	if inGroup {
		p.Size /= g.groups
		p.First = g.rank / p.Size * p.Size
	}
	var in []byte
	var err error
	if g.rank == p.First || name != "broadcast" && name != "scatter" {
		p.Data, err = memory(from, "source")
	}
	if p.Takes = g.rank == p.First || name != "gather"; p.Takes && err == nil {
		in, err = memory(to, "result")
	}
	if err != nil {
		return err
	}
	if name == "scatter" && g.rank == p.First && len(p.Data) != p.Size*len(in) {
		return fmt.Errorf("the source has %d bytes, expected %d for each of %d workers", len(p.Data), len(in), p.Size)
	}
	p.Op = fmt.Sprintf("%s of %d workers", name, p.Size)
	// The workers exchange bytes. The text of the operation has the element type and the shape, so that workers whose tensors
	// differ have an error and not the numbers of another type.
	if name == "gather" || name == "allgather" {
		if d, n := from.DataType(), from.Len(); n*int64(d.Bits)*int64(d.Lanes)%8 != 0 {
			return fmt.Errorf("%d elements of %v end within a byte, so the next tensor has no place behind them", n, d)
		}
		p.Op += " with tensors of " + rows(from)
	} else {
		p.Op += fmt.Sprintf(" with results of %v and the shape %v", to.DataType(), to.Shape())
	}
	if len(p.Data) > 0 && p.Takes && from.DataType() != to.DataType() && name != "allreduce" {
		return fmt.Errorf("the source has elements of %v, and the result of %v", from.DataType(), to.DataType())
	}
	if name == "allreduce" {
		d := from.DataType()
		if folds[d] == nil || op < Sum || op > Average || d != to.DataType() || op == Average && d.IsInteger() { // their sum may have no place
			return fmt.Errorf("numbers of type %v cannot be reduced by ReduceOp(%d) to %v", d, op, to.DataType())
		}
		p.Op += fmt.Sprintf(" by ReduceOp(%d) of %v", op, d)
	}
	parts, err := g.exchange(p)
	if err != nil || !p.Takes {
		return err
	}
	got := parts[0]
	switch name {
	case "scatter":
		each := len(got) / p.Size
		got = got[(g.rank-p.First)*each:][:each]
	case "gather", "allgather":
		got = slices.Concat(parts...)
	case "allreduce":
		got, err = folds[from.DataType()](op, parts)
	}
	if err == nil && len(got) != len(in) {
		err = fmt.Errorf("%s: %d bytes came, and the result has %d", p.Op, len(got), len(in))
	}
	copy(in, got)
	return err
}

// rows says what the tensors of all workers have in common if they are put one after the other: all but the number of rows.
func rows(t *tvmffi.Tensor) string {
	shape := t.Shape()
	if len(shape) == 0 {
		return fmt.Sprintf("%v without dimensions", t.DataType())
	}
	return fmt.Sprintf("%v with rows of the shape %v", t.DataType(), shape[1:])
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

// collective returns an operation as workers and modules call it: with the tensor to send, the operator of an allreduce,
// whether each group is for itself, and the tensor to receive, which is the result. If it fails here, it fails in all
// workers.
func collective(name string) func(*worker, []tvmffi.Any) (any, error) {
	return func(w *worker, args []tvmffi.Any) (any, error) {
		g := w.group
		if g == nil {
			return nil, errors.New("the workers are not connected")
		}
		if err := g.close(nil); err != nil {
			return nil, fmt.Errorf("an earlier collective operation has failed, and Session.InitCCL was not called since: %w", err)
		}
		for _, a := range args {
			if f, ok := failureIn(a); ok {
				err := f.of(g.rank).Err
				_ = g.close(err)
				return nil, err
			}
		}
		n := len(args)
		if n != 3 && (n != 4 || name != "allreduce") {
			return nil, g.close(fmt.Errorf("the number of arguments is %d, expected the source, whether each group is for itself, and the result", n))
		}
		from, err1 := tvmffi.As[*tvmffi.Tensor](args[0])
		op, err2 := int64(Sum), error(nil)
		if n == 4 {
			op, err2 = tvmffi.As[int64](args[1])
		}
		inGroup, err3 := tvmffi.As[bool](args[n-2])
		to, err4 := tvmffi.As[*tvmffi.Tensor](args[n-1])
		err := errors.Join(err1, err2, err3, err4)
		if err == nil {
			err = g.operate(name, ReduceOp(op), inGroup, from, to)
		}
		return args[n-1], g.close(err)
	}
}

// folds combine the elements of all parts, in order, so that all workers get the same bits.
var folds = map[tvmffi.DataType]func(op ReduceOp, parts [][]byte) ([]byte, error){
	tvmffi.Int8: fold[int8], tvmffi.Int16: fold[int16], tvmffi.Int32: fold[int32], tvmffi.Int64: fold[int64],
	tvmffi.Uint8: fold[uint8], tvmffi.Uint16: fold[uint16], tvmffi.Uint32: fold[uint32], tvmffi.Uint64: fold[uint64],
	tvmffi.Float32: fold[float32], tvmffi.Float64: fold[float64],
	tvmffi.Float16:  halves(tvmffi.F16.Float32, func(x float32) tvmffi.F16 { return tvmffi.F16(tvmffi.Float16.FromFloat32(x)) }),
	tvmffi.BFloat16: halves(tvmffi.BF16.Float32, tvmffi.ToBF16),
}

// halves folds numbers of 16 bits in float32, and rounds once.
func halves[H ~uint16](widen func(H) float32, narrow func(float32) H) func(ReduceOp, [][]byte) ([]byte, error) {
	return func(op ReduceOp, parts [][]byte) ([]byte, error) {
		wide := make([][]byte, len(parts))
		for i, p := range parts {
			for _, h := range elements[H](p) {
				wide[i] = append(wide[i], fixed(widen(h))...)
			}
		}
		total, err := fold[float32](op, wide)
		var b []byte
		for _, x := range elements[float32](total) {
			b = append(b, fixed(narrow(x))...)
		}
		return b, err
	}
}

func elements[T any](b []byte) []T {
	var zero T
	all := make([]T, len(b)/binary.Size(zero))
	_, _ = binary.Decode(b, binary.LittleEndian, all) // the size fits
	return all
}

func fold[T ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64](op ReduceOp, parts [][]byte) ([]byte, error) {
	total := elements[T](parts[0])
	for _, p := range parts[1:] {
		if len(p) != len(parts[0]) {
			return nil, fmt.Errorf("allreduce: %d bytes of one worker do not fit the %d of another", len(p), len(parts[0]))
		}
		for i, x := range elements[T](p) {
			switch op {
			case Sum, Average:
				total[i] += x
			case Product:
				total[i] *= x
			case Min:
				total[i] = min(total[i], x)
			case Max:
				total[i] = max(total[i], x)
			}
		}
	}
	if op == Average {
		for i := range total {
			total[i] /= T(len(parts))
		}
	}
	return fixed(total), nil
}
