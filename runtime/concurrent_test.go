package tvmffi_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// together runs f on n goroutines at once.
func together(n int, f func(g int)) {
	var wg sync.WaitGroup
	start := make(chan bool)
	for g := range n {
		wg.Go(func() { <-start; f(g) })
	}
	close(start)
	wg.Wait()
}

// Many goroutines read the same containers, by the same and by their own handles,
// pass them to C++, and release what they got.
func TestContainersFromManyGoroutines(t *testing.T) {
	runtimetest.Balanced(t)
	boxes := runtimetest.Get[*tvmffi.Array[*runtimetest.Box]](t, "calls.boxes", 20)
	texts := runtimetest.Must[*tvmffi.Array[string]](t)(tvmffi.NewArray("short", "a text of more than seven bytes"))
	want := map[string]int64{}
	for i := range int64(100) {
		want[fmt.Sprint("key ", i)] = i
	}
	table := runtimetest.Must[*tvmffi.Map[string, int64]](t)(tvmffi.NewMap(tvmffi.MapOf(want)))
	dict := runtimetest.Must[*tvmffi.Dict[string, int64]](t)(tvmffi.NewDict(tvmffi.MapOf(want)))
	list := runtimetest.Must[*tvmffi.List[int64]](t)(tvmffi.NewList[int64](1, 2, 3))
	byBox := runtimetest.Must[*tvmffi.Map[*runtimetest.Box, int64]](t)(tvmffi.NewMap(tvmffi.PairsOf(tvmffi.Pair[*runtimetest.Box, int64]{Key: runtimetest.MakeBox(t, 1), Value: 1})))
	shape := runtimetest.Must[*tvmffi.Shape](t)(tvmffi.NewShape(2, 3))
	rounds := 30
	if testing.Short() {
		rounds = 5
	}
	together(8, func(g int) {
		own := tvmffi.Retain(boxes)
		defer own.Release()
		var scope tvmffi.Scope
		defer scope.Release()
		for i := range rounds {
			sum := int64(0)
			for _, b := range boxes.All() {
				sum += b.I64()
			}
			at := own.At((g + i) % 20)
			scope.Add(at)
			if sum != 190 || at.I64() != int64((g+i)%20) {
				t.Errorf("sum %d, element %d", sum, at.I64())
			}
			if s, err := texts.Slice(); err != nil || len(s) != 2 || len(s[1]) != 31 {
				t.Errorf("the shared array has %q, %v", s, err)
			}
			key := fmt.Sprint("key ", (g*7+i)%100)
			if v, ok := table.Get(key); !ok || v != want[key] || dict.MustGet(key) != v {
				t.Errorf("%s is %d, %v in the Map, want %d there and in the Dict", key, v, ok, want[key])
			}
			n := 0
			for k, v := range dict.All() {
				if want[k] != v {
					t.Errorf("%s is %d in the Dict, want %d", k, v, want[k])
				}
				n++
			}
			if n != 100 || byBox.Len() != 1 || !slices.Equal(shape.Slice(), []int64{2, 3}) {
				t.Errorf("the Dict has %d items, want 100; the map by boxes %d, want 1; the shape is %v", n, byBox.Len(), shape)
			}
			v, err := runtimetest.Call("calls.echo_list", list)
			if s, failed := tvmffi.As[[]int64](v); err != nil || failed != nil || !slices.Equal(s, []int64{1, 2, 3}) {
				t.Errorf("calls.echo_list returned %v, %v, %v, want [1 2 3]", s, err, failed)
			}
			v.Release()
			// A list of its own is for one goroutine, which may change it.
			l, err := tvmffi.NewList[any](g, i)
			if err == nil {
				err = errors.Join(l.Append(own, "text"), l.Delete(0))
			}
			if err != nil || l.Len() != 3 {
				t.Error(err)
			}
			l.Release()
		}
	})
	for k := range byBox.Keys() {
		tvmffi.Retain(k).Release()
	}
	for _, x := range []interface{ Release() }{boxes, texts, table, dict, list, byBox, shape} {
		x.Release()
	}
	runtimetest.DropGarbage(t)
}

// Arrays and tensors hold what they were made of while the collector runs all the time, and
// goroutines leave theirs to it.
func TestContainersUnderGCStress(t *testing.T) {
	runtimetest.Balanced(t)
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	stop, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	rounds := 150
	if testing.Short() {
		rounds = 30
	}
	together(6, func(g int) {
		for i := range rounds {
			s := fmt.Sprintf("a string of goroutine %d round %d", g, i)
			array, err := tvmffi.NewArray(s, "x", s+s)
			if err != nil {
				t.Error(err)
			} else if all, err := array.Slice(); err != nil || all[0] != s || all[2] != s+s {
				t.Error(all, err)
			}
			tensor, err := tvmffi.FromSlice([]float32{1, 2, 3, float32(i)})
			if err != nil {
				t.Error(err)
			} else if back, err := tvmffi.Slice[float32](tensor); err != nil || back[3] != float32(i) {
				t.Error(back, err)
			}
			runtime.KeepAlive(tensor)
			v, err := runtimetest.Call("calls.concat", s, "x")
			if err != nil || v.Value() != s+"x" {
				t.Error(v, err)
			}
			v.Release()
		}
	})
	close(stop)
	<-done
	runtimetest.DropGarbage(t)
}

// Calls that block in C++, and callbacks that block in Go, leave the other
// goroutines and threads running.
func TestBlockingCalls(t *testing.T) {
	runtimetest.Load(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	const blocked = 8
	patience := nativetest.Patience(20 * time.Second)
	together(blocked, func(int) {
		if v, err := runtimetest.Call("calls.meet", blocked, patience.Milliseconds()); err != nil || v.Value() != true {
			t.Errorf("%d calls that block in C++ until all are there: %v, %v", blocked, v, err)
		}
	})
	// Each callback waits for another that comes from C++ later.
	gate := make(chan bool)
	wait := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() error {
		select {
		case <-gate:
			return nil
		case <-time.After(nativetest.Patience(20 * time.Second)):
			return errors.New("nobody came")
		}
	}))
	defer wait.Release()
	open := runtimetest.Must[*tvmffi.Function](t)(tvmffi.FuncOf(func() { gate <- true }))
	defer open.Release()
	together(2*blocked, func(g int) {
		f := wait
		if g%2 == 1 {
			f = open
		}
		if _, err := runtimetest.Call("calls.apply_packed", f); err != nil {
			t.Error(err)
		}
	})
}

func init() {
	start := func() error {
		if err := runtimetest.LoadInChild(); err != nil {
			return err
		}
		return tvmffi.LoadLibrary(os.Getenv("CALLS"))
	}
	runtimetest.Children["exit in callback"] = func() error {
		if err := start(); err != nil {
			return err
		}
		f, err := tvmffi.FuncOf(func() { fmt.Println("last words"); os.Exit(7) })
		if err != nil {
			return err
		}
		_, err = runtimetest.Call("calls.apply_packed", f)
		return fmt.Errorf("the call returned: %w", err)
	}
	runtimetest.Children["throw int"] = func() error {
		if err := start(); err != nil {
			return err
		}
		_, err := runtimetest.Call("calls.throw_value", "int", func() {})
		fmt.Println("the call returned:", err)
		return nil
	}
	// Objects and callbacks live, in Go and in C++, when the process ends, and a
	// thread of C++ calls Go meanwhile.
	runtimetest.Children["exit alive"] = func() error {
		if err := start(); err != nil {
			return err
		}
		f, err := tvmffi.FuncOf(func(x int64) int64 { return x })
		if err != nil {
			return err
		}
		for _, name := range []string{"calls.store", "calls.later"} {
			args := []any{f}
			if name == "calls.later" {
				args = append(args, 1)
			}
			if _, err := runtimetest.Call(name, args...); err != nil {
				return err
			}
		}
		if alive, err = runtimetest.Call("calls.boxes", 1000); err != nil {
			return err
		}
		go func() {
			for {
				if _, err := runtimetest.Call("calls.boxes", 10); err != nil {
					fmt.Println(err)
				}
				runtime.GC()
			}
		}()
		time.Sleep(20 * time.Millisecond)
		fmt.Println("done")
		return nil
	}
}

var alive tvmffi.Any

func TestProcessEnds(t *testing.T) {
	runtimetest.Load(t)
	env := []string{"CORE=" + nativetest.Library(t), "CALLS=" + nativetest.Build(t, "calls")}
	out, err := runtimetest.Child(t, "exit in callback", env...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 || !strings.Contains(out, "last words") {
		t.Errorf("os.Exit in a callback: %v\n%s", err, out)
	}
	for range 5 {
		if out, err := runtimetest.Child(t, "exit alive", env...); err != nil || strings.TrimSpace(out) != "done" {
			t.Errorf("a process that ends with live objects: %v\n%s", err, out)
		}
	}
	if failure.CatchesThrown {
		return // TestThrown
	}
	// Nobody catches a value that is not a std::exception: C++ ends the process and says so.
	out, err = runtimetest.Child(t, "throw int", env...)
	says := "terminate called"
	if runtime.GOOS == "windows" { // there it ends with a code and no text
		says = ""
	}
	if err == nil || strings.Contains(out, "the call returned") || !strings.Contains(out, says) {
		t.Errorf("throw 42: %v\n%s", err, out)
	}
}
