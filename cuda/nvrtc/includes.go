package nvrtc

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// reading finds every file that NVRTC may read for a program, without NVRTC, which cannot list
// them. It reads more than NVRTC: what is in comments and behind #if too. For each name in
// an #include it looks at each place where NVRTC looks, also behind the file that NVRTC finds, so that
// a header that appears in front of another one is seen.
//
// NVRTC looks for "name" in Headers, in the folder of the file that has the #include, and in the
// folders of -I; for <name> it leaves out the second place. A name in Headers counts as
// written. The tests compare this with NVRTC.
type reading struct {
	program *Program
	folders []string

	states  map[string]string   // by path: the hash of the file, if there is one
	folder  map[string]string   // by path: the folder without links
	done    map[string]bool     // by path: whether there is a file
	macros  map[string]struct{} // that an #include names
	defined map[string]struct{} // the macros of all files
	todo    []file
	missing bool   // a name was not found
	problem string // why the files cannot be known
}

// file is a text and the folder for its #include "name".
type file struct {
	folder string
	text   []byte
}

// read finds all files that a program may read.
func (p *Program) read(options parsed) *reading {
	r := &reading{program: p, folders: options.folders, states: map[string]string{}, folder: map[string]string{}, done: map[string]bool{},
		macros: map[string]struct{}{}, defined: map[string]struct{}{}}
	for _, d := range options.defines {
		r.defined[d] = struct{}{}
	}
	r.todo = append(r.todo, file{filepath.Dir(p.Name), []byte(p.Source)})
	for name, text := range p.Headers {
		r.todo = append(r.todo, file{filepath.Dir(name), []byte(text)})
	}
	for _, name := range options.included {
		r.include(name, ".", true, false)
	}
	for len(r.todo) > 0 && r.problem == "" {
		f := r.todo[len(r.todo)-1]
		r.todo = r.todo[:len(r.todo)-1]
		r.scan(f)
	}
	for name := range r.macros {
		if _, ok := r.defined[name]; ok || strings.HasPrefix(name, "__") {
			r.problem = "#include " + name
		}
	}
	return r
}

// state is what the hash of the cache covers of the files.
func (r *reading) state() string {
	var b strings.Builder
	for _, paths := range []map[string]string{r.states, r.folder} { // with the folders, as links to them may change places
		for _, path := range slices.Sorted(maps.Keys(paths)) {
			fmt.Fprintf(&b, "%q %q\n", path, paths[path])
		}
	}
	return b.String()
}

// include notes where a header may be, and reads what is there.
func (r *reading) include(name, folder string, quoted, next bool) {
	if _, own := r.program.Headers[name]; own && !next {
		return
	}
	found := filepath.IsAbs(name) && r.file("", name)
	if !filepath.IsAbs(name) {
		found = quoted && r.file(folder, name)
		for _, d := range r.folders {
			found = r.file(d, name) || found
		}
	}
	r.missing = r.missing || !found || next
}

// file notes the state of a file, reads it if it is there, and reports whether it is.
func (r *reading) file(folder, name string) bool {
	path := name
	if folder != "" {
		path = folder + string(filepath.Separator) + name
	}
	// Two ways to one folder lead to the same files. The path is not cleaned, because ".." behind a
	// link is above the folder that the link leads to.
	dir, base := filepath.Split(path)
	real, known := r.folder[dir]
	if !known {
		real, _ = filepath.EvalSymlinks(cmp.Or(dir, "."))
		r.folder[dir] = real
	}
	if real == "" {
		return false
	}
	path = filepath.Join(real, base)
	if there, done := r.done[path]; done {
		return there
	}
	text, err := os.ReadFile(path)
	if err == nil { // NVRTC cannot read a folder or a file that is not for us either
		r.states[path] = fmt.Sprintf("%x", sha256.Sum256(text))
		r.todo = append(r.todo, file{real, text})
	}
	r.done[path] = err == nil
	return err == nil
}

// blank is what may stand between the parts of a directive, and directive the rest of one after #.
const blank = `(?:[ \t\v\f\r]|/\*(?s:.*?)\*/)*`

var (
	directive = regexp.MustCompile(`^` + blank + `(include_next|include|import|embed|define)\b` + blank + `("[^"\n]*"|<[^>\n]*>|[A-Za-z_]\w*)?`)
	hasFile   = regexp.MustCompile(`__has_(?:include|embed)(?:_next)?\b`)
	operand   = regexp.MustCompile(`^` + blank + `\(` + blank + `("[^"\n]*"|<[^>\n]*>)`)
	askedOf   = regexp.MustCompile(`(?:\b(?:ifdef|ifndef|undef|define|elifdef|elifndef)[ \t]+|\bdefined[ \t]*\(?[ \t]*)$`)
)

// scan looks for all that may name a file.
func (r *reading) scan(f file) {
	text := bytes.ReplaceAll(f.text, []byte("\\\r\n"), nil)
	text = bytes.ReplaceAll(text, []byte("\\\n"), nil)
	for _, sign := range []string{"#", "%:"} {
		for rest := text; r.problem == ""; {
			at := bytes.Index(rest, []byte(sign))
			if at < 0 {
				break
			}
			rest = rest[at+len(sign):]
			if m := directive.FindSubmatch(rest); m != nil {
				r.directive(f, string(m[1]), string(m[2]))
			}
		}
	}
	for _, at := range hasFile.FindAllIndex(text, -1) {
		if m := operand.FindSubmatch(text[at[1]:]); m != nil {
			r.directive(f, "include", string(m[1]))
		} else if !askedOf.Match(text[max(0, at[0]-40):at[0]]) {
			r.problem = string(text[at[0]:at[1]]) + " without a name"
		}
	}
	for _, word := range []string{"__TIME__", "__DATE__", "__TIMESTAMP__", "??=", "??/"} {
		if bytes.Contains(text, []byte(word)) {
			r.problem = word
		}
	}
}

func (r *reading) directive(f file, what, name string) {
	switch {
	case name == "": // what is not a directive, such as a word in a comment
	case what == "define":
		r.defined[name] = struct{}{}
	case name[0] == '"' || name[0] == '<':
		r.include(name[1:len(name)-1], f.folder, name[0] == '"', what == "include_next")
	default:
		r.macros[name] = struct{}{}
	}
}
