package crossing

import "testing"

// TestErrorKinds: each kind is found by its name, and its base is an exception of Python that is a root, or leads to one.
func TestErrorKinds(t *testing.T) {
	for _, k := range ErrorKinds {
		if found := FindErrorKind(k.Name); found == nil || *found != k {
			t.Errorf("%s is not found: the kinds must be sorted by name", k.Name)
		}
		for base, steps := k.Base, 0; base != ""; steps++ {
			b := FindErrorKind(base)
			if b == nil || b.Native || steps > 2 { // failure.KindIs follows as many
				t.Fatalf("%s has the base %s, after %d steps: want an exception, and three steps at most", k.Name, base, steps)
			}
			base = b.Base
		}
	}
	for _, name := range []string{"", "Error", "zzz", "ValueErrorX"} {
		if FindErrorKind(name) != nil {
			t.Errorf("%q is a kind", name)
		}
	}
}
