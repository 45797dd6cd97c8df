package disco

import (
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// The collective operations on CPUs, for development and tests: every worker sends its part to a hub in the process of
// worker 0, which answers when the parts of all have come. If an operation fails, all later ones fail.

// A request is the part of one worker in an operation, or why the worker gives up.
type request struct {
	Op          string
	First, Size int // the workers that take part
	Data        []byte
	Kind        ReduceOp
	Type        tvmffi.DataType
	Token, Err  string
	Rank        int
}

// An answer is what a worker gets, or why nobody gets anything.
type answer struct {
	Data []byte
	Err  string
}

// hub answers the workers of a session.
type hub struct {
	listener net.Listener
	token    string // that workers must know
	mu       sync.Mutex
	members  map[int]*member
	waiting  map[int][]*member // by the first one of those who take part
	err      error
}

// member is a worker as the hub sees it. The last request of a waiting one has no answer.
type member struct {
	conn net.Conn
	out  *gob.Encoder
	last request
}

func newHub(l net.Listener, token string) *hub {
	h := &hub{listener: l, token: token, members: map[int]*member{}, waiting: map[int][]*member{}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // fail has closed it
			}
			go h.serve(c)
		}
	}()
	return h
}

// greetingLimit is how long a peer may take to send its token.
const greetingLimit = 5 * time.Second

func (h *hub) serve(c net.Conn) {
	in, m, hello := gob.NewDecoder(c), &member{conn: c, out: gob.NewEncoder(c)}, request{}
	_ = c.SetReadDeadline(time.Now().Add(greetingLimit))
	if err := in.Decode(&hello); err != nil || hello.Token != h.token {
		_ = c.Close()
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	h.mu.Lock()
	if h.err != nil {
		_ = m.out.Encode(answer{Err: h.err.Error()})
		_ = c.Close()
	}
	h.members[hello.Rank] = m
	h.mu.Unlock()
	for {
		r := request{}
		err := in.Decode(&r)
		if err == nil && r.Err != "" {
			err = errors.New(r.Err)
		}
		if err != nil {
			h.fail(fmt.Errorf("worker %d has given up: %w", hello.Rank, err))
			return
		}
		r.Rank = hello.Rank
		h.take(m, r)
	}
}

// take answers all who take part if the request is the last one.
func (h *hub) take(m *member, r request) {
	h.mu.Lock()
	m.last = r
	team := append(h.waiting[r.First], m)
	h.waiting[r.First] = team
	if len(team) == r.Size {
		delete(h.waiting, r.First)
	}
	h.mu.Unlock()
	if len(team) < r.Size {
		return
	}
	slices.SortFunc(team, func(a, b *member) int { return a.last.Rank - b.last.Rank })
	results, err := combine(team)
	if err != nil {
		h.fail(err)
		return
	}
	for i, m := range team {
		go func() { _ = m.out.Encode(answer{Data: results[i]}) }() // serve notices an error
	}
}

// fail ends the hub. All workers that wait, or begin later, get the error.
func (h *hub) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return
	}
	h.err = err
	_ = h.listener.Close()
	for _, m := range h.members {
		_ = m.conn.SetWriteDeadline(time.Now().Add(time.Second))
		_ = m.out.Encode(answer{Err: err.Error()})
		_ = m.conn.Close()
	}
}

// combine returns the answers for those who take part, in order.
func combine(team []*member) ([][]byte, error) {
	first := team[0].last
	results := make([][]byte, len(team))
	var all [][]byte
	for _, m := range team {
		if r := m.last; r.Op != first.Op || r.Size != first.Size || r.Kind != first.Kind || r.Type != first.Type {
			if r.Op == first.Op {
				return nil, fmt.Errorf("worker %d calls %s with operator %v, type %v and %d workers, and worker %d with operator %v, type %v and %d workers", r.Rank, r.Op, r.Kind, r.Type, r.Size, first.Rank, first.Kind, first.Type, first.Size)
			}
			return nil, fmt.Errorf("worker %d is at the operation %s, and worker %d at %s", r.Rank, r.Op, first.Rank, first.Op)
		}
		all = append(all, m.last.Data)
	}
	switch first.Op {
	case "broadcast":
		for i := range results {
			results[i] = first.Data
		}
	case "scatter":
		for i := range results {
			each := len(first.Data) / len(team)
			results[i] = first.Data[i*each : (i+1)*each]
		}
	case "gather":
		results[0] = slices.Concat(all...)
	case "allgather":
		whole := slices.Concat(all...)
		for i := range results {
			results[i] = whole
		}
	default:
		total, err := reduceAll(first.Kind, first.Type, all)
		if err != nil {
			return nil, err
		}
		for i := range results {
			results[i] = total
		}
	}
	return results, nil
}

// group is a worker's connection to the hub. Only the thread of the worker uses it, apart from close.
type group struct {
	rank, size, groups int
	limit              time.Duration
	conn               net.Conn
	in                 *gob.Decoder
	out                *gob.Encoder
	mu                 sync.Mutex
	err                error
}

func joinGroup(g *group, network, address, token string) error {
	var err error
	if g.conn, err = net.DialTimeout(network, address, g.limit); err != nil {
		return fmt.Errorf("worker 0 cannot be reached: %w", err)
	}
	g.in, g.out = gob.NewDecoder(g.conn), gob.NewEncoder(g.conn)
	return g.out.Encode(request{Token: token, Rank: g.rank})
}

// failure returns the error that has ended the group, or nil.
func (g *group) failure() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// close ends the group with the reason err and returns the reason that came first.
func (g *group) close(err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.err = err
		_ = g.conn.SetDeadline(time.Now().Add(time.Second))
		_ = g.out.Encode(request{Err: err.Error()}) // if the worker is in an operation, the end of the connection says it
		_ = g.conn.Close()
	}
	return g.err
}

// team returns the first of the workers that take part, and their number.
func (g *group) team(inGroup bool) (first, size int) {
	if !inGroup {
		return 0, g.size
	}
	size = g.size / g.groups
	return g.rank / size * size, size
}

// ask takes part in an operation and copies the answer to the tensor to, unless that is nil.
func (g *group) ask(op string, inGroup bool, from, to []byte, kind ReduceOp, t tvmffi.DataType) error {
	first, size := g.team(inGroup)
	_ = g.conn.SetDeadline(time.Now().Add(g.limit))
	err := g.out.Encode(request{Op: op, First: first, Size: size, Data: from, Kind: kind, Type: t})
	var a answer
	if failed := g.in.Decode(&a); failed != nil { // an answer says more than an error of sending
		return fmt.Errorf("%s: the other workers do not answer: %w", op, errors.Join(err, failed))
	}
	switch {
	case a.Err != "":
		return fmt.Errorf("%s: %s", op, a.Err)
	case to != nil && len(a.Data) != len(to):
		return fmt.Errorf("%s: %d bytes came, and this worker expects %d", op, len(a.Data), len(to))
	}
	copy(to, a.Data)
	return nil
}

// reduceAll combines the elements of all parts, in order, so that all workers get the same bits.
func reduceAll(op ReduceOp, t tvmffi.DataType, parts [][]byte) ([]byte, error) {
	switch t {
	case tvmffi.Int8:
		return reduce[int8](op, parts)
	case tvmffi.Int16:
		return reduce[int16](op, parts)
	case tvmffi.Int32:
		return reduce[int32](op, parts)
	case tvmffi.Int64:
		return reduce[int64](op, parts)
	case tvmffi.Uint8:
		return reduce[uint8](op, parts)
	case tvmffi.Uint16:
		return reduce[uint16](op, parts)
	case tvmffi.Uint32:
		return reduce[uint32](op, parts)
	case tvmffi.Uint64:
		return reduce[uint64](op, parts)
	case tvmffi.Float32:
		return reduce[float32](op, parts)
	case tvmffi.Float64:
		return reduce[float64](op, parts)
	case tvmffi.Float16:
		return reduceHalf(op, parts, tvmffi.F16.Float32, func(x float32) tvmffi.F16 { return tvmffi.F16(tvmffi.Float16.FromFloat32(x)) })
	case tvmffi.BFloat16:
		return reduceHalf(op, parts, tvmffi.BF16.Float32, tvmffi.ToBF16)
	}
	return nil, fmt.Errorf("numbers of type %v cannot be reduced", t)
}

func reduce[T number](op ReduceOp, parts [][]byte) ([]byte, error) {
	total, err := decodeAll[T](parts)
	if err != nil {
		return nil, err
	}
	return fixed(fold(op, total)), nil
}

// reduceHalf computes in float32 and rounds once.
func reduceHalf[H tvmffi.F16 | tvmffi.BF16](op ReduceOp, parts [][]byte, widen func(H) float32, narrow func(float32) H) ([]byte, error) {
	halves, err := decodeAll[H](parts)
	if err != nil {
		return nil, err
	}
	wide := make([][]float32, len(parts))
	for i, part := range halves {
		for _, h := range part {
			wide[i] = append(wide[i], widen(h))
		}
	}
	var result []H
	for _, x := range fold(op, wide) {
		result = append(result, narrow(x))
	}
	return fixed(result), nil
}

func decodeAll[T any](parts [][]byte) ([][]T, error) {
	all := make([][]T, len(parts))
	for i, part := range parts {
		var zero T
		all[i] = make([]T, len(part)/binary.Size(zero))
		if _, err := binary.Decode(part, binary.LittleEndian, all[i]); err != nil || len(all[i]) != len(all[0]) {
			return nil, fmt.Errorf("allreduce: %d bytes of one worker do not fit the %d of another", len(part), len(parts[0]))
		}
	}
	return all, nil
}

// fold combines all parts in the first one.
func fold[T number](op ReduceOp, parts [][]T) []T {
	total := parts[0]
	for _, part := range parts[1:] {
		for i, x := range part {
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
	return total
}
