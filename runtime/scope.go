package tvmffi

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
	if stateOf(x) != nil {
		s.objects = append(s.objects, x)
	}
}

// Release releases what was added, the last first, and empties the scope.
func (s *Scope) Release() {
	for i := len(s.objects) - 1; i >= 0; i-- {
		stateOf(s.objects[i]).Release()
	}
	s.objects = nil
}

// Len returns the number of handles in the scope.
func (s *Scope) Len() int { return len(s.objects) }
