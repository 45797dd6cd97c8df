package pynames

import "github.com/tvmffi-go/tvmffi/schema/hints"

// facts is what one source says, as extract.py prints it. Names are as the source writes them: "a.b.c", or
// "@garden.water" for get_global_func("garden.water").
type facts struct {
	Doc string `json:"doc"`
	// Imports maps a name to what it stands for, a module or a part of one. Stars are the modules of which
	// all names are imported.
	Imports map[string]string `json:"imports"`
	Stars   []string          `json:"stars"`
	// Values maps a global name to the names that it may stand for.
	Values map[string][]string `json:"values"`
	// Attributes maps an attribute of a module, which the source sets, to the name of its value.
	Attributes map[string]string `json:"attributes"`
	Classes    []class           `json:"classes"`
	Defs       []def             `json:"defs"`
	Calls      []call            `json:"calls"`
	Namespaces []namespace       `json:"namespaces"`
	// Strings are the arguments that may be the name in a call of getattr(a, name), which is the callee "a.*".
	Strings []string `json:"strings"`
	// Error says why the source cannot be read, and Line where.
	Error string `json:"error"`
	Line  int    `json:"line"`
}

// class is a Python class. A decorator is its name, and after a space its first argument if that is a string.
type class struct {
	Name       string   `json:"name"` // "Outer.Inner"
	Bases      []string `json:"bases"`
	Decorators []string `json:"decorators"`
	Doc        string   `json:"doc"`
	Fields     []field  `json:"fields"`
	Values     []member `json:"values"` // the names with a constant, if all values are constants
}

// member is a member of an enum.
type member struct {
	Name  string         `json:"name"`
	Value hints.Constant `json:"value"`
}

// field is an annotated name in the body of a class.
type field struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
}

// def is a function or method.
type def struct {
	Name       string   `json:"name"`  // "Class.method"
	Class      int      `json:"class"` // -1 outside classes
	Decorators []string `json:"decorators"`
	Doc        string   `json:"doc"`
	Params     []param  `json:"params"`
	Returns    *typed   `json:"returns"`
	// Declared is true for what only a type checker sees.
	Declared bool `json:"declared"`
}

// param is a parameter of a def.
type param struct {
	Name string `json:"name"`
	Type *typed `json:"type"`
	Kind string `json:"kind"` // "", "*", "keyword" or "**"
	// Default is nil if there is none, or if it is not a constant.
	Default *value `json:"default"`
}

// value is a constant, or a dotted name that may be a member of an enum.
type value struct {
	Value hints.Constant `json:"value"`
	Of    string         `json:"of"`
}

// typed is an annotation.
type typed struct {
	Name string   `json:"name"`
	Args []*typed `json:"args"`
}

// call is a call in a source.
type call struct {
	Callee string `json:"callee"`
	Def    int    `json:"def"`   // -1 outside defs
	Class  int    `json:"class"` // the class around it, -1 outside classes
	Line   int    `json:"line"`
	// Use says what becomes of the result, from the inside out: "in NAME" for an argument of that call, "set
	// NAME", "return", "return part" for a part of what is returned, "assign", "statement", "construct" or "part".
	Use      []string   `json:"use"`
	Args     []argument `json:"args"`
	Keywords int        `json:"keywords"`
}

// argument is what a call passes.
type argument struct {
	// Name suggests a name for the parameter, Longer another one in case two arguments suggest the same.
	Name   string `json:"name"`
	Longer string `json:"longer"`
	// Param is the parameter of the def that is passed, in this Form: "same", "each", "value" for that of a
	// member of an enum, or the private attribute that is passed in its place, such as "_handle" or "each _handle".
	Param    string `json:"param"`
	Form     string `json:"form"`
	Optional bool   `json:"optional"` // None is passed as it is
	Star     bool   `json:"star"`     // "*args"
}

// namespace is a call such as init_ffi_api("garden", __name__).
type namespace struct {
	Name   string `json:"name"`
	Module string `json:"module"`
}
