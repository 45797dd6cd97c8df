package plan

import (
	"cmp"
	"go/token"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/config"
	"github.com/tvmffi-go/tvmffi/schema"
)

// Import paths that generated code uses.
const (
	Runtime = "github.com/tvmffi-go/tvmffi/runtime"
	Bindrt  = Runtime + "/bindrt"
	Big     = "math/big"
)

// Names that TVM-FFI gives to items.
const (
	RootKey  = "ffi.Object"   // the type of all objects
	InitName = "__ffi_init__" // the constructor of a type
)

// A Package is one Go package of the output.
type Package struct {
	Dir     string // relative to the output root, "" for the root
	Name    string
	Path    string           // import path
	Sources []schema.Library // the libraries of its items
	Tool    string           // version of the tool, for the header
	Imports []Import
	// Load and LoadChecked say whether the functions of these names are generated.
	Load, LoadChecked bool
	// Doc is the documentation of the namespace, as it came; About are paragraphs about the
	// contents, the first of which continues "Package" and the name.
	Doc   string
	About []string
	// Sets are the bindrt.Library variables. Load loads the first; the others use its
	// options.
	Sets  []*LibrarySet
	Bases []Base
	// Foreign are the types of other packages whose descriptors the code needs.
	Foreign []Foreign
	// VariantBase is the alias under which variants embed tvmffi.Variant, if the
	// package has variants.
	VariantBase string
	Files       []File

	Namespaces []string        // of its items, sorted
	User       map[string]bool // the names that the consumer declares: top-level ones, and Type.Method
	Objects    []*Object       // its types
	Funcs      []*Func
	Aliases    []*Alias
	Variants   map[string]*Variant // by Text
	Enums      map[string]*Enum    // by name
	Options    []*OptionFunc
	OptionBase string // the Go type of all options, "" if there are none
}

// An Import is a package that generated code may import. It has an alias unless the
// package is known to have this name and its path ends in it.
type Import struct {
	Name, Path string
	Alias      bool
}

// A Foreign is the func that returns the descriptor of a type of another package.
type Foreign struct {
	Name   string
	Object *Object
}

// A Base is an unexported alias under which a parent is embedded. Parent is nil
// for the root of all objects.
type Base struct {
	Name   string
	Parent *Object
}

// A File is one generated file.
type File struct {
	Name  string // without the extension
	Decls []Decl
}

// A Decl is a group of declarations that belong together: *Handshake, *Func,
// *Object, *Alias, *Variant, *Enum or *OptionFunc.
type Decl interface{ decl() }

// Handshake represents the declarations that every package has once: documentation, the
// library, Load and the bases.
type Handshake struct{}

// An Alias keeps the name of a type in its own namespace after the type was moved to the
// package of a cycle.
type Alias struct {
	Object      *Object
	Want        string // the name that it gets unless it is taken
	GoName, Ref string // "" if the consumer declared the name
	Forwards    []*Forward
	Link        string // doc link of the type
}

func (*Handshake) decl()  {}
func (*Alias) decl()      {}
func (*Func) decl()       {}
func (*Object) decl()     {}
func (*Variant) decl()    {}
func (*Enum) decl()       {}
func (*OptionFunc) decl() {}

// Owned returns the types that other packages own, by key. The output of an earlier run is
// not another package.
func Owned(c config.Config) map[string]string {
	all := map[string]string{}
	for key, target := range c.Imported {
		if path, _ := CutExternal(target); path != c.ImportPath && !strings.HasPrefix(path, c.ImportPath+"/") {
			all[key] = target
		}
	}
	for key, target := range c.External {
		if _, pattern := CutPattern(key); !pattern {
			all[key] = target
		}
	}
	return all
}

// CutPattern returns the beginning of the type keys that a key of External stands for.
// pattern is false if the key names a single type.
func CutPattern(key string) (prefix string, pattern bool) {
	if key != "*" && !strings.HasSuffix(key, ".*") {
		return "", false
	}
	return strings.TrimSuffix(key, "*"), true
}

// IsPattern reports whether a key of Config.Functions stands for items whose names match it. The
// parameters of an overload may have an asterisk.
func IsPattern(key string) bool {
	name, _, _ := strings.Cut(key, "(")
	return strings.Contains(name, "*")
}

// CutExternal divides a value of Config.External into an import path and a Go name, ""
// if there is none.
func CutExternal(target string) (path, name string) {
	if dot := strings.LastIndexByte(target, '.'); dot > strings.LastIndexByte(target, '/') && token.IsExported(target[dot+1:]) {
		return target[:dot], target[dot+1:]
	}
	return target, ""
}

// A ConfigError is a problem of one entry of the configuration.
type ConfigError struct {
	// Path are the keys that lead to the entry, such as functions, garden.water, params.
	Path []string
	Err  error
}

// Error returns the keys and the problem.
func (e *ConfigError) Error() string {
	text := ""
	for i, key := range e.Path {
		if i == 1 {
			key = strconv.Quote(key)
		}
		text += key + ": "
	}
	return text + e.Err.Error()
}

// Unwrap returns the problem.
func (e *ConfigError) Unwrap() error { return e.Err }

// Pointer returns the type of pointers to t.
func Pointer(t GoType) GoType { return GoType{Elem: &t} }

// RuntimeType returns a type of package tvmffi.
func RuntimeType(name string, args ...GoType) GoType {
	return GoType{Path: Runtime, Name: name, Args: args}
}

// Display returns a directory below the output root in the form for messages.
func Display(dir string) string { return cmp.Or(dir, ".") }
