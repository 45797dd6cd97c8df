package english

import "testing"

func TestFind(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"x is" + " no absolute path", "is" + " no"},
		{"they are\n// " + "no numbers", "are\n// " + "no"},
		{"there is no such file", ""},
		{"there are\n\t// no numbers", ""},
		{"There are no elements", ""},
		{"it is no longer there", ""},
		{"there is no key 3, which is" + " no int", "is" + " no"},
		{"nil is None", ""},
		{"if it is" + " none", "is" + " none"},
		{"who is tol" + "d of it", "tol" + "d"},
		{"it tell" + "s which one", "tell" + "s which"},
		{"they tell them apart", ""},
		{"it waits for" + " ever", "for" + " ever"},
		{"forever and whenever", ""},
		{"what is needed beside" + "s", "beside" + "s"},
		{"beside the executable", ""},
		{"it lets" + " go of the object", "lets" + " go"},
		{"the part inside" + " of it", "inside" + " of"},
		{"the part inside it", ""},
	} {
		got := ""
		if found := Find(c.text); len(found) > 0 {
			got = found[0].Phrase
		}
		if got != c.want {
			t.Errorf("%q: found %q, want %q", c.text, got, c.want)
		}
	}
}
