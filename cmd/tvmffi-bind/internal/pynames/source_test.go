package pynames

import (
	"archive/zip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// entry is a file of a wheel.
type entry struct{ name, text string }

// newWheel writes a wheel.
func newWheel(t *testing.T, name string, entries ...entry) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for _, e := range entries {
		w, err := z.Create(e.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

func modules(c *collected) []string {
	var names []string
	for _, s := range c.sources {
		names = append(names, s.module)
	}
	return names
}

func TestCollect(t *testing.T) {
	wheel := newWheel(t, "Garden_Tools-1.2-cp311-cp311-linux_x86_64.whl",
		entry{"garden.py", "y"}, entry{"garden/tools.py", "x"}, entry{"garden/__init__.py", ""}, entry{"garden/lib.so", "x"}, entry{"garden-1.2.dist-info/METADATA", "x"}, entry{"__init__.py", ""})
	c, err := collect([]Input{{Path: wheel}}, defaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"garden", "garden.tools"}; !slices.Equal(modules(c), want) || !c.sources[0].pkg || c.sources[1].pkg {
		t.Errorf("sources %+v, want %v", c.sources, want)
	}
	if o := c.origins[0]; o.Package != "Garden-Tools" || o.Version != "1.2" || len(o.SHA256) != 64 {
		t.Errorf("origin %+v", o)
	}

	dir := tree(t, map[string]string{"garden/__init__.py": "", "garden/beds/__init__.py": "", "garden/beds/a.py": "", "garden/.git/b.py": "", "garden/__pycache__/c.py": ""})
	if err := os.Symlink(filepath.Join(dir, "garden"), filepath.Join(dir, "link")); err != nil {
		t.Skip(err) // Windows may forbid it
	}
	for name, want := range map[string][]string{
		"link":        {"garden", "garden.beds", "garden.beds.a"},
		"":            {"garden", "garden.beds", "garden.beds.a"},
		"garden":      {"garden", "garden.beds", "garden.beds.a"},
		"garden/beds": {"garden.beds", "garden.beds.a"},
	} {
		c, err := collect([]Input{{Path: filepath.Join(dir, name), Origin: hints.Source{Package: "g"}}}, defaultLimits)
		if err != nil || !slices.Equal(modules(c), want) || c.origins[0].Package != "g" {
			t.Errorf("folder %q: %v, %v; want %v", name, modules(c), err, want)
		}
	}
}

func TestCollect_bad(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text.whl")
	if err := os.WriteFile(text, []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	small := limits{file: 100, total: 250, files: 4}
	hundred := strings.Repeat("#", 100)
	for name, test := range map[string]struct{ path, want string }{
		"absent":          {filepath.Join(t.TempDir(), "gone.whl"), "there is no wheel and no folder at"},
		"not a zip":       {text, "is not a wheel: zip: not a valid zip file"},
		"no sources":      {newWheel(t, "a.whl", entry{"a.so", ""}), "has no Python sources, and none of C++ for TVM-FFI: name the wheel of the library"},
		"an empty folder": {t.TempDir(), "has no Python sources"},
		"above":           {newWheel(t, "a.whl", entry{"../a.py", ""}), `the entry "../a.py" is not inside the wheel; do not trust it`},
		"absolute":        {newWheel(t, "a.whl", entry{"/etc/a.py", ""}), "is not inside the wheel"},
		"backslash":       {newWheel(t, "a.whl", entry{`..\a.py`, ""}), "is not inside the wheel"},
		"many":            {newWheel(t, "a.whl", entry{"a.py", ""}, entry{"b.py", ""}, entry{"c.py", ""}, entry{"d.py", ""}, entry{"e.py", ""}), "more than 4 sources"},
		"entries":         {newWheel(t, "a.whl", slices.Repeat([]entry{{"a.so", ""}}, 21)...), "has 21 entries, the limit is 20"},
		"together":        {newWheel(t, "a.whl", entry{"a.py", hundred}, entry{"b.py", hundred}, entry{"c.py", hundred}), "its sources have more than 250 bytes"},
	} {
		if c, err := collect([]Input{{Path: test.path}}, small); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, error %v, want one with %q", name, c, err, test.want)
		}
	}
	c, err := collect([]Input{{Path: newWheel(t, "a.whl", entry{"a.py", hundred + "#"}, entry{"b.py", hundred})}}, small)
	if err != nil || !slices.Equal(modules(c), []string{"b"}) || !reflect.DeepEqual(c.notes, []Note{{"a.py", "it has 101 bytes, the limit is 100"}}) {
		t.Errorf("a large source: %v, %v, %v", modules(c), c.notes, err)
	}
}

// TestRead_bad: sources that cannot be read are reported, and the others are used.
func TestRead_bad(t *testing.T) {
	wrapped := func(text string) string {
		return "from . import _ffi_api\n\ndef f(a):\n    \"\"\"" + text + "\"\"\"\n    _ffi_api.f(a)\n"
	}
	dir := tree(t, map[string]string{
		"garden/__init__.py":  "",
		"garden/_ffi_api.py":  api,
		"garden/broken.py":    "def f(:\n    pass\n",
		"garden/broken2.py":   "\n\nx = 'open\n",
		"garden/deep.py":      "x = " + strings.Repeat("-", 200_000) + "1\n",
		"garden/brackets.py":  "x = " + strings.Repeat("(", 5000) + strings.Repeat(")", 5000) + "\n",
		"garden/attribute.py": "x = a" + strings.Repeat(".b", 20_000) + "(1)\n",
		"garden/latin.py":     "# coding: latin-1\nx = '\xe4'\n",
		"garden/zero.py":      "x = 1\x00\n",
		"garden/codec.py":     "# coding: rot13\nvzcbeg bf\n",
		"garden/escape.py":    "x = '\\d'\n",
		"garden/cycle.py":     "from .cycle2 import *\nfrom .cycle2 import x\ny = z\nz = y\ny.f(1)\nx.f(2)\nclass A(A, B): pass\nclass B(A): pass\n",
		"garden/cycle2.py":    "from .cycle import *\nfrom .cycle import x\n",
		"garden/control.py":   strings.ReplaceAll(wrapped("Ends here: */\\x00\\x1b[31m\\u2028 \\ud800."), "_api.f", "_api.control"),
		"garden/long.py":      strings.ReplaceAll(wrapped(strings.Repeat("w\u00f6rter ", 150_000)), "_api.f", "_api.long"),
	})
	f, r := read(t, dir, nil)
	if doc := f.Items["garden.control"].Doc; doc != "Ends here: */[31m ." {
		t.Errorf("control characters: %q", doc)
	}
	if doc := f.Items["garden.long"].Doc; len(doc) > hints.MaxDoc || len(doc) < hints.MaxDoc-8 || !strings.HasSuffix(doc, "\n...") {
		t.Errorf("a long text has %d bytes and ends in %q", len(doc), doc[len(doc)-10:])
	}
	if len(r.LeftOut) != 1 || r.LeftOut[0] != (Note{"garden.long", "its documentation has more than 65536 bytes and was cut"}) {
		t.Errorf("left out %v", r.LeftOut)
	}
	unread := map[string]string{}
	for _, n := range r.Unread {
		unread[n.Where] = n.Text
	}
	for where, want := range map[string]string{
		"garden/broken.py:1": "syntax, as Python 3.", "garden/broken2.py:3": "", "garden/latin.py:2": "not UTF-8", "garden/codec.py:2": "syntax",
	} {
		if text, ok := unread[where]; !ok || !strings.Contains(text, want) {
			t.Errorf("%s: %q, want %q; all: %v", where, unread[where], want, unread)
		}
	}
	for _, name := range []string{"deep", "brackets", "attribute", "zero"} { // with another text in each version of Python
		if !slices.ContainsFunc(r.Unread, func(n Note) bool { return strings.HasPrefix(n.Where, "garden/"+name+".py") && n.Text != "" }) {
			t.Errorf("%s is not reported: %v", name, unread)
		}
	}
	if len(unread) != 8 {
		t.Errorf("%d sources were not read, want 8: %v", len(unread), unread)
	}
}

// TestRead_runsNothing: no code of a source, of a folder beside it or of PYTHONPATH is run.
func TestRead_runsNothing(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "ran")
	evil := "open(" + quoted(mark) + ", 'w').close()\n"
	dir := tree(t, map[string]string{
		"garden/__init__.py": evil, "garden/a.py": "# coding: evil\n" + evil, "ast.py": evil, "json.py": evil, "sitecustomize.py": evil,
		"usercustomize.py": evil, "evil.pth": "import ast; " + evil, "encodings/evil.py": evil, "encodings/__init__.py": evil,
	})
	t.Setenv("PYTHONPATH", dir)
	t.Setenv("PYTHONSTARTUP", filepath.Join(dir, "ast.py"))
	t.Setenv("PYTHONINSPECT", "1")
	t.Chdir(dir)
	if _, _, err := Read(t.Context(), []Input{{Path: "garden"}}, Options{Timeout: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a source was run")
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "*", "__pycache__")); len(found) > 0 {
		t.Errorf("byte code was written: %v", found)
	}
}

// quoted writes a text as Python does.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, `\`, `\\`) + "'" }
