package cuda_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/cuda"
	"github.com/tvmffi-go/tvmffi/cuda/internal/fakecuda"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// A process has one driver: tests of others start the test binary again with
// childName set.
const childName = "TVMFFI_TEST_CHILD"

var children = map[string]func() error{}

func TestMain(m *testing.M) {
	if name := os.Getenv(childName); name != "" {
		if err := caught(func() { needs(children[name]()) }); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child runs a program of children with more environment variables and returns
// what it printed.
func child(t *testing.T, name string, env ...string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := nativetest.Command(t.Context(), exe)
	cmd.Env = append(append(os.Environ(), childName+"="+name), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

// fake is the driver of testdata/fakecuda, loaded as the driver of this process.
type fake struct {
	*fakecuda.Driver
	t *testing.T
}

var fakeFile = sync.OnceValue(func() string { return os.Getenv("TVMFFI_CUDA_LIBRARY") })

func buildFake(t *testing.T, more ...string) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skipf("the fake driver is built for Linux, this is %s", runtime.GOOS)
	}
	return nativetest.FakeCUDA(t, more...)
}

// oldDriver returns the variables for a driver of CUDA 11.2.
func oldDriver(t *testing.T) []string {
	t.Helper()
	return []string{"TVMFFI_CUDA_LIBRARY=" + buildFake(t, "fakecuda/old.ld"), "FAKECUDA_VERSION=11020"}
}

// load makes the fake the driver of this process, with an empty log. At the end
// of the test nothing may be left that the test has made.
func load(t *testing.T) *fake {
	t.Helper()
	path := buildFake(t)
	if old := fakeFile(); old != "" && old != path {
		t.Skipf("TVMFFI_CUDA_LIBRARY names %s: this test is for the fake driver", old)
	}
	if err := os.Setenv("TVMFFI_CUDA_LIBRARY", path); err != nil {
		t.Fatal(err)
	}
	if err := cuda.Available(); err != nil {
		t.Fatal(err)
	}
	d, err := fakecuda.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{d, t}
	f.reset()
	t.Cleanup(func() {
		if bad := f.violated(); bad != "" {
			t.Errorf("the work of the test did what a device does not forgive:\n%s", bad)
		}
		f.reset()
		for d := range cuda.Device(2) { // what the package keeps for itself ends with the context
			if err := d.Release(); err != nil {
				t.Error(err)
			}
		}
		if left := f.left(); left != [7]int{} {
			t.Errorf("left on the driver: memory, bytes, streams, events, modules, graphs, pools = %v", left)
		}
		for d := range cuda.Device(2) {
			if l := d.Live(); l != (cuda.Live{}) {
				t.Errorf("left on %s: %+v", d, l)
			}
		}
	})
	return f
}

// reset empties the log and lets every function work again.
func (f *fake) reset() { f.Clear() }

// violated takes the list of what work did that a device does not forgive: uses of freed, unwritten or foreign
// memory. Work that is still queued runs first.
func (f *fake) violated() string { return f.Violations() }

// left counts what the driver still holds, but contexts.
func (f *fake) left() (n [7]int) {
	for i, what := range [...]fakecuda.Thing{fakecuda.Memory, fakecuda.Bytes, fakecuda.Streams, fakecuda.Events, fakecuda.Modules, fakecuda.Graphs, fakecuda.Pools} {
		n[i] = f.Live(what)
	}
	return n
}

func (f *fake) contexts() int { return f.Live(fakecuda.Contexts) }

// failing makes a function return code, after skip calls that work, once.
func (f *fake) failing(name string, code, skip int) { f.Fail(name, code, skip) }

// call is one line of the log.
type call struct {
	thread, name, args string
}

func (c call) String() string { return strings.TrimSpace(c.name + " " + c.args) }

// calls takes the log, which is empty then.
func (f *fake) calls() []call {
	var calls []call
	for line := range strings.Lines(f.Log()) {
		thread, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		name, args, _ := strings.Cut(rest, " ")
		calls = append(calls, call{thread, name, args})
	}
	f.reset()
	return calls
}

// expect compares the log, which is empty then, with calls: a name alone stands
// for any arguments.
func (f *fake) expect(want ...string) {
	f.t.Helper()
	got := f.calls()
	same := len(got) == len(want)
	for i := 0; same && i < len(got); i++ {
		same = got[i].String() == want[i] || got[i].name == want[i]
	}
	if !same {
		f.t.Errorf("calls %q, want %q", got, want)
	}
}

// only returns the calls of one function.
func only(calls []call, name string) []call {
	return slices.DeleteFunc(calls, func(c call) bool { return c.name != name })
}

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// closes is must for what ends with the test.
func closes[T interface{ Close() error }](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		t.Cleanup(func() { _ = v.Close() })
		return must[T](t)(v, err)
	}
}

// frees is must for memory that ends with the test.
func frees[T interface{ Free() error }](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		t.Cleanup(func() { _ = v.Free() })
		return must[T](t)(v, err)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// need returns v, and leaves caught if there is an error. It is for functions that run without a test.
func need[T any](v T, err error) T {
	needs(err)
	return v
}

type needed struct{ error }

func needs(err error) {
	if err != nil {
		panic(needed{err})
	}
}

// caught calls f and returns the error of need in it.
func caught(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			n, ok := p.(needed)
			if !ok {
				panic(p)
			}
			err = n.error
		}
	}()
	f()
	return nil
}

// wantError asserts that err is target, if that is not nil, and mentions texts.
func wantError(t *testing.T, err, target error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %v %q", target, texts)
		return
	}
	if target != nil && !errors.Is(err, target) {
		t.Errorf("%v is not %v", err, target)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q does not say %q", err, text)
		}
	}
}

// wantPanic asserts that err is a panic whose text is one line, and whose stack names the function alone that panicked.
func wantPanic(t *testing.T, err error, text, function string) {
	t.Helper()
	wantError(t, err, tvmffi.ErrRuntime)
	var e *tvmffi.Error
	if !errors.As(err, &e) || e.Message != text {
		t.Errorf("the error is %v, want %q", err, text)
		return
	}
	if lines := strings.Split(strings.TrimSpace(e.Backtrace), "\n"); len(lines) != 1 || !strings.Contains(lines[0], ", in "+"github.com/tvmffi-go/tvmffi/cuda_test."+function) {
		t.Errorf("the stack is\n%s\nwant %s alone", e.Backtrace, function)
	}
}

// wantDriverError asserts that err is an error of the driver with that code, and
// an error that TVM-FFI sees as a RuntimeError.
func wantDriverError(t *testing.T, err error, code cuda.Code, call string) {
	t.Helper()
	wantError(t, err, code)
	wantError(t, err, tvmffi.ErrRuntime)
	var e *cuda.Error
	if !errors.As(err, &e) || e.Number != int(code) || e.Call != call || e.Kind() != "RuntimeError" || e.Text == "" {
		t.Errorf("%#v, want number %d in %s", err, code, call)
	}
}

const ptx = `
.version 8.0
.target sm_70
.address_size 64
.global .align 4 .b8 table[64];
.visible .entry add_one(
	.param .u64 a,
	.param .u64 b,
	.param .u32 n
) { ret; }
.visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y) { ret; }
.visible .entry nothing() { ret; }
.visible .entry crash() { ret; }
.visible .entry small(.param .u8 a) { .maxntid 64, 1, 1 .shared .align 4 .b8 tile[1024]; ret; }
.visible .entry many(.param .u8 a, .param .s16 b, .param .u32 c, .param .s64 d, .param .f32 e, .param .f64 f,
	.param .u64 p, .param .align 8 .b8 s[16]) { ret; }
`

// module loads the PTX and closes it at the end of the test.
func module(t *testing.T, d cuda.Device) *cuda.Module {
	t.Helper()
	m := must[*cuda.Module](t)(d.LoadModule([]byte(ptx)))
	t.Cleanup(func() { ok(t, m.Close()) })
	return m
}

func kernel(t *testing.T, m *cuda.Module, name string) *cuda.Kernel {
	t.Helper()
	return must[*cuda.Kernel](t)(m.Kernel(name))
}

// expectCall asserts that the log, which is empty then, has a call.
func (f *fake) expectCall(want string) {
	f.t.Helper()
	calls := f.calls()
	if !slices.ContainsFunc(calls, func(c call) bool { return c.String() == want }) {
		f.t.Errorf("calls %q, want %q among them", calls, want)
	}
}

func hex(n uintptr) string { return fmt.Sprintf("%x", n) }

func hasSuffix(s, suffix string) bool { return strings.HasSuffix(s, suffix) }

// collected reports whether the cleanup of a value runs in time.
func collected(ended chan bool, in time.Duration) bool {
	for late := time.Now().Add(in); time.Now().Before(late); {
		runtime.GC()
		select {
		case <-ended:
			return true
		case <-time.After(10 * time.Millisecond):
		}
	}
	return false
}

// ones is work for add_one: what is at a plus 1 goes to b.
type ones struct {
	k    *cuda.Kernel
	a, b *cuda.Memory
}

func (o ones) on(st *cuda.Stream) error {
	return o.k.Launch(cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(32), Stream: st}, o.a, o.b, 4)
}

func newOnes(t *testing.T, d cuda.Device) ones {
	t.Helper()
	o := ones{kernel(t, module(t, d), "add_one"), must[*cuda.Memory](t)(cuda.AllocOf(d, []float32{1, 2, 3, 4})), must[*cuda.Memory](t)(cuda.AllocOf(d, make([]float32, 4)))}
	t.Cleanup(func() { ok(t, errors.Join(o.a.Free(), o.b.Free())) })
	return o
}

func wantFloats(t *testing.T, m *cuda.Memory, want ...float32) {
	t.Helper()
	got := make([]float32, len(want))
	ok(t, cuda.CopyOut(got, m))
	if !slices.Equal(got, want) {
		t.Errorf("the memory holds %v, want %v", got, want)
	}
}

func newStream(t *testing.T, d cuda.Device, options ...cuda.StreamOption) *cuda.Stream {
	t.Helper()
	st := must[*cuda.Stream](t)(d.NewStream(options...))
	t.Cleanup(func() { ok(t, st.Close()) })
	return st
}

// slowly runs a program of children on a driver of which one function is slow, so that goroutines meet there.
func slowly(t *testing.T, name, slow string) {
	t.Helper()
	load(t)
	child(t, name, "TVMFFI_CUDA_LIBRARY="+os.Getenv("TVMFFI_CUDA_LIBRARY"), "FAKECUDA_ABORT=1", "FAKECUDA_SLEEP="+slow)
}

// numbers returns n bytes that count up from first.
func numbered(n int, first byte) []byte {
	s := make([]byte, n)
	for i := range s {
		s[i] = first + byte(i)
	}
	return s
}

// onDevice returns device memory with bytes in it, freed at the end of the test.
func onDevice(t *testing.T, d cuda.Device, bytes []byte) *cuda.Memory {
	t.Helper()
	m := filled(t, d, bytes)
	t.Cleanup(func() { ok(t, m.Free()) })
	return m
}

// filled returns device memory that holds bytes, for all streams.
func filled(t *testing.T, d cuda.Device, bytes []byte) *cuda.Memory {
	t.Helper()
	m := must[*cuda.Memory](t)(d.Alloc(int64(len(bytes))))
	ok(t, cuda.CopyInAt(m, 0, bytes, nil))
	return m
}

// wantBytes asserts what memory holds when a stream has done its work.
func wantBytes(t *testing.T, m *cuda.Memory, st *cuda.Stream, want []byte) {
	t.Helper()
	got := make([]byte, m.Size())
	ok(t, cuda.CopyOutAt(got, m, 0, st))
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("byte %d of the memory is %d, want %d", i, got[i], want[i])
			return
		}
	}
}
