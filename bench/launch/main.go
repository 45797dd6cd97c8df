// Command launch is the benchmark of launches by package cuda and a generated kernel, as a
// user of them calls them. Usage: launch LIBTVM_FFI launch.ptx
//
// It prints the names of its items. Then it measures each item that a line of the standard
// input names, and prints nanoseconds and allocations per launch: one batch does not count,
// five do. The time of a batch is the time of its launches. The program waits for the device
// between the batches, except in the items that measure the device.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tvmffi-go/tvmffi/bench/launch/kernels"
	"github.com/tvmffi-go/tvmffi/cuda"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// These are the numbers of native/launch.cc.
const (
	device       = cuda.Device(0)
	elements     = 256   // of the vectors
	launches     = 200   // in a batch; the queue of a stream has more room
	busyLaunches = 50    // in a batch of kernels that take time
	nodes        = 20    // of the graph
	graphs       = 40    // launched in a batch
	batches      = 5     // that count, after one that does not
	cycles       = 40000 // of the kernel that takes time
)

// item is what is measured.
type item struct {
	name     string
	threads  int  // goroutines, each with a stream
	launches int  // of each in a batch
	within   bool // the device is current in the goroutine all the time
	whole    bool // what the device does counts too
	launch   func(stream int) error
}

var streams [2]*cuda.Stream

func main() {
	if len(os.Args) != 3 {
		check(errors.New("usage: launch LIBTVM_FFI launch.ptx"))
	}
	check(tvmffi.Load(tvmffi.WithLibrary(os.Args[1])))
	module := must(device.LoadModule(must(os.ReadFile(os.Args[2]))))
	for i := range streams {
		streams[i] = must(device.NewStream())
	}
	var memory [2]*cuda.Memory
	var vectors [2]*tvmffi.Tensor
	for i := range memory {
		memory[i] = must(cuda.AllocOf(device, make([]float32, elements)))
		vectors[i] = must(memory[i].Tensor(tvmffi.Float32, elements))
	}
	emptyKernel, busyKernel := must(module.Kernel("empty")), must(module.Kernel("busy"))
	var emptyConfig, busyConfig [2]cuda.LaunchConfig
	for i, s := range streams {
		emptyConfig[i] = cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(32), Stream: s}
		busyConfig[i] = cuda.LaunchConfig{Grid: cuda.Dim(1), Block: cuda.Dim(1), Stream: s}
	}
	empty := func(i int) error { return emptyKernel.Launch(emptyConfig[i], memory[0], memory[1], int32(elements)) }
	saxpy := func(i int) error { return kernels.Saxpy(vectors[0], vectors[1], 2, streams[i]) }
	// The graph is on the first stream.
	graph := must(streams[0].Capture(func() error {
		for range nodes {
			if err := empty(0); err != nil {
				return err
			}
		}
		return nil
	}))
	replay := func(i int) error { return graph.Launch(streams[i]) }
	busy := func(i int) error { return busyKernel.Launch(busyConfig[i], int64(cycles)) }
	serve([]item{
		{name: "empty", threads: 1, launches: launches, launch: empty},
		{name: "empty_within", threads: 1, launches: launches, within: true, launch: empty},
		{name: "empty2", threads: 2, launches: launches, within: true, launch: empty},
		{name: "saxpy", threads: 1, launches: launches, launch: saxpy},
		{name: "saxpy_within", threads: 1, launches: launches, within: true, launch: saxpy},
		{name: "graph", threads: 1, launches: graphs, within: true, launch: replay},
		{name: "busy", threads: 1, launches: busyLaunches, whole: true, launch: busy},
		{name: "busy2", threads: 2, launches: busyLaunches, whole: true, launch: busy},
	})
}

func serve(items []item) {
	var names []string
	for _, it := range items {
		names = append(names, it.name)
	}
	fmt.Println(strings.Join(names, " "))
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		i := slices.Index(names, in.Text())
		if i < 0 {
			check(fmt.Errorf("no item is called %q", in.Text()))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		ns := items[i].measure()
		runtime.ReadMemStats(&after)
		launched := float64((batches + 1) * items[i].launches * items[i].threads)
		fmt.Printf("%.2f %.3f\n", ns, float64(after.Mallocs-before.Mallocs)/launched)
	}
	check(in.Err())
}

// measure returns nanoseconds per launch.
func (it *item) measure() float64 {
	var arrived atomic.Int64
	var from, to [2]time.Time
	var took time.Duration
	work := func(i int) error {
		turn := int64(0)
		meet := func() { // all goroutines
			turn++
			arrived.Add(1)
			for arrived.Load() < turn*int64(it.threads) {
				runtime.Gosched()
			}
		}
		for batch := range batches + 1 {
			meet()
			from[i] = time.Now()
			for range it.launches {
				check(it.launch(i))
			}
			if it.whole {
				check(streams[i].Synchronize())
			}
			to[i] = time.Now()
			check(streams[i].Synchronize())
			meet()
			if i == 0 && batch > 0 {
				first, last := from[0], to[0]
				if it.threads == 2 && from[1].Before(first) {
					first = from[1]
				}
				if it.threads == 2 && to[1].After(last) {
					last = to[1]
				}
				took += last.Sub(first)
			}
		}
		return nil
	}
	var wait sync.WaitGroup
	for i := range it.threads {
		wait.Go(func() {
			if it.within {
				check(cuda.WithDevice(device, func() error { return work(i) }))
			} else {
				check(work(i))
			}
		})
	}
	wait.Wait()
	return float64(took) / float64(batches*it.launches*it.threads)
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "launch:", err)
		os.Exit(1)
	}
}
