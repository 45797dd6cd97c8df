package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
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

// serve prints the names of the items, then measures each that a line of the
// standard input names, and prints nanoseconds and allocations per operation.
func serve() {
	fmt.Println(strings.Join(names, " "))
	counts := map[string]int{}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		name := in.Text()
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
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		f(n)
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		fmt.Printf("%.2f %.3f\n", float64(took)/float64(n), float64(after.Mallocs-before.Mallocs)/float64(n))
	}
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
