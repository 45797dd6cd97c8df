package calls_test

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/testkit/machinetest"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// deep uses about 300 bytes of stack for each level.
//
//go:noinline
func deep(n int) int {
	var b [256]byte
	for i := range b {
		b[i] = byte(n + i)
	}
	if n == 0 {
		return int(b[7])
	}
	return deep(n-1) + int(b[3])
}

// churn makes other goroutines write over the stacks that have become free.
func churn() {
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() { deep(4); deep(12) })
	}
	wg.Wait()
}

// move grows the stack of the goroutine, so that it moves, and has the old one
// used again.
func move() {
	deep(2000)
	runtime.GC()
	churn()
}

// fresh runs f on a new goroutine, whose stack is small.
func fresh[T any](f func() T) T {
	c := make(chan T)
	go func() { c <- f() }()
	return <-c
}

// The result must reach the frame where it is after a callback has moved it.
func TestStackMoves(t *testing.T) {
	load(t)
	grow := callback(t, func(x int64) (int64, error) { move(); return x + 1, nil })
	defer grow.Release()
	refuse := callback(t, func(x int64) (int64, error) { move(); return 0, fmt.Errorf("refused %d", x) })
	defer refuse.Release()
	for i := range int64(30) {
		if v := fresh(func() int64 { v, _ := repeat(fnRepeat, grow, 1+i%3); return v }); v != []int64{1, 3, 6}[i%3] {
			t.Fatalf("round %d: %d", i, v)
		}
		if err := fresh(func() error { _, err := call2(fnApply, refuse, i); return err }); err == nil || err.Error() != fmt.Sprintf("RuntimeError: refused %d", i) {
			t.Fatalf("round %d: %v", i, err)
		}
	}
}

// A text result is copied into the block by the trampoline, after the stack has
// moved. The arguments include texts in the block.
func TestTextResultAfterMove(t *testing.T) {
	load(t)
	for _, n := range []int{0, 7, 8, 9, 15, 16, 17, 40, 95, 96, 97, 5000} {
		want := strings.Repeat("x", n)
		f := objects.Own(callbacks.New(func(a *callbacks.Args) error {
			move()
			if got, ok := capi.StringOf(a.Value(0)); !ok || got != "an argument of more than seven bytes" {
				return fmt.Errorf("the argument is %q", got)
			}
			v, err := values.NewString(want)
			a.Return(v)
			return err
		}))
		got := fresh(func() string {
			var c calls.Call6
			c.BeginFunction(f, 1)
			c.String(0, "an argument of more than seven bytes")
			s, err := c.DoString()
			if err != nil {
				return err.Error()
			}
			return s
		})
		if got != want {
			t.Errorf("length %d: %q", n, got)
		}
		f.Release()
	}
}

func TestTextsOnTheStack(t *testing.T) {
	load(t)
	bad := fresh(func() int {
		for i := range 600 {
			var b [600]byte
			for j := range b {
				b[j] = byte('a' + (i+j)%26)
			}
			s := unsafe.String(&b[0], i)
			if got, err := echoText(s); err != nil || got != s {
				return i
			}
			if got, err := echoBytes(b[:i]); err != nil || string(got) != s {
				return i
			}
			if got, err := concat(s, s); err != nil || got != s+s {
				return i
			}
		}
		return -1
	})
	if bad >= 0 {
		t.Errorf("wrong text of %d bytes", bad)
	}
}

// Go calls C calls Go, a hundred deep, with stacks that move at each level.
func TestNestedCalls(t *testing.T) {
	load(t)
	for _, depth := range []int64{30, 100} {
		var self *objects.Object
		self = callback(t, func(n int64) (int64, error) {
			deep(int(n%30) * 20)
			if n == 0 {
				return 1, nil
			}
			v, err := call2(fnApply, self, n-1)
			return v + 1, err
		})
		if v, err := fresh2(func() (int64, error) { return call2(fnApply, self, depth) }); err != nil || v != depth+1 {
			t.Errorf("depth %d: %d, %v", depth, v, err)
		}
		self.Release()

		end := errors.New("the end")
		self = callback(t, func(n int64) (int64, error) {
			if n == 0 {
				return 0, end
			}
			return call2(fnApply, self, n-1)
		})
		if _, err := fresh2(func() (int64, error) { return call2(fnApply, self, depth) }); !errors.Is(err, end) {
			t.Errorf("depth %d: error %v", depth, err)
		}
		self.Release()
	}
}

func fresh2[A, B any](f func() (A, B)) (A, B) {
	type both struct {
		a A
		b B
	}
	r := fresh(func() both { a, b := f(); return both{a, b} })
	return r.a, r.b
}

func TestErrorAndPanicInCallbacks(t *testing.T) {
	load(t)
	before := objects.LiveCallbacks()
	own := errors.New("from Go")
	fails := callback(t, func(int64) (int64, error) { return 0, own })
	panics := callback(t, func(int64) (int64, error) { panic("oops") })
	derefs := callback(t, func(int64) (int64, error) { var p *int64; return *p, nil })
	for range 300 {
		for _, where := range []*calls.Func{fnRepeat, fnOnThread} {
			if _, err := repeat(where, fails, 2); !errors.Is(err, own) {
				t.Fatal(err)
			}
			_, err := repeat(where, panics, 2)
			if err == nil || err.Error() != "RuntimeError: panic in a Go callback: oops" {
				t.Fatal(err)
			}
			if e := failure.FailureOf(err); !strings.Contains(e.Backtrace, "sound_test.go") {
				t.Fatalf("backtrace %q", e.Backtrace)
			}
			var fault runtime.Error
			if _, err := repeat(where, derefs, 2); !errors.As(err, &fault) {
				t.Fatal(err)
			}
		}
	}
	fails.Release()
	panics.Release()
	derefs.Release()
	machinetest.Collect(t, "Go values", func() bool { return objects.LiveCallbacks() <= before })
}

// A callback whose last reference native code drops keeps running, and its error arrives,
// though its node holds another func, or none, by then.
func TestCallbackReleasedWhileItRuns(t *testing.T) {
	load(t)
	own := errors.New("from Go")
	dropGarbage(t) // a cleanup of another test would free a node
	for _, again := range []bool{false, true} {
		var f, next *objects.Object
		f = callback(t, func(int64) (int64, error) {
			objects.DecRef(f.Handle()) // as native code does
			if again {                 // takes the node that has become free
				next = callback(t, func(x int64) (int64, error) { return x + 1, nil })
			}
			runtime.GC()
			return 0, own
		})
		handle := f.Detach()
		f = objects.Static(handle) // which drops nothing
		var c calls.Call2
		c.BeginFunction(f, 1)
		c.Int(0, 1)
		if err := c.Do(); !errors.Is(err, own) {
			t.Errorf("again %v: %v", again, err)
		}
		if again {
			if next.Handle() != handle {
				t.Error("the node was not used again")
			}
			if v, err := call2(fnApply, next, 1); v != 2 || err != nil {
				t.Error(v, err)
			}
			next.Release()
		}
	}
}

// The error slot of the library belongs to the thread.
func TestErrorsStayWithTheirCall(t *testing.T) {
	load(t)
	var wg sync.WaitGroup
	for g := range 32 {
		wg.Go(func() {
			for i := range 100 {
				message := fmt.Sprintf("goroutine %d round %d", g, i)
				if err := fail("ValueError", message); err == nil || err.Error() != "ValueError: "+message {
					t.Errorf("want %q, got %v", message, err)
				}
				runtime.Gosched()
				if v, err := addOne(int64(i)); err != nil || v != int64(i)+1 {
					t.Errorf("a good call after it: %d, %v", v, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestCallbacksOnThreads(t *testing.T) {
	load(t)
	grow := callback(t, func(x int64) (int64, error) { deep(int(x % 50)); return x, nil })
	defer grow.Release()
	for range 10 {
		if v, err := repeat(fnOnThread, grow, 1); err != nil || v != 0 {
			t.Fatal(v, err)
		}
	}
	before := pprof.Lookup("threadcreate").Count()
	for range 500 {
		if v, err := repeat(fnOnThread, grow, 4); err != nil || v != 6 {
			t.Fatal(v, err)
		}
	}
	if n := pprof.Lookup("threadcreate").Count() - before; n > 20 {
		t.Errorf("%d threads of Go were made for 500 threads of C++", n)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				var c calls.Call3
				c.Begin(fnThreads, 3)
				c.Object(0, grow)
				c.Int(1, 100)
				c.Int(2, 8)
				if err := c.Do(); err != nil {
					t.Error(err)
				} else if v, err := c.IntResult(); err != nil || v != 8*4950 {
					t.Error(v, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestUnderGCStress(t *testing.T) {
	load(t)
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	boxes := live(t)
	inc := callback(t, func(x int64) (int64, error) {
		_ = make([]byte, 100)
		deep(int(x % 40))
		return x + 1, nil
	})
	defer inc.Release()
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
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Go(func() {
			for i := range rounds {
				s := fmt.Sprintf("a string of goroutine %d round %d", g, i)
				if r, err := echoText(s); err != nil || r != s {
					t.Errorf("%q %v", r, err)
				}
				long := strings.Repeat(s, 30)
				if r, err := concat(long, s+"\x00"); err != nil || r != long+s+"\x00" {
					t.Errorf("%q %v", r, err)
				}
				if b, err := echoBytes([]byte(s)); err != nil || string(b) != s {
					t.Errorf("%q %v", b, err)
				}
				if r, err := repeat(fnRepeat, inc, 10); err != nil || r != 55 {
					t.Error(r, err)
				}
				if i%10 == 0 {
					if r, err := repeat(fnOnThread, inc, 10); err != nil || r != 55 {
						t.Error(r, err)
					}
				}
				if err := fail("ValueError", s); err == nil || err.Error() != "ValueError: "+s {
					t.Error(err)
				}
				// Objects whose wrappers are garbage during the call.
				var c calls.Call3
				c.Begin(fnNop3, 3)
				for i := range 3 {
					b, err := newBox(int64(i))
					if err != nil {
						t.Error(err)
					}
					c.Object(i, b)
				}
				if err := c.Do(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	<-done
	machinetest.Collect(t, "boxes", func() bool { return live(t) <= boxes })
}
