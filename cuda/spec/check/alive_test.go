package check_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/cuda/spec/check"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// collecting stands for a stream. When the checks come to it, everything that nobody
// holds is collected.
type collecting struct{ lost chan bool }

func (c *collecting) Pointer() tvmffi.Pointer {
	for range 5 {
		runtime.GC()
		select {
		case <-c.lost:
			c.lost <- true
			return tvmffi.Pointer{}
		case <-time.After(time.Millisecond):
		}
	}
	return tvmffi.Pointer{}
}

// lent makes arguments that only their slice holds: a tuple with a stream, and behind it a
// tensor, which the checks read last. The channel gets a value when the tensor's wrapper
// is collected.
//
//go:noinline
func lent(m maker) (args []any, lost chan bool) {
	lost = make(chan bool, 1)
	w := &wrapped{m.f32(8)}
	runtime.AddCleanup(w, func(lost chan bool) { lost <- true }, lost)
	return []any{[]any{&collecting{lost}}, w}, lost
}

// TestAlive: the checks read the memory behind their arguments, so that they hold all of
// them until the last check.
func TestAlive(t *testing.T) {
	use(t)
	c := check.MustCompile("f(t: Tuple[Stream], a: Tensor([n], float32))")
	for name, do := range map[string]func() (chan bool, error){
		"Check": func() (chan bool, error) {
			args, lost := lent(maker{t})
			return lost, c.Check(args...)
		},
		"Bind": func() (chan bool, error) {
			args, lost := lent(maker{t})
			var v check.Values
			return lost, c.Bind(&v, args...)
		},
	} {
		lost, err := do()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(lost) != 0 {
			t.Errorf("%s: an argument was collected while it was checked", name)
		}
	}
}
