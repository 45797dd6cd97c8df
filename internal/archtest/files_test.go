package archtest

import (
	"bytes"
	"errors"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

func repository(t *testing.T) string {
	t.Helper()
	root, err := nativetest.Root()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// file is one file of the repository.
type file struct {
	path      string // relative, with slashes
	text      []byte
	generated bool
	test      bool
	imports   []string
}

var generatedMark = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// tree is what the repository consists of.
type tree struct {
	files []file
	// Folders that .gitignore leaves to the machine, such as bindings that an example generates. Their
	// files are not in the list above, and a clone does not have them.
	ignored []string
	// Binary files that no line of .gitignore such as *.so names.
	binaries []string
}

var readTree = sync.OnceValues(func() (tree, error) {
	root, err := nativetest.Root()
	if err != nil {
		return tree{}, err
	}
	var files []file
	var ignored, binaries []string
	outputs, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	if err != nil {
		return tree{}, err
	}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // another process has removed it since
		}
		if err != nil {
			return err
		}
		if d.IsDir() {
			rel, err := filepath.Rel(root, name)
			if err != nil {
				return err
			}
			// "go generate" in the examples builds libraries in folders .tvmffi-part-*.
			if d.Name() == ".git" || strings.HasPrefix(d.Name(), ".tvmffi-part-") || slices.Contains(ignored, filepath.ToSlash(rel)) {
				return fs.SkipDir
			}
			folders, err := ignoredIn(name)
			for _, folder := range folders {
				ignored = append(ignored, path.Join(filepath.ToSlash(rel), folder))
			}
			return err
		}
		if !d.Type().IsRegular() || d.Name() == ".git" { // a file in a second work tree
			return nil
		}
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0 {
			if ending := path.Ext(rel); ending == "" || !bytes.Contains(outputs, []byte("*"+ending+"\n")) {
				binaries = append(binaries, filepath.ToSlash(rel))
			}
			return nil
		}
		f := file{path: filepath.ToSlash(rel), text: text, test: strings.HasSuffix(name, "_test.go")}
		if strings.HasSuffix(name, ".go") {
			f.generated = generatedMark.Match(text)
			tree, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
			if err != nil {
				return err
			}
			for _, spec := range tree.Imports {
				p, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					return err
				}
				f.imports = append(f.imports, p)
			}
		}
		files = append(files, f)
		return nil
	})
	return tree{files, ignored, binaries}, err
})

// ignoredIn returns the folders that the file .gitignore of a folder names by lines such as /tvm/.
func ignoredIn(dir string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(dir, ".gitignore"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var folders []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if len(line) > 2 && strings.HasPrefix(line, "/") && strings.HasSuffix(line, "/") {
			folders = append(folders, strings.Trim(line, "/"))
		}
	}
	return folders, err
}

func allFiles(t *testing.T) []file {
	t.Helper()
	read, err := readTree()
	if err != nil {
		t.Fatal(err)
	}
	return read.files
}

// ignoredFolders are the folders that .gitignore leaves to the machine, whether they are there or not.
func ignoredFolders(t *testing.T) []string {
	t.Helper()
	read, err := readTree()
	if err != nil {
		t.Fatal(err)
	}
	return read.ignored
}

// goFiles are the Go files that the go command would build, on some platform.
func goFiles(t *testing.T) []file {
	t.Helper()
	var files []file
	for _, f := range allFiles(t) {
		if path.Ext(f.path) == ".go" && !strings.Contains("/"+f.path, "/testdata/") && !strings.HasPrefix(f.path, ".") {
			files = append(files, f)
		}
	}
	return files
}

// TestText keeps files finished, and free of the machine they were written on.
func TestText(t *testing.T) {
	// The patterns are put together here so that this file does not match them, and the words have a stroke. A pattern is
	// tried where one of its words stands, which is found sooner.
	forbidden := []struct{ what, words, pattern string }{
		{"a path of one machine", `/wo|rk/ /ro|ot/ /ho|me/ /us|ers/`, `(^|[\s"'=:(` + "`" + `])/(wo` + `rk|ro` + `ot|ho` + `me|Us` + `ers)/[A-Za-z0-9._-]`},
		{"a path of one machine", `/t|mp/`, `(^|[\s"'=:(` + "`" + `])/t` + `mp/[A-Za-z0-9._-]`},
		{"the address of a registry", `py|pi.org python|hosted.org go|lang.org crates|.io/`, `(?i)(py` + `pi\.org|python` + `hosted\.org|proxy\.go` + `lang\.org|sum\.go` + `lang\.org|crates` + `\.io/)`},
		{"an unfinished note", `to|do fix|me xx|x`, `\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`},
	}
	checked := 0
	for _, f := range allFiles(t) {
		checked++
		if path.Base(f.path) == "go.sum" {
			continue
		}
		lower := strings.ToLower(string(f.text))
		for _, bad := range forbidden {
			if !slices.ContainsFunc(strings.Fields(strings.ReplaceAll(bad.words, "|", "")), func(w string) bool { return strings.Contains(lower, w) }) {
				continue
			}
			if at := regexp.MustCompile(`(?m)` + bad.pattern).FindIndex(f.text); at != nil {
				t.Errorf("%s:%d holds %s: %q", f.path, 1+bytes.Count(f.text[:at[0]], []byte("\n")), bad.what, f.text[at[0]:at[1]])
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d files were checked", checked)
	}
}

// TestBinaries finds the output of a build that a commit has, or would have.
func TestBinaries(t *testing.T) {
	read, err := readTree()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range read.binaries {
		if path.Ext(name) != ".fatbin" {
			t.Errorf("%s is a binary, and .gitignore does not name it: remove it", name)
		}
	}
}

// platforms are the endings that make the go command build a file on some platforms only.
var platforms = strings.Fields(`aix android darwin dragonfly freebsd illumos ios js linux netbsd openbsd plan9 solaris wasip1 windows
	386 amd64 arm arm64 loong64 mips mips64 mips64le mipsle ppc64 ppc64le riscv64 s390x wasm`)

// onPurpose are files for one platform without a sibling for another.
var onPurpose = map[string]bool{
	"internal/dynlib/pointer_windows.go": true,
}

// TestFileNames finds files that are built on some platforms only because of how
// their name happens to end. A file for one platform has a sibling for another.
func TestFileNames(t *testing.T) {
	stems := map[string]int{}
	stem := func(name string) (string, bool) {
		base := strings.TrimSuffix(strings.TrimSuffix(name, path.Ext(name)), "_test")
		first, last, ok := cutLast(base)
		for _, p := range platforms {
			if ok && last == p {
				return first, true
			}
		}
		return first, false
	}
	for _, f := range goAndAssembly(t) {
		first, _ := stem(f.path)
		stems[first]++
	}
	for _, f := range goAndAssembly(t) {
		first, special := stem(f.path)
		if !special || onPurpose[f.path] {
			continue
		}
		if f.generated || strings.HasPrefix(f.path, "generated/") || strings.HasPrefix(f.path, "examples/") || stems[first] < 2 {
			t.Errorf("%s is built on one platform only because of its name; rename it, or list it as on purpose", f.path)
		}
	}
}

func goAndAssembly(t *testing.T) []file {
	t.Helper()
	var files []file
	for _, f := range allFiles(t) {
		if ext := path.Ext(f.path); ext == ".go" || ext == ".s" {
			files = append(files, f)
		}
	}
	return files
}

// cutLast cuts at the last underscore.
func cutLast(s string) (first, last string, ok bool) {
	i := strings.LastIndexByte(s, '_')
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// TestCommandFiles keeps cmd/tvmffi-bind to its commands. What they consist of belongs to a package below
// cmd/tvmffi-bind/internal.
func TestCommandFiles(t *testing.T) {
	const dir = "cmd/tvmffi-bind"
	commands := 0
	for _, f := range allFiles(t) {
		if path.Dir(f.path) != dir || f.test {
			continue
		}
		base := path.Base(f.path)
		switch command, _ := path.Match("cmd_*.go", base); {
		case command:
			commands++
		case base != "main.go" && base != "doc.go" && path.Ext(base) != ".tmpl":
			t.Errorf("%s is not main.go, doc.go, cmd_*.go, a test or a template: move it to a package of cmd/tvmffi-bind/internal", f.path)
		}
	}
	if commands < 10 {
		t.Errorf("%s has %d files cmd_*.go: the test does not see them", dir, commands)
	}
}
