package project

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/gen/config"
	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
	"github.com/tvmffi-go/tvmffi/internal/libname"
	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// LockName is the name of the lock of a configuration with the usual name.
const LockName = "tvmffi.lock"

const lockFormat = 1

// Lock records what a run of gen has read and written. It belongs in version
// control, beside the configuration.
type Lock struct {
	Comment   string          `json:"comment"`
	Format    int             `json:"format"`
	Libraries []lockedLibrary `json:"libraries,omitempty"`
	// Wheels are those that libraries came from and whose hashes the tool does not know.
	Wheels []lockedWheel `json:"wheels,omitempty"`
	// Names are the Python distributions that names files were read from.
	Names []hints.Source `json:"names,omitempty"`
	// Interface is the fingerprint of everything that was bound.
	Interface string `json:"interface"`
	// Widths has the signatures, and the types of fields, to which hints give widths of ints: a library does not say them.
	Widths map[string]string `json:"widths,omitempty"`
	// Files lists the generated files, relative to the output folder.
	Files []string `json:"files"`
	// GoNames says what the exported names of the package stand for: the next run gives each item
	// the same name. It is nil for kernels, and in the lock of an older version of the tool.
	GoNames *config.GoNames `json:"go_names,omitempty"`

	conflicted bool // it has the marks of a merge conflict, and nothing else was read
}

// lockedLibrary identifies one library.
type lockedLibrary struct {
	File          string      `json:"file"`
	Role          schema.Role `json:"role"`
	Package       string      `json:"package,omitempty"`
	Version       string      `json:"version,omitempty"`
	PathInPackage string      `json:"path_in_package,omitempty"`
	// SHA256 is the hash of the file by platform, such as linux/amd64. A run on another platform adds none, as long as the
	// interface stays the same. Locks of older versions of the tool have several.
	SHA256 map[string]string `json:"sha256,omitempty"`
	// Interface is the fingerprint of what this library adds.
	Interface string `json:"interface"`
}

// lockedWheel identifies the wheels of one version of a Python package, by platform.
type lockedWheel struct {
	Requirement string               `json:"requirement"` // such as garden==1.2
	Files       map[string]WheelFile `json:"files"`
}

// WheelFile identifies one wheel.
type WheelFile struct {
	// Tag says for which Python and platform it is, such as cp312-cp312-manylinux_2_28_x86_64.
	Tag    string `json:"tag"`
	SHA256 string `json:"sha256"`
}

// WheelsHere returns the wheels for this platform by NAME==VERSION.
func (l *Lock) WheelsHere() map[string]WheelFile {
	here := map[string]WheelFile{}
	if l != nil {
		for _, w := range l.Wheels {
			if f, ok := w.Files[Platform()]; ok {
				here[w.Requirement] = f
			}
		}
	}
	return here
}

// SetWheels records the wheels that c asks for. Here are those for this platform by NAME==VERSION;
// the others come from the previous lock.
func (l *Lock) SetWheels(c *Config, here map[string]WheelFile, previous *Lock) {
	all := map[string]map[string]WheelFile{}
	if previous != nil {
		for _, w := range previous.Wheels {
			all[w.Requirement] = maps.Clone(w.Files)
		}
	}
	for what, f := range here {
		if all[what] == nil {
			all[what] = map[string]WheelFile{}
		}
		all[what][Platform()] = f
	}
	for _, s := range slices.Concat(c.Deps, c.Libraries) {
		what := s.Package + "==" + s.Version
		if len(all[what]) > 0 {
			l.Wheels = append(l.Wheels, lockedWheel{what, all[what]})
			delete(all, what)
		}
	}
}

const lockComment = "Written by tvmffi-bind. Commit this file; change it with tvmffi-bind gen."

// Platform returns the system and processor of this machine, such as linux/amd64.
func Platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

// NewLock returns the lock of s, without the files generated from it.
func NewLock(s schema.Schema) *Lock {
	l := &Lock{Comment: lockComment, Format: lockFormat, Interface: s.Fingerprint()}
	for i, lib := range s.Libraries {
		locked := lockedLibrary{
			File: lib.File, Role: lib.Role,
			Package: lib.Package, Version: lib.PackageVersion, PathInPackage: lib.PathInPackage,
			Interface: s.LibraryFingerprint(lib.File),
		}
		if i == 0 { // libtvm_ffi: where it came from differs between machines, and does not matter
			locked.Package, locked.PathInPackage = "", ""
			locked.Version = fmt.Sprintf("%d.%d.%d", s.ABI.Major, s.ABI.Minor, s.ABI.Patch)
		}
		if lib.SHA256 != "" {
			locked.SHA256 = map[string]string{Platform(): lib.SHA256}
		}
		l.Libraries = append(l.Libraries, locked)
	}
	return l
}

// Adopt takes over from the previous lock the name of each library, and the hashes of one that has not changed. So a
// run on another system, where the library has another name and another hash, changes nothing: the bindings are for all
// systems, and say from which file they were generated first. A library that does not come from a package keeps its hash for
// this platform too: each machine that builds it gets a different hash, and the bindings stay the same.
func (l *Lock) Adopt(previous *Lock) {
	for i := range l.Libraries {
		now := &l.Libraries[i]
		was := previous.sameLibrary(now)
		if was == nil {
			continue
		}
		now.rename(was.File)
		if was.Interface != now.Interface || was.Version != now.Version || len(was.SHA256) == 0 {
			continue
		}
		merged := maps.Clone(was.SHA256)
		for on, hash := range now.SHA256 {
			if merged[on] != "" && now.Package != "" {
				merged[on] = hash
			}
		}
		now.SHA256 = merged
	}
}

// systems are those on which a library has another name. A saved schema may come from any of them.
var systems = []string{"linux", "darwin", "windows"}

// sameLibrary returns the entry of a library, which may have the name of another system, or nil.
func (l *Lock) sameLibrary(now *lockedLibrary) *lockedLibrary {
	if l == nil {
		return nil
	}
	if same := l.library(now.File); same != nil {
		return same
	}
	i := slices.IndexFunc(l.Libraries, func(was lockedLibrary) bool {
		return was.Package == now.Package && slices.ContainsFunc(systems, func(goos string) bool { return libname.Same(goos, was.File, now.File) })
	})
	if i < 0 {
		return nil
	}
	return &l.Libraries[i]
}

// rename gives a library another name, in the same folder of its package.
func (l *lockedLibrary) rename(file string) {
	l.File, l.PathInPackage = file, renamed(l.PathInPackage, file)
}

// renamed returns the path of a file with another name in the same folder, "" for "".
func renamed(at, file string) string {
	if at == "" {
		return ""
	}
	return path.Join(path.Dir(at), file)
}

// elsewhere returns the hash of the file that the bindings were generated from, "" if that is the file of this platform.
func (l *lockedLibrary) elsewhere() string {
	first, others := "linux/amd64", slices.Sorted(maps.Keys(l.SHA256))
	if l.SHA256[first] == "" && len(others) > 0 {
		first = others[0]
	}
	if first == Platform() {
		return ""
	}
	return l.SHA256[first]
}

// Named returns a schema with the names and the hashes of libraries that bindings have by the lock, which was made from it.
func (l *Lock) Named(s schema.Schema) schema.Schema {
	names := map[string]string{}
	s.Libraries = slices.Clone(s.Libraries)
	for i := range s.Libraries {
		lib, locked := &s.Libraries[i], &l.Libraries[i]
		names[lib.File] = locked.File
		lib.File, lib.PathInPackage = locked.File, renamed(lib.PathInPackage, locked.File)
		if lib.Package != "" {
			lib.SHA256 = cmp.Or(locked.elsewhere(), lib.SHA256)
		}
	}
	rename := func(name *string) { *name = cmp.Or(names[*name], *name) }
	for i := range s.Libraries {
		s.Libraries[i].Needs = slices.Clone(s.Libraries[i].Needs)
		for j := range s.Libraries[i].Needs {
			rename(&s.Libraries[i].Needs[j])
		}
	}
	s.Functions, s.Types, s.Flaws = slices.Clone(s.Functions), slices.Clone(s.Types), slices.Clone(s.Flaws)
	for i := range s.Functions {
		rename(&s.Functions[i].Library)
	}
	for i := range s.Types {
		rename(&s.Types[i].Library)
	}
	for i := range s.Flaws {
		rename(&s.Flaws[i].Library)
	}
	return s
}

// library returns the entry of a file, or nil.
func (l *Lock) library(file string) *lockedLibrary {
	if l == nil {
		return nil
	}
	i := slices.IndexFunc(l.Libraries, func(x lockedLibrary) bool { return x.File == file })
	if i < 0 {
		return nil
	}
	return &l.Libraries[i]
}

// Changed returns sentences that say how the libraries of l differ from the libraries of previous.
func (l *Lock) Changed(previous *Lock) []string {
	if previous == nil {
		return nil
	}
	if previous.conflicted {
		return []string{"the lock has the marks of a merge conflict: gen writes it anew, with the Go names of both sides and without the hashes of other platforms"}
	}
	var notes []string
	for i := range l.Libraries {
		now := &l.Libraries[i]
		was := previous.library(now.File)
		switch {
		case was == nil:
			notes = append(notes, fmt.Sprintf("%s is new", now.File))
		case was.Interface != now.Interface:
			notes = append(notes, fmt.Sprintf("%s changed its interface since the bindings were generated", describe(was, now)))
		case was.SHA256[Platform()] != "" && was.SHA256[Platform()] != now.SHA256[Platform()]:
			notes = append(notes, fmt.Sprintf("%s is another build with the same interface", describe(was, now)))
		}
	}
	for _, was := range previous.Libraries {
		if l.library(was.File) == nil {
			notes = append(notes, fmt.Sprintf("%s is gone", was.File))
		}
	}
	return notes
}

// NewWidths returns sentences that say for which items callers must pass or take ints of other widths than the bindings of
// previous asked for. An item that is new or gone has none.
func (l *Lock) NewWidths(previous *Lock) []string {
	if previous == nil || previous.conflicted || previous.GoNames == nil || l.GoNames == nil {
		return nil
	}
	had, has := items(previous.GoNames), items(l.GoNames)
	const most = 20
	var lines []string
	for _, item := range slices.Sorted(maps.Keys(merged(previous.Widths, l.Widths))) {
		if was, now := previous.Widths[item], l.Widths[item]; was != now && had[item] && has[item] {
			lines = append(lines, fmt.Sprintf("breaking: %s has ints of other widths: %s, was %s", item, cmp.Or(now, "int64"), cmp.Or(was, "int64")))
		}
	}
	if more := len(lines) - most; more > 0 {
		lines = append(lines[:most], fmt.Sprintf("breaking: so have %d more: widths in the lock has all", more))
	}
	return lines
}

// items are the items with a name.
func items(n *config.GoNames) map[string]bool {
	all := map[string]bool{}
	for _, names := range n.Packages {
		for _, item := range names {
			all[item] = true
		}
	}
	return all
}

func merged(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b)
	return all
}

func describe(was, now *lockedLibrary) string {
	if was.Version != now.Version {
		return fmt.Sprintf("%s (%s, was %s)", now.File, now.Version, was.Version)
	}
	return now.File
}

// Encode returns the content of the lock file.
func (l *Lock) Encode() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // types have angle brackets
	e.SetIndent("", "  ")
	err := e.Encode(l)
	return b.Bytes(), err
}

// ReadLock reads a lock file. If there is none, it returns nil and no error.
func ReadLock(file string) (*Lock, error) {
	data, err := ReadFile(file, maxLockLen)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the lock: %w", err)
	}
	if isConflict(data) {
		return &Lock{conflicted: true, GoNames: mergedNames(data)}, nil
	}
	l := &Lock{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err = d.Decode(l)
	if err == nil {
		if _, end := d.Token(); !errors.Is(end, io.EOF) { // as in two locks, one behind the other
			err = errors.New("it has text behind the JSON object")
		}
	}
	if err == nil {
		err = jsonlines.Check(data, l)
	}
	if err == nil && l.Format != lockFormat {
		err = fmt.Errorf("its format is %d, not %d", l.Format, lockFormat)
	}
	if err != nil {
		return nil, console.Refuse("%s is not a lock file of this version of tvmffi-bind (%w): remove it and run gen again", console.Shown(file), err)
	}
	return l, nil
}

// isConflict reports whether data is a lock in which a merge has left its marks.
func isConflict(data []byte) bool {
	has := func(text string) bool { return bytes.Contains(data, []byte(text)) }
	return has(lockComment) && has("\n<<<<<<< ") && has("\n>>>>>>> ")
}

// mergedNames reads the Go names from a lock in which a merge has left its marks: those of both sides.
// If the sides disagree on a name or on an item, the first counts.
func mergedNames(data []byte) *config.GoNames {
	text := strings.ReplaceAll(string(data), "\r\n", "\n") // as git may write lines
	_, section, ok := strings.Cut(text, "\n  \"go_names\": {\n")
	if !ok {
		return nil
	}
	names := &config.GoNames{Packages: map[string]map[string]string{}}
	dir, has := "", map[[2]string]bool{}
	for line := range strings.Lines(section) {
		line = strings.TrimRight(line, "\n,")
		var pair map[string]string
		if text, opens := strings.CutSuffix(line, ": {"); opens && text != `    "packages"` {
			if err := json.Unmarshal([]byte(text), &dir); err != nil {
				dir = ""
			}
			continue
		}
		if json.Unmarshal([]byte("{"+line+"}"), &pair) != nil {
			continue // a mark, or the end of a package
		}
		for name, item := range pair {
			switch {
			case dir == "":
				names.Root = cmp.Or(names.Root, item) // the only text outside of the packages
			case has[[2]string{dir, item}] || names.Packages[dir][name] != "":
			default:
				if names.Packages[dir] == nil {
					names.Packages[dir] = map[string]string{}
				}
				names.Packages[dir][name], has[[2]string{dir, item}] = item, true
			}
		}
	}
	return names
}

// IsLock reports whether data is a lock file that may be replaced.
func IsLock(data []byte) bool {
	if isConflict(data) {
		return true
	}
	var l Lock
	return json.Unmarshal(data, &l) == nil && l.Format > 0 && l.Comment == lockComment
}
