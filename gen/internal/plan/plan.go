package plan

import (
	"cmp"
	"errors"
	"go/token"
	pathpkg "path"
	"strings"

	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// Import paths that generated code uses.
const (
	Runtime = "github.com/tvmffi-go/tvmffi/runtime"
	Bindrt  = Runtime + "/bindrt"
	Big     = "math/big"
)

// Config has the fields of gen.Config, which documents them: the conversion in gen.Generate
// does not compile otherwise.
type Config struct {
	Package      string
	ImportPath   string
	Root         string
	Prefixes     []string
	Libraries    []string
	Rename       map[string]string
	Functions    map[string]hints.Item
	Names        []hints.File
	Skip         []string
	Packages     map[string]string
	External     map[string]string
	Imported     map[string]string
	PackageNames map[string]string
	UserNames    map[string][]string
	ToolVersion  string
	Split        bool
}

// A Plan is the whole output, decided.
type Plan struct {
	Packages []*Package // sorted by Dir
	Entries  []*Entry   // one per item of the schema that was asked for
	Unused   []string   // the items of names files that the schema does not have, sorted
}

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

	scope    *scope
	user     map[string]bool
	objects  []*Object // its types
	funcs    []*Func
	aliases  []*Alias
	variants map[string]*Variant
	bases    map[*Object]string
	foreign  map[*Object]string
	setOf    map[string]*LibrarySet // by the library of an item
	owners   map[string]bool        // files of the libraries that own something here
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
// *Object, *Alias or *Variant.
type Decl interface{ decl() }

// Handshake represents the declarations that every package has once: documentation, the
// library, Load and the bases.
type Handshake struct{}

// An Alias keeps the name of a type in its own namespace after the type was moved to the
// package of a cycle.
type Alias struct {
	Object      *Object
	GoName, Ref string // "" if the consumer declared the name
	Forwards    []*Forward
	Link        string // doc link of the type

	entry *Entry
}

func (*Handshake) decl() {}
func (*Alias) decl()     {}
func (*Func) decl()      {}
func (*Object) decl()    {}
func (*Variant) decl()   {}

// Make plans the bindings of the parts of s that c asks for. The schema must be
// valid and in canonical order.
func Make(s schema.Schema, c Config) (*Plan, error) {
	p := &planner{config: c, schema: s, used: map[string]bool{}, weak: map[string]bool{}, dirs: map[string]*Package{}, objects: map[string]*Object{}}
	p.index()
	p.classify()
	if len(p.errs) > 0 {
		return nil, errors.Join(p.errs...)
	}
	p.refine()
	p.place()
	p.describeTypes()
	p.describeFunctions()
	p.findMakers()
	p.describeForwards()
	for _, pkg := range p.dirs {
		p.librarySets(pkg)
	}
	p.nameAll()
	p.documentAll()
	p.finish()
	if len(p.errs) > 0 {
		return nil, errors.Join(p.errs...)
	}
	return &Plan{Packages: p.packages(), Entries: p.entries, Unused: p.unused}, nil
}

// planner holds the state of Make.
type planner struct {
	config  Config
	schema  schema.Schema
	errs    []error
	entries []*Entry

	types      hints.Types      // by key
	refined    map[any]*refined // by *schema.Function or *schema.Method
	patterns   []string         // keys of Functions
	unused     []string
	bound      []*boundType // in schema order
	boundKeys  map[string]bool
	functions  []*boundFunction    // in schema order
	localNames map[*Entry]string   // of types and functions inside their packages
	root       string              // namespace of the root package
	libraries  []schema.Library    // to load
	sources    []schema.Library    // the libraries that bound items come from
	weak       map[string]bool     // keys of types that signatures mention and nobody binds
	used       map[string]bool     // keys of Rename, Skip and External that matched
	dirs       map[string]*Package // by Dir
	markers    map[string]string   // by type key
	objects    map[string]*Object  // bound and external, by type key
}

// index makes the lookup tables of the stages: the types of the schema, and the objects
// that other packages own.
func (p *planner) index() {
	p.types = make(hints.Types, len(p.schema.Types))
	p.patterns = hintPatterns(p.config.Functions)
	for i := range p.schema.Types {
		t := &p.schema.Types[i]
		p.types[t.Key] = t
	}
	p.markers = markers(p.schema.Types)
	for key, target := range p.config.owned() {
		path, name := CutExternal(target)
		name = cmp.Or(name, Camel(lastPart(key)))
		pkg := &Package{Path: path, Name: cmp.Or(p.config.PackageNames[path], pathpkg.Base(path))}
		p.objects[key] = &Object{Key: key, GoName: name, Ref: name + "Ref", Marker: cmp.Or(p.markers[key], "As"+Camel(key)), External: true, Pkg: pkg}
	}
}

// owned returns the types that other packages own, by key. The output of an earlier run is
// not another package.
func (c Config) owned() map[string]string {
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
// pattern is false if the key is that of a single type.
func CutPattern(key string) (prefix string, pattern bool) {
	if key != "*" && !strings.HasSuffix(key, ".*") {
		return "", false
	}
	return strings.TrimSuffix(key, "*"), true
}

// CutExternal divides a value of Config.External into an import path and a Go name, ""
// if there is none.
func CutExternal(target string) (path, name string) {
	if dot := strings.LastIndexByte(target, '.'); dot > strings.LastIndexByte(target, '/') && token.IsExported(target[dot+1:]) {
		return target[:dot], target[dot+1:]
	}
	return target, ""
}

func (p *planner) fail(err error) { p.errs = append(p.errs, err) }
