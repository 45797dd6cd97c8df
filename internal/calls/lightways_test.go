//go:build linux

package calls_test

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/registry"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

var typeOdd = fields.Type{Key: "light.Odd"}

// odd is an object with a field whose getter calls a function if it holds a positive number, and has been brief until then.
type odd struct {
	*objects.Object
	x fields.Field
}

// called is a C function that calls f if its argument is positive, and is brief otherwise.
type called struct {
	get func(x int64) (int64, error)
	way *ccall.Way
	end func()
}

// ways are how such a function is called.
var ways = map[string]func(f *objects.Object) (*called, error){
	"the getter of a field": func(f *objects.Object) (*called, error) {
		o, err := made("odd", f, &typeOdd)
		if err != nil {
			return nil, err
		}
		x := &odd{o, fields.Field{Owner: &typeOdd, Name: "x", Sig: "int"}}
		way, err := x.x.Getting()
		return &called{x.get, way, o.Release}, err
	},
	"a Function": func(f *objects.Object) (*called, error) {
		o, err := made("bind", f, &typeFunction)
		if err != nil {
			return nil, err
		}
		return &called{func(x int64) (int64, error) { return callObject(o, x) }, o.Way(), o.Release}, nil
	},
}

var typeFunction = fields.Type{Key: "ffi.Function"}

// callObject calls f(x), which returns an int.
func callObject(f *objects.Object, x int64) (int64, error) {
	var c calls.Call1
	c.BeginFunction(f, 1)
	c.Int(0, x)
	return c.DoInt()
}

// made makes an object of f.
func made(by string, f *objects.Object, t *fields.Type) (*objects.Object, error) {
	var c calls.Call1
	c.Begin(&calls.Func{Name: "light." + by}, 1)
	c.Object(0, f)
	if err := c.Do(); err != nil {
		return nil, err
	}
	return c.ObjectResult(t)
}

// newWay makes a way of calling f that has been brief.
func newWay(how string, f *objects.Object) (*called, error) {
	c, err := ways[how](f)
	if err != nil {
		return nil, err
	}
	for range 200 {
		if _, err := c.get(0); err != nil {
			return nil, err
		}
	}
	c.way.Say(true) // under an emulator no call may have been brief
	return c, nil
}

// eachWay runs a test for each way.
func eachWay(t *testing.T, test func(t *testing.T, how string)) {
	lightly(t)
	for how := range ways {
		t.Run(how, func(t *testing.T) { test(t, how) })
	}
}

// get writes the number, and then reads the field.
func (o *odd) get(x int64) (y int64, err error) {
	if err := o.x.Set(o.Object, values.AnyView{Value: abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(x)}}, nil); err != nil {
		return 0, err
	}
	defer func() {
		if e, ok := recover().(error); ok {
			err = e
		}
	}()
	return o.x.Int(o.Object), nil
}

// global returns a global function.
func global(t *testing.T, name string) *objects.Object {
	t.Helper()
	handle, err := registry.GlobalFunction(name)
	if err != nil || handle == 0 {
		t.Fatal(name, handle, err)
	}
	return objects.Own(handle)
}

// TestLightWaysLearn: each way becomes light, and ordinary again.
func TestLightWaysLearn(t *testing.T) { eachWay(t, lightWaysLearn) }

func lightWaysLearn(t *testing.T, how string) {
	if !ccall.LightCalls() {
		return // nothing to learn
	}
	f := global(t, "light.spin")
	defer f.Release()
	o, err := ways[how](f)
	if err != nil {
		t.Fatal(err)
	}
	defer o.end()
	for deadline := time.Now().Add(nativetest.Patience(time.Minute)); !o.way.Light(); {
		if _, err := o.get(0); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatal("brief calls do not become light")
		}
	}
	defer collect()()
	for n := 0; o.way.Light(); n++ {
		if _, err := o.get(2000); err != nil || n == 10000 {
			t.Fatal("calls of 2 ms under a collector stay light", err)
		}
	}
}

// TestLightWays: a C function that is not brief any more may do everything that it may do in an ordinary call. Calls that
// take time while somebody collects become ordinary ones.
func TestLightWays(t *testing.T) { eachWay(t, lightWays) }

func lightWays(t *testing.T, how string) {
	add := lightFunc(t, "add_one")
	wrong := errors.New("refused")
	back := callback(t, func(x int64) (int64, error) {
		useStack(int(x) * 50)
		runtime.GC()
		if x%7 == 0 {
			return 0, wrong
		}
		return call1(add, x-1)
	})
	defer back.Release()
	for _, c := range []struct {
		f        string
		x        int64
		err      string
		upgrades bool
	}{
		{"spin", 2000, "", true},
		{"malloc", 2000, "", true},
		{"other_stack", 1, "", false},
		{"fork", 7, "", false},
		{"throw", 2, "two", false},
		{"throw", 3, "", false},
		{"", 5, "", true},
		{"", 7, "refused", true},
	} {
		t.Run(fmt.Sprint(c.f, c.x), func(t *testing.T) {
			f := back
			if c.f != "" {
				f = global(t, "light."+c.f)
				defer f.Release()
			}
			defer collect()()
			before := ccall.Upgrades()
			done := make(chan error)
			go func() { // on a small stack, which moves
				done <- func() error {
					o, err := newWay(how, f)
					if err != nil {
						return err
					}
					defer o.end()
					for range 30 { // the last ones are ordinary
						x, err := o.get(c.x)
						if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
							return fmt.Errorf("the error is %w", err)
						} else if c.err == "" && (err != nil || x != c.x && c.f != "malloc") {
							return fmt.Errorf("%d %w", x, err)
						}
					}
					return nil
				}()
			}()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if ccall.LightCalls() && c.upgrades && ccall.Upgrades() == before {
				t.Error("no call became an ordinary one")
			}
		})
	}
	if ccall.CatchesThrown {
		f := global(t, "light.throw")
		defer f.Release()
		o, err := newWay(how, f)
		if err != nil {
			t.Fatal(err)
		}
		defer o.end()
		for range 100 {
			if _, err := o.get(1); err == nil || !strings.Contains(err.Error(), "threw a C++ exception of the type int") {
				t.Fatal(err)
			}
		}
	}
}

// A C function that waits for a goroutine ends, because the scheduler gets the P back.
func TestLightWaysWait(t *testing.T) { eachWay(t, lightWaysWait) }

func lightWaysWait(t *testing.T, how string) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	set := lightFunc(t, "set")
	f := global(t, "light.await")
	defer f.Release()
	o, err := newWay(how, f)
	if err != nil {
		t.Fatal(err)
	}
	defer o.end()
	upgrades(t, func() {
		for x := int64(1000); x < 1010; x++ {
			go call1(set, x)
			if y, err := o.get(x); y != x || err != nil {
				t.Fatal(y, err)
			}
		}
	})
}

// A C function that sleeps may be interrupted, until its calls are ordinary.
func TestLightWaysInterrupted(t *testing.T) { eachWay(t, lightWaysInterrupted) }

func lightWaysInterrupted(t *testing.T, how string) {
	if !ccall.LightCalls() {
		return // nothing to interrupt
	}
	f := global(t, "light.sleep")
	defer f.Release()
	o, err := newWay(how, f)
	if err != nil {
		t.Fatal(err)
	}
	defer o.end()
	defer collect()()
	const long = 50_000
	short := 0
	for range 30 {
		slept, err := o.get(long)
		if err != nil {
			t.Fatal(err)
		}
		if slept < long {
			short++
		}
	}
	if short > 20 {
		t.Errorf("%d calls were interrupted, at most 20 may be", short)
	}
}

// Several goroutines at once, while everything moves.
func TestLightWaysStorm(t *testing.T) { eachWay(t, lightWaysStorm) }

func lightWaysStorm(t *testing.T, how string) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	defer collect()()
	back := callback(t, func(x int64) (int64, error) {
		useStack(int(x % 300))
		return x, nil
	})
	defer back.Release()
	var all sync.WaitGroup
	defer all.Wait()
	var turns atomic.Int64
	for g := range 4 {
		all.Go(func() {
			for i := range 50 {
				o, err := newWay(how, back)
				if err != nil {
					t.Error(err)
					return
				}
				for j := range int64(40) {
					useStack(int(j) * 10)
					x := (j - 36) * int64(g+1) // positive at last
					if y, err := o.get(x); y != x || err != nil {
						t.Error(i, x, y, err)
					}
					sendUrgentNow(int(turns.Add(1)))
				}
				o.end()
			}
		})
	}
}

// sendUrgentNow sends the signal at some turns.
func sendUrgentNow(turn int) {
	if turn%50 == 0 {
		sendUrgent()
	}
}

// A Function of Go is never called lightly, because each call would become an ordinary one.
func TestLightGoFunction(t *testing.T) {
	lightly(t)
	f := callback(t, func(x int64) (int64, error) { return x, nil })
	defer f.Release()
	before := ccall.Upgrades()
	for x := range int64(300) {
		if y, err := callObject(f, x); y != x || err != nil {
			t.Fatal(y, err)
		}
	}
	if ccall.Upgrades() != before {
		t.Error("calls were light")
	}
}
