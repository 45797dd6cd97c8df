package native

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Code is what [Build] compiles to one shared library.
type Code struct {
	// Name gives the library its name: "sums" becomes libsums.so. It is a word of
	// ASCII letters, digits, "_" and "-".
	Name string

	// CPP and CUDA are texts of C++ and of CUDA. The headers of TVM-FFI for
	// functions, tensors, errors and the environment are included before each.
	CPP, CUDA []string
	// Files are sources: .cc, .cpp, .cxx and .c for the C++ compiler, .cu for nvcc,
	// .o for the linker.
	Files []string

	// Exports are functions of the texts that become functions of the module, with
	// their documentation, which may be empty. They must be declared in the last text
	// of CPP or, if there is none, of CUDA. Files export by the macros of TVM-FFI.
	Exports map[string]string

	// Include are folders for #include.
	Include []string
	// CXXFlags, NVCCFlags and LinkFlags come after the flags of this package, so they
	// win.
	CXXFlags, NVCCFlags, LinkFlags []string
	// Arch are the CUDA architectures, such as "9.0a". The default is
	// TVM_FFI_CUDA_ARCH_LIST, then the GPU of this machine, then what nvcc prefers.
	Arch []string

	// Library is the libtvm_ffi whose headers are used. The default is the one that
	// the process has loaded, or loads now.
	Library string
	// Log receives the command lines and what the compilers print, warnings too. It is
	// written by one goroutine at a time; nil keeps it quiet.
	Log io.Writer
}

var validName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*$`)

// validExport is a name in C++ that is also a symbol, so without a namespace.
var validExport = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// source is one translation unit.
type source struct {
	name string // of the file
	path string // "" for a text
	text string // for the compiler; "" for a file
	hash string // of what is written there
	cuda bool
}

// object reports whether the source is already compiled.
func (s *source) object() bool { return filepath.Ext(s.path) == ".o" }

// preamble is what a text may use without including it.
const preamble = `#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>
`

// sources checks the code and lists its translation units, texts first.
func (c *Code) sources() ([]source, error) {
	switch {
	case !validName.MatchString(c.Name):
		return nil, fmt.Errorf("native: %q cannot name a library: use letters, digits, _ and -", c.Name)
	case len(c.CPP)+len(c.CUDA)+len(c.Files) == 0:
		return nil, fmt.Errorf("native: %s has no source: give CPP, CUDA or Files", c.Name)
	case len(c.Exports) > 0 && len(c.CPP)+len(c.CUDA) == 0:
		return nil, fmt.Errorf("native: %s has exports but no text: a file exports its functions with TVM_FFI_DLL_EXPORT_TYPED_FUNC", c.Name)
	}
	var all []source
	for _, group := range []struct {
		texts     []string
		extension string
	}{{c.CUDA, ".cu"}, {c.CPP, ".cc"}} {
		for i, text := range group.texts {
			name := fmt.Sprintf("%s_%d%s", c.Name, i, group.extension)
			text = fmt.Sprintf("%s#line 1 %q\n%s\n", preamble, name, text)
			all = append(all, source{name: name, text: text, cuda: group.extension == ".cu"})
		}
	}
	if len(all) > 0 {
		exports, err := c.exports()
		if err != nil {
			return nil, err
		}
		all[len(all)-1].text += exports
	}
	for i := range all {
		all[i].hash = hashOf([]byte(all[i].text))
	}
	for _, file := range c.Files {
		s, err := sourceFile(file)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func sourceFile(file string) (source, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return source{}, fmt.Errorf("native: %w", err)
	}
	s := source{name: filepath.Base(path), path: path}
	switch filepath.Ext(path) {
	case ".cc", ".cpp", ".cxx", ".c", ".o":
	case ".cu":
		s.cuda = true
	default:
		return source{}, fmt.Errorf("native: %s is not a source: its name must end in .cc, .cpp, .cxx, .c, .cu or .o", file)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return source{}, fmt.Errorf("native: source: %w", err)
	}
	s.hash = hashOf(data)
	return s, nil
}

// exports is the C++ that makes functions callable from outside.
func (c *Code) exports() (string, error) {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.Exports)) {
		if !validExport.MatchString(name) {
			return "", fmt.Errorf("native: %s exports %q, which is not a plain name of a C++ function: wrap a function of a namespace in one outside it", c.Name, name)
		}
		// A wrong name is an error of the first line; the macro would report it in
		// templates.
		fmt.Fprintf(&b, "static_assert(::tvm::ffi::details::FunctionInfo<std::decay_t<decltype(%s)>>::unpacked_supported, \"%[1]s has a parameter or result of a type that TVM-FFI cannot pass\");\n", name)
		fmt.Fprintf(&b, "TVM_FFI_DLL_EXPORT_TYPED_FUNC(%s, %[1]s);\n", name)
		if doc := c.Exports[name]; doc != "" {
			fmt.Fprintf(&b, "#ifdef TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC // not in old versions\n")
			fmt.Fprintf(&b, "TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(%s, %s);\n#endif\n", name, literal(doc))
		}
	}
	if b.Len() == 0 {
		return "", nil
	}
	return fmt.Sprintf("#line 1 %q\n%s", "exports of "+c.Name, b.String()), nil
}

// literal is a C++ string literal: octal escapes, so that a digit may follow one.
func literal(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(text) {
		switch ch := text[i]; {
		case ch == '"' || ch == '\\' || ch == '?': // two ? may begin a trigraph
			b.WriteByte('\\')
			b.WriteByte(ch)
		case ch < ' ' || ch > '~':
			fmt.Fprintf(&b, `\%03o`, ch)
		default:
			b.WriteByte(ch)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// architectures are the flags of nvcc for the GPUs to compile for.
func (c *Code) architectures() []string {
	list := c.Arch
	if len(list) == 0 {
		list = strings.FieldsFunc(os.Getenv("TVM_FFI_CUDA_ARCH_LIST"), func(r rune) bool { return strings.ContainsRune(" ,;", r) })
	}
	var flags []string
	for _, arch := range list {
		number := strings.ReplaceAll(strings.TrimPrefix(arch, "sm_"), ".", "")
		flags = append(flags, "-gencode=arch=compute_"+number+",code=sm_"+number)
	}
	if _, err := os.Stat("/proc/driver/nvidia/version"); len(flags) == 0 && err == nil {
		flags = append(flags, "-arch=native")
	}
	return flags
}

// usesCUDA reports whether anything goes to nvcc.
func usesCUDA(sources []source) bool {
	return slices.ContainsFunc(sources, func(s source) bool { return s.cuda })
}

// log receives the output of the compilers.
func (c *Code) log() io.Writer { return cmp.Or[io.Writer](c.Log, io.Discard) }
