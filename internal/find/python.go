package find

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// host is what the search reads of the machine; tests replace it by a made-up tree.
type host struct {
	goos string
	env  func(string) string
	home string
	root string // prefix of absolute system folders, "" on a real machine
}

// Installed returns the files at a slash-separated path below the site-packages folders of this machine, in the order
// in which they should be preferred, with the name that a library has on this platform. The distribution says which version
// they have. Finding none is not an error.
func Installed(distribution, path string) []Candidate { return thisHost().find(distribution, path) }

// OfNVIDIA returns the library with that name in a wheel of NVIDIA, installed or in the cache. It
// returns "" if there is none. The wheels put their libraries into folders nvidia/*/lib.
func OfNVIDIA(name string) string {
	var roots []string
	for _, s := range thisHost().sites() {
		roots = append(roots, s.path)
	}
	if cache, err := CacheDir(); err == nil {
		trees, _ := filepath.Glob(filepath.Join(escape(cache), "wheels", "nvidia-*"))
		roots = append(roots, slices.DeleteFunc(trees, func(tree string) bool {
			return !IsFile(filepath.Join(tree, Marker)) || Private(tree) != nil
		})...)
	}
	for _, root := range roots {
		files, _ := filepath.Glob(filepath.Join(escape(root), "nvidia", "*", "lib", escape(filepath.Base(name))))
		for _, file := range files {
			if IsFile(file) {
				return file
			}
		}
	}
	return ""
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

func (h host) find(distribution, path string) []Candidate {
	if !filepath.IsLocal(filepath.FromSlash(path)) {
		return nil
	}
	var found []Candidate
	for _, s := range h.sites() {
		if file := (File{PathInPackage: path}).InTree(s.path); IsFile(file) {
			version := versionIn(s.path, distribution)
			found = append(found, Candidate{Path: file, Where: strings.TrimSpace("Python package " + version), Site: s.path, Version: version, Source: s.source})
		}
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
			for _, folder := range matching(pattern) {
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

// matching returns the folders that match a pattern.
func matching(pattern string) []string {
	matches, err := filepath.Glob(pattern)
	if err != nil {
		return nil // a path of the user that is not a valid pattern
	}
	// Newer Pythons first: 3.12 before 3.9, which text order gets wrong.
	slices.SortFunc(matches, func(a, b string) int { return cmp.Compare(natural(b), natural(a)) })
	return slices.DeleteFunc(matches, func(m string) bool {
		st, err := os.Stat(m)
		return err != nil || !st.IsDir()
	})
}

// place is a pattern of folders to search. An empty pattern matches nothing.
type place struct{ source, pattern string }

// patterns returns the patterns of site-packages folders in a place, which is one or the folder of a Python.
func (p place) patterns() []string {
	if !filepath.IsAbs(p.pattern) {
		return nil // never relative to the working directory, where a library may be planted
	}
	if p.source == "PYTHONPATH" || filepath.Base(p.pattern) == "site-packages" {
		return []string{p.pattern}
	}
	return []string{
		filepath.Join(p.pattern, "lib", "python3*", "site-packages"),
		filepath.Join(p.pattern, "lib64", "python3*", "site-packages"),
		filepath.Join(p.pattern, "lib", "python3*", "dist-packages"),
		filepath.Join(p.pattern, "Lib", "site-packages"),
	}
}

// usual are the places below the home folder (~), the folder that a variable names, and the root, most specific first.
// Those with an operating system are searched there only.
var usual = []struct{ goos, source, pattern string }{
	{"", "user site", "~/.local"},
	{"", "pyenv", "$PYENV_ROOT/versions/*"},
	{"", "conda", "~/miniconda3"}, {"", "conda", "~/miniconda3/envs/*"},
	{"", "conda", "~/anaconda3"}, {"", "conda", "~/anaconda3/envs/*"},
	{"", "conda", "~/miniforge3"}, {"", "conda", "~/miniforge3/envs/*"},
	{"", "conda", "~/mambaforge"}, {"", "conda", "~/mambaforge/envs/*"},
	{"", "uv", "~/.local/share/uv/python/*"},
	{"", "uv", "~/.local/share/uv/tools/*"},
	{"", "pipx", "~/.local/share/pipx/venvs/*"},
	{"darwin", "user site", "~/Library/Python/3*/lib/python/site-packages"},
	{"darwin", "homebrew", "/opt/homebrew"},
	{"darwin", "python.org", "/Library/Frameworks/Python.framework/Versions/*"},
	{"windows", "user site", "$APPDATA/Python/Python3*/site-packages"},
	{"windows", "python.org", "$LOCALAPPDATA/Programs/Python/Python3*"},
	{"", "system", "/usr/local"},
	{"", "system", "/usr"},
	{"", "system", "/opt/conda"},
}

// places lists the places to search, most specific first: what the user has chosen for this process, the Pythons on
// PATH, and the usual places.
func (h host) places() []place {
	out := []place{{"VIRTUAL_ENV", below(h.env("VIRTUAL_ENV"), "")}, {"CONDA_PREFIX", below(h.env("CONDA_PREFIX"), "")}}
	for _, p := range filepath.SplitList(h.env("PYTHONPATH")) {
		out = append(out, place{"PYTHONPATH", below(p, "")})
	}
	for _, p := range filepath.SplitList(h.env("PATH")) {
		if !filepath.IsAbs(p) {
			continue
		}
		if IsFile(filepath.Join(p, "python3")) {
			out = append(out, place{"python3 on PATH", below(filepath.Dir(p), "")})
		}
		if h.goos == "windows" && IsFile(filepath.Join(p, "python.exe")) {
			out = append(out, place{"python on PATH", below(p, "")})
		}
	}
	for _, u := range usual {
		if u.goos == "" || u.goos == h.goos {
			out = append(out, place{u.source, h.expand(u.pattern)})
		}
	}
	return out
}

// expand returns the pattern of a usual place on this machine.
func (h host) expand(pattern string) string {
	top, rest, _ := strings.Cut(pattern, "/")
	switch top {
	case "":
		return filepath.Join(h.root, pattern)
	case "~":
		return below(h.home, rest)
	case "$PYENV_ROOT":
		return cmp.Or(below(h.env("PYENV_ROOT"), rest), below(h.home, ".pyenv/"+rest))
	}
	return below(h.env(top[1:]), rest)
}

// below returns a pattern below a real folder, and nothing if there is no folder.
func below(dir, pattern string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(escape(dir), pattern)
}

// IsFile reports whether a path leads to a file, not to a folder or a device.
func IsFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// escape keeps the special characters of a real folder name from acting as a pattern.
func escape(p string) string {
	if runtime.GOOS == "windows" { // Glob has no escapes there, and no name has the other special characters
		return strings.ReplaceAll(p, "[", "[[]")
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(p)
}

// SortNatural sorts texts with runs of digits by their value, so that 0.9 comes before 0.10.
func SortNatural(texts []string) {
	slices.SortStableFunc(texts, func(a, b string) int { return cmp.Compare(natural(a), natural(b)) })
}

// natural returns a text that sorts like s, but with runs of digits by their value.
func natural(s string) string {
	var key strings.Builder
	for s != "" {
		digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
		key.WriteString(strings.Repeat("0", max(0, 20-digits)*min(digits, 1)))
		n := max(digits, 1)
		key.WriteString(s[:n])
		s = s[n:]
	}
	return key.String()
}

// versionIn returns the version of a distribution in a site-packages folder, from the name of its folder NAME-VERSION.dist-info.
func versionIn(site, distribution string) string {
	entries, _ := os.ReadDir(site)
	for _, e := range entries {
		base, ok := strings.CutSuffix(e.Name(), ".dist-info")
		if name, version, _ := strings.Cut(base, "-"); ok && normal(name) == normal(distribution) {
			return version
		}
	}
	return ""
}

// normal is the normalised form of a distribution's name.
func normal(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "_", ".", "_").Replace(name))
}
