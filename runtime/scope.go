package tvmffi

import "github.com/tvmffi-go/tvmffi/internal/objects"

// Scope collects references to objects and releases them together:
//
//	var s tvmffi.Scope
//	defer s.Release()
//	rose, err := garden.NewRose("red")
//	s.Add(rose)
//
// The zero Scope is ready for use. Two goroutines must not use a Scope at once.
type Scope struct{ objects []ObjectRef }

// Add adds x to the objects that Release releases. It ignores nil.
func (s *Scope) Add(x ObjectRef) {
	if objects.StateOf(x) != nil {
		s.objects = append(s.objects, x)
	}
}

// Release releases the objects that were added, the last one first, and empties the scope.
// It crosses into C once for each 64 objects to which it held the last reference.
func (s *Scope) Release() {
	all := make([]*objects.Object, len(s.objects))
	for i, x := range s.objects {
		all[len(all)-1-i] = objects.StateOf(x)
	}
	s.objects = nil
	objects.ReleaseAll(all)
}

// Len returns the number of objects in the scope.
func (s *Scope) Len() int { return len(s.objects) }
