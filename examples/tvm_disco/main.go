// Command tvm_disco spreads a network of two layers over workers, by Disco of TVM: threads,
// processes of this program, and processes on two hosts.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"time"

	"github.com/tvmffi-go/tvmffi/native"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/disco"
)

var (
	listen = flag.String("listen", "", "wait at this `address` for nodes; anyone who can connect becomes one")
	nodes  = flag.Int("nodes", 2, "number of hosts with -listen, this one among them")
	per    = flag.Int("workers", 2, "number of workers on each host")
	join   = flag.String("join", "", "be a node of the program that listens at this `address`")
	local  = flag.String("local", "", "`address` of this host that a node uses")
)

func main() {
	disco.Main(register) // first: a worker is this program too
	flag.Parse()
	log.SetFlags(0)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

// register gives the workers a Go func. They have all functions of TVM anyway.
func register() error {
	return tvmffi.Register("demo.check", func(x int64) (int64, error) {
		if x < 0 {
			return 0, tvmffi.NewError("ValueError", fmt.Sprint(x, " is negative"))
		}
		fmt.Println("a worker has checked", x)
		return x + 1, nil
	})
}

func run(ctx context.Context) error {
	file, err := native.Build(ctx, native.Code{Name: "share", CPP: []string{source}, Exports: map[string]string{"share": ""}})
	if err != nil {
		return err
	}
	if *join != "" {
		from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(*local)}}
		return disco.Join(ctx, *join, disco.NodeOptions{Workers: *per, Output: os.Stdout, Dial: from.DialContext})
	}
	if *listen != "" {
		return hosts(ctx, *listen, *nodes, *per, file, nil)
	}
	for _, n := range []int{2, 4} {
		fmt.Printf("%d processes\n", n)
		s, err := disco.Processes(ctx, n, disco.Options{Output: os.Stdout})
		if err != nil {
			return err
		}
		if err := errors.Join(network(ctx, s, file), failing(ctx, s), s.Close()); err != nil {
			return err
		}
	}
	return hosts(ctx, "127.0.0.1:0", 2, *per, file, startNode)
}

// hosts runs the network on several hosts. start starts a node, if it is not nil.
func hosts(ctx context.Context, address string, nodes, per int, file string, start func(string) (*exec.Cmd, error)) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	defer l.Close()
	if start != nil {
		node, err := start(l.Addr().String())
		if err != nil {
			return err
		}
		defer node.Wait()
	} else {
		fmt.Println("waiting for nodes at", l.Addr())
	}
	s, err := disco.Sockets(ctx, l, nodes, per, disco.Options{Output: os.Stdout})
	if err != nil {
		return err
	}
	fmt.Printf("%d hosts with %d workers each\n", nodes, per)
	return errors.Join(network(ctx, s, file), s.Close())
}

// startNode starts this program as another host, which is another loopback address here.
func startNode(address string) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	node := exec.Command(program, "-join", address, "-local", "127.0.0.2", "-workers", fmt.Sprint(*per))
	node.Stdout = os.Stdout
	return node, node.Start()
}

// The network has 4 inputs, 8 hidden numbers and 3 outputs.
const inputs, hidden, outputs = 4, 8, 3

//go:embed native/share.cc
var source string

// network computes relu(x w1) w2 for two rows x. Each worker has a share of the hidden numbers, and
// an allreduce adds what they have computed.
func network(ctx context.Context, s *disco.Session, file string) error {
	if hidden%s.Workers() != 0 {
		return fmt.Errorf("%d workers cannot share %d hidden numbers evenly", s.Workers(), hidden)
	}
	width := hidden / s.Workers()
	x, w1, w2 := []float32{1, 2, 3, 4, 4, 3, 2, 1}, make([]float32, inputs*hidden), make([]float32, hidden*outputs)
	for i := range w1 {
		w1[i] = float32(i%5 - 2)
	}
	for i := range w2 {
		w2[i] = float32(i%3) / 2
	}
	input, err := tvmffi.FromSlice(x, 2, inputs)
	if err != nil {
		return err
	}
	defer input.Release()
	first, err := tvmffi.FromSlice(columns(w1, width), int64(s.Workers()), inputs, int64(width))
	if err != nil {
		return err
	}
	defer first.Release()
	second, err := tvmffi.FromSlice(w2, int64(s.Workers()), int64(width), outputs)
	if err != nil {
		return err
	}
	defer second.Release()

	a, err1 := s.Broadcast(input)
	b, err2 := s.Scatter(first)
	c, err3 := s.Scatter(second)
	y, err4 := s.Empty(tvmffi.Float32, 2, outputs)
	m, err5 := s.LoadVMModule(file, nil)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return err
	}
	share, err := m.Function("share")
	if err != nil {
		return err
	}
	if _, err := s.Call(share, a, b, c, y); err != nil {
		return err
	}
	if err := errors.Join(s.Allreduce(y, y, disco.Sum, false), s.Sync(ctx)); err != nil {
		return err
	}
	for worker := range s.Workers() {
		if err := show(ctx, y, worker); err != nil {
			return err
		}
	}
	return nil
}

// show prints the tensor of one worker.
func show(ctx context.Context, y *disco.DRef, worker int) error {
	v, err := y.Get(ctx, worker)
	if err != nil {
		return err
	}
	defer v.Release()
	t, err := tvmffi.As[*tvmffi.Tensor](v)
	if err != nil {
		return err
	}
	numbers, err := tvmffi.ReadSlice[float32](t)
	if err != nil {
		return err
	}
	fmt.Printf("worker %d: %v\n", worker, numbers)
	return nil
}

// columns returns the columns of w1 in the order of the workers, width for each.
func columns(w1 []float32, width int) (parts []float32) {
	for from := 0; from < hidden; from += width {
		for row := range inputs {
			parts = append(parts, w1[row*hidden+from:row*hidden+from+width]...)
		}
	}
	return parts
}

// failing calls a function that fails. The session goes on.
func failing(ctx context.Context, s *disco.Session) error {
	check := s.Function("demo.check")
	bad, err := s.Call(check, -1)
	if err != nil {
		return err
	}
	_, err = bad.Get(ctx, 1)
	var failed *disco.WorkerError
	if !errors.As(err, &failed) || !errors.Is(err, tvmffi.ErrValue) {
		return fmt.Errorf("a ValueError was expected: %w", err)
	}
	fmt.Println("the error is", failed)
	if err := s.Sync(ctx); err == nil {
		return errors.New("after a failed function, Sync has no error")
	}
	good, err := s.Call(check, 1)
	if err != nil {
		return err
	}
	v, err := good.Get(ctx, 1)
	if err != nil {
		return err
	}
	fmt.Println("the next call returns", v)
	return nil
}
