package kernel

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// entry refuses a name that is not in an image or the source. A file that
// cannot be read, such as a fatbin with code of another kind, is left to the driver, which
// looks for the kernel on first use.
func (k *Kernel) entry(contents map[string][]byte) {
	key := "entry"
	if k.Entry == k.Plan.Func.Name { // which it is if the configuration does not say
		key = "spec"
	} else if !symbol.MatchString(k.Entry) { // which texts refuses
		return
	}
	for _, file := range k.Images {
		found, ok := entriesOf(file, contents[file])
		if names := namesOf(found); ok && !slices.Contains(names, k.Entry) {
			k.fail(key, -1, "there is no kernel %s in %s, which has %s: %s", k.Entry, file, listed(names), remedyFor(k.Entry, names))
		}
	}
	if text, ok := contents[k.Program]; ok && k.Program != "" {
		if problem := program(text).lacks(k.Entry); problem != "" {
			k.fail(key, -1, "%s: %s", k.Program, problem)
		}
	}
}

func remedyFor(entry string, names []string) string {
	for _, n := range names {
		if mangles(n, entry) {
			return fmt.Sprintf("write entry: %s, or declare the kernel extern \"C\"", n)
		}
	}
	return "name the kernel with entry"
}

// listed names some of a list.
func listed(names []string) string {
	const most = 20
	switch n := len(names); {
	case n == 0:
		return "none"
	case n > most:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), n-most)
	}
	return strings.Join(names, ", ")
}

// mangles reports whether symbol may be what C++ makes of a plain name.
func mangles(symbol, name string) bool {
	return strings.HasPrefix(symbol, "_Z") && strings.Contains(symbol, strconv.Itoa(len(name))+name)
}

// comments matches comments of C++ and PTX, and texts in quotes, which may look like comments.
var comments = regexp.MustCompile(`"(?:\\.|[^"\\\n])*"|//[^\n]*|(?s:/\*.*?\*/)`)

func withoutComments(text []byte) []byte {
	return comments.ReplaceAllFunc(text, func(m []byte) []byte {
		if m[0] == '"' {
			return m
		}
		return []byte(" ")
	})
}

// program is a text in CUDA C++.
type program []byte

var (
	identifier = regexp.MustCompile(`[A-Za-z_]\w*`)
	// A kernel, with what may stand before its name, and what is before all that.
	global = regexp.MustCompile(`(extern\s*"C"\s*)?(?:static\s+|inline\s+)*__global__\s+(?:void\s+|static\s+|inline\s+|__\w+__\s*(?:\([^()]*\)\s*)?)*([A-Za-z_]\w*)\s*\(`)
	// The text before a kernel that is C++ for certain; a word may be a macro.
	plain = regexp.MustCompile(`(?:^|[;}>])\s*$`)
	// Constructs that make names which are not in the text.
	hidden = regexp.MustCompile(`##|#\s*include\s*"|extern\s*"C"\s*\{`)
)

// lacks says why a kernel cannot be in the text, "" if it may be: macros and headers
// are not read.
func (p program) lacks(entry string) string {
	text := withoutComments(p)
	if hidden.Match(text) {
		return ""
	}
	var kernels []string
	for _, at := range global.FindAllSubmatchIndex(text, -1) {
		name := string(text[at[4]:at[5]])
		if strings.HasPrefix(name, "__") {
			continue // an attribute that is not understood
		}
		if name == entry && at[2] < 0 && plain.Match(text[:at[0]]) && !wrapped(text, name) {
			return fmt.Sprintf("the kernel %s has a mangled name, because it is C++: write extern \"C\" in front of __global__, or give the mangled name with entry", entry)
		}
		if name == entry || mangles(entry, name) {
			return ""
		}
		kernels = append(kernels, name)
	}
	if len(kernels) == 0 || identifies(text, entry) {
		return ""
	}
	return fmt.Sprintf("there is no kernel %s, it has %s: name the kernel with entry", entry, listed(kernels))
}

// identifies reports whether the text has the word, or one that it is the mangled name of.
func identifies(text []byte, entry string) bool {
	for _, word := range identifier.FindAll(text, -1) {
		if string(word) == entry || mangles(entry, string(word)) {
			return true
		}
	}
	return false
}

// wrapped reports whether the text declares the function extern "C" in another place.
func wrapped(text []byte, name string) bool {
	return regexp.MustCompile(`extern\s*"C"[^;{}]*\b` + regexp.QuoteMeta(name) + `\s*\(`).Match(text)
}
