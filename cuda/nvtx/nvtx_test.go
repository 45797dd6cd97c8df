package nvtx_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/tvmffi-go/tvmffi/cuda/nvtx"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// A process has one profiler at most: each test starts the test binary again.
const childName = "TVMFFI_TEST_CHILD"

var children = map[string]func() error{
	"record": record, "events": events, "native": native, "domains": domains, "state": printState, "threads": threads, "allocations": allocations, "close": closeDomain,
}

func TestMain(m *testing.M) {
	if name := os.Getenv(childName); name != "" {
		if err := children[name](); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const variable = "NVTX_INJECTION64_PATH"

// child runs a program of children and returns what it printed.
func child(t *testing.T, name string, env ...string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := nativetest.Command(t.Context(), exe)
	cmd.Env = append(append(os.Environ(), variable+"=", childName+"="+name), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

func profiler(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skipf("the profiler of testdata is built for Linux, this is %s", runtime.GOOS)
	}
	return nativetest.Build(t, "nvtxtool", nativetest.Standalone())
}

// calls takes the log of the profiler.
func calls() ([]string, error) {
	h, err := dynlib.Open(os.Getenv(variable))
	if err != nil {
		return nil, err
	}
	f, err := h.Symbol("nvtxtool_log")
	if err != nil {
		return nil, err
	}
	n, _, _ := purego.SyscallN(f, 0, 0)
	buf := make([]byte, n+1)
	purego.SyscallN(f, uintptr(unsafe.Pointer(&buf[0])), n+1)
	return strings.Split(strings.TrimSpace(string(buf[:n])), "\n"), nil
}

// expect compares the log with patterns.
func expect(want ...string) error {
	got, err := calls()
	if err != nil {
		return err
	}
	if len(got) != len(want) {
		return fmt.Errorf("calls %q, want %q", got, want)
	}
	for i, line := range got {
		if !regexp.MustCompile("^" + want[i] + "$").MatchString(line) {
			return fmt.Errorf("call %d is %q, want %q", i, line, want[i])
		}
	}
	return nil
}

func record() error {
	nvtx.Mark("begin")
	r := nvtx.Start("load")
	done := make(chan struct{})
	go func() { r.End(); close(done) }()
	<-done
	nvtx.Range{}.End()
	runtime.LockOSThread()
	nvtx.Push("outer")
	nvtx.Push("inner")
	nvtx.Pop()
	nvtx.Pop()
	runtime.UnlockOSThread()
	var d *nvtx.Domain
	d.NameCategory(4, "copies")
	d.Mark(nvtx.Event{})
	d.Mark(nvtx.Event{Message: "é", Color: 0xff00ff80, Category: 4, Payload: nvtx.Int(-5)})
	d.Mark(nvtx.Event{Message: "u", Payload: nvtx.Uint(1 << 63)})
	d.Mark(nvtx.Event{Message: "d", Payload: nvtx.Float(0.25)})
	d.Close()
	d.Mark(nvtx.Event{Message: "cut\x00here"})
	return expect("version 3", "mark v3 size=48 begin category=0", "start v3 size=48 load category=0", "end 10000000001",
		`push v3 size=48 outer category=0 depth=0 thread=\d+`, `push v3 size=48 inner category=0 depth=1 thread=\d+`, `pop depth=1 thread=\d+`, `pop depth=0 thread=\d+`,
		"category 4 copies", "mark v3 size=48 - category=0", "mark v3 size=48 é category=4 color=ff00ff80 i=-5",
		"mark v3 size=48 u category=0 u=9223372036854775808", "mark v3 size=48 d category=0 d=0.250000", "mark v3 size=48 cut category=0")
}

func domains() error {
	d := nvtx.NewDomain("library")
	d.NameCategory(1, "phase")
	d.Mark(nvtx.Event{Message: "m", Category: 1})
	r := d.Start(nvtx.Event{Message: "r"})
	r.End()
	d.Do(nvtx.Event{Message: "do"}, func() { d.Do(nvtx.Event{Message: "in"}, func() {}) })
	func() {
		defer func() { _ = recover() }()
		d.Do(nvtx.Event{Message: "panics"}, func() { panic("x") })
	}()
	after := d.Start(nvtx.Event{Message: "after"})
	d.Close()
	d.Close()
	after.End()
	d.Mark(nvtx.Event{Message: "lost"})
	d.Start(nvtx.Event{Message: "lost"}).End()
	d.Push(nvtx.Event{Message: "lost"})
	d.Pop()
	d.NameCategory(2, "lost")
	ran := false
	d.Do(nvtx.Event{Message: "lost"}, func() { ran = true })
	if !ran {
		return errors.New("Do of a closed domain did not call its function")
	}
	return expect("version 3", "domain library", "0xd0 category 1 phase", "0xd0 mark v3 size=48 m category=1", "0xd0 start v3 size=48 r category=0", "0xd0 end 10000000001",
		`0xd0 push v3 size=48 do category=0 depth=0 thread=\d+`, `0xd0 push v3 size=48 in category=0 depth=1 thread=\d+`, `0xd0 pop depth=1 .*`, `0xd0 pop depth=0 .*`,
		`0xd0 push v3 size=48 panics .*`, `0xd0 pop depth=0 .*`, "0xd0 start v3 size=48 after category=0", "destroy 0xd0")
}

// threads pushes on many goroutines at once, first of all the search for the profiler: each pop is on the
// thread of its push.
func threads() error {
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 50 {
				(*nvtx.Domain)(nil).Do(nvtx.Event{Message: "go"}, runtime.Gosched)
			}
		})
	}
	wg.Wait()
	lines, err := calls()
	if err != nil {
		return err
	}
	depth := map[string]int{}
	for _, line := range lines[1:] {
		kind, _, _ := strings.Cut(line, " ")
		_, thread, _ := strings.Cut(line, "thread=")
		if kind == "push" {
			depth[thread]++
		} else if depth[thread]--; depth[thread] < 0 {
			return fmt.Errorf("thread %s pops what it has not pushed", thread)
		}
	}
	if len(lines) != 1+2*16*50 {
		return fmt.Errorf("%d calls, want %d", len(lines), 1+2*16*50)
	}
	return nil
}

// closeDomain closes a domain that other goroutines use. NVTX ends the domain with its handle, which the profiler must not
// get again.
func closeDomain() error {
	d := nvtx.NewDomain("d")
	var begun, wg sync.WaitGroup
	for range 8 {
		begun.Add(1)
		wg.Go(func() {
			d.Mark(nvtx.Event{Message: "first"})
			begun.Done()
			for range 5 {
				d.Mark(nvtx.Event{Message: "slow"})
			}
		})
	}
	begun.Wait()
	time.Sleep(2 * time.Millisecond)
	d.Close()
	wg.Wait()
	lines, err := calls()
	if err != nil {
		return err
	}
	end := slices.IndexFunc(lines, func(s string) bool { return strings.HasPrefix(s, "destroy") })
	if end < 0 || end != len(lines)-1 {
		return fmt.Errorf("line %d of %q ends the domain, want the last one", end, lines)
	}
	return nil
}

func printState() error {
	path, err := nvtx.Tool()
	nvtx.Mark("a")
	d := nvtx.NewDomain("d")
	d.Mark(nvtx.Event{Message: "b"})
	r := d.Start(nvtx.Event{Message: "b"})
	r.End()
	d.Push(nvtx.Event{})
	d.Pop()
	d.NameCategory(1, "c")
	d.Close()
	ran := false
	nvtx.NewDomain("e").Do(nvtx.Event{}, func() { ran = true })
	fmt.Println(path, err, ran)
	if os.Getenv("NVTXTOOL") != "" {
		lines, err := calls()
		fmt.Println(lines, err)
	}
	return nil
}

func allocations() error {
	d := nvtx.NewDomain("d")
	n := testing.AllocsPerRun(1000, func() {
		d.Mark(nvtx.Event{Message: "a message", Color: 0xff112233, Payload: nvtx.Int(7)})
		r := nvtx.Start("a range")
		r.End()
		nvtx.Push("pushed")
		nvtx.Pop()
	})
	if n > 0 {
		return fmt.Errorf("%v allocations with a profiler", n)
	}
	return nil
}

// events does what testdata/nvtxprogram.cc does, and prints what the profiler has seen.
func events() error {
	full := nvtx.Event{Message: "full", Category: 3, Color: 0xff76b900, Payload: nvtx.Float(2.5)}
	var global *nvtx.Domain
	nvtx.Mark("plain")
	global.Mark(nvtx.Event{})
	global.NameCategory(3, "copies")
	r := global.Start(full)
	global.Do(nvtx.Event{Message: "plain"}, func() {})
	r.End()
	d := nvtx.NewDomain("library")
	d.NameCategory(3, "phases")
	full.Payload = nvtx.Int(-1)
	d.Mark(full)
	r = d.Start(nvtx.Event{Message: "plain"})
	full.Payload = nvtx.Uint(7)
	d.Do(full, func() {})
	r.End()
	d.Close()
	return printCalls()
}

func native() error {
	h, err := dynlib.Open(os.Getenv("NVTXPROGRAM"))
	if err != nil {
		return err
	}
	f, err := h.Symbol("nvtxprogram")
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	purego.SyscallN(f)
	return printCalls()
}

func printCalls() error {
	lines, err := calls()
	for _, line := range lines {
		line, _, _ = strings.Cut(line, " thread=")
		fmt.Println(line)
	}
	return err
}

// TestLikeTheHeader compares what a profiler sees of this package and of a C++ program with the header of NVIDIA.
func TestLikeTheHeader(t *testing.T) {
	env := variable + "=" + profiler(t)
	include := nativetest.Pinned(t, "nvidia-nvtx").Path("nvidia/cu13/include")
	program := nativetest.Build(t, "nvtxprogram", nativetest.Standalone(), nativetest.Flags("-I"+include, "-ldl"))
	want, got := child(t, "native", env, "NVTXPROGRAM="+program), child(t, "events", env)
	if got != want || strings.Count(want, "\n") != 16 {
		t.Errorf("the package:\n%s\nthe header:\n%s", got, want)
	}
}

func TestRecords(t *testing.T) {
	path := profiler(t)
	for _, name := range []string{"record", "domains", "threads", "allocations", "close"} {
		if name == "allocations" && raceEnabled {
			continue
		}
		child(t, name, variable+"="+path)
	}
}

// TestOldProfiler has one without functions for domains: these are dropped.
func TestOldProfiler(t *testing.T) {
	path := profiler(t)
	if out := child(t, "state", variable+"="+path, "NVTXTOOL=old"); out != path+" <nil> true\n[version 3 mark v3 size=48 a category=0] <nil>\n" {
		t.Errorf("got %q", out)
	}
}

func TestNoProfiler(t *testing.T) {
	for _, c := range []struct{ env, want string }{
		{"", " <nil> true\n"},
		{"/no/such/profiler.so", "/no/such/profiler.so NVTX: load /no/such/profiler.so: "},
		{profiler(t), "refused to start"},
		{nativetest.FakeCUDA(t), "it has no function InitializeInjectionNvtx2: correct or unset NVTX_INJECTION64_PATH true\n"},
	} {
		env := []string{variable + "=" + c.env}
		if c.want == "refused to start" {
			env = append(env, "NVTXTOOL=refuse")
		}
		out := child(t, "state", env...)
		if !strings.Contains(out, c.want) || !strings.Contains(out, " true\n") {
			t.Errorf("with %q: %q, want %q", c.env, out, c.want)
		}
		if c.want == "refused to start" && !strings.HasSuffix(out, "[version 3] <nil>\n") {
			t.Errorf("a profiler that refused was called: %q", out)
		}
	}
}

// TestNoAllocations is what a program pays without a profiler, which this process does not have.
func TestNoAllocations(t *testing.T) {
	if path, err := nvtx.Tool(); path != "" || err != nil {
		t.Skipf("the process has the profiler %s (%v)", path, err)
	}
	d := nvtx.NewDomain("d")
	if n := testing.AllocsPerRun(1000, func() {
		d.Mark(nvtx.Event{Message: "a message", Color: 0xff112233, Payload: nvtx.Float(7)})
		nvtx.Start("a range").End()
		nvtx.Push("pushed")
		nvtx.Pop()
		d.Do(nvtx.Event{Message: "do"}, func() {})
	}); n > 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func BenchmarkRange(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		nvtx.Start("a range").End()
	}
}

func BenchmarkMark(b *testing.B) {
	d := nvtx.NewDomain("d")
	b.ReportAllocs()
	for b.Loop() {
		d.Mark(nvtx.Event{Message: "m", Category: 3})
	}
}

func Example() {
	pipeline := nvtx.NewDomain("pipeline")
	const copies = 1
	pipeline.NameCategory(copies, "copies")

	defer nvtx.Start("main").End()
	r := pipeline.Start(nvtx.Event{Message: "batch", Color: 0xff76b900, Category: copies, Payload: nvtx.Int(128)})
	// ... work on any goroutine ...
	r.End()
	pipeline.Do(nvtx.Event{Message: "reduce"}, func() {
		// ... calls on one OS thread ...
	})
	// Output:
}
