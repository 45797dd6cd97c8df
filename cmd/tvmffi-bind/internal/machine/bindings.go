package machine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/find"
)

// Bindings returns, for each package of bindings that the packages of a module import, the libraries that its programs
// would load on this machine without options: each with its version, its place and its hash. dir is a folder of the module.
func Bindings(ctx context.Context, dir string) ([]Fact, error) {
	list := exec.CommandContext(ctx, "go", "list", "-e", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}\t{{.Dir}}{{end}}", "./...")
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var facts []Fact
	seen := map[find.File]bool{}
	for line := range strings.Lines(string(out)) {
		path, folder, _ := strings.Cut(strings.TrimSpace(line), "\t")
		text, err := os.ReadFile(filepath.Join(folder, "library_gen.go"))
		if err != nil {
			continue // not bindings
		}
		for _, f := range librariesIn(string(text)) {
			if !seen[f] {
				seen[f] = true
				facts = append(facts, Fact{path, Library(f)})
			}
		}
	}
	return facts, nil
}

// Lines of generated code that describe a library, and the fields in them.
var (
	libraryLine  = regexp.MustCompile(`(?m)^\s*\{Name: ".*\},$`)
	libraryField = regexp.MustCompile(`(\w+): ("(?:[^"\\]|\\.)*")`)
)

// librariesIn reads the libraries that a file library_gen.go lists.
func librariesIn(text string) (all []find.File) {
	for _, line := range libraryLine.FindAllString(text, -1) {
		var f find.File
		fields := map[string]*string{"Name": &f.Name, "SHA256": &f.SHA256, "Package": &f.Package, "Version": &f.Version, "PathInPackage": &f.PathInPackage}
		for _, m := range libraryField.FindAllStringSubmatch(line, -1) {
			if to := fields[m[1]]; to != nil {
				*to, _ = strconv.Unquote(m[2])
			}
		}
		all = append(all, f)
	}
	return all
}

// Library says which file a program would load for f.
func Library(f find.File) string {
	text := f.Name
	if f.Package != "" {
		text += fmt.Sprintf(" of %s %s", f.Package, f.Version)
	}
	for c, err := range find.Candidates(f, &find.Options{}) {
		if err != nil {
			continue
		}
		hash, err := find.HashFile(c.Path)
		if err != nil {
			return text + ": " + err.Error()
		}
		if f.SHA256 != "" && hash != f.SHA256 {
			hash += " (the bindings are of " + f.SHA256 + ")"
		}
		if c.Version != "" && c.Version != f.Version {
			text += " (here " + c.Version + ")"
		}
		return fmt.Sprintf("%s\n%s\nsha256 %s", text, c.Path, hash)
	}
	return text + "\nnot found without options of Load"
}
