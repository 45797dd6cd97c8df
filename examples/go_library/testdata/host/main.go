// A Go program that uses Go libraries through the bindings that tvmffi-bind gen
// made of them. The process has three Go runtimes.
package main

import (
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"

	"example.test/host/golib"
	"example.test/host/words"
)

func main() {
	log.SetFlags(log.Lshortfile)
	dir := os.Args[1]
	check(golib.Load(tvmffi.WithFile(filepath.Join(dir, "libgolib.so"))))
	check(words.Load(tvmffi.WithFile(filepath.Join(dir, "libwords.so"))))
	values()
	failures()
	together()
	fmt.Println("all right")
}

func check(err error) {
	if err != nil {
		log.Output(2, err.Error())
		os.Exit(1)
	}
}

func expect[T comparable](got T, err error) func(want T) {
	return func(want T) {
		if err != nil || got != want {
			log.Output(2, fmt.Sprintf("got %v, %v, want %v", got, err, want))
			os.Exit(1)
		}
	}
}

func values() {
	expect(golib.Add(40, 2))(42)
	expect(golib.Greet("gopher"))("hello, gopher")
	expect(golib.Apply(func(x int64) (int64, error) { return 2 * x, nil }, 21))(42)
	add, err := golib.Adder(5)
	check(err)
	expect(add(1))(6)
	triple, err := words.Tripler()
	check(err)
	expect(golib.Apply(triple, 5))(15) // one library calls the other
	t, err := tvmffi.FromSlice([]float32{1, 2, 3})
	check(err)
	defer t.Release()
	expect(golib.Sum(t))(6)
	d, err := golib.Doubled(t)
	check(err)
	expect(golib.Sum(d))(12)
	d.Release()
	counts, err := golib.WordCount(tvmffi.Of("a b", "b"))
	check(err)
	n, ok := counts.Get("b")
	if counts.Len() != 2 || !ok || n != 2 {
		log.Fatal(counts)
	}
	text, err := golib.Join(1, "x", 2.5)
	check(err)
	expect(tvmffi.As[string](text))("1 x 2.5")
}

func failures() {
	_, err := golib.Greet("")
	if !errors.Is(err, tvmffi.ErrValue) {
		log.Fatal(err)
	}
	mine := errors.New("of the host")
	_, err = golib.Apply(func(int64) (int64, error) { return 0, mine }, 1)
	if !errors.Is(err, mine) {
		log.Fatalf("got the error %v, want that of the host", err)
	}
	for range 2 {
		nilDereference(func() error { return golib.Fail("nil", "") })
		nilDereference(func() error { _, err := words.Letters(nil); return err })
		nilDereference(func() (err error) {
			defer func() { err = recover().(error) }()
			var p *int
			*p = 1
			return nil
		})
	}
}

func nilDereference(f func() error) {
	if err := f(); err == nil || !strings.Contains(err.Error(), "nil pointer dereference") {
		log.Fatalf("a nil dereference ended as %v", err)
	}
}

// together uses all runtimes at once while they collect garbage.
func together() {
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range int64(2000) {
				expect(golib.Apply(func(x int64) (int64, error) { return x + 1, nil }, i))(i + 1)
				expect(words.Shout(func(x int64) (int64, error) { return golib.Add(x, 2) }, i))(i + 2)
			}
		})
	}
	for range 20 {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	all.Wait()
	nilDereference(func() error { return golib.Fail("nil", "") })
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT)
	check(syscall.Kill(os.Getpid(), syscall.SIGINT))
	select {
	case <-signals:
	case <-time.After(10 * time.Second):
		log.Fatal("the signal did not arrive")
	}
}
