//go:build e2e

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
// and an empty one does not.
func TestLaunchTime(t *testing.T) {
	files := builtPeers(t)
	const wait = 400e6 // ns, of 200 launches or 50: more than a busy machine takes from 200 launches
	t.Setenv("FAKECUDA_SLEEP", "cuStreamSynchronize=400")
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
