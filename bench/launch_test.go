package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// launchPeer starts a peer of the launches on the fake driver. The func that it returns
// makes the peer measure an item, and returns the time and what the driver logged.
func launchPeer(t *testing.T, files launchFiles, name string) func(item string) (float64, []string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	t.Setenv("TVMFFI_CUDA_LIBRARY", nativetest.FakeCUDA(t))
	t.Setenv("FAKECUDA_LOG", log)
	all, err := files.start(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(all.stop)
	seen := 0
	return func(item string) (float64, []string) {
		t.Helper()
		a, err := all.peer(name).ask(item, false)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		var calls []string
		for line := range strings.Lines(string(text[seen:])) {
			_, call, _ := strings.Cut(strings.TrimSpace(line), " ") // without the thread
			calls = append(calls, call)
		}
		seen = len(text)
		return a.ns, calls
	}
}

// builtPeers are the peers of this checkout.
func builtPeers(t *testing.T) launchFiles {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the fake driver is built for Linux")
	}
	consumer.Watch(t)
	t.Chdir("..")
	bench, err := newTree(t.Context())
	if err != nil {
		nativetest.Unavailable(t, err)
	}
	files, err := bench.launchBuilt(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var (
	streamOf  = regexp.MustCompile(`stream=[1-9a-f][0-9a-f]*`)
	addressOf = regexp.MustCompile(`\b[0-9a-f]{16}\b`)
)

// launched returns the launches in a log, sorted, with numbers in place of the
// addresses of streams and memory, and how often the other functions were called.
func launched(calls []string) (launches []string, others map[string]int) {
	others = map[string]int{}
	known := map[string]string{}
	number := func(what string) func(string) string {
		return func(address string) string {
			if known[address] == "" {
				known[address] = fmt.Sprintf("%s%d", what, len(known))
			}
			return known[address]
		}
	}
	for _, c := range calls {
		name, _, _ := strings.Cut(c, " ")
		if name != "cuLaunchKernel" {
			others[name]++
			continue
		}
		c = streamOf.ReplaceAllStringFunc(c, number("stream="))
		if !strings.Contains(c, "args=409c000000000000 ") { // a number of 8 bytes, 40000
			c = addressOf.ReplaceAllStringFunc(c, number("memory"))
		}
		launches = append(launches, c)
	}
	slices.Sort(launches)
	return launches, others
}

// TestLaunchPeers: ours and C++ launch the same kernels as often, with the same grids and
// arguments. C++ makes no other calls. Each launch of ours also asks for the current context
// and, unless it is that of the device, switches twice.
func TestLaunchPeers(t *testing.T) {
	files := builtPeers(t)
	cpp, ours := launchPeer(t, files, "cpp"), launchPeer(t, files, "ours")
	for _, c := range []struct {
		item, cpp         string
		threads, launches int
		within, whole     bool
		graphs            int
	}{
		{"empty", "empty", 1, 1200, false, false, 0},
		{"empty_within", "empty", 1, 1200, true, false, 0},
		{"saxpy", "saxpy", 1, 1200, false, false, 0},
		{"saxpy_within", "saxpy", 1, 1200, true, false, 0},
		{"empty2", "empty2", 2, 2400, true, false, 0},
		{"graph", "graph", 1, 0, true, false, 240},
		{"busy", "busy", 1, 300, false, true, 0},
		{"busy2", "busy2", 2, 600, false, true, 0},
	} {
		waits := 6 * c.threads // one after each batch of each thread
		if c.whole {
			waits *= 2 // and one in its time
		}
		cpp(c.cpp) // sets up
		_, calls := cpp(c.cpp)
		want, others := launched(calls)
		if expected := withGraphs(map[string]int{"cuCtxSetCurrent": c.threads, "cuStreamSynchronize": waits}, c.graphs); len(want) != c.launches || !maps.Equal(others, expected) {
			t.Errorf("%s: C++ launched %d kernels, want %d; in addition it called %v, want %v", c.item, len(want), c.launches, others, expected)
		}
		ours(c.item) // loads the kernel
		_, calls = ours(c.item)
		got, others := launched(calls)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d launches such as\n%s\nC++ has %d such as\n%s", c.item, len(got), got[:1], len(want), want[:1])
		}
		expected := withGraphs(map[string]int{"cuStreamSynchronize": waits, "cuCtxGetCurrent": c.launches + c.graphs + waits}, c.graphs)
		if c.within { // in and out
			expected["cuCtxGetCurrent"] += 2 * c.threads
			expected["cuCtxSetCurrent"] = 2 * c.threads
		} else {
			expected["cuCtxSetCurrent"] = 2 * (c.launches + waits)
		}
		if !maps.Equal(others, expected) {
			t.Errorf("%s: in addition to launching %d kernels ours called %v, want %v", c.item, c.launches, others, expected)
		}
	}
}

// withGraphs adds the launches of graphs to a count of calls.
func withGraphs(calls map[string]int, n int) map[string]int {
	if n > 0 {
		calls["cuGraphLaunch"] = n
	}
	return calls
}

// TestLaunchTime checks that the time of a busy launch includes waiting for the device,
// and that of an empty one does not.
func TestLaunchTime(t *testing.T) {
	files := builtPeers(t)
	const wait = 100e6 // ns, of 200 launches or 50
	t.Setenv("FAKECUDA_SLEEP", "cuStreamSynchronize=100")
	for _, name := range []string{"cpp", "ours"} {
		peer := launchPeer(t, files, name)
		if ns, _ := peer("empty"); ns >= wait/200 {
			t.Errorf("%s: %.0f ns per launch, with the waiting it is %.0f more", name, ns, wait/200)
		}
		if ns, _ := peer("busy"); ns < wait/50 {
			t.Errorf("%s: %.0f ns per kernel, without the %.0f of waiting for it", name, ns, wait/50)
		}
	}
}

// TestLaunchVerdicts: medians decide, a hair beyond the target is a miss, and the table
// names what was not measured.
func TestLaunchVerdicts(t *testing.T) {
	m := measurements{}
	set := func(row, peer, item string, ns ...float64) {
		m[key{row, peer, item}] = undisturbed(ns...)
	}
	set("empty", "cpp", "empty", 100, 200, 100)
	set("empty", "ours", "empty", 104, 104, 500)
	set("saxpy", "cpp", "saxpy", 100, 100, 100)
	set("saxpy", "ours", "saxpy", 90, 111, 111)
	set("busy2", "ours", "busy2", 50)
	set("busy2", "ours", "busy", 100)
	set("busy", "ours", "busy", 100)
	table, missed := m.launchVerdicts()
	for _, line := range []string{
		"| empty kernel of 3 arguments | times C++ | 1.05 | 1.040 | met |",
		"| empty kernel of 3 arguments | times CuPy | 0.6 |  | not measured |",
		"| saxpy of 256, typed and checked | times C++ | 1.05 | 1.110 | **missed** |",
		"per launch over both | times one stream | 0.556 | 0.500 | met |",
	} {
		if !strings.Contains(table, line+"\n") {
			t.Errorf("no line %q in\n%s", line, table)
		}
	}
	want := []string{ // not CuPy, which may be missing
		"the same, in `cuda.WithDevice`: not measured", "saxpy of 256, typed and checked, 1.110 times C++, at most 1.05",
		"the same, in `cuda.WithDevice`: not measured", "empty kernel on 2 streams from 2 threads, per launch over both: not measured",
		"graph of 20 empty kernels, in `cuda.WithDevice`: not measured",
	}
	if !slices.Equal(missed, want) {
		t.Errorf("missed: %q", missed)
	}
	if text := m.launchScaling(); !strings.Contains(text, "kernels per time against one: tvmffi 2.00.") {
		t.Errorf("%s", text)
	}
	if text := m.launchTable(); !strings.Contains(text, "| saxpy of 256, typed and checked | 100 | 111 (1.11x) 0a |  |") {
		t.Errorf("%s", text)
	}
}

// TestOverVerdict: a launch that is too slow, or allocates, is missed, and so is a benchmark without a result.
func TestOverVerdict(t *testing.T) {
	for _, c := range []struct {
		ns, allocs string
		times      float64
		missed     bool
	}{{"44.50", "0", 1, false}, {"60.01", "0", 1, true}, {"60.01", "0", 2, false}, {"120.1", "0", 2, true}, {"44.50", "1", 2, true}} {
		line, missed, err := overVerdict("goos: linux\nBenchmarkTyped-2   \t 21418\t "+c.ns+" ns/over\t 33 B/op\t "+c.allocs+" allocs/op\nPASS\n", c.times)
		if err != nil || missed != "" != c.missed || !strings.Contains(line, "ns over the crossing, at most 60, and "+c.allocs) {
			t.Errorf("%+v: %q, missed %q, %v", c, line, missed, err)
		}
	}
	if _, _, err := overVerdict("PASS\n", 1); err == nil || !strings.Contains(err.Error(), "printed no result") {
		t.Errorf("no result: %v", err)
	}
}
