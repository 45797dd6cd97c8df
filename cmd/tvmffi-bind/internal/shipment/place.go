package shipment

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/internal/dynlib"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/symbols"
)

// A place is a folder in which the loader looks: where it is on this machine, and where in the folder that is shipped. to is ""
// for one that is not below the library.
type place struct{ from, to string }

// errAbove is the error of a library that needs files above the folder in which it would lie.
var errAbove = errors.New("above the folder")

// layout says where files lie in the folder that is shipped.
type layout struct {
	program *Program
	all     []library
	// files has the source of each file by its path in the folder, with slashes.
	files map[string]library
	order []string
	// System are the libraries that the other machine must have.
	System []string
}

// layOut finds a place for each library and for what it needs. Programs look beside themselves and in lib. A library that finds
// others in ../NAME.libs, as wheels have them, lies in lib.
func (p *Program) layOut(all []library) (*layout, error) {
	l := &layout{program: p, all: all, files: map[string]library{}}
	for _, lib := range all {
		err := error(nil)
		dirs := []string{".", "lib"}
		if lib.optional { // the library for which it is looks beside itself
			dirs = []string{l.folderOf(filepath.Dir(lib.Path))}
		}
		for _, dir := range dirs {
			try := l.clone()
			if err = try.add(lib, dir, lib.Identity.File, nil); err == nil {
				*l = *try
			}
			if !errors.Is(err, errAbove) {
				break
			}
		}
		if err != nil {
			return nil, err
		}
	}
	for _, name := range p.Needed {
		l.system(name)
	}
	l.System = slices.DeleteFunc(l.System, func(name string) bool { // one library may find what another brings
		return slices.ContainsFunc(l.order, func(at string) bool { return l.same(path.Base(at), name) })
	})
	slices.Sort(l.System)
	return l, nil
}

// folderOf returns where a library lies that was in a folder of this machine.
func (l *layout) folderOf(from string) string {
	for _, at := range l.order {
		if filepath.Dir(l.files[at].Path) == from && l.files[at].Identity.File == path.Base(at) {
			return path.Dir(at)
		}
	}
	return "."
}

func (l *layout) clone() *layout {
	c := *l
	c.files = map[string]library{}
	for name, lib := range l.files {
		c.files[name] = lib
	}
	c.order, c.System = slices.Clone(l.order), slices.Clone(l.System)
	return &c
}

// system records a library that the other machine must have.
func (l *layout) system(name string) {
	if !slices.ContainsFunc(l.System, func(have string) bool { return l.same(have, name) }) && !(l.program.GOOS == "windows" && ofAPI(name)) {
		l.System = append(l.System, name)
	}
}

// add puts a library into a folder under a name, and what it needs where it looks for it. Libraries that load it may have places
// for what it needs, too.
func (l *layout) add(lib library, dir, name string, inherited []place) error {
	at := path.Join(dir, name)
	if have, ok := l.files[at]; ok {
		if have.Identity.SHA256 != lib.Identity.SHA256 {
			return fmt.Errorf("%s and %s would both be %s in the folder: ship programs that need them separately", console.Shown(have.Path), console.Shown(lib.Path), at)
		}
		return nil
	}
	l.files[at] = lib
	l.order = append(l.order, at)
	own := l.places(lib, dir)
	looked := append(slices.Clone(own), inherited...)
	if lib.file.Format == symbols.ELF && len(own) > 0 && !lib.file.Inherited {
		looked = own // RUNPATH
	}
	if lib.file.Inherited {
		inherited = looked
	}
	for _, needed := range lib.file.Needed {
		if err := l.need(lib, dir, needed, looked, inherited); err != nil {
			return err
		}
	}
	return nil
}

// need finds one library that another one needs.
func (l *layout) need(lib library, dir, needed string, looked, inherited []place) error {
	name := path.Base(needed)
	if slices.ContainsFunc(l.all, func(other library) bool {
		return l.same(name, other.Identity.File) || other.file.ID != "" && l.same(name, path.Base(other.file.ID))
	}) {
		return nil // the program loads it
	}
	if at, ok := strings.CutPrefix(needed, "@loader_path/"); ok {
		looked = []place{{filepath.Join(filepath.Dir(lib.Path), filepath.FromSlash(path.Dir(at))), path.Join(dir, path.Dir(at))}}
	} else if strings.HasPrefix(needed, "/") {
		looked = []place{{from: path.Dir(needed)}}
	}
	for _, p := range looked {
		file := l.fileIn(p.from, name)
		if !find.IsFile(file) || p.to == "" && ofSystem(l.program.GOOS, p.from) {
			continue
		}
		if p.to == "" && lib.optional { // the machine that runs the program may have it there
			return nil
		}
		if p.to == "" {
			return fmt.Errorf("%s needs %s, which it finds on this machine only, in %s: %s", console.Shown(lib.Path), name, console.Shown(p.from), l.remedy(name))
		}
		other, err := l.program.open(file)
		if err != nil {
			return fmt.Errorf("%s needs %s: %w", console.Shown(lib.Path), name, err)
		}
		if p.to == ".." || strings.HasPrefix(p.to, "../") {
			return fmt.Errorf("%s finds %s at %s, which would lie %w that is shipped: %s", console.Shown(lib.Path), name, console.Shown(file), errAbove, l.remedy(name))
		}
		other.optional = lib.optional
		return l.add(other, p.to, filepath.Base(file), inherited)
	}
	if !lib.optional && !l.machineHas(needed) {
		return fmt.Errorf("%s needs %s, which is neither in its folders nor in those of the system: %s", console.Shown(lib.Path), name, l.remedy(name))
	}
	if !lib.optional {
		l.system(name)
	}
	return nil
}

// same compares names of files as the system of the program does.
func (l *layout) same(a, b string) bool {
	return a == b || l.program.GOOS == "windows" && strings.EqualFold(a, b)
}

// fileIn returns the path of a file in a folder, by the name that the folder has for it.
func (l *layout) fileIn(dir, name string) string {
	if l.program.GOOS == "windows" {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if l.same(e.Name(), name) {
				name = e.Name()
			}
		}
	}
	return filepath.Join(dir, name)
}

// ofAPI reports whether Windows finds a library of that name in others: it has no file.
func ofAPI(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "api-ms-") || strings.HasPrefix(name, "ext-ms-")
}

// remedy says what to do about a library that the folder cannot have.
func (l *layout) remedy(name string) string {
	if l.program.GOOS == "windows" {
		return "put it beside the library that needs it, or install it on this machine if each machine has it"
	}
	return fmt.Sprintf("link the library with -Wl,-rpath,'$ORIGIN' and put %s beside it, or name it with --lib if the program loads it first", name)
}

// places returns the folders in which the loader looks for what a library needs, as far as the library says them.
func (l *layout) places(lib library, dir string) (all []place) {
	from := filepath.Dir(lib.Path)
	if lib.file.Format == symbols.PE {
		all = []place{{from, dir}}
		for _, folder := range dynlib.WheelFolders(lib.Path) { // Windows looks beside a library first
			all = append(all, place{folder, dir})
		}
		return all
	}
	for _, folder := range lib.file.Folders {
		var rel string
		ok := false
		for _, origin := range []string{"$ORIGIN", "${ORIGIN}", "@loader_path"} {
			if rest, is := strings.CutPrefix(folder, origin); is && (rest == "" || rest[0] == '/') {
				rel, ok = "."+rest, true
			}
		}
		if ok {
			all = append(all, place{filepath.Join(from, filepath.FromSlash(rel)), path.Join(dir, rel)})
		} else {
			all = append(all, place{from: folder})
		}
	}
	return all
}

// machineHas reports whether the folders of the system have a library. Of another system than this one, nothing is known.
func (l *layout) machineHas(name string) bool {
	switch {
	case !l.program.here(), runtime.GOOS == "darwin": // whose libraries are in one cache
		return true
	case path.IsAbs(name):
		return find.IsFile(name)
	case runtime.GOOS == "windows":
		return ofAPI(name) || find.IsFile(filepath.Join(os.Getenv("SystemRoot"), "System32", name))
	}
	return slices.ContainsFunc(systemFolders(), func(dir string) bool { return find.IsFile(filepath.Join(dir, name)) })
}

// ofSystem reports whether each machine has a folder of its own.
func ofSystem(goos, dir string) bool {
	if goos == "darwin" {
		return strings.HasPrefix(dir, "/usr/lib") || strings.HasPrefix(dir, "/System/")
	}
	return goos == runtime.GOOS && slices.Contains(systemFolders(), filepath.Clean(dir))
}

// systemFolders returns the folders of the loader of Linux: its own, and those of /etc/ld.so.conf.
func systemFolders() []string {
	folders := []string{"/lib", "/usr/lib", "/lib64", "/usr/lib64"}
	var read func(file string, depth int)
	read = func(file string, depth int) {
		text, err := os.ReadFile(file)
		if err != nil || depth == 0 {
			return
		}
		for line := range strings.Lines(string(text)) {
			line, _, _ = strings.Cut(line, "#")
			fields := strings.Fields(line)
			if len(fields) > 1 && fields[0] == "include" {
				for _, pattern := range fields[1:] {
					if !filepath.IsAbs(pattern) {
						pattern = filepath.Join(filepath.Dir(file), pattern)
					}
					files, _ := filepath.Glob(pattern)
					for _, file := range files {
						read(file, depth-1)
					}
				}
			} else if len(fields) > 0 && filepath.IsAbs(fields[0]) {
				folders = append(folders, filepath.Clean(fields[0]))
			}
		}
	}
	const depth = 4
	read("/etc/ld.so.conf", depth)
	return folders
}
