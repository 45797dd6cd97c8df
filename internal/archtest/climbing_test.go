package archtest

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// floors are those of docs/ARCHITECTURE.md; the first match counts, and the rest are users.
var floors = []struct {
	height int
	dirs   []string
}{
	{0, []string{"internal/abi", "internal/crossing"}},
	{1, machine("internal/ccall", "internal/testkit/machinetest")},
	{3, []string{"runtime/bindrt", "runtime/exportrt/...", "cuda/kernelrt/...", "reflection"}},                       // narrow
	{2, []string{"runtime/...", "cuda/...", "native", "internal/testkit/runtimetest", "internal/testkit/crosstest"}}, // public
	{0, []string{"internal/...", "schema/..."}},                                                                      // ground
	{4, []string{"gen/...", "cmd/..."}},                                                                              // tool
}

func floorOf(dir string) int {
	for _, f := range floors {
		if covers(f.dirs, dir) {
			return f.height
		}
	}
	return 5
}

// climbing lists the packages whose tests import a package that stands on them, or on a higher
// floor. The tests of every other package stay on their floor or below. Go compiles what is
// between a package and such an import again for each of these test binaries, if a test file is
// in the package itself and not in its external test package: again lists what that is.
var climbing = []struct {
	dir, why string
	again    []string
}{
	{"internal/elfheader", "the wheels and libraries of the test kit are what it reads", nil},
	{"internal/compiler", "the compiler that the test kit found is what it runs", nil},
	{"runtime", "packages define, env and structural, and bindings, are ways into it", nil},
	{"runtime/define", "runtimetest has the types that C++ and other tests share; bindings and reflection show what a type became", nil},
	{"runtime/env", "runtimetest loads the libraries and waits for the collector", nil},
	{"runtime/structural", "runtimetest has the programs that it walks; one func shows the size of the table of keys",
		[]string{"internal/testkit/runtimetest", "runtime/define"}},
	{"reflection", "the bindings of the testing library have the types that it reads", nil},
	{"generated/ffi", "the bindings of the testing library use its types", nil},
	{"cuda/kernelrt", "a generated package of kernels is what it launches; two files show funcs that no kernel has",
		[]string{"cuda/kernelrt/internal/testkernels"}},
}

// below holds, for each package of the module, the packages of the module on which it stands,
// on all platforms and for all build tags.
type below map[string]map[string]bool

// standing reads the imports of all files but tests.
func standing(files []file) below {
	direct := below{}
	for _, f := range files {
		dir := path.Dir(f.path)
		if direct[dir] == nil {
			direct[dir] = map[string]bool{}
		}
		for _, p := range f.imports {
			if own, mine := strings.CutPrefix(p, self+"/"); mine && !f.test {
				direct[dir][own] = true
			}
		}
	}
	all := below{}
	var walk func(dir string) map[string]bool
	walk = func(dir string) map[string]bool {
		if found, ok := all[dir]; ok {
			return found
		}
		found := map[string]bool{}
		all[dir] = found
		for p := range direct[dir] {
			found[p] = true
			maps.Copy(found, walk(p))
		}
		return found
	}
	for dir := range direct {
		walk(dir)
	}
	return all
}

// climbs reports whether a test of dir that imports p, a package of the module, leaves its floor.
func (b below) climbs(dir, p string) bool {
	return p != dir && (b[p][dir] || floorOf(p) > floorOf(dir))
}

// again returns the packages that stand on dir among p and those on which p stands.
func (b below) again(dir, p string) (between []string) {
	if !b[p][dir] {
		return nil
	}
	for q := range b[p] {
		if b[q][dir] {
			between = append(between, q)
		}
	}
	return append(between, p)
}

var externalTest = regexp.MustCompile(`(?m)^package \w+_test$`)

// TestTestsStayOnTheirFloor keeps tests from importing what stands on their package: such a
// test is about the package above, where a call of the API asserts the same.
func TestTestsStayOnTheirFloor(t *testing.T) {
	files := goFiles(t)
	b := standing(files)
	for dir := range b {
		for p := range b[dir] {
			if floorOf(p) > floorOf(dir) && !strings.HasPrefix(dir, "internal/testkit/") {
				t.Errorf("%s stands on %s, which is on a higher floor", dir, p)
			}
		}
	}
	inside := map[string]bool{}               // packages with a test file in themselves
	climbed := map[string]map[string]string{} // by package: what its tests import above, and in which file
	for _, f := range files {
		if !f.test {
			continue
		}
		dir := path.Dir(f.path)
		inside[dir] = inside[dir] || !externalTest.Match(f.text)
		for _, p := range f.imports {
			if own, mine := strings.CutPrefix(p, self+"/"); mine && b.climbs(dir, own) {
				if climbed[dir] == nil {
					climbed[dir] = map[string]string{}
				}
				climbed[dir][own] = f.path
			}
		}
	}
	for _, c := range climbing {
		if climbed[c.dir] == nil {
			t.Errorf("no test of %s imports a package above it: take it from the list", c.dir)
			continue
		}
		again := map[string]bool{}
		for own := range climbed[c.dir] {
			for _, p := range b.again(c.dir, own) {
				again[p] = inside[c.dir]
			}
		}
		maps.DeleteFunc(again, func(_ string, is bool) bool { return !is })
		if got := slices.Sorted(maps.Keys(again)); !slices.Equal(got, c.again) {
			t.Errorf("Go compiles %q again for the tests of %s, want %q", got, c.dir, c.again)
		}
		delete(climbed, c.dir)
	}
	for dir, imports := range climbed {
		for own, where := range imports {
			t.Errorf("%s imports %s, which stands on %s or on a higher floor: move the test to a package above, or use what is below (internal/testkit/machinetest, a C function)", where, own, dir)
		}
	}
}

// TestTestsStayOnTheirFloor_seesDefects asks about imports of which some are forbidden.
func TestTestsStayOnTheirFloor_seesDefects(t *testing.T) {
	b := standing(goFiles(t))
	for _, c := range []struct {
		dir, imports string
		climbs       bool
	}{
		{"internal/calls", "runtime", true},
		{"internal/calls", "internal/testkit/runtimetest", true},
		{"internal/calls", "internal/codec", true},
		{"internal/calls", "internal/testkit/machinetest", false},
		{"internal/calls", "internal/calls", false},
		{"internal/calls", "internal/dynlib", false},
		{"internal/maptable", "internal/calls", false},
		{"internal/objects", "internal/failure", true},
		{"internal/objects", "internal/testkit/machinetest", true},
		{"internal/ccall", "internal/capi", true},
		{"schema", "runtime", true},
		{"internal/docstring", "runtime", true}, // which does not stand on it
		{"internal/docstring", "internal/find", false},
		{"runtime/env", "reflection", true},
		{"reflection", "runtime", false},
	} {
		if got := b.climbs(c.dir, c.imports); got != c.climbs {
			t.Errorf("a test of %s that imports %s climbs: %t, want %t", c.dir, c.imports, got, c.climbs)
		}
	}
	if got := b.again("internal/codec", "runtime"); !slices.Equal(got, []string{"runtime"}) {
		t.Errorf("between codec and runtime are %q", got)
	}
	if got := b.again("internal/ccall", "internal/objects"); len(got) != 2 {
		t.Errorf("between ccall and objects are %q, want capi and objects", got)
	}
}
