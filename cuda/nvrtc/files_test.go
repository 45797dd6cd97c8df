package nvrtc_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda/nvrtc"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

const usesV = "extern \"C\" __global__ void k(float* x) { x[0] = V; }\n"

func v(n int) string { return fmt.Sprintf("#define V %d\n", n) }

// step is a change of one file, "" removes it, and whether the result of NVRTC changes by it.
type step struct {
	path, text string
	changes    bool
}

// reads are programs that read files below $T, and what happens to these files. The
// working directory is $T/cwd.
var reads = []struct {
	what    string
	p       nvrtc.Program
	files   map[string]string
	steps   []step
	notKept bool
}{
	{what: "changed and removed", p: nvrtc.Program{Source: "#include <a.h>\n" + usesV, Options: []string{"-I$T/i"}}, files: map[string]string{"i/a.h": v(1)},
		steps: []step{{"i/a.h", v(2), true}, {"i/a.h", "", true}}},
	{what: "in front", p: nvrtc.Program{Source: "#include <a.h>\n" + usesV, Options: []string{"-I", "$T/none", "--include-path=$T/i", "-I=$T/j"}}, files: map[string]string{"j/a.h": v(1)},
		steps: []step{{"i/a.h", v(2), true}, {"none/a.h", v(3), true}, {"none/a.h", "", true}, {"j/a.h", v(4), false}}},
	{what: "beside the source", p: nvrtc.Program{Name: "$T/x/p.cu", Source: "#include \"a.h\"\n" + usesV, Options: []string{"-I$T/i"}}, files: map[string]string{"i/a.h": v(1)},
		steps: []step{{"cwd/a.h", v(2), false}, {"x/a.h", v(3), true}}},
	{what: "in the working directory", p: nvrtc.Program{Source: "#include \"a.h\"\n" + usesV, Options: []string{"-Ii"}}, files: map[string]string{"cwd/i/a.h": v(1)},
		steps: []step{{"cwd/a.h", v(2), true}}},
	{what: "a relative name", p: nvrtc.Program{Name: "x/p.cu", Source: "#include \"a.h\"\n" + usesV}, files: map[string]string{"cwd/x/a.h": v(1)},
		steps: []step{{"cwd/x/a.h", v(2), true}}},
	{what: "angles do not look beside", p: nvrtc.Program{Name: "$T/x/p.cu", Source: "#include <a.h>\n" + usesV, Options: []string{"-I$T/i"}}, files: map[string]string{"i/a.h": v(1)},
		steps: []step{{"x/a.h", v(2), false}}},
	{what: "nested", p: nvrtc.Program{Source: "#include <d/a.h>\n" + usesV, Options: []string{"-I$T/i", "-I$T/j"}}, files: map[string]string{"i/d/a.h": "#include \"b.h\"\n#include <c.h>\n", "j/b.h": v(1), "j/c.h": ""},
		steps: []step{{"cwd/b.h", v(2), false}, {"i/d/c.h", "#undef V\n" + v(5), false}, {"i/c.h", "#undef V\n" + v(3), true}, {"i/d/b.h", "#error here\n", true}}},
	{what: "behind ..", p: nvrtc.Program{Source: "#include <d/a.h>\n" + usesV, Options: []string{"-I$T/i"}}, files: map[string]string{"i/d/a.h": "#include \"../b.h\"\n#include <d/../e/c.h>\n", "i/b.h": v(1), "i/e/c.h": ""},
		steps: []step{{"i/b.h", v(2), true}, {"i/e/c.h", "#undef V\n" + v(3), true}}},
	{what: "a header in memory", p: nvrtc.Program{Source: "#include \"d/m.h\"\n" + usesV, Headers: map[string]string{"d/m.h": "#include \"a.h\"\n"}, Options: []string{"-I$T/i"}}, files: map[string]string{"i/a.h": v(1)},
		steps: []step{{"i/d/m.h", v(9), false}, {"cwd/d/a.h", v(2), true}}},
	{what: "-include", p: nvrtc.Program{Name: "$T/x/p.cu", Source: usesV, Options: []string{"-include=a.h", "-I$T/i"}}, files: map[string]string{"i/a.h": v(1)},
		steps: []step{{"x/a.h", v(2), false}, {"cwd/a.h", v(3), true}}},
	{what: "asked for", p: nvrtc.Program{Source: "#if __has_include(<a.h>)\n#define V 1\n#else\n#define V 2\n#endif\n" + usesV, Options: []string{"-I$T/i"}},
		steps: []step{{"i/a.h", "", false}, {"i/a.h", "\n", true}}},
	{what: "written oddly", p: nvrtc.Program{Source: "%:incl\\\nude /* a\n */ <a.h>\n#/**/ include\t\"b.h\"\n" + usesV, Options: []string{"-I $T/i"}}, files: map[string]string{"i/a.h": v(1), "cwd/b.h": ""},
		steps: []step{{"i/a.h", v(2), true}, {"cwd/b.h", "#undef V\n" + v(3), true}}},
	{what: "the next one", p: nvrtc.Program{Source: "#include <a.h>\n" + usesV, Options: []string{"-I$T/i", "-I$T/j"}}, files: map[string]string{"i/a.h": "#include_next <a.h>\n", "j/a.h": v(1)},
		steps: []step{{"j/a.h", v(2), true}}},
	{what: "absolute", p: nvrtc.Program{Source: "#include \"$T/i/a.h\"\n" + usesV}, files: map[string]string{"i/a.h": "#include \"b.h\"\n", "i/b.h": v(1)},
		steps: []step{{"i/b.h", v(2), true}}},
	{what: "a folder by that name", p: nvrtc.Program{Source: "#include <a.h>\n" + usesV, Options: []string{"-I$T/i", "-I$T/j"}}, files: map[string]string{"i/a.h/x": "", "j/a.h": v(1)},
		steps: []step{{"j/a.h", v(2), true}}},
	{what: "a macro", notKept: true, p: nvrtc.Program{Source: "#define H <a.h>\n#include H\n" + usesV, Options: []string{"-I$T/i"}}, files: map[string]string{"i/a.h": v(1)},
		steps: []step{{"i/a.h", v(2), true}}},
	{what: "a macro of an option", notKept: true, p: nvrtc.Program{Source: "#include H\n" + usesV, Options: []string{"-I$T/i", "-DH=<a.h>"}}, files: map[string]string{"i/a.h": v(1)},
		steps: []step{{"i/a.h", v(2), true}}},
	{what: "asked by a macro", notKept: true, p: nvrtc.Program{Source: "#define HAS(x) __has_include(x)\n#if HAS(<a.h>)\n#define V 1\n#else\n#define V 2\n#endif\n" + usesV, Options: []string{"-I$T/i"}},
		steps: []step{{"i/a.h", "\n", true}}},
	{what: "the time", notKept: true, p: nvrtc.Program{Source: "__device__ const char* at = __TIME__;\n" + v(1) + usesV}},
	{what: "an option for a file", notKept: true, p: nvrtc.Program{Source: v(1) + usesV, Options: []string{"--time=$T/time.csv"}}},
	{what: "an option that compiles headers", notKept: true, p: nvrtc.Program{Source: v(1) + usesV, Options: []string{"--ptxas-options=--options-file=$T/opts"}}, files: map[string]string{"opts": "-v"}},
	{what: "words in comments", p: nvrtc.Program{Source: "// the #include above, and #include of <nothing.h>\n#ifdef __has_include\n#endif\n#if defined(__has_include) && __has_include(\"a.h\")\n#endif\n" + v(1) + usesV}},
}

// checkReads compares what the cache gives with what NVRTC makes, after each change.
func checkReads(root string) error {
	var errs []error
	for _, c := range reads {
		dir, err := filepath.EvalSymlinks(root)
		if err != nil {
			return err
		}
		dir = filepath.Join(dir, strings.ReplaceAll(c.what, " ", "_"))
		if err := checkRead(c.p, dir, c.files, c.steps, c.notKept); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.what, err))
		}
	}
	return errors.Join(errs...)
}

func checkRead(p nvrtc.Program, dir string, files map[string]string, steps []step, notKept bool) error {
	put := func(path, text string) error {
		path = filepath.Join(dir, path)
		if text == "" {
			return os.RemoveAll(path)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		return os.WriteFile(path, []byte(text), 0o600)
	}
	for _, d := range []string{"cwd", "none"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return err
		}
	}
	if err := os.Chdir(filepath.Join(dir, "cwd")); err != nil {
		return err
	}
	for path, text := range files {
		if err := put(path, text+"\n"); err != nil {
			return err
		}
	}
	place := func(s string) string { return strings.ReplaceAll(s, "$T", dir) }
	p.Name, p.Source, p.Arch = place(p.Name), place(p.Source), "compute_80"
	options := p.Options
	p.Options = nil
	for _, o := range options {
		p.Options = append(p.Options, place(o))
	}
	compile := func(cache string) (*nvrtc.Code, error) {
		os.Setenv("TVMFFI_CACHE", filepath.Join(dir, cache))
		return nvrtc.Compile(p)
	}
	// The result by the cache of the test. If NVRTC did not make it, or failed, an empty cache must give the same.
	n := 0
	result := func() ([]byte, error) {
		c, failed := compile("cache")
		if failed == nil && !c.Cached {
			return c.Image, nil
		}
		n++
		fresh, freshly := compile(fmt.Sprint("fresh", n))
		switch {
		case failed != nil && freshly != nil:
			return nil, nil
		case failed != nil || freshly != nil:
			return nil, fmt.Errorf("with the cache %v, without it %v", failed, freshly)
		case !bytes.Equal(c.Image, fresh.Image):
			return nil, errors.New("the cache gave an old image")
		}
		return c.Image, nil
	}
	before, err := result()
	if err != nil || before == nil {
		return fmt.Errorf("the first time: %d bytes, %v", len(before), err)
	}
	again, err := compile("cache")
	if err != nil || again.Cached == notKept || again.Cached && !bytes.Equal(before, again.Image) {
		return fmt.Errorf("the second time, kept: %t, %v", err == nil && again.Cached, err)
	}
	for _, s := range steps {
		if err := put(s.path, s.text); err != nil {
			return err
		}
		now, err := result()
		if err != nil || bytes.Equal(before, now) == s.changes {
			return fmt.Errorf("%s = %q: changes: %t, want %t, %v", s.path, s.text, !bytes.Equal(before, now), s.changes, err)
		}
		before = now
	}
	return nil
}

func init() {
	children["reads"] = func() error { return checkReads(os.Getenv("TVMFFI_TEST_DIR")) }
	children["own"] = func() error {
		_, err := nvrtc.Compile(nvrtc.Program{Source: "#include <a.h>\n" + usesV, Arch: "sm_80", Options: []string{"-I" + os.Getenv("TVMFFI_TEST_DIR")}})
		return err
	}
}

// TestReads changes, adds and removes headers in every place where NVRTC looks: what the cache
// gives is what NVRTC makes, in version 12 as in version 13. The places where NVRTC does not look
// are there to show that the two agree about them.
func TestReads(t *testing.T) {
	nativetest.StartsCompiler(t) // two versions of NVRTC, many times
	pinned(t)
	for pkg, file := range map[string]string{"nvidia-cuda-nvrtc": library13, "nvidia-cuda-nvrtc-cu12": library12} {
		t.Run(pkg, func(t *testing.T) {
			child(t, "reads", "TVMFFI_TEST_DIR="+t.TempDir(), "TVMFFI_NVRTC_LIBRARY="+nativetest.Pinned(t, pkg).Path(file))
		})
	}
}

// A link to a folder has another folder above it than its path says.
func TestReads_links(t *testing.T) {
	use(t)
	dir := t.TempDir()
	write(t, dir, map[string]string{"real/deep/a.h": "#include \"../b.h\"\n", "real/b.h": v(1), "i/b.h": v(7)})
	if err := os.Symlink(filepath.Join(dir, "real", "deep"), filepath.Join(dir, "i", "link")); err != nil {
		t.Fatal(err)
	}
	p := nvrtc.Program{Source: "#include <link/a.h>\n" + usesV, Options: []string{"-I" + filepath.Join(dir, "i")}, Arch: "sm_80"}
	first := compile(t, p)
	if !compile(t, p).Cached {
		t.Error("not kept")
	}
	direct := p
	direct.Source = "#include <link/../b.h>\n" + usesV
	compile(t, direct)
	if !compile(t, direct).Cached {
		t.Error("not kept")
	}
	write(t, dir, map[string]string{"real/b.h": v(2)})
	for _, p := range []nvrtc.Program{p, direct} {
		if c := compile(t, p); c.Cached || bytes.Equal(c.Image, first.Image) {
			t.Errorf("the header behind the link was not read again: %s", p.Source)
		}
	}
	// Links that change places change the order of the folders.
	place := func(first, second string) *nvrtc.Code {
		p := nvrtc.Program{Source: "#include <b.h>\n" + usesV, Arch: "sm_80"}
		for link, to := range map[string]string{"first": first, "second": second} {
			link = filepath.Join(dir, link)
			os.Remove(link)
			if err := os.Symlink(filepath.Join(dir, to), link); err != nil {
				t.Fatal(err)
			}
		}
		p.Options = []string{"-I" + filepath.Join(dir, "first"), "-I" + filepath.Join(dir, "second")}
		return compile(t, p)
	}
	if bytes.Equal(place("real", "i").Image, place("i", "real").Image) {
		t.Error("links that changed places were not seen")
	}
}

// The headers that NVRTC carries are unpacked only if one is not found without them.
func TestReads_unpacked(t *testing.T) {
	use(t)
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.h": v(1)})
	child(t, "own", alone(t, os.Getenv("TVMFFI_CACHE"), "TVMFFI_TEST_DIR="+dir, "TVMFFI_NVRTC_LIBRARY="+os.Getenv("TVMFFI_NVRTC_LIBRARY"))...)
	if found, err := filepath.Glob(filepath.Join(os.Getenv("TVMFFI_CACHE"), "nvrtc", "headers-*")); err != nil || len(found) > 0 {
		t.Error(found, err)
	}
}
