package tvmffi

import (
	"github.com/tvmffi-go/tvmffi/internal/core"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

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
	if objects.StateOf(x) != nil {
		s.objects = append(s.objects, x)
	}
}

// Release releases what was added, the last first, and empties the scope. It
// crosses into C once for each 64 objects that nobody else refers to.
func (s *Scope) Release() {
	all := make([]*objects.Object, len(s.objects))
	for i, x := range s.objects {
		all[len(all)-1-i] = objects.StateOf(x)
	}
	s.objects = nil
	core.ReleaseAll(all)
}

// Len returns the number of handles in the scope.
func (s *Scope) Len() int { return len(s.objects) }
