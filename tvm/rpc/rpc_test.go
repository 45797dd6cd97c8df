//go:build tvm

package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/big"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/testkit/crosstest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

func TestMain(m *testing.M) {
	rpc.Main(func() error {
		return errors.Join(tvmffi.Register("rpc.test.process", os.Getpid), tvmffi.Register("rpc.test.echo", func(x any) any { return x }),
			tvmffi.Register("rpc.test.make", crosstest.MakeResult),
			tvmffi.Register("rpc.test.fail", func(kind, message []byte) error { return tvmffi.NewError(string(kind), string(message)) }))
	})
	if role := roles[os.Getenv(roleVariable)]; role != nil {
		role()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// kernels is what the tests upload.
const kernels = `
#include <spawn.h>

#include <chrono>
#include <thread>
#include <tvm/ffi/tvm_ffi.h>
namespace ffi = tvm::ffi;
void AddOne(ffi::TensorView x, ffi::TensorView y) {
  if (x.ndim() != 1 || y.ndim() != 1 || x.size(0) != y.size(0)) TVM_FFI_THROW(ValueError) << "the shapes differ";
  for (int64_t i = 0; i < x.size(0); ++i)
    static_cast<float*>(y.data_ptr())[i] = static_cast<float*>(x.data_ptr())[i] + 1;
}
int64_t Echo(int64_t x) { return x; }
ffi::Bytes Repeat(int64_t n) { return ffi::Bytes(std::string(n, 'x')); }
int64_t Length(ffi::Bytes x) { return x.size(); }
void Sleep(int64_t ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }
int64_t Start() {
  char name[] = "sleep", seconds[] = "60", *args[] = {name, seconds, nullptr}, *env[] = {nullptr};
  pid_t pid = 0;
  return posix_spawnp(&pid, name, nullptr, nullptr, args, env) ? 0 : pid;
}
void Crash() { *reinterpret_cast<volatile int*>(8) = 1; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(add_one, AddOne);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(echo, Echo);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(repeat, Repeat);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(length, Length);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(sleep, Sleep);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(start, Start);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(crash, Crash);
`

// library returns the contents of the kernels.
func library(t testing.TB) []byte {
	t.Helper()
	nativetest.Pinned(t, "apache-tvm")
	nativetest.Wheel(t, wheel.TVMNeeds)
	b, err := os.ReadFile(kernelFile(t))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// limited returns a context that ends before the test does.
func limited(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), nativetest.Patience(d))
	t.Cleanup(cancel)
	return ctx
}

// output collects what several goroutines write.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// serve starts a server, whose log is in the result too, and closes it at the end of the test.
func serve(t testing.TB, c rpc.Config) (*rpc.Server, *output) {
	t.Helper()
	nativetest.Pinned(t, "apache-tvm")
	nativetest.Wheel(t, wheel.TVMNeeds)
	log := new(output)
	if c.Logger == nil {
		c.Logger = slog.New(slog.NewTextHandler(log, nil))
	}
	if c.Output == nil {
		c.Output = log
	}
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	s, err := rpc.Listen(c)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background()) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, rpc.ErrClosed) {
			t.Errorf("Serve returned %v", err)
		}
		left, err := os.ReadDir(c.Dir)
		if err != nil || len(left) > 0 {
			t.Errorf("the server left %v, %v", left, err)
		}
		if t.Failed() {
			t.Logf("the log of the server:\n%s", log)
		}
	})
	return s, log
}

func dial(t testing.TB, addr string, o rpc.DialOptions) *rpc.Session {
	t.Helper()
	s, err := rpc.Dial(limited(t, 30*time.Second), addr, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// module uploads the kernels and loads them.
func module(t testing.TB, s *rpc.Session) *rpc.Module {
	t.Helper()
	ctx := limited(t, 30*time.Second)
	if err := s.Upload(ctx, "kernels.so", library(t)); err != nil {
		t.Fatal(err)
	}
	m, err := s.LoadModule(ctx, "kernels.so")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Release)
	return m
}

func function(t testing.TB, m *rpc.Module, name string) *rpc.Function {
	t.Helper()
	f, err := m.Function(limited(t, 30*time.Second), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Release)
	return f
}

// TestMain_register calls a func that Main has registered in the process of the session, and Main again.
func TestMain_register(t *testing.T) {
	server, _ := serve(t, rpc.Config{})
	s := dial(t, server.Addr().String(), rpc.DialOptions{})
	v, err := s.Call(limited(t, 10*time.Second), "rpc.test.process")
	if pid, _ := tvmffi.As[int](v); err != nil || pid == 0 || pid == os.Getpid() {
		t.Errorf("the process of the session is %d, %v", pid, err)
	}
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "was called before") {
			t.Errorf("a second call of Main: %q", text)
		}
	}()
	rpc.Main(nil)
}

// TestSession does with a server what a client wants of one.
func TestSession(t *testing.T) {
	server, _ := serve(t, rpc.Config{Key: "cpu"})
	s := dial(t, server.Addr().String(), rpc.DialOptions{Key: "cpu"})
	m := module(t, s)
	checkKernel(t, s, m)
	checkFiles(t, s)
	checkErrors(t, s, m)
}

func checkKernel(t *testing.T, s *rpc.Session, m *rpc.Module) {
	ctx := limited(t, 30*time.Second)
	x, err := s.NewTensor(ctx, tvmffi.Float32, tvmffi.CPU, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Release()
	y, err := s.NewTensor(ctx, tvmffi.Float32, tvmffi.CPU, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer y.Release()
	if err := rpc.CopyFrom(ctx, s, x, []float32{1, 2, 3, 4}); err != nil {
		t.Fatal(err)
	}
	addOne := function(t, m, "add_one")
	if _, err := addOne.Call(ctx, x, y); err != nil {
		t.Fatal(err)
	}
	got, err := rpc.ReadSlice[float32](ctx, s, y)
	if err != nil || !slices.Equal(got, []float32{2, 3, 4, 5}) {
		t.Errorf("the result is %v, %v", got, err)
	}
	if err := s.Copy(ctx, y, x); err != nil {
		t.Fatal(err)
	}
	if got, err := rpc.ReadSlice[float32](ctx, s, y); err != nil || !slices.Equal(got, []float32{1, 2, 3, 4}) {
		t.Errorf("the copy is %v, %v", got, err)
	}
	if _, err := m.Timer(ctx, "add_one", rpc.TimerOptions{FlushCache: 1 << 32}); !errors.Is(err, tvmffi.ErrOverflow) {
		t.Errorf("a cache of 4 GiB: %v", err)
	}
	timer, err := m.Timer(ctx, "add_one", rpc.TimerOptions{Number: 10, Repeat: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer timer.Release()
	times, err := timer.Run(ctx, x, y)
	if err != nil || len(times) != 3 || slices.Min(times) <= 0 {
		t.Errorf("the times are %v, %v", times, err)
	}
}

func checkFiles(t *testing.T, s *rpc.Session) {
	ctx := limited(t, 30*time.Second)
	if err := s.Upload(ctx, "notes/a.txt", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if b, err := s.Download(ctx, "notes/a.txt"); string(b) != "hello" || err != nil {
		t.Errorf("Download returned %q, %v", b, err)
	}
	if names, err := s.Call(ctx, "tvm.rpc.server.listdir", ""); err != nil {
		t.Error(err)
	} else if text, _ := tvmffi.As[string](names); text != "kernels.so,notes" {
		t.Errorf("the folder has %q", text)
	}
	if err := s.Remove(ctx, "notes/a.txt"); err != nil {
		t.Error(err)
	}
	if _, err := s.Download(ctx, "notes/a.txt"); !errors.Is(err, tvmffi.KindError("RPCError")) {
		t.Errorf("Download of a removed file: %v", err)
	}
	if err := s.Upload(ctx, "../a.txt", []byte("hello")); err == nil || !strings.Contains(err.Error(), "leaves the folder") {
		t.Errorf("Upload to another folder: %v", err)
	}
}

func checkErrors(t *testing.T, s *rpc.Session, m *rpc.Module) {
	ctx := limited(t, 30*time.Second)
	addOne := function(t, m, "add_one")
	x, err := s.NewTensor(ctx, tvmffi.Float32, tvmffi.CPU, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Release()
	y, err := s.NewTensor(ctx, tvmffi.Float32, tvmffi.CPU, 5)
	if err != nil {
		t.Fatal(err)
	}
	defer y.Release()
	_, err = addOne.Call(ctx, x, y)
	var e *tvmffi.Error
	if !errors.As(err, &e) || e.Kind != "RPCError" || e.Message != "the shapes differ" {
		t.Errorf("the error of the call is %v", err)
	}
	if err.Error() != "RPCError: the shapes differ" {
		t.Errorf("the text of the error is %q", err)
	}
	if _, err := m.Function(ctx, "no_such"); !errors.Is(err, tvmffi.ErrAttribute) {
		t.Errorf("an unknown function: %v", err)
	}
	if _, err := s.Function(ctx, "no.such"); !errors.Is(err, tvmffi.ErrAttribute) {
		t.Errorf("an unknown registered function: %v", err)
	}
	checkForeign(t, addOne, x, y)
	echo := function(t, m, "echo")
	if r, err := echo.Call(ctx, 7); err != nil {
		t.Errorf("the session does not work after errors: %v", err)
	} else if n, _ := tvmffi.As[int64](r); n != 7 {
		t.Errorf("echo returned %d", n)
	}
}

// TestArguments: a text with a zero byte is not sent, where TVM would cut it, bytes arrive whole, and so do all numbers that
// fit.
func TestArguments(t *testing.T) {
	server, _ := serve(t, rpc.Config{})
	s := dial(t, server.Addr().String(), rpc.DialOptions{})
	ctx := limited(t, 30*time.Second)
	m := module(t, s)
	echo, length := function(t, m, "echo"), function(t, m, "length")
	for _, x := range []any{uint64(5), uint(5), time.Duration(5), big.NewInt(5), tvmffi.DeviceCPU + 4} {
		if r, err := echo.Call(ctx, x); err != nil || r.String() != "5" {
			t.Errorf("%T: %v, %v", x, r, err)
		}
	}
	if r, err := length.Call(ctx, []byte("a\x00b")); err != nil || r.String() != "3" {
		t.Errorf("bytes: %v, %v", r, err)
	}
	const cut = "a\x00b"
	_, name := s.Function(ctx, "runtime.NumThreads"+cut[1:])
	_, own := m.Function(ctx, "echo"+cut[1:])
	if !errors.Is(name, tvmffi.ErrAttribute) || !errors.Is(own, tvmffi.ErrAttribute) {
		t.Errorf("names of functions: %v, %v", name, own)
	}
	_, argument := s.Call(ctx, "ffi.ReprPrint", cut)
	_, download := s.Download(ctx, cut)
	_, load := s.LoadModule(ctx, "kernels.so"+cut[1:])
	_, timer := m.Timer(ctx, "echo"+cut[1:], rpc.TimerOptions{})
	for what, err := range map[string]error{"argument": argument, "download": download, "load": load, "timer": timer, "upload": s.Upload(ctx, cut, nil), "remove": s.Remove(ctx, cut)} {
		if !errors.Is(err, tvmffi.ErrValue) || !strings.Contains(err.Error(), "has a zero byte") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// checkForeign passes a tensor of this process, and then the same one released.
func checkForeign(t *testing.T, addOne *rpc.Function, x, y *tvmffi.Tensor) {
	local, err := tvmffi.NewTensor(tvmffi.Float32, 4)
	if err != nil {
		t.Fatal(err)
	}
	_, err = addOne.Call(limited(t, 30*time.Second), x, local)
	if !errors.Is(err, tvmffi.ErrValue) || !strings.Contains(err.Error(), "argument 1: the tensor on cpu:0 is not one of the session") {
		t.Errorf("a tensor of this process: %v", err)
	}
	local.Release()
	if _, err := addOne.Call(limited(t, 30*time.Second), local, y); err == nil || errors.Is(err, tvmffi.ErrInternal) {
		t.Errorf("a released tensor: %v", err)
	}
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func isKeyError(err error) bool {
	var e *rpc.ConnectionError
	return errors.As(err, &e) && errors.Is(err, rpc.ErrKey)
}
