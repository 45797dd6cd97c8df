package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// This file serves all peers that are written in Go; the folders of the others link to it.

// An item runs its operation n times.
var items = map[string]func(n int){}

var names []string

func item(name string, f func(n int)) {
	names = append(names, name)
	items[name] = f
}

const target = 2 * time.Millisecond

// serve prints the names of the items, then measures each that a line of the standard
// input names, and prints nanoseconds and allocations per operation, and in how many of
// the pieces of the batch the processor was undisturbed. After " whole", as items with
// threads want it, a batch is one piece. After " count " and a number it runs the item so often between two breakpoints.
func serve() {
	for range 100 {
		disturbed()
	}
	fmt.Println(strings.Join(names, " "))
	counts := map[string]int{}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if name, n, ok := strings.Cut(in.Text(), " count "); ok {
			between(items[name], must(strconv.Atoi(n)), in)
			continue
		}
		name, whole := strings.CutSuffix(in.Text(), " whole")
		f := items[name]
		if counts[name] == 0 {
			counts[name] = calibrate(f)
			if strings.Contains(name, "thread") { // so that their start does not count
				counts[name] = max(counts[name], 50000)
			}
		}
		n := counts[name]
		if n > 10 {
			f(n / 10)
		}
		pieces := min(n, 40)
		if whole {
			pieces = 1
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		ns, quiet := pieceTime(f, n/pieces, pieces)
		runtime.ReadMemStats(&after)
		fmt.Printf("%.2f %.3f %d\n", ns, float64(after.Mallocs-before.Mallocs)/float64(n/pieces*pieces), quiet)
	}
}

// between prints the thread of this goroutine, waits for a line, and runs n operations between two breakpoints, at each of
// which the process ends unless another one traces it. What only the first operations need has happened before.
func between(f func(n int), n int, in *bufio.Scanner) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f(100)
	fmt.Println(filepath.Base(must(os.Readlink("/proc/thread-self"))))
	in.Scan()
	runtime.Breakpoint()
	f(n)
	runtime.Breakpoint()
	fmt.Println("counted")
}

// pieceTime runs pieces of n operations and returns the nanoseconds of an operation: the
// median of the undisturbed pieces, and how many these are. If there are none, all count.
func pieceTime(f func(n int), n, pieces int) (ns float64, quiet int) {
	all, undisturbed := make([]float64, 0, pieces), make([]float64, 0, pieces)
	before := disturbed()
	for range pieces {
		took := float64(timed(f, n)) / float64(n)
		after := disturbed()
		all = append(all, took)
		if !before && !after {
			undisturbed = append(undisturbed, took)
		}
		before = after
	}
	if quiet = len(undisturbed); quiet > 0 {
		all = undisturbed
	}
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2, quiet
}

// fastest is the time of the probe on a processor of its own.
var fastest = time.Hour

var probeSink uint64

// disturbed reports whether a fixed piece of work, which has nothing to do with what is
// measured, takes more than a twentieth longer than it can: another program has the other half
// of the core, or had this one.
func disturbed() bool {
	start := time.Now()
	a, b, c, d := probeSink|1, uint64(3), uint64(5), uint64(7)
	for range 2000 {
		a, b, c, d = a*0x9E3779B97F4A7C15+1, b*0x9E3779B97F4A7C15+3, c*0x9E3779B97F4A7C15+5, d*0x9E3779B97F4A7C15+7
	}
	probeSink = a ^ b ^ c ^ d
	took := time.Since(start)
	fastest = min(fastest, took)
	return took > fastest+fastest/20
}

// calibrate finds how many operations take about the target. The best of three counts:
// the first operation of all takes long.
func calibrate(f func(n int)) int {
	for n := 1; ; n *= 2 {
		took := min(timed(f, n), timed(f, n), timed(f, n))
		if took > target/8 || n >= 1<<28 {
			return max(1, int(float64(n)*float64(target)/float64(took)))
		}
	}
}

func timed(f func(n int), n int) time.Duration {
	start := time.Now()
	f(n)
	return time.Since(start)
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
