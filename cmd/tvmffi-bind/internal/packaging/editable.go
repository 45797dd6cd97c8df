package packaging

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // of the check
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
)

//go:embed editable.py
var check []byte

// The files of the check beside __init__.py.
const (
	editablePython = "_editable.py"
	editableState  = "_editable.json"
)

// checked is what the package of an editable form does after everything else when Python imports it.
const checked = "\nfrom . import _editable as _tvmffi_editable\n\n_tvmffi_editable.watch()\n"

// state is what the check compares with.
type state struct {
	// Command makes the library anew.
	Command string `json:"command"`
	Library string `json:"library"`
	// Files holds the size, time and hash of each file that the library was built from.
	Files map[string][3]any `json:"files"`
	// Folders holds the Go files of each folder of a package. Another one is new.
	Folders map[string][]string `json:"folders"`
}

// read adds a file, unless it does not exist.
func (s *state) read(path string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	s.Files[path] = [3]any{len(data), info.ModTime().UnixNano(), hex.EncodeToString(sum[:])}
	return nil
}

// Editable returns the files that make a Python package with the given files, which lie in the folder of the package,
// an editable one. It reads the Go files, so it is called before the library is built: a change during the build is
// then seen as one.
func (p *Project) Editable(files []File, library, command string) ([]File, error) {
	s := state{Command: command, Library: library, Files: map[string][3]any{}, Folders: map[string][]string{}}
	for _, l := range p.linked {
		if !l.own() {
			continue
		}
		s.Folders[l.Dir] = append(slices.Clone(l.IgnoredGoFiles), l.GoFiles...)
		s.Folders[l.Dir] = append(s.Folders[l.Dir], l.CgoFiles...)
		for _, list := range [][]string{l.GoFiles, l.CgoFiles, l.CFiles, l.CXXFiles, l.HFiles, l.SFiles, l.EmbedFiles} {
			for _, name := range list {
				if err := s.read(filepath.Join(l.Dir, name)); err != nil {
					return nil, err
				}
			}
		}
	}
	main, err := p.module()
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := s.read(filepath.Join(main.root(), name)); err != nil {
			return nil, err
		}
	}
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return nil, err
	}
	files = slices.Clone(files)
	i := slices.IndexFunc(files, func(f File) bool { return f.Path == "__init__.py" })
	if i < 0 {
		return nil, errors.New("the Python package has no __init__.py")
	}
	files[i].Content = append(slices.Clone(files[i].Content), checked...)
	return append(files, File{Path: editablePython, Content: check}, File{Path: editableState, Content: append(text, '\n')}), nil
}

// Link returns the wheel that adds a folder to the path of a Python, which then finds the packages in it.
func Link(m Metadata, module, folder, generator string) *Wheel {
	return &Wheel{Metadata: m, Tag: "any", Generator: generator, Files: []File{
		{Path: "__editable__." + module + ".pth", Content: []byte(folder + "\n")},
	}}
}

// Python is the program of a Python.
type Python struct{ path string }

// FindPython returns the Python of the active virtual environment, or the first in PATH.
func FindPython() (Python, error) {
	var candidates []string
	if env := os.Getenv("VIRTUAL_ENV"); env != "" {
		bin := "bin/python"
		if runtime.GOOS == "windows" {
			bin = `Scripts\python.exe`
		}
		candidates = append(candidates, filepath.Join(env, filepath.FromSlash(bin)))
	}
	for _, c := range append(candidates, "python3", "python") {
		if path, err := exec.LookPath(c); err == nil {
			return Python{path}, nil
		}
	}
	return Python{}, errors.New("there is no python3 in PATH: install Python, or activate a virtual environment")
}

// String is the path of the program.
func (p Python) String() string { return p.path }

// imports prints the folder that the first argument is imported from, and the version of the second.
const imports = `import importlib.metadata, importlib.util, os, sys
spec = importlib.util.find_spec(sys.argv[1])
print(os.path.dirname(os.path.realpath(spec.origin)) if spec and spec.origin else "")
importlib.metadata.distribution("apache-tvm-ffi")
print(importlib.metadata.version(sys.argv[2]))`

// Uses reports whether this Python imports a module from a folder, as the distribution of m.
func (p Python) Uses(ctx context.Context, module, folder string, m Metadata) bool {
	cmd := exec.CommandContext(ctx, p.path, "-c", imports, module, m.Name)
	cmd.Dir = string(filepath.Separator) // not a folder with a package of that name
	out, err := cmd.Output()
	real, _ := filepath.EvalSymlinks(folder)
	return err == nil && strings.TrimSpace(string(bytes.ReplaceAll(out, []byte("\r\n"), []byte("\n")))) == real+"\n"+m.Version
}

// Install lets pip install a wheel, in place of any other of that name, and what it requires. An environment of uv has no
// pip, so uv does it there.
func (p Python) Install(ctx context.Context, wheel string) error {
	pip := []string{p.path, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"}
	if exec.CommandContext(ctx, p.path, "-c", "import pip").Run() != nil {
		uv, err := exec.LookPath("uv")
		if err != nil {
			return fmt.Errorf("%s has no pip: run %s -m ensurepip, or activate another environment", p, p)
		}
		pip = []string{uv, "pip", "install", "--quiet", "--python", p.path}
	}
	// The first step replaces the package itself; the second adds what it requires and is not there.
	for _, flags := range [][]string{{"--force-reinstall", "--no-deps"}, nil} {
		args := append(slices.Clone(pip), append(flags, wheel)...)
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("pip install: %w\n%s", err, console.LastLines(strings.TrimSpace(string(out))))
		}
	}
	return nil
}
