package exportrt

import (
	"iter"
	"sync"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/callbacks"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/bindrt"
)

// Sequence returns the values of seq as a result: a function without parameters that returns a
// tuple of one value, or None at the end. The end of the function ends the sequence: the
// yield that it waits in returns false.
//
// The sequence runs on a goroutine of its own, which begins with the first call. iter.Pull is
// not used: calls come on any thread of the host, and the runtime of Go allows only calls
// on the thread that began.
func Sequence[T any](a *bindrt.Args, seq iter.Seq[T]) tvmffi.Moved {
	return newSequence(a, func(yield func(tvmffi.Tuple1[T]) bool) {
		if seq != nil {
			seq(func(v T) bool { return yield(tvmffi.Tuple1[T]{A: v}) })
		}
	})
}

// Sequence2 is Sequence for pairs: a tuple of one tuple of two values.
func Sequence2[K, V any](a *bindrt.Args, seq iter.Seq2[K, V]) tvmffi.Moved {
	return newSequence(a, func(yield func(tvmffi.Tuple1[tvmffi.Tuple2[K, V]]) bool) {
		if seq != nil {
			seq(func(k K, v V) bool {
				return yield(tvmffi.Tuple1[tvmffi.Tuple2[K, V]]{A: tvmffi.Tuple2[K, V]{A: k, B: v}})
			})
		}
	})
}

// sequence is the state of a sequence, which next and its goroutine share.
type sequence[T any] struct {
	mu     sync.Mutex // one call of next at a time
	begun  bool
	ended  bool
	run    func(yield func(T) bool)
	in     string // the Go func, for panics
	name   string // the same for runtime.Goexit
	typed  bool   // the caller of the func takes typed values
	want   chan struct{}
	values chan T
	err    error // set before values is closed
	// released is closed when native code has released the function.
	released chan struct{}
	// owners keep the memory of arguments that run may read, until its goroutine ends.
	owners []*objects.Object
}

func newSequence[T any](a *bindrt.Args, run func(yield func(T) bool)) tvmffi.Moved {
	s := &sequence[T]{run: run, in: a.GoName(), name: a.ShortName(), typed: a.Typed(), want: make(chan struct{}), values: make(chan T), released: make(chan struct{}), owners: a.Owners()}
	about := &callbacks.About{Name: "next", Ended: sync.OnceFunc(func() { close(s.released) })}
	handle := callbacks.NewDescribed(s.next, 0, about)
	return tvmffi.Move(codec.Wrap[*tvmffi.Function](objects.Own(handle)))
}

// next returns the next value, or None at the end.
func (s *sequence[T]) next(a *bindrt.Args) error {
	if err := a.CheckCount(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return nil
	case !s.begun:
		s.begun = true
		watch(1)
		go s.goroutine()
	default:
		s.want <- struct{}{} // the goroutine waits in yield
	}
	v, ok := <-s.values
	if !ok {
		s.ended = true
		return s.err
	}
	if s.typed && !a.Typed() {
		return a.AskTyped(func(a *bindrt.Args) error { return bindrt.Return(a, v) })
	}
	return bindrt.Return(a, v)
}

// goroutine runs the sequence.
func (s *sequence[T]) goroutine() {
	returned := false
	defer func() {
		if p := recover(); p != nil {
			s.err = failure.Recovered(p, s.in)
		} else if !returned {
			s.err = failure.Goexit(s.name)
		}
		watch(-1)
		close(s.values)
	}()
	s.run(s.yield)
	returned = true
}

// yield hands a value to next, and waits for the next call.
func (s *sequence[T]) yield(v T) bool {
	select {
	case <-s.released: // yield was called again after it returned false
		return false
	case s.values <- v:
	}
	select {
	case <-s.released:
		return false
	case <-s.want:
		return true
	}
}

// watching looks for functions that native code has released while sequences run. Native code
// only puts what it releases on a list, because it may do so on any thread and in a
// forked process. Otherwise that list is read when Go makes the next object.
var watching struct {
	mu      sync.Mutex
	live    int
	looking bool
}

// lookEvery is the time between two looks at the list.
const lookEvery = 20 * time.Millisecond

// watch changes the number of sequences that run.
func watch(change int) {
	watching.mu.Lock()
	defer watching.mu.Unlock()
	watching.live += change
	if watching.live > 0 && !watching.looking {
		watching.looking = true
		go look()
	}
}

func look() {
	for {
		time.Sleep(lookEvery)
		objects.Drain()
		watching.mu.Lock()
		watching.looking = watching.live > 0
		looking := watching.looking
		watching.mu.Unlock()
		if !looking {
			return
		}
	}
}
