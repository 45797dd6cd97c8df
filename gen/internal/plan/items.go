package plan

import (
	"path"
	"slices"

	"github.com/tvmffi-go/tvmffi/schema"
)

// An Object is a Go type for an object type of the registry.
type Object struct {
	Key    string
	GoName string
	Ref    string // name of the Ref interface
	Marker string // name of the method that makes a Go type satisfy Ref
	Pkg    *Package
	// External objects are generated elsewhere; only their names are known.
	External bool
	Parent   *Object // nearest ancestor with a Go type, nil for ffi.Object
	Base     string  // alias under which the parent is embedded
	Var      string  // name of the bindrt.Type variable
	Doc      Doc
	// UserType and UserRef are true if the consumer declares the type or its Ref.
	UserType, UserRef bool
	Fields            []*Field
	Methods           []*Func // with a receiver
	Statics           []*Func // static methods and constructors
	Makers            []*Func // functions that are called like the type and make it
	Set               *LibrarySet
	Entry             *Entry
	Want              string // the name that it gets unless it is taken
}

// Ancestors lists the ancestors that have a Go type, nearest first.
func (o *Object) Ancestors() []*Object {
	var all []*Object
	for a := o.Parent; a != nil; a = a.Parent {
		all = append(all, a)
	}
	return all
}

// A Field is a getter and perhaps a setter.
type Field struct {
	GoName string // "" if the consumer declared the getter
	Setter string // "" if there is none
	Var    string
	Name   string // in the registry
	Sig    string
	Type   GoType
	Read   string  // a method of bindrt.Field, or ""
	Object *Object // bindrt.ObjectField
	Value  *Param  // of the setter, nil if there is none
	Doc    Doc
	Entry  *Entry
}

// A Doc holds the parts of a documentation comment.
type Doc struct {
	Intro     string   // follows the Go name in the first sentence
	Signature string   // as the registry has it
	Text      string   // of the registry, as it came
	Noun      string   // the verb between the name and a noun in Text, if it is not "is"
	About     []string // paragraphs with links, which follow Text
	Warning   string
	Note      string
	// Params maps the parameters that Text may mention to their names in Go.
	Params map[string]string
}

// An Init is the calling convention of an auto constructor: positional
// arguments, then keywords. The parameters of the call are the required ones,
// positional before keyword-only.
type Init struct {
	Positional int
	Keywords   []string // registry names of the required keyword-only fields
	OptionType string   // "" if there are no options
	Options    []*Option
}

// An Option is an argument with a default.
type Option struct {
	GoName string // "" if the consumer declared it
	Name   string // in the registry
	Value  Param
	Doc    Doc
}

// A Func is a generated function or method.
type Func struct {
	GoName string
	Var    string // name of the bindrt.Func variable
	Name   string // in the registry
	Sig    string // canonical signature, "" if the runtime cannot compare it
	Module string // library of a module export
	Owner  *Object
	Method bool // it has a receiver
	// Constructor is true for NewT. Init is set if it is an auto constructor.
	Constructor bool
	Init        *Init
	Makes       *Object // the type that a function makes, which is called like it
	Brief       *bool   // whether its calls are brief, nil: the runtime finds out
	Call        *Call   // nil: packed
	Doc         Doc
	Pkg         *Package
	Library     string // that a function is from
	Set         *LibrarySet
	Entry       *Entry
	Local       string // name in its namespace or type
	Want        string // the name that a function gets unless it is taken
	Overload    int    // number of a method among the methods of that name
}

// Result returns the object type that the function returns, or nil.
func (f *Func) Result() *Object {
	if f.Call == nil || f.Call.Result == nil {
		return nil
	}
	return f.Call.Result.Object
}

// Path returns the Go name of a function, after its type and a dot if it is a method.
func (f *Func) Path() string {
	if f.Method {
		return f.Owner.Member(f.GoName)
	}
	return f.GoName
}

// A Forward keeps a constructor or a static method of a type beside the alias of the
// type.
type Forward struct {
	GoName string // "" if the name is taken
	To     *Func
	Call   *Call // the parameters of To, with names for this package; nil: packed
	Doc    Doc
}

// AliasOf returns the name that a type of another package has here too, "" if there is
// none.
func (pkg *Package) AliasOf(o *Object) string {
	for _, a := range pkg.Aliases {
		if a.Object == o {
			return a.GoName
		}
	}
	return ""
}

// A LibrarySet is a bindrt.Library variable: the files that some items of a package need.
type LibrarySet struct {
	Name  string
	Files []schema.Library // in the order in which they are loaded
	Owner string           // the library that needs the others, "" if no item of the package is from there
}

// TypeName returns the name of the descriptor of an object type in this package: a
// variable or, for the type of another package, a func.
func (pkg *Package) TypeName(o *Object) (name string, foreign bool) {
	if o.Pkg == pkg {
		return o.Var, false
	}
	i := slices.IndexFunc(pkg.Foreign, func(f Foreign) bool { return f.Object == o })
	if i < 0 {
		return "", true
	}
	return pkg.Foreign[i].Name, true
}

// Member returns the name of a member of the type in the form Type.Member, "" if it has no name.
func (o *Object) Member(name string) string {
	if name == "" {
		return ""
	}
	return o.GoName + "." + name
}

// FilePath returns the path of a file below the output root.
func (pkg *Package) FilePath(f File) string { return path.Join(pkg.Dir, f.Name+".go") }

// AllFuncs returns the functions, the methods and the static methods of the package.
func (pkg *Package) AllFuncs() []*Func {
	all := slices.Clone(pkg.Funcs)
	for _, o := range pkg.Objects {
		all = append(append(all, o.Methods...), o.Statics...)
	}
	return all
}
