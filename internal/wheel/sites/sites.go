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
	add := func(source string, patterns ...string) {
		for _, p := range patterns {
			matches, err := filepath.Glob(p)
			if err != nil {
				continue // a path of the user that is not a valid pattern
			}
			// Newer Pythons first: 3.12 before 3.9, which text order gets wrong.
			slices.SortFunc(matches, func(a, b string) int { return natural(b, a) })
			for _, m := range matches {
				key := m
				if r, err := filepath.EvalSymlinks(m); err == nil {
					key = r
				}
				if st, err := os.Stat(m); err != nil || !st.IsDir() || seen[key] {
					continue
				}
				seen[key] = true
				out = append(out, site{m, source})
			}
		}
	}
	// prefix adds the site folders of a Python installed under dir, which may itself be a pattern.
	prefix := func(source, dir string) {
		if dir == "" || !filepath.IsAbs(dir) {
			return // never relative to the working directory
		}
		add(source,
			filepath.Join(dir, "lib", "python3*", "site-packages"),
			filepath.Join(dir, "lib64", "python3*", "site-packages"),
			filepath.Join(dir, "lib", "python3*", "dist-packages"),
			filepath.Join(dir, "Lib", "site-packages"))
	}
	system := func(p string) string { return filepath.Join(h.root, p) }
	home := func(p ...string) string {
		if h.home == "" {
			return ""
		}
		return filepath.Join(append([]string{h.home}, p...)...)
	}

	prefix("VIRTUAL_ENV", escape(h.env("VIRTUAL_ENV")))
	prefix("CONDA_PREFIX", escape(h.env("CONDA_PREFIX")))
	for _, p := range filepath.SplitList(h.env("PYTHONPATH")) {
		if filepath.IsAbs(p) {
			add("PYTHONPATH", escape(p))
		}
	}
	for _, p := range filepath.SplitList(h.env("PATH")) {
		if !filepath.IsAbs(p) {
			continue
		}
		if st, err := os.Stat(filepath.Join(p, "python3")); err == nil && !st.IsDir() {
			prefix("python3 on PATH", escape(filepath.Dir(p)))
		}
		if h.goos == "windows" {
			if st, err := os.Stat(filepath.Join(p, "python.exe")); err == nil && !st.IsDir() {
				prefix("python on PATH", escape(p))
			}
		}
	}
	prefix("user site", escape(home(".local")))
	if pyenv := cmp.Or(h.env("PYENV_ROOT"), home(".pyenv")); pyenv != "" {
		prefix("pyenv", filepath.Join(escape(pyenv), "versions", "*"))
	}
	for _, d := range []string{"miniconda3", "anaconda3", "miniforge3", "mambaforge"} {
		prefix("conda", escape(home(d)))
		prefix("conda", filepath.Join(escape(home(d)), "envs", "*"))
	}
	if share := home(".local", "share"); share != "" {
		prefix("uv", filepath.Join(escape(share), "uv", "python", "*"))
		prefix("uv", filepath.Join(escape(share), "uv", "tools", "*"))
		prefix("pipx", filepath.Join(escape(share), "pipx", "venvs", "*"))
	}
	switch h.goos {
	case "darwin":
		if h.home != "" {
			add("user site", filepath.Join(escape(home("Library", "Python")), "3*", "lib", "python", "site-packages"))
		}
		prefix("homebrew", system("/opt/homebrew"))
		prefix("python.org", system("/Library/Frameworks/Python.framework/Versions/*"))
	case "windows":
		if d := h.env("APPDATA"); d != "" {
			add("user site", filepath.Join(escape(d), "Python", "Python3*", "site-packages"))
		}
		if d := h.env("LOCALAPPDATA"); d != "" {
			prefix("python.org", filepath.Join(escape(d), "Programs", "Python", "Python3*"))
		}
	}
	prefix("system", system("/usr/local"))
	prefix("system", system("/usr"))
	prefix("system", system("/opt/conda"))
	return out
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
