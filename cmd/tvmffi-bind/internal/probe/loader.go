package probe

import (
	"debug/elf"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Searched returns every path at which a change may make the loader take other files than it took when the libraries were
// read last: the files that it took, and where it looks for them. There may be nothing at a path now. It reports false
// if that is not known.
func (p *Prober) Searched() (paths []string, known bool) {
	if runtime.GOOS != "linux" || len(p.images) == 0 {
		return nil, false
	}
	s := loaderSearch{folders: []string{"/lib", "/usr/lib", "/lib64", "/usr/lib64", "/usr/local/lib"}, read: map[[2]string]bool{}}
	for _, dir := range filepath.SplitList(strings.ReplaceAll(os.Getenv("LD_LIBRARY_PATH"), ";", ":")) {
		if !s.add(dir, "") {
			return nil, false
		}
	}
	for todo := slices.Concat(p.images, p.opened); len(todo) > 0; todo = s.linked() {
		for _, file := range todo {
			if !s.asks(file) {
				return nil, false
			}
		}
	}
	return s.paths(slices.Concat(p.images, p.opened)), true
}

// loaderSearch is how the loader of Linux looks for libraries, as ld.so(8) has it.
type loaderSearch struct {
	folders, needed []string           // where it looks, and names
	read            map[[2]string]bool // files, each with the path by which it was found
}

// asks adds what a file asks for that the loader finds at a path.
func (s *loaderSearch) asks(at string) bool {
	real, err := filepath.EvalSymlinks(at)
	if err != nil {
		return false
	}
	s.read[[2]string{real, filepath.Dir(at)}] = true
	f, err := elf.Open(real)
	if err != nil {
		return false
	}
	defer f.Close()
	needed, err := f.DynString(elf.DT_NEEDED)
	if err != nil {
		return false
	}
	for _, name := range needed {
		if strings.Contains(name, "$") {
			return false
		}
		s.needed = append(s.needed, name)
	}
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		lists, err := f.DynString(tag)
		if err != nil {
			return false
		}
		for _, list := range lists {
			for dir := range strings.SplitSeq(list, ":") {
				if !s.add(dir, filepath.Dir(at)) {
					return false
				}
			}
		}
	}
	return true
}

// add adds a folder. A file may name its own, origin. Other names stand for parts of the machine, and are not known here.
func (s *loaderSearch) add(dir, origin string) bool {
	if origin != "" {
		dir = strings.NewReplacer("${ORIGIN}", origin, "$ORIGIN", origin).Replace(dir)
	}
	dir, err := filepath.Abs(dir) // an empty one is the working folder
	if err != nil || strings.Contains(dir, "$") {
		return false
	}
	if !slices.Contains(s.folders, dir) {
		s.folders = append(s.folders, dir)
	}
	return true
}

// linked returns the links to files of the process by which the loader may have found them, and which were not read yet: what
// a file calls its own folder is the folder of the link.
func (s *loaderSearch) linked() (links []string) {
	slices.Sort(s.needed)
	s.needed = slices.Compact(s.needed)
	for _, dir := range s.folders {
		for _, name := range s.needed {
			at := filepath.Join(dir, name)
			if real, err := filepath.EvalSymlinks(at); err == nil && !strings.Contains(name, "/") && !s.read[[2]string{real, dir}] {
				links = append(links, at)
			}
		}
	}
	return links
}

// paths returns all paths. A folder may have others for better processors: a new one counts, too.
func (s *loaderSearch) paths(files []string) []string {
	all := append(files, "/etc/ld.so.cache", "/etc/ld.so.preload")
	for _, dir := range s.folders {
		for _, name := range s.needed {
			if strings.Contains(name, "/") {
				all = append(all, name)
			} else {
				all = append(all, filepath.Join(dir, name))
			}
		}
		for _, name := range []string{"glibc-hwcaps", "tls", "haswell", "avx512_1", "x86_64"} {
			all = append(all, filepath.Join(dir, name))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
