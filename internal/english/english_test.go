package english

import "testing"

func TestFind(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"x is" + " no absolute path", "is" + " no"},
		{"they are\n// " + "no numbers", "are\n// " + "no"},
		{"there is no such file", ""},
		{"there are\n\t// no numbers", ""},
		{"There are no elements", ""},
		{"if there\n\t\t\t\t\t\t\t\t\t\t\t\t\t\t// is" + " no file", ""},
		{"it is no longer there", ""},
		{"there is no key 3, which is" + " no int", "is" + " no"},
		{"nil is None", ""},
		{"if it is" + " none", "is" + " none"},
		{"it waits for" + " ever", "for" + " ever"},
		{"forever and whenever", ""},
		{"if it is there, and" + " else nil", "and" + " else"},
		{"it is a file as" + " every other", "as" + " every other"},
		{"a class with an" + " own name", "an" + " own"},
		{"a name of its own", ""},
		{"loaded by" + " whatever way", "by" + " whatever way"},
		{"It is an error" + " where Close is one", "is an error" + " where"},
		{"it ends who" + "ever waits", "who" + "ever"},
		{"it is told what stands inside of it, and lets go", ""},
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
