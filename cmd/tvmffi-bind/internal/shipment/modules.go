package shipment

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/mod/module"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
)

// A part is a module of Go in a program, or Go itself, with the files of its licence.
type part struct {
	name     string // with the version
	folder   string // below licenses
	licenses []string
}

// modules returns Go and the modules of a program but its main one, whose author ships it, with the licences that this machine
// has: in the cache of modules, in a folder vendor, or where a module of the working folder lies.
func modules(ctx context.Context, info *debug.BuildInfo) (all []part) {
	env := append(goCommand(ctx, "env", "GOROOT", "GOMODCACHE", "GOMOD"), "", "", "")
	root, cache, dir := env[0], env[1], filepath.Dir(env[2])
	own := slices.Contains(goCommand(ctx, "list", "-m"), info.Main.Path) // the working folder is in the module of the program
	release, _, _ := strings.Cut(info.GoVersion, " ")
	all = []part{{"Go " + strings.TrimPrefix(release, "go"), release, licensesIn(root)}}
	for _, dep := range info.Deps {
		used := dep
		if dep.Replace != nil {
			used = dep.Replace
		}
		path, err := module.EscapePath(used.Path)
		version, err2 := module.EscapeVersion(used.Version)
		m := part{name: used.Path + " " + used.Version, folder: used.Path + "@" + used.Version}
		if err == nil && err2 == nil && used.Version != "" && used.Version != "(devel)" {
			m.licenses = licensesIn(filepath.Join(cache, filepath.FromSlash(path)+"@"+version))
			if own && len(m.licenses) == 0 {
				m.licenses = licensesIn(filepath.Join(dir, "vendor", filepath.FromSlash(dep.Path)))
			}
		} else { // of a workspace, or a folder took its place
			m = part{name: dep.Path, folder: dep.Path}
			if found := goCommand(ctx, "list", "-m", "-f", "{{.Dir}}", dep.Path); own && len(found) == 1 {
				m.licenses = licensesIn(found[0])
			}
		}
		all = append(all, m)
	}
	return all
}

// goCommand returns the lines that the go command prints, none if it fails. It downloads nothing.
func goCommand(ctx context.Context, args ...string) []string {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOTOOLCHAIN=local")
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// licensesIn returns the licences and notices in a folder.
func licensesIn(dir string) (files []string) {
	if dir == "" {
		return nil
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.Type().IsRegular() && probe.IsLicense(e.Name()) {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(files)
	return files
}
