package archtest

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const self = "github.com/tvmffi-go/tvmffi"

// room is a folder and what the files in it may import in addition to the standard library.
type room struct {
	dir   string // ends in /... if it stands for the folders below too
	own   []string
	other []string
}

// rooms is the table of DESIGN and docs/ARCHITECTURE.md, the first match counts.
// A package that no line describes is an error: its author adds a line.
var rooms = []room{
	{dir: "internal/abi"},
	{dir: "internal/crossing", own: []string{"internal/abi"}},
	{dir: "internal/crash", own: []string{"internal/elfheader"}},
	{dir: "internal/ccall", own: []string{"internal/abi", "internal/crash"}, other: []string{purego}},
	{dir: "internal/elfheader"},
	{dir: "internal/needs_64_bit_linux_macos_or_windows_see_readme"},
	{dir: "internal/advice"},
	{dir: "internal/dynlib", own: []string{"internal/advice", "internal/crash", "internal/elfheader", "internal/needs_64_bit_linux_macos_or_windows_see_readme"}, other: []string{purego, "golang.org/x/sys/..."}},
	// The machine, from the ground up. Only its top floor may look for a library.
	{dir: "internal/capi", own: []string{"internal/abi", "internal/ccall", "internal/crossing", "internal/dynlib"}, other: []string{purego, "golang.org/x/sys/..."}},
	{dir: "internal/objects", own: []string{"internal/abi", "internal/capi", "internal/ccall", "internal/crossing"}, other: []string{purego}},
	{dir: "internal/failure", own: []string{"internal/abi", "internal/capi", "internal/ccall", "internal/crossing", "internal/objects"}, other: []string{purego}},
	{dir: "internal/values", own: []string{"internal/abi", "internal/capi", "internal/ccall", "internal/failure", "internal/objects"}, other: []string{purego}},
	{dir: "internal/callbacks", own: []string{"internal/abi", "internal/capi", "internal/ccall", "internal/crossing", "internal/failure", "internal/objects", "internal/values"}, other: []string{purego}},
	{dir: "internal/environment", own: []string{"internal/abi", "internal/callbacks", "internal/capi", "internal/ccall", "internal/dynlib", "internal/failure"}, other: []string{purego}},
	{dir: "internal/registry", own: []string{"internal/abi", "internal/capi", "internal/ccall", "internal/failure", "internal/objects", "internal/values", "schema"}},
	{dir: "internal/libraries", own: []string{"internal/abi", "internal/callbacks", "internal/capi", "internal/ccall", "internal/dynlib", "internal/elfheader", "internal/failure", "internal/find", "internal/nearest", "internal/objects", "internal/registry"}, other: []string{purego}},
	{dir: "internal/maptable", own: []string{"internal/abi", "internal/capi", "internal/ccall", "internal/failure", "internal/objects", "internal/registry", "internal/values"}},
	{dir: "internal/fields", own: []string{"internal/abi", "internal/capi", "internal/ccall", "internal/crossing", "internal/failure", "internal/libraries", "internal/objects", "internal/registry", "internal/values"}},
	{dir: "internal/defined", own: []string{"internal/abi", "internal/capi", "internal/ccall", "internal/failure", "internal/fields", "internal/objects", "internal/registry"}, other: []string{purego}},
	{dir: "internal/calls", own: []string{"internal/abi", "internal/callbacks", "internal/capi", "internal/ccall", "internal/failure", "internal/fields", "internal/libraries", "internal/objects", "internal/registry", "internal/values"}},
	{dir: "internal/codec", own: []string{"internal/abi", "internal/callbacks", "internal/calls", "internal/capi", "internal/crossing", "internal/failure", "internal/fields", "internal/fieldtag", "internal/maptable", "internal/nearest", "internal/objects", "internal/registry", "internal/values", "schema"}},
	{dir: "internal/nearest"},
	{dir: "internal/refusal"},
	{dir: "internal/docstring"},
	{dir: "internal/find", own: []string{"internal/advice", "internal/elfheader", "internal/libname", "internal/nearest"}},
	{dir: "internal/whole"},
	{dir: "internal/wheel", own: []string{"internal/find", "internal/whole"}, other: []string{"github.com/gofrs/flock"}},
	{dir: "internal/compiler", own: []string{"internal/find", "internal/whole"}, other: []string{"github.com/gofrs/flock"}},
	{dir: "internal/libname"},
	{dir: "internal/child"},
	{dir: "internal/testkit/disktest", other: []string{"golang.org/x/sys/unix"}},
	{dir: "internal/testkit/nativetest", own: []string{"internal/compiler", "internal/wheel", "internal/find", "internal/whole"}, other: []string{"github.com/gofrs/flock"}},
	{dir: "internal/testkit/machinetest", own: []string{"internal/failure", "internal/objects", "internal/testkit/nativetest"}},
	{dir: "internal/testkit/runtimetest", own: []string{"internal/capi", "internal/ccall", "internal/testkit/machinetest", "internal/testkit/nativetest", "internal/testkit/values", "internal/objects", "runtime", "runtime/bindrt", "runtime/define", "runtime/env", "runtime/structural"}},
	{dir: "internal/testkit/values"},
	{dir: "internal/testkit/crosstest", own: []string{"internal/testkit/nativetest", "internal/testkit/runtimetest", "internal/testkit/values", "runtime", "runtime/jsongraph"}},
	{dir: "internal/testkit/consumer", own: []string{"internal/testkit/nativetest", "internal/wheel", "internal/find"}, other: []string{"github.com/gofrs/flock", "golang.org/x/mod/modfile"}},
	{dir: "internal/testkit/scripttest", own: []string{"internal/find", "internal/testkit/consumer", "internal/testkit/nativetest"}, other: []string{"github.com/rogpeppe/go-internal/testscript"}},
	{dir: "internal/english"},
	{dir: "internal/archtest"},

	// The model stands on the ground floor: pure data with the only parser of metadata.
	{dir: "internal/jsonlines"},
	{dir: "schema", own: []string{"internal/libname", "internal/crossing", "internal/jsonlines"}},
	{dir: "schema/hints", own: []string{"internal/crossing", "internal/jsonlines", "schema"}},
	{dir: "internal/symbols", own: []string{"internal/elfheader"}},
	// The grammar of tags, for Define and for export.
	{dir: "internal/fieldtag", own: []string{"internal/abi", "internal/jsonlines", "schema"}},
	{dir: "runtime", own: machine("internal/fieldtag", "internal/find", "internal/nearest", "schema"), other: []string{"github.com/x448/float16"}},
	{dir: "runtime/define", own: machine("runtime/structural", "internal/fieldtag", "runtime", "schema")},
	{dir: "runtime/structural", own: machine("runtime")},
	{dir: "runtime/jsongraph", own: machine("runtime")},
	{dir: "runtime/env", own: machine("runtime")},
	{dir: "runtime/memstat", own: machine("runtime")},
	{dir: "runtime/leaktest", own: []string{"internal/objects", "runtime/memstat"}},
	{dir: "runtime/exportrt", own: machine("runtime/env", "internal/dynlib", "internal/fieldtag", "internal/nearest", "runtime", "runtime/bindrt")},
	{dir: "runtime/exportrt/faults"},
	{dir: "runtime/exportrt/python"},
	{dir: "runtime/exportrt/typed", own: machine("runtime", "runtime/define", "runtime/structural")},
	{dir: "runtime/kind", own: []string{"runtime"}},
	{dir: "runtime/bindrt", own: machine("internal/find", "runtime")},
	{dir: "reflection", own: machine("runtime/structural", "internal/dynlib", "internal/nearest", "internal/refusal", "internal/symbols", "runtime", "schema")},

	{dir: "gen", own: []string{"gen/config", "gen/internal/...", "schema", "schema/hints"}, other: []string{"golang.org/x/mod/module"}},
	// The values that the stages of bindings pass on, and the stages in their order.
	{dir: "gen/config", own: []string{"schema/hints"}},
	{dir: "gen/internal/plan", own: []string{"gen/config", "cuda/spec", "schema", "schema/hints"}},
	{dir: "gen/internal/classify", own: []string{"internal/crossing", "gen/config", "gen/internal/plan", "cuda/spec", "internal/docstring", "internal/nearest", "schema", "schema/hints"}},
	{dir: "gen/internal/place", own: []string{"gen/internal/plan", "gen/internal/classify", "schema"}},
	{dir: "gen/internal/types", own: []string{"internal/crossing", "gen/config", "gen/internal/plan", "gen/internal/classify", "gen/internal/place", "cuda/spec", "schema", "schema/hints"}},
	{dir: "gen/internal/members", own: []string{"gen/config", "gen/internal/plan", "gen/internal/classify", "gen/internal/place", "gen/internal/types", "schema"}},
	{dir: "gen/internal/names", own: []string{"gen/config", "gen/internal/plan", "gen/internal/types"}},
	{dir: "gen/internal/docs", own: []string{"gen/internal/plan"}},
	{dir: "gen/internal/load", own: []string{"internal/nearest"}, other: []string{"golang.org/x/mod/modfile", "golang.org/x/tools/go/packages"}},
	{dir: "gen/internal/source", own: []string{"gen/internal/load", "internal/crossing", "internal/fieldtag"}, other: []string{"golang.org/x/tools/go/packages"}},
	// Descriptions of arguments are pure data too, with the one list of checks.
	{dir: "gen/internal/kernel", own: []string{"cuda/spec"}, other: []string{"github.com/klauspost/compress/zstd", "github.com/pierrec/lz4/v4"}},
	{dir: "gen/internal/emit", own: []string{"cuda/spec", "internal/docstring", "gen/internal/kernel", "gen/internal/plan", "gen/internal/source", "schema"}, other: []string{jennifer}},
	// The faces of a Go library: a description that belongs to no language, and a writer
	// for each language.
	{dir: "gen/internal/face", own: []string{"gen/internal/source", "internal/crossing", "internal/fieldtag", "schema"}},
	{dir: "gen/internal/pyface", own: []string{"gen/internal/face", "internal/crossing", "internal/docstring"}},
	{dir: "gen/internal/cppface", own: []string{"gen/internal/face", "internal/crossing", "internal/docstring"}},
	{dir: "gen/internal/rustface", own: []string{"gen/internal/face", "internal/crossing", "internal/docstring"}},
	{dir: "gen/internal/verify", own: []string{"gen/internal/load"}, other: []string{"golang.org/x/tools/go/packages"}},

	{dir: "cmd/tvmffi-bind", own: append(command("console", "files", "machine", "project", "probe", "bindings", "packaging", "pynames", "report", "shipment"),
		"internal/advice", "internal/whole", "gen", "internal/capi", "internal/crossing", "internal/jsonlines", "internal/nearest", "internal/symbols", "internal/wheel", "internal/find", "native", "schema", "schema/hints"),
		other: []string{"github.com/jedib0t/go-pretty/v6/text", "github.com/spf13/cobra"}},
	{dir: "cmd/tvmffi-bind/scripts/..."},
	// Packages of the tool, from the ground up.
	{dir: "cmd/tvmffi-bind/internal/console", other: []string{"github.com/jedib0t/go-pretty/v6/text", "github.com/spf13/cobra", "golang.org/x/term"}},
	{dir: "cmd/tvmffi-bind/internal/machine", own: []string{"internal/find"}},
	{dir: "cmd/tvmffi-bind/internal/files", own: append(command("console"), "internal/advice", "internal/find", "internal/whole"), other: []string{"github.com/aymanbagabas/go-udiff", "github.com/gofrs/flock", "golang.org/x/sync/errgroup"}},
	{dir: "cmd/tvmffi-bind/internal/project", own: append(command("console"), "internal/jsonlines", "internal/libname", "gen/config", "internal/nearest", "schema", "schema/hints"), other: []string{"github.com/goccy/go-yaml/...", "golang.org/x/mod/modfile"}},
	{dir: "cmd/tvmffi-bind/internal/probe", own: append(command("console", "project"), "internal/child", "internal/dynlib", "internal/jsonlines", "internal/libraries", "internal/nearest", "internal/symbols", "internal/wheel", "internal/whole", "internal/find", "reflection", "runtime", "schema"), other: []string{"github.com/spf13/cobra"}},
	{dir: "cmd/tvmffi-bind/internal/shipment", own: append(command("console", "probe"), "internal/dynlib", "internal/find", "internal/libname", "internal/nearest", "internal/symbols", "internal/whole", "schema"), other: []string{"golang.org/x/mod/module"}},
	{dir: "cmd/tvmffi-bind/internal/pynames", own: append(command("console"), "internal/crossing", "internal/find", "schema", "schema/hints")},
	{dir: "cmd/tvmffi-bind/internal/bindings", own: append(command("console", "files", "project", "probe", "pynames", "vendored"), "gen", "schema", "schema/hints")},
	{dir: "cmd/tvmffi-bind/internal/vendored", own: []string{"cuda/...", "runtime/..."}}, // in a file that no build has
	{dir: "cmd/tvmffi-bind/internal/packaging", own: append(command("console"), "internal/find", "internal/whole")},
	{dir: "cmd/tvmffi-bind/internal/report", own: append(command("console", "files", "bindings"), "gen", "internal/docstring", "schema"), other: []string{"github.com/jedib0t/go-pretty/v6/table", "github.com/jedib0t/go-pretty/v6/text"}},
	{dir: "native", own: []string{"internal/advice", "internal/compiler", "internal/elfheader", "internal/find", "internal/whole", "runtime"}, other: []string{"golang.org/x/sync/errgroup"}},
	{dir: "cuda/kernelrt/internal/testkernels", own: []string{"cuda/...", "runtime/..."}}, // is generated
	{dir: "cuda/...", own: []string{"cuda/...", "internal/...", "runtime"}, other: []string{purego}},
	{dir: "generated/...", own: []string{"generated/...", "runtime/..."}},
	// Packages by hand above the bindings of an engine.
	{dir: "tvm/...", own: []string{"generated/tvm/...", "internal/child", "internal/jsonlines", "internal/whole", "tvm/...", "runtime/..."}, other: []string{"golang.org/x/sys/..."}},
	{dir: "xgrammar", own: []string{"xgrammar/internal/tokenfile", "generated/xgrammar/...", "internal/child", "internal/jsonlines", "runtime"}, other: []string{"github.com/google/jsonschema-go/jsonschema"}},
	// Files of tokenizers, for vocabularies and for the encoder, which needs neither XGrammar nor the runtime.
	{dir: "xgrammar/internal/tokenfile", own: []string{"internal/jsonlines"}},
	{dir: "xgrammar/internal/pattern"},
	{dir: "xgrammar/tokenizer", own: []string{"internal/jsonlines", "xgrammar/internal/pattern", "xgrammar/internal/tokenfile"}, other: []string{"golang.org/x/text/unicode/norm", "github.com/rivo/uniseg"}},
	{dir: "examples/go_library/testdata/crosses", own: []string{"internal/testkit/crosstest", "runtime/..."}}, // is for tests only
	{dir: "examples/...", own: []string{"cuda/...", "examples/...", "generated/...", "tvm/...", "xgrammar", "xgrammar/tokenizer", "native", "reflection", "schema", "runtime/..."}, other: []string{"github.com/prometheus/client_golang/..."}},
	{dir: "bench/...", own: []string{"..."}},
}

// machine returns what a package above the machine may import: the machine itself, and more.
func machine(more ...string) []string {
	return append([]string{"internal/abi", "internal/capi", "internal/crossing", "internal/objects", "internal/failure", "internal/values", "internal/callbacks", "internal/environment", "internal/registry", "internal/libraries", "internal/maptable", "internal/fields", "internal/defined", "internal/calls", "internal/codec"}, more...)
}

// command returns the folders of packages below the command.
func command(names ...string) []string {
	for i := range names {
		names[i] = "cmd/tvmffi-bind/internal/" + names[i]
	}
	return names
}

const (
	purego   = "github.com/ebitengine/purego"
	jennifer = "github.com/dave/jennifer/jen"
)

// testsMay is what test files may import in addition, in every room: as far as it is on their
// floor or below, see TestTestsStayOnTheirFloor.
var testsMay = machine("xgrammar/tokenizer", "internal/ccall", "internal/crossing", "cmd/tvmffi-bind/internal/...", "schema", "schema/hints", "internal/english", "internal/dynlib", "internal/testkit/consumer", "internal/testkit/crosstest", "internal/testkit/disktest", "internal/testkit/machinetest", "internal/testkit/nativetest", "internal/testkit/runtimetest", "internal/testkit/scripttest", "internal/testkit/values", "internal/wheel", "internal/find", "reflection", "runtime/...", "generated/...")

// testsUse are the modules that exist for tests.
var testsUse = []string{
	"github.com/google/go-cmp/...", "github.com/rogpeppe/go-internal/...", "golang.org/x/tools/txtar",
	"golang.org/x/tools/go/packages", "golang.org/x/mod/...", "github.com/goccy/go-yaml", purego,
}

// covers reports whether one of the patterns, which may end in "...", stands for p.
func covers(patterns []string, p string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, below := strings.CutSuffix(pattern, "...")
		if !below {
			return p == pattern
		}
		return strings.HasPrefix(p+"/", prefix)
	})
}

func roomOf(dir string) int {
	return slices.IndexFunc(rooms, func(r room) bool { return covers([]string{r.dir}, dir) })
}

func hasRoom(dir string) bool { return roomOf(dir) >= 0 }

// refusal says why a file in dir may not import p, or returns "".
func refusal(dir, p string, test bool) string {
	i := roomOf(dir)
	if i < 0 {
		return "the folder is in no room"
	}
	r := rooms[i]
	own, mine := strings.CutPrefix(p, self+"/")
	first, _, _ := strings.Cut(p, "/")
	switch {
	case !mine && !strings.Contains(first, "."):
		if strings.HasPrefix(dir, "generated/") && !test && (p == "unsafe" || p == "runtime") {
			return "generated code needs neither unsafe nor the standard runtime"
		}
		return ""
	case mine && own == dir && test:
		return ""
	case mine && covers(r.own, own), !mine && covers(r.other, p):
		return ""
	case test && (mine && covers(testsMay, own) || !mine && covers(testsUse, p)):
		return ""
	}
	return "not in the list of its room: " + strings.Join(append(slices.Clone(r.own), r.other...), " ")
}

// TestImports reads every file whatever its build constraints are, so that it
// holds for all platforms.
func TestImports(t *testing.T) {
	for i, r := range rooms {
		if roomOf(r.dir) < i {
			t.Errorf("the line of %s has no effect: the one of %s covers it", r.dir, rooms[roomOf(r.dir)].dir)
		}
	}
	seen := map[string]bool{}
	for _, f := range goFiles(t) {
		dir := path.Dir(f.path)
		first := !seen[dir]
		seen[dir] = true
		if !hasRoom(dir) {
			if first {
				t.Errorf("%s is in no room of the table above: add it there and to docs/ARCHITECTURE.md", dir)
			}
			continue
		}
		for _, p := range f.imports {
			if why := refusal(dir, p, f.test); why != "" {
				t.Errorf("%s imports %s: %s", f.path, p, why)
			}
		}
	}
	for _, dir := range []string{"runtime", "runtime/bindrt", "internal/ccall", "gen/internal/emit", "schema", "cmd/tvmffi-bind"} {
		if !seen[dir] {
			t.Errorf("no file of %s was read", dir)
		}
	}
}

// TestVendored compares what committed generated code imports with what "go mod vendor" copies for each user of the tool.
func TestVendored(t *testing.T) {
	copied, needed := map[string]bool{}, map[string]string{}
	for _, f := range allFiles(t) {
		if path.Ext(f.path) != ".go" {
			continue
		}
		if path.Dir(f.path) == "cmd/tvmffi-bind/internal/vendored" {
			for _, p := range f.imports {
				copied[p] = true
			}
		}
		if bytes.HasPrefix(f.text, []byte("// Code generated by tvmffi-bind")) {
			for _, p := range f.imports {
				if own, mine := strings.CutPrefix(p, self+"/"); mine && covers([]string{"runtime/...", "cuda/..."}, own) {
					needed[p] = f.path
				}
			}
		}
	}
	if len(needed) < 8 {
		t.Errorf("only %d packages are imported by generated code", len(needed))
	}
	for p, file := range needed {
		if !copied[p] {
			t.Errorf("%s imports %s: cmd/tvmffi-bind/internal/vendored must import it too", file, p)
		}
	}
}

// TestImports_seesDefects plants what the rules forbid.
func TestImports_seesDefects(t *testing.T) {
	for _, c := range []struct {
		dir, imports string
		test, ok     bool
	}{
		{"runtime", self + "/internal/calls", false, true},
		{"runtime", self + "/schema", false, true},
		{"runtime", self + "/reflection", false, false},
		{"runtime", self + "/internal/testkit/nativetest", false, false},
		{"runtime", self + "/internal/testkit/nativetest", true, true},
		{"runtime", self + "/gen", false, false},
		{"internal/calls", self + "/runtime", false, false},
		{"internal/abi", purego, false, false},
		{"gen", self + "/runtime", false, false},
		{"gen", jennifer, false, false},
		{"gen/internal/kernel", self + "/cuda/spec", false, true},
		{"gen/internal/kernel", self + "/cuda", false, false},
		{"gen/internal/plan", jennifer, false, false},
		{"gen/internal/names", self + "/gen/internal/types", false, true},
		{"gen/internal/types", self + "/gen/internal/names", false, false},
		{"gen/internal/classify", self + "/gen/internal/place", false, false},
		{"gen/internal/emit", jennifer, false, true},
		{"cmd/tvmffi-bind", jennifer, false, false},
		{"cmd/tvmffi-bind", self + "/cuda", false, false},
		{"cmd/tvmffi-bind", self + "/cmd/tvmffi-bind/internal/probe", false, true},
		{"cmd/tvmffi-bind", self + "/reflection", false, false},
		{"cmd/tvmffi-bind/internal/console", self + "/cmd/tvmffi-bind/internal/files", false, false},
		{"cmd/tvmffi-bind/internal/project", self + "/gen", false, false},
		{"generated/ffi", self + "/runtime/bindrt", false, true},
		{"generated/ffi", self + "/internal/calls", false, false},
		{"generated/ffi", "unsafe", false, false},
		{"generated/ffi", "runtime", false, false},
		{"generated/ffi", "runtime", true, true},
		{"schema", self + "/runtime", false, false},
		{"somewhere/new", "fmt", false, false},
	} {
		if why := refusal(c.dir, c.imports, c.test); (why == "") != c.ok {
			t.Errorf("%s importing %s: %q, want allowed = %v", c.dir, c.imports, why, c.ok)
		}
	}
}

// sizeOnly are files elsewhere that use nothing of unsafe but Sizeof, which is a
// constant and reads no memory.
var sizeOnly = []string{"reflection/types.go"}

var otherUnsafe = regexp.MustCompile(`\bunsafe\.(Pointer|Add|Slice|SliceData|String|StringData)\b`)

// TestUnsafe keeps unsafe and linkname where people look for them.
func TestUnsafe(t *testing.T) {
	rooms := []string{"internal/...", "runtime/...", "cuda/..."}
	found := 0
	for _, f := range goFiles(t) {
		if slices.Contains(f.imports, "unsafe") {
			found++
			if slices.Contains(sizeOnly, f.path) && !otherUnsafe.Match(f.text) {
				continue
			}
			if !covers(rooms, path.Dir(f.path)) {
				t.Errorf("%s imports unsafe, which belongs to internal, runtime and cuda", f.path)
			}
		}
		if bytes.Contains(f.text, []byte("\n//go:linkname ")) && !covers([]string{"internal/..."}, path.Dir(f.path)) {
			t.Errorf("%s uses go:linkname, which belongs to internal", f.path)
		}
	}
	if found == 0 {
		t.Error("no file imports unsafe: the test does not see")
	}
}

// TestLinked pins what ends up in programs, through all packages in between.
func TestLinked(t *testing.T) {
	programs := []struct {
		root   string
		need   string
		never  []string
		unix   []string // what else is not linked, except on Windows, where golang.org/x/sys imports net, and debug/pe compress/zlib
		within []string // modules other than the standard library, all platforms
	}{
		{root: "gen", need: jennifer, never: []string{purego, self + "/runtime", self + "/internal/calls", self + "/cuda"}},
		{root: "runtime/bindrt", need: purego, never: []string{jennifer, self + "/gen", self + "/reflection", self + "/internal/wheel", "debug/elf", "net/http", "regexp"}, unix: []string{"compress/zlib"}, within: []string{purego + "/...", "golang.org/x/sys/...", "github.com/x448/float16"}},
		// Every library made of a Go package links it: regexp alone would add 300 kB.
		{root: "runtime/exportrt", need: purego, never: []string{"regexp", "text/template", "net/http"}},
		{root: "schema", need: "encoding/json", within: []string{}},
		// Neither the network nor constants of the system are worth 2 s of CPU time in a build from empty caches.
		{root: "xgrammar", need: purego, never: []string{"net/http", "text/template", "debug/elf"}, unix: []string{"net", "compress/zlib", "golang.org/x/sys/unix"}},
		{root: "cmd/tvmffi-bind", need: purego, never: []string{self + "/cuda", self + "/internal/testkit/nativetest", "testing"}},
	}
	var roots []string
	for _, c := range programs {
		roots = append(roots, self+"/"+c.root)
	}
	for _, goos := range []string{"linux", "darwin", "windows"} {
		all := linked(t, goos, roots)
		for i, c := range programs {
			deps := all[roots[i]]
			if !slices.Contains(deps, c.need) {
				t.Errorf("%s: %s does not link %s: the test does not see", goos, c.root, c.need)
			}
			for _, d := range deps {
				if slices.Contains(c.never, d) || goos != "windows" && slices.Contains(c.unix, d) {
					t.Errorf("%s: %s links %s", goos, c.root, d)
				}
				first, _, _ := strings.Cut(d, "/")
				if c.within != nil && strings.Contains(first, ".") && !strings.HasPrefix(d, self) && !covers(c.within, d) {
					t.Errorf("%s: %s links %s", goos, c.root, d)
				}
			}
		}
	}
}

// linked returns the packages that a program with one of these packages links.
func linked(t *testing.T, goos string, roots []string) map[string][]string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-f", `{{.ImportPath}} {{join .Deps " "}}`}, roots...)...)
	cmd.Dir = repository(t)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH=amd64", "GOOS="+goos)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %s: %v\n%s", roots, err, &stderr)
	}
	deps := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		deps[words[0]] = words[1:]
	}
	return deps
}
