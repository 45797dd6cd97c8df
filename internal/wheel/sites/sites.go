// Package sites finds files of installed Python distributions without running Python.
// It looks only at known places (virtual environments, conda, the user's site, the system, pyenv, uv, pipx),
// never at the working directory, and depends on nothing but the standard library.
package sites

import (
	"bufio"
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Installed is one installed distribution that holds all the requested files.
type Installed struct {
	// Distribution is the requested name, such as apache-tvm-ffi.
	Distribution string
	// Version comes from the METADATA of the dist-info folder and is empty if there is none.
	Version string
	// Site is the site-packages folder.
	Site string
	// File is the full path of the first requested file.
	File string
	// Source says why Site was searched, such as "VIRTUAL_ENV" or "pyenv".
	Source string
}

// host is what the search reads of the machine; tests replace it by a made-up tree.
type host struct {
	goos string
	env  func(string) string
	home string
	root string // prefix of absolute system folders, "" on a real machine
}

// Library returns the file name of libtvm_ffi inside a site-packages folder on the named operating system.
func Library(goos string) string {
	switch goos {
	case "windows":
		return "tvm_ffi/lib/tvm_ffi.dll"
	case "darwin":
		return "tvm_ffi/lib/libtvm_ffi.dylib"
	default:
		return "tvm_ffi/lib/libtvm_ffi.so"
	}
}

// Find returns the installed copies of a distribution that hold the file at the slash-separated path
// file below site-packages, in the order in which they should be preferred. Finding none is not an error.
func Find(distribution, file string) []Installed {
	return thisHost().find(distribution, file)
}

// FindLibrary returns the installed copies of libtvm_ffi.
func FindLibrary() []Installed {
	return Find("apache-tvm-ffi", Library(runtime.GOOS))
}

// Searched returns the site-packages folders that exist and are searched, for error messages.
func Searched() []string {
	var out []string
	for _, s := range thisHost().sites() {
		out = append(out, s.path)
	}
	return out
}

func thisHost() host {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	return host{goos: runtime.GOOS, env: os.Getenv, home: home}
}

func (h host) find(distribution, file string) []Installed {
	if !filepath.IsLocal(filepath.FromSlash(file)) {
		return nil
	}
	var found []Installed
	for _, s := range h.sites() {
		full := filepath.Join(s.path, filepath.FromSlash(file))
		if st, err := os.Stat(full); err != nil || !st.Mode().IsRegular() {
			continue
		}
		found = append(found, Installed{
			Distribution: distribution,
			Version:      distVersion(s.path, distribution),
			Site:         s.path,
			File:         full,
			Source:       s.source,
		})
	}
	return found
}

type site struct{ path, source string }

// sites lists the existing site-packages folders, each once, most specific first.
func (h host) sites() []site {
	var out []site
	seen := map[string]bool{}
	for _, p := range h.places() {
		for _, pattern := range p.patterns() {
			for _, folder := range folders(pattern) {
				key := folder
				if r, err := filepath.EvalSymlinks(folder); err == nil {
					key = r
				}
				if !seen[key] {
					seen[key] = true
					out = append(out, site{folder, p.source})
				}
			}
		}
	}
	return out
}

// folders returns the folders that match a pattern.
func folders(pattern string) []string {
	matches, err := filepath.Glob(pattern)
	if err != nil {
		return nil // a path of the user that is not a valid pattern
	}
	// Newer Pythons first: 3.12 before 3.9, which text order gets wrong.
	slices.SortFunc(matches, func(a, b string) int { return natural(b, a) })
	return slices.DeleteFunc(matches, func(m string) bool {
		st, err := os.Stat(m)
		return err != nil || !st.IsDir()
	})
}

// place is a pattern of folders to search. An empty pattern matches nothing.
type place struct {
	source  string
	pattern string
	python  bool // the folders are those of a Python, and their site-packages folders are searched
}

func (p place) patterns() []string {
	if !filepath.IsAbs(p.pattern) {
		return nil // never relative to the working directory, where a library may be planted
	}
	if !p.python {
		return []string{p.pattern}
	}
	return []string{
		filepath.Join(p.pattern, "lib", "python3*", "site-packages"),
		filepath.Join(p.pattern, "lib64", "python3*", "site-packages"),
		filepath.Join(p.pattern, "lib", "python3*", "dist-packages"),
		filepath.Join(p.pattern, "Lib", "site-packages"),
	}
}

// python is the place of a Python that is installed in dir, a pattern.
func python(source, dir string) place { return place{source, dir, true} }

// packages is the place of a site-packages folder.
func packages(source, folder string) place { return place{source, folder, false} }

// places lists the places to search, most specific first.
func (h host) places() []place {
	return slices.Concat(h.chosenPlaces(), h.pathPlaces(), h.userPlaces(), h.osPlaces(), []place{
		python("system", h.system("/usr/local")),
		python("system", h.system("/usr")),
		python("system", h.system("/opt/conda")),
	})
}

// chosenPlaces are those that the user has chosen for this process.
func (h host) chosenPlaces() []place {
	out := []place{
		python("VIRTUAL_ENV", below(h.env("VIRTUAL_ENV"))),
		python("CONDA_PREFIX", below(h.env("CONDA_PREFIX"))),
	}
	for _, p := range filepath.SplitList(h.env("PYTHONPATH")) {
		out = append(out, packages("PYTHONPATH", escape(p)))
	}
	return out
}

// pathPlaces are those of the Pythons on PATH.
func (h host) pathPlaces() []place {
	var out []place
	for _, p := range filepath.SplitList(h.env("PATH")) {
		if !filepath.IsAbs(p) {
			continue
		}
		if isFile(filepath.Join(p, "python3")) {
			out = append(out, python("python3 on PATH", below(filepath.Dir(p))))
		}
		if h.goos == "windows" && isFile(filepath.Join(p, "python.exe")) {
			out = append(out, python("python on PATH", below(p)))
		}
	}
	return out
}

// userPlaces are those in the home folder on every operating system.
func (h host) userPlaces() []place {
	out := []place{
		python("user site", below(h.home, ".local")),
		python("pyenv", cmp.Or(below(h.env("PYENV_ROOT"), "versions", "*"), below(h.home, ".pyenv", "versions", "*"))),
	}
	for _, d := range []string{"miniconda3", "anaconda3", "miniforge3", "mambaforge"} {
		out = append(out, python("conda", below(h.home, d)), python("conda", below(h.home, d, "envs", "*")))
	}
	return append(out,
		python("uv", below(h.home, ".local", "share", "uv", "python", "*")),
		python("uv", below(h.home, ".local", "share", "uv", "tools", "*")),
		python("pipx", below(h.home, ".local", "share", "pipx", "venvs", "*")))
}

// osPlaces are those of one operating system.
func (h host) osPlaces() []place {
	switch h.goos {
	case "darwin":
		return []place{
			packages("user site", below(h.home, "Library", "Python", "3*", "lib", "python", "site-packages")),
			python("homebrew", h.system("/opt/homebrew")),
			python("python.org", h.system("/Library/Frameworks/Python.framework/Versions/*")),
		}
	case "windows":
		return []place{
			packages("user site", below(h.env("APPDATA"), "Python", "Python3*", "site-packages")),
			python("python.org", below(h.env("LOCALAPPDATA"), "Programs", "Python", "Python3*")),
		}
	}
	return nil
}

func (h host) system(p string) string { return filepath.Join(h.root, p) }

// below returns a pattern below a real folder, and nothing if there is no folder.
func below(dir string, pattern ...string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(append([]string{escape(dir)}, pattern...)...)
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && !st.IsDir()
}

// escape keeps the special characters of a real folder name from acting as a pattern.
func escape(p string) string {
	if runtime.GOOS == "windows" {
		return p // Glob has no escapes there
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(p)
}

// natural compares texts with runs of digits by their value.
func natural(a, b string) int {
	for a != "" && b != "" {
		da, db := digits(a), digits(b)
		if da > 0 && db > 0 {
			x, y := strings.TrimLeft(a[:da], "0"), strings.TrimLeft(b[:db], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[da:], b[db:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// distVersion reads the version from the METADATA file of the distribution's dist-info folder.
func distVersion(site, distribution string) string {
	entries, err := os.ReadDir(site)
	if err != nil {
		return ""
	}
	want := normal(distribution)
	for _, e := range entries {
		base, ok := strings.CutSuffix(e.Name(), ".dist-info")
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(base, "-")
		if normal(name) != want {
			continue
		}
		if v := metadataVersion(filepath.Join(site, e.Name(), "METADATA")); v != "" {
			return v
		}
	}
	return ""
}

func metadataVersion(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := lines.Text()
		if line == "" {
			break // the headers end here, the description follows
		}
		if v, ok := strings.CutPrefix(line, "Version:"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// normal is the normalised form of a distribution's name.
func normal(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "_", ".", "_").Replace(name))
}
