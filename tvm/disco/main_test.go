//go:build tvm

package disco_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	generated "github.com/tvmffi-go/tvmffi/generated/tvm/disco"
	"github.com/tvmffi-go/tvmffi/internal/testkit/crosstest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/disco"
)

// TestMain runs the workers too: they are processes of this test program.
func TestMain(m *testing.M) {
	// With the race detector, a process waits for a second before it ends.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	disco.Main(register)
	if address := os.Getenv(nodeVariable); address != "" {
		os.Exit(runNode(address))
	}
	if address := os.Getenv(controllerVariable); address != "" {
		os.Exit(runController(address))
	}
	os.Exit(m.Run())
}

// A process with this variable is a node of the controller at that address.
const nodeVariable = "DISCO_TEST_NODE"

func runNode(address string) int {
	workers, _ := strconv.Atoi(os.Getenv("DISCO_TEST_WORKERS"))
	err := disco.Join(context.Background(), address, disco.NodeOptions{
		Workers: workers, CloseLimit: nativetest.Patience(time.Second), Silence: time.Second,
		Dial: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(os.Getenv("DISCO_TEST_LOCAL"))}}).DialContext,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		return 1
	}
	return 0
}

// A process with this variable is a controller that listens at that address for one node.
const controllerVariable = "DISCO_TEST_CONTROLLER"

func runController(address string) int {
	err := control(address)
	if err != nil {
		fmt.Fprintln(os.Stderr, "controller:", err)
		return 1
	}
	return 0
}

// control prints the processes of its workers and the sum of their numbers. With standard input
// it does not end before that does.
func control(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), nativetest.Patience(30*time.Second))
	defer cancel()
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	defer l.Close()
	fmt.Println("listens on", l.Addr())
	s, err := disco.Sockets(ctx, l, 2, 2, disco.Options{Silence: time.Second, Limit: time.Hour, CloseLimit: nativetest.Patience(time.Second)})
	if err != nil {
		return err
	}
	defer s.Close()
	host, err := tvmffi.FromSlice([]int32{1, 20, 300, 4000}, 4, 1)
	if err != nil {
		return err
	}
	d, err := s.Scatter(host)
	if err != nil {
		return err
	}
	if err := errors.Join(s.Allreduce(d, d, disco.Sum, false), s.Sync(ctx)); err != nil {
		return err
	}
	pid, err := s.Call(s.Function("disco.test.pid"))
	if err != nil {
		return err
	}
	for i := range s.Workers() {
		sum, err1 := d.Get(ctx, i)
		process, err2 := pid.Get(ctx, i)
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		t, err := tvmffi.As[*tvmffi.Tensor](sum)
		if err != nil {
			return err
		}
		n, err := tvmffi.ReadSlice[int32](t)
		fmt.Println("worker", i, "process", process, "sum", n, err)
	}
	if rank, err := strconv.Atoi(os.Getenv("DISCO_TEST_BUSY")); err == nil { // the others wait for this one
		if _, err := s.Call(s.Function("disco.test.sleepers"), rank, 60_000); err != nil {
			return err
		}
		if err := s.Allreduce(d, d, disco.Sum, false); err != nil {
			return err
		}
	}
	fmt.Println("done")
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, s.Close())
}

func register() error {
	var err error
	if os.Getenv("DISCO_TEST_BROKEN") != "" {
		return errors.New("this worker cannot begin")
	}
	for name, f := range map[string]any{
		"disco.test.pid":    os.Getpid,
		"disco.test.add":    func(x, y int64) int64 { return x + y },
		"disco.test.double": func(x string) string { return x + x },
		"disco.test.echo":   func(x any) any { return x },
		"disco.test.make":   crosstest.MakeResult,
		"disco.test.raise":  func(kind, message []byte) error { return tvmffi.NewError(string(kind), string(message)) },
		"disco.test.bytes":  func(b []byte) []byte { return b },
		"disco.test.len":    func(b []byte) int { return len(b) },
		"disco.test.list":   func() []any { return []any{1, "two", []any{3.5}} },
		"disco.test.func":   func() func(int64) int64 { return func(x int64) int64 { return 10 * x } },
		"disco.test.fail":   func(x int64) (int64, error) { return 0, tvmffi.NewError("ValueError", fmt.Sprint("cannot take ", x)) },
		"disco.test.panic":  func() int { panic(errors.New("a panic in a worker")) },
		"disco.test.print": func(text string) {
			fmt.Println(text)
			fmt.Fprint(os.Stderr, strings.ToUpper(text)) // without an end of line
		},
		"disco.test.differs": func(how string) (*tvmffi.Tensor, error) { // another tensor on worker 0
			switch zero := only(0); {
			case how == "type" && !zero:
				return tvmffi.NewTensor(tvmffi.Float32, 2, 3)
			case how == "shape" && !zero:
				return tvmffi.NewTensor(tvmffi.Int32, 3, 2)
			case how == "dimensions" && !zero:
				return tvmffi.NewTensor(tvmffi.Int32, 6)
			case how == "rows" && !zero:
				return tvmffi.FromSlice([]int32{7, 8, 9}, 1, 3)
			}
			return tvmffi.FromSlice([]int32{1, 2, 3, 4, 5, 6}, 2, 3)
		},
		"disco.test.shared": func() *tvmffi.Tensor { return shared.Load() },
		"disco.test.wait": func(file string) { // until it is gone
			for err := error(nil); err == nil; _, err = os.Stat(file) {
				time.Sleep(5 * time.Millisecond)
			}
		},
		"disco.test.sleepers": func(rank int64, ms int64) { // only one worker sleeps
			if only(rank) {
				time.Sleep(time.Duration(ms) * time.Millisecond)
			}
		},
		"disco.test.leave": func(rank int64, code int) {
			if only(rank) {
				os.Exit(code)
			}
		},
	} {
		err = errors.Join(err, tvmffi.Register(name, f))
	}
	return err
}

// shared is a tensor of this process that its worker returns.
var shared atomic.Pointer[tvmffi.Tensor]

// only reports whether this worker has the given rank.
func only(rank int64) bool {
	own, err := generated.WorkerRank()
	return err == nil && own == rank
}

// output is a buffer that goroutines share.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func need(t testing.TB) {
	t.Helper()
	nativetest.Pinned(t, "apache-tvm")
	nativetest.Wheel(t, wheel.TVMNeeds)
}
