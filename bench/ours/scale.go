package main

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/tvmffi-go/tvmffi/bench/perf"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// scaled are the operations that several goroutines make at once. Each goroutine has its own function, which runs
// the operation n times on objects of that goroutine, except in the last row.
func scaled() map[string]func() func(n int) {
	shared := must(perf.MakeNode(7))
	return map[string]func() func(n int){
		"call": func() func(int) {
			return func(n int) {
				for i := range n {
					must(perf.AddOne(int64(i)))
				}
			}
		},
		"callback": func() func(int) {
			return func(n int) { must(perf.Repeat(func(x int64) (int64, error) { return x + 1, nil }, int64(n))) }
		},
		"array of 16 ints, made + released": func() func(int) {
			ints := make([]int64, 16)
			return func(n int) {
				for range n {
					must(tvmffi.NewArray(ints...)).Release()
				}
			}
		},
		"array of 16 ints, read": func() func(int) {
			ints := make([]int64, 16)
			array := must(tvmffi.NewArray(ints...))
			return func(n int) {
				for range n {
					must(array.CopyTo(ints))
				}
			}
		},
		"object returned + release": func() func(int) {
			return func(n int) {
				for i := range n {
					must(perf.MakeLeaf(int64(i))).Release()
				}
			}
		},
		"object left to the collector": func() func(int) {
			return func(n int) {
				for i := range n {
					must(perf.MakeLeaf(int64(i)))
				}
			}
		},
		"object field + release of one object": func() func(int) {
			return func(n int) {
				for range n {
					shared.Leaf().Release()
				}
			}
		},
	}
}

// scale prints the nanoseconds of an operation for 1, 2, 4 and 8 goroutines, each the least of turns that alternate,
// and the bytes of what stays.
func scale() {
	goroutines := []int{1, 2, 4, 8}
	fmt.Printf("%d CPUs; ns per operation over all goroutines, and how much more they do than one\n\n| goroutines |", runtime.GOMAXPROCS(0))
	for _, g := range goroutines {
		fmt.Printf(" %d |", g)
	}
	fmt.Println("\n|---|---|---|---|---|")
	operations := scaled()
	for _, name := range slices.Sorted(maps.Keys(operations)) {
		least := make([]float64, len(goroutines))
		for turn := range 8 {
			for i, g := range goroutines {
				if ns := together(operations[name], g); turn == 0 || ns < least[i] {
					least[i] = ns
				}
			}
		}
		fmt.Printf("| %s |", name)
		for i := range goroutines {
			fmt.Printf(" %.1f (%.2fx) |", least[i], least[0]/least[i])
		}
		fmt.Println()
	}
	fmt.Print("\n| bytes of the Go heap | |\n|---|---|\n")
	fmt.Printf("| an object that C++ made | %.0f |\n", kept(func(i int64) any { return must(perf.MakeLeaf(i)) }))
	fmt.Printf("| a Go func as a Function | %.0f |\n", kept(func(i int64) any {
		return must(tvmffi.FuncOf(func(x int64) (int64, error) { return x + i, nil }))
	}))
}

// kept returns how many bytes each of many values adds to the heap.
func kept(f func(i int64) any) float64 {
	values := make([]any, 50000)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range values {
		values[i] = f(int64(i))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(values)
	return float64(after.HeapAlloc-before.HeapAlloc) / float64(len(values))
}

// together returns the nanoseconds of an operation that g goroutines make at once.
func together(operation func() func(int), g int) float64 {
	const n = 20000
	var all sync.WaitGroup
	ready, begin := make(chan struct{}, g), make(chan struct{})
	for range g {
		all.Go(func() {
			f := operation()
			f(n / 10)
			ready <- struct{}{}
			<-begin
			for range 4 {
				f(n)
			}
		})
	}
	for range g {
		<-ready
	}
	start := time.Now()
	close(begin)
	all.Wait()
	return float64(time.Since(start).Nanoseconds()) / float64(4*n*g)
}
