package tokenizer

import (
	"runtime"
	"sync"

	"github.com/tvmffi-go/tvmffi/xgrammar/internal/pattern"
)

// scratch has the memory of an encoding.
type scratch struct {
	text, part []byte
	control    []span    // of text
	inPart     []span    // control in part
	normal     []byte    // for the library of normal forms
	buffers    [2][]byte // of normalizers and splitters, in turn
	buffer     int
	words      [2][]span
	turn       int
	machine    pattern.Machine
	marks      []mark

	symbols []symbol
	heap    []candidate
	affix   []byte
	cache   *cache
	ways    []reached
	found   []piece
}

// other returns the list of words that is not in use, empty; it has as much room as the other one.
func (s *scratch) other(words []span) []span {
	s.turn ^= 1
	return s.words[s.turn][:0]
}

// rewrite returns the buffer that is not in use, empty.
func (s *scratch) rewrite() []byte {
	s.buffer ^= 1
	return s.buffers[s.buffer][:0]
}

// rewritten keeps a buffer that may have grown.
func (s *scratch) rewritten(to []byte) { s.buffers[s.buffer] = to }

// maxKept bounds the text whose memory is kept for the next one.
const maxKept = 1 << 20

// shelf keeps the memory of calls that ended for those that come, as many as run at once.
type shelf[T any] struct {
	mutex sync.Mutex
	free  []*T
}

func (s *shelf[T]) take() *T {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if n := len(s.free); n > 0 {
		top := s.free[n-1]
		s.free = s.free[:n-1]
		return top
	}
	return new(T)
}

func (s *shelf[T]) put(t *T) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.free) < 2*runtime.GOMAXPROCS(0) {
		s.free = append(s.free, t)
	}
}
