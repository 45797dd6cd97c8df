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

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/registry"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

var typeOdd = fields.Type{Key: "light.Odd"}

// odd is an object with a field whose getter calls a function if it holds a positive number, and has been brief until then.
type odd struct {
	*objects.Object
	x fields.Field
}

// newOdd makes an odd that calls f.
func newOdd(f *objects.Object) (*odd, error) {
	var c calls.Call1
	c.Begin(&calls.Func{Name: "light.odd"}, 1)
	c.Object(0, f)
	if err := c.Do(); err != nil {
		return nil, err
	}
	o, err := c.ObjectResult(&typeOdd)
	if err != nil {
		return nil, err
	}
	made := &odd{o, fields.Field{Owner: &typeOdd, Name: "x", Sig: "int"}}
	for range 200 {
		if _, err := made.get(0); err != nil {
			return nil, err
		}
	}
	return made, nil
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

// TestLightFields: the getter of a field may do everything that it may do in an ordinary call. Those that take time while
// somebody collects become ordinary calls.
func TestLightFields(t *testing.T) {
	lightly(t)
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
					o, err := newOdd(f)
					if err != nil {
						return err
					}
					defer o.Release()
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
		o, err := newOdd(f)
		if err != nil {
			t.Fatal(err)
		}
		defer o.Release()
		for range 100 {
			if _, err := o.get(1); err == nil || !strings.Contains(err.Error(), "threw a C++ exception of the type int") {
				t.Fatal(err)
			}
		}
	}
}

// A getter that waits for a goroutine ends, because the scheduler gets the P back.
func TestLightFieldWaits(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	set := lightFunc(t, "set")
	f := global(t, "light.await")
	defer f.Release()
	o, err := newOdd(f)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Release()
	upgrades(t, func() {
		for x := int64(1000); x < 1010; x++ {
			go call1(set, x)
			if y, err := o.get(x); y != x || err != nil {
				t.Fatal(y, err)
			}
		}
	})
}

// A getter that sleeps may be interrupted, until its calls are ordinary.
func TestLightFieldInterrupted(t *testing.T) {
	lightly(t)
	if !ccall.LightCalls() {
		return // nothing to interrupt
	}
	f := global(t, "light.sleep")
	defer f.Release()
	o, err := newOdd(f)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Release()
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

// The fields of one object, read and written by several goroutines while everything moves.
func TestLightFieldStorm(t *testing.T) {
	lightly(t)
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
				o, err := newOdd(back)
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
				o.Release()
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
