package load

import (
	"errors"
	"fmt"
	"go/build"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

// A Module is a main module of the go command.
type Module struct {
	Dir, Path string
	GoVersion string // as in "1.26.0"
}

// ModuleAround returns the module that contains dir, without its Go version.
func ModuleAround(dir string) (Module, error) {
	for {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		switch {
		case err == nil && modfile.ModulePath(data) != "":
			return Module{Dir: dir, Path: modfile.ModulePath(data)}, nil
		case !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir):
			return Module{}, fmt.Errorf("%s is not in a module: %w", dir, err)
		}
		dir = filepath.Dir(dir)
	}
}

// Compiled holds what the go command knows about compiled packages.
type Compiled struct {
	Module Module
	// Context says which files the go command chooses for a package.
	Context build.Context
	// Needed holds the import paths of all packages that those need directly or indirectly.
	Needed map[string]bool

	// Sources says which files the compiled packages were made of.
	Sources Sources

	exports map[string]string // the files with export data, by import path
}

// Sources are the folders of packages, and of everything that they import.
type Sources struct {
	// Toolchain is the folder of the Go release, in which the standard library is.
	Toolchain string
	// Folders holds the folders of the other packages by import path.
	Folders map[string]string
}

// Compile asks the go command for the export data of packages that m imports. The go command
// compiles what its cache does not hold. A package that cannot be compiled or imported is not
// among the result.
func Compile(m Module, paths []string) (*Compiled, error) {
	const fields = 17
	format := fmt.Sprintf("{{with module %q}}{{.Main}}\t{{.Dir}}\t{{.GoVersion}}{{end}}\t", m.Path) +
		"{{with context}}{{.GOOS}}\t{{.GOARCH}}\t{{.CgoEnabled}}\t" +
		"{{join .BuildTags ` `}}\t{{join .ToolTags ` `}}\t{{join .ReleaseTags ` `}}\t{{.GOROOT}}{{end}}\t" +
		"{{.ImportPath}}\t{{.Name}}\t{{.Export}}\t{{.Dir}}\t{{.Standard}}\t{{.DepOnly}}\t{{if not .DepOnly}}{{join .Deps ` `}}{{end}}"
	args := []string{"list", "-e", "-export", "-deps", "-f", format, "--", "unsafe"} // no path at all would mean m.Dir
	list := exec.Command("go", append(args, paths...)...)
	list.Dir = m.Dir
	if os.Getenv("GOGC") == "" {
		list.Env = append(os.Environ(), "GOGC=400") // for it and for compilers: a fifth less time, a fifth more memory
	}
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the imports: %w", err)
	}
	c := &Compiled{Module: m, Context: build.Default, Needed: map[string]bool{}, Sources: Sources{Folders: map[string]string{}}, exports: map[string]string{}}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != fields || f[0] != "true" || f[1] != m.Dir {
			return nil, fmt.Errorf("list the imports: the go command says %q of the module in %s", line, m.Dir)
		}
		c.Module.GoVersion = f[2]
		c.Context.GOOS, c.Context.GOARCH, c.Context.CgoEnabled = f[3], f[4], f[5] == "true"
		c.Context.BuildTags, c.Context.ToolTags, c.Context.ReleaseTags = strings.Fields(f[6]), strings.Fields(f[7]), strings.Fields(f[8])
		c.Sources.Toolchain = f[9]
		path, name, export, folder, standard, named := f[10], f[11], f[12], f[13], f[14] == "true", f[15] == "false"
		if !standard {
			c.Sources.Folders[path] = folder
		}
		for _, path := range strings.Fields(f[16]) {
			c.Needed[path] = true
		}
		if named && name != "main" && export != "" {
			c.exports[path] = export
		}
	}
	return c, nil
}

// Open returns the export data of a package.
func (c *Compiled) Open(path string) (io.ReadCloser, error) {
	file, ok := c.exports[path]
	if !ok {
		return nil, fmt.Errorf("%s is not compiled", path)
	}
	return os.Open(file)
}
