package tvmffi

import "github.com/tvmffi-go/tvmffi/internal/core"

// Scope collects handles and releases them together:
//
//	var s tvmffi.Scope
//	defer s.Release()
//	rose, err := garden.NewRose("red")
//	s.Add(rose)
//
// Its zero value is ready. A Scope must not be used by two goroutines at once.
type Scope struct{ objects []ObjectRef }

// Add makes the scope release x.
func (s *Scope) Add(x ObjectRef) {
	if core.StateOf(x) != nil {
		s.objects = append(s.objects, x)
	}
}

// Release releases what was added, the last first, and empties the scope. It
// crosses into C once for each 64 objects that nobody else refers to.
func (s *Scope) Release() {
	objects := make([]*core.Object, len(s.objects))
	for i, x := range s.objects {
		objects[len(objects)-1-i] = core.StateOf(x)
	}
	s.objects = nil
	core.ReleaseAll(objects)
}

// Len returns the number of handles in the scope.
func (s *Scope) Len() int { return len(s.objects) }
