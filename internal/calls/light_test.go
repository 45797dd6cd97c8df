//go:build linux

package calls_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"runtime/trace"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/libraries"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

var lightOnce nativetest.Once

// lightly asks for light calls. Where there are none, the tests hold for ordinary calls.
func lightly(t testing.TB) {
	t.Helper()
	load(t)
	lightOnce.Do(t, func() {
		if err := libraries.OpenCore(&find.Options{LightCalls: true}); err != nil {
			t.Fatal(err)
		}
	})
}

func call1(f *calls.Func, x int64) (int64, error) {
	var c calls.Call1
	c.Begin(f, 1)
	c.Int(0, x)
	return c.DoInt()
}

// lightFunc returns a new Func whose calls are light, if there are light calls.
func lightFunc(t testing.TB, name string) *calls.Func {
	t.Helper()
	lightly(t)
	f := &calls.Func{Name: "light." + name}
	if err := f.Resolve(); err != nil {
		t.Fatal(err)
	}
	calls.MakeLight(f)
	return f
}

// upgrades fails the test unless f makes an upgrade, where there are light calls.
func upgrades(t *testing.T, f func()) {
	t.Helper()
	before := ccall.Upgrades()
	f()
	if ccall.LightCalls() && ccall.Upgrades() == before {
		t.Error("no call became an ordinary one")
	}
}

// collect collects garbage until stop is called.
func collect() (stop func()) {
	var done atomic.Bool
	var all sync.WaitGroup
	all.Go(func() {
		for !done.Load() {
			runtime.GC()
		}
	})
	return func() { done.Store(true); all.Wait() }
}

func TestLightLearns(t *testing.T) {
	lightly(t)
	if !ccall.LightCalls() {
		return // nothing to learn or to interrupt
	}
	spin := &calls.Func{Name: "light.spin"}
	for deadline := time.Now().Add(nativetest.Patience(time.Minute)); !calls.IsLight(spin); {
		if _, err := call1(spin, 0); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatal("brief calls do not become light")
		}
	}
	defer collect()()
	for n := 0; calls.IsLight(spin); n++ { // late calls make it ordinary, for good
		if n == 10000 {
			t.Fatal("calls of 2 ms under a collector stay light")
		}
		if _, err := call1(spin, 2000); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		if _, err := call1(spin, 0); err != nil || calls.IsLight(spin) {
			t.Fatal("light again", err)
		}
	}
	slow := &calls.Func{Name: "light.spin"}
	for range 100 {
		if _, err := call1(slow, 20); err != nil || calls.IsLight(slow) {
			t.Fatal("light without having been brief", err)
		}
	}
}

// A function that was called before the program asked learns like others. It runs in a process of its own, in which
// nothing has asked yet.
func TestLightAskedLater(t *testing.T) {
	if os.Getenv("TVMFFI_TEST_LATER") == "" {
		load(t) // builds
		command := nativetest.Command(t.Context(), nativetest.Self(), "-test.run=^TestLightAskedLater$")
		command.Env = append(os.Environ(), "TVMFFI_TEST_LATER=1")
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	load(t)
	spin := &calls.Func{Name: "light.spin"}
	for range 100 {
		if _, err := call1(spin, 0); err != nil || calls.IsLight(spin) {
			t.Fatal("light before the program asked", err)
		}
	}
	lightly(t)
	if !ccall.LightCalls() {
		return
	}
	for deadline := time.Now().Add(nativetest.Patience(time.Minute)); !calls.IsLight(spin); {
		if _, err := call1(spin, 0); err != nil || time.Now().After(deadline) {
			t.Fatal("brief calls do not become light", err)
		}
	}
}

// TestLightSaid: bindings may know better than the first calls.
func TestLightSaid(t *testing.T) {
	lightly(t)
	if !ccall.LightCalls() {
		return
	}
	for brief, want := range map[calls.Brevity]bool{calls.Always: true, calls.Never: false} {
		spin := &calls.Func{Name: "light.spin", Brief: brief}
		for range 100 {
			if _, err := call1(spin, 0); err != nil || calls.IsLight(spin) != want {
				t.Fatal(brief, calls.IsLight(spin), err)
			}
		}
	}
	spin := &calls.Func{Name: "light.spin", Brief: calls.Always}
	defer collect()()
	for n := 0; n == 0 || calls.IsLight(spin); n++ {
		if _, err := call1(spin, 2000); err != nil || n == 10000 {
			t.Fatal("what bindings say of slow calls is believed forever", err)
		}
	}
}

// A callback of a light call may do everything that one of an ordinary call may.
func TestLightCallbacks(t *testing.T) {
	call, add := lightFunc(t, "call"), lightFunc(t, "add_one")
	thread := lightFunc(t, "call_on_thread")
	inner := callback(t, func(x int64) (int64, error) { runtime.GC(); return call1(add, x) })
	defer inner.Release()
	wrong := errors.New("refused")
	outer := callback(t, func(x int64) (int64, error) {
		useStack(int(x) * 50)
		y, err := call2(call, inner, x)
		if err != nil || y != x+1 {
			return 0, fmt.Errorf("%d %w", y, err)
		}
		if y, err = call2(thread, inner, y); err != nil {
			return 0, err
		}
		if x%7 == 0 {
			return 0, wrong
		}
		return call1(add, y)
	})
	defer outer.Release()
	upgrades(t, func() {
		for x := int64(1); x < 40; x++ {
			done := make(chan error)
			go func() { // on a small stack, which moves
				y, err := call2(call, outer, x)
				switch {
				case x%7 == 0 && (err == nil || !strings.Contains(err.Error(), "refused")):
					done <- fmt.Errorf("the error is %w", err)
				case x%7 != 0 && (err != nil || y != x+3):
					done <- fmt.Errorf("%d: %d %w", x, y, err)
				default:
					done <- nil
				}
			}()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
	})
}

func useStack(n int) byte {
	var a [64]byte
	a[n%64] = byte(n)
	if n > 0 {
		a[0] += useStack(n - 1)
	}
	return a[n%64]
}

// Errors and exceptions leave a light call as an ordinary one.
func TestLightErrors(t *testing.T) {
	f := lightFunc(t, "throw")
	for range 100 {
		if ccall.CatchesThrown {
			_, err := call1(f, 1)
			if err == nil || !strings.Contains(err.Error(), "threw a C++ exception of the type int") {
				t.Fatal(err)
			}
		}
		if _, err := call1(f, 2); err == nil || !strings.Contains(err.Error(), "two") {
			t.Fatal(err)
		}
		if x, err := call1(f, 3); x != 3 || err != nil {
			t.Fatal(x, err)
		}
	}
	if ccall.LightCalls() && !calls.IsLight(f) {
		t.Error("errors are not late")
	}
}

// A callee that waits for a goroutine ends, because the scheduler gets the P back.
func TestLightWaits(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	await, set := lightFunc(t, "await"), lightFunc(t, "set")
	upgrades(t, func() {
		for x := int64(1); x < 10; x++ {
			go call1(set, x)
			if _, err := call1(await, x); err != nil {
				t.Fatal(err)
			}
		}
	})
	lock, locked := lightFunc(t, "lock"), lightFunc(t, "call_locked")
	yields := callback(t, func(x int64) (int64, error) { runtime.Gosched(); runtime.GC(); return x, nil })
	defer yields.Release()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 10 {
				if _, err := call2(locked, yields, 1); err != nil {
					t.Error(err)
				}
				if _, err := call1(lock, 1); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// The world stops during a callee that waits until it has stopped.
func TestLightStopsWorld(t *testing.T) {
	await, set := lightFunc(t, "await"), lightFunc(t, "set")
	for x := int64(100); x < 105; x++ {
		var begins atomic.Bool
		var all sync.WaitGroup
		all.Go(func() {
			begins.Store(true)
			if _, err := call1(await, x); err != nil {
				t.Error(err)
			}
		})
		for !begins.Load() {
			runtime.Gosched()
		}
		for range 20 {
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
			runtime.GC()
		}
		if _, err := call1(set, x); err != nil {
			t.Fatal(err)
		}
		all.Wait()
	}
}

func TestLightOtherStack(t *testing.T) {
	f := lightFunc(t, "other_stack")
	defer collect()()
	for range 5 {
		if _, err := call1(f, 1); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLightFork(t *testing.T) {
	f := lightFunc(t, "fork")
	for range 5 {
		if x, err := call1(f, 7); x != 7 || err != nil {
			t.Fatal(x, err)
		}
	}
}

// A system call in a light call may be interrupted, until the function is ordinary.
func TestLightInterrupted(t *testing.T) {
	sleep := lightFunc(t, "sleep")
	if !ccall.LightCalls() {
		return // nothing to learn or to interrupt
	}
	defer collect()()
	const long = 50_000
	short := 0
	for n := 0; calls.IsLight(sleep); n++ {
		slept, err := call1(sleep, long)
		if err != nil {
			t.Fatal(err)
		}
		if slept < long {
			short++
		}
		if n == 1000 {
			t.Fatal("the calls stay light", short)
		}
	}
	if short > 20 {
		t.Errorf("%d calls were interrupted, at most 20 may be", short)
	}
}

// Somebody replaces the handler of SIGURG: light calls end, also one that waits for Go, and the
// new handler gets its signals. It runs in a process of its own, which has no light calls after it.
func TestLightTaken(t *testing.T) {
	for how, take := range map[string]func(){
		"C": func() {
			f := lightFunc(t, "take_urgent")
			if _, err := call1(f, 1); err != nil {
				t.Fatal(err)
			}
		},
		"Ignore": func() { signal.Ignore(syscall.SIGURG) },
	} {
		if os.Getenv("TVMFFI_TEST_TAKE") == how {
			await, set, echo := lightFunc(t, "await"), lightFunc(t, "set"), lightFunc(t, "echo")
			if !ccall.LightCalls() {
				return
			}
			take()
			runtime.GOMAXPROCS(1)
			for x := int64(1); x < 5; x++ {
				go call1(set, x)
				if _, err := call1(await, x); err != nil {
					t.Fatal(err)
				}
			}
			for ccall.LightCalls() {
				runtime.Gosched()
			}
			// Light refuses all calls now. They are made nevertheless, also with a text outside the frame.
			var c calls.Call1
			text := strings.Repeat("long", 20)
			c.Begin(echo, 1)
			c.String(0, text)
			if s, err := c.DoString(); s != text || err != nil {
				t.Fatal(s, err)
			}
			if how != "C" {
				return
			}
			sendUrgent()
			count := &calls.Func{Name: "light.take_urgent"}
			for {
				if n, err := call1(count, 0); n > 0 || err != nil {
					return
				}
			}
		}
		if os.Getenv("TVMFFI_TEST_TAKE") == "" {
			lightly(t) // builds
			limit, cancel := context.WithTimeout(t.Context(), nativetest.Patience(time.Minute))
			defer cancel()
			command := nativetest.Command(limit, nativetest.Self(), "-test.run=^TestLightTaken$")
			command.Env = append(os.Environ(), "TVMFFI_TEST_TAKE="+how)
			if out, err := command.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", how, err, out)
			}
		}
	}
}

// storm is how long TestLightStorm takes; TVMFFI_TEST_STORM is a longer time.
func storm(t *testing.T) time.Duration {
	d, err := time.ParseDuration(os.Getenv("TVMFFI_TEST_STORM"))
	if err != nil {
		d = time.Second
	}
	return d
}

// Everything at once: collections, signals from outside, a profile, a trace, deep stacks, errors,
// callbacks, C++ that allocates.
func TestLightStorm(t *testing.T) {
	lightly(t)
	add, echo := lightFunc(t, "add_one"), lightFunc(t, "echo")
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	discard, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer discard.Close()
	if pprof.StartCPUProfile(discard) == nil {
		defer pprof.StopCPUProfile()
	}
	if trace.Start(discard) == nil {
		defer trace.Stop()
	}
	defer collect()()
	var stop atomic.Bool
	var all sync.WaitGroup
	defer all.Wait()
	defer stop.Store(true)
	all.Go(func() {
		for !stop.Load() {
			if sendUrgent(); runtime.GOMAXPROCS(0) == 1 {
				runtime.Gosched()
			}
		}
	})
	var rounds atomic.Int64
	for g := range 4 {
		all.Go(func() {
			for i := int64(1); !stop.Load() && !t.Failed(); i++ {
				if err := round(t, add, echo, i+int64(g)*1000); err != nil {
					t.Error(err)
				}
				rounds.Add(1)
			}
		})
	}
	time.Sleep(storm(t))
	t.Log(rounds.Load(), "rounds", ccall.Upgrades(), "upgrades")
}

// round makes some calls.
func round(t *testing.T, add, echo *calls.Func, i int64) error {
	for j := range i % 100 {
		if y, err := call1(add, j); err != nil || y != j+1 {
			return fmt.Errorf("%d+1 is %d: %w", j, y, err)
		}
		var c calls.Call6
		c.Begin(echo, 1)
		text := "a text of more than seven bytes"[:8+j%20]
		c.String(0, text)
		if s, err := c.DoString(); err != nil || s != text {
			return fmt.Errorf("%q: %w", s, err)
		}
	}
	if i%16 != 0 {
		return nil
	}
	call, work, throws := lightFunc(t, "call"), lightFunc(t, "malloc"), lightFunc(t, "throw")
	useStack(int(i % 300))
	back := callback(t, func(x int64) (int64, error) {
		useStack(int(x * 30))
		var kept []byte
		for range x {
			kept = append(kept, make([]byte, 1000)...)
		}
		runtime.KeepAlive(kept)
		return call1(add, x)
	})
	defer back.Release()
	for x := int64(1); x < 10; x++ {
		if y, err := call2(call, back, x); err != nil || y != x+1 {
			return fmt.Errorf("callback %d: %d %w", x, y, err)
		}
		if _, err := call1(work, x*10); err != nil {
			return err
		}
		if _, err := call1(throws, 2); err == nil {
			return errors.New("no error")
		}
	}
	return nil
}

// sendUrgent sends the signal by which Go preempts to every thread of the process.
func sendUrgent() {
	pid := os.Getpid()
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, task := range tasks {
		if tid, err := strconv.Atoi(task.Name()); err == nil {
			syscall.Tgkill(pid, tid, syscall.SIGURG)
		}
	}
}
