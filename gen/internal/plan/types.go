package plan

// A GoType is a Go type expression. Exactly one of its parts is set; Path and Args
// belong to Name.
type GoType struct {
	Name    string // predeclared, or declared in Path
	Path    string
	Args    []GoType
	Object  *Object  // the struct of an object type
	Ref     *Object  // its Ref interface
	Variant *Variant // the struct of a variant
	Enum    *Enum
	Elem    *GoType // pointer to Elem
	Slice   *GoType
	Func    *FuncType
}

// A FuncType is a Go func that also returns an error.
type FuncType struct {
	Params []GoType
	Result *GoType // nil: only the error
	// OrEmpty is set if a nil result stands for an empty container.
	OrEmpty bool
}

// A Variant is a Go type for a Variant of the schema.
type Variant struct {
	GoName       string
	Pkg          *Package
	Text         string // as the registry has it
	Alternatives []Alternative
}

// An Enum is a Go type with a constant for each member. Each package whose functions take or
// return it has its own.
type Enum struct {
	Name, GoName string
	Pkg          *Package
	Doc          string
	Text         bool   // the values are strings, otherwise ints
	Integer      string // their type in Go, for ints
	Members      []Member
}

// A Member is a member of an enum.
type Member struct {
	Name, GoName string
	Value        any // int64 or string
}

// An Alternative is one of the types that a variant may hold.
type Alternative struct {
	Of, As   string // names of the constructor function and of the accessor
	Argument GoType
	Outcome  GoType
}

// narrow are the integers of Go that have another width than those of TVM-FFI, or no sign.
var narrow = WordSet("int8 int16 int32 uint8 uint16 uint32 uint64")

// Narrow reports whether the type is an integer that crosses as an int64.
func (t GoType) Narrow() bool { return t.Path == "" && narrow[t.Name] }

// Bits reports whether an int64 of the type may be the bits of a larger number.
func (t GoType) Bits() bool { return t.Narrow() && t.Name == "uint64" }

// Same reports whether two types are identical.
func (t GoType) Same(u GoType) bool {
	if t.Name != u.Name || t.Path != u.Path || t.Object != u.Object || t.Ref != u.Ref || t.Variant != u.Variant || t.Enum != u.Enum || len(t.Args) != len(u.Args) {
		return false
	}
	for i := range t.Args {
		if !t.Args[i].Same(u.Args[i]) {
			return false
		}
	}
	if (t.Func == nil) != (u.Func == nil) || t.Func != nil && !t.Func.same(u.Func) {
		return false
	}
	return samePart(t.Elem, u.Elem) && samePart(t.Slice, u.Slice)
}

func (f *FuncType) same(g *FuncType) bool {
	if len(f.Params) != len(g.Params) {
		return false
	}
	for i := range f.Params {
		if !f.Params[i].Same(g.Params[i]) {
			return false
		}
	}
	return samePart(f.Result, g.Result)
}

func samePart(t, u *GoType) bool {
	return t == nil && u == nil || t != nil && u != nil && t.Same(*u)
}

// Each calls do for every object type that the function mentions.
func (f *Func) Each(do func(*Object)) {
	f.Call.Each(do)
	if f.Init != nil {
		for _, o := range f.Init.Options {
			o.Value.Type.Each(do)
		}
	}
}

// Each calls do for every object type that the parameters and results mention.
func (c *Call) Each(do func(*Object)) {
	if c == nil {
		return
	}
	for _, param := range c.Params {
		param.Type.Each(do)
	}
	if c.Result != nil {
		c.Result.Type.Each(do)
		c.Result.Bound.Each(do)
	}
}

// Each calls do for every object type that the type mentions.
func (t GoType) Each(do func(*Object)) {
	t.Walk(func(t GoType) {
		do(t.Object)
		do(t.Ref)
	})
}

// Walk calls do for the type and every type in it.
func (t GoType) Walk(do func(GoType)) {
	do(t)
	for _, a := range t.Args {
		a.Walk(do)
	}
	for _, part := range []*GoType{t.Elem, t.Slice} {
		if part != nil {
			part.Walk(do)
		}
	}
	if t.Variant != nil {
		for _, a := range t.Variant.Alternatives {
			a.Argument.Walk(do)
			a.Outcome.Walk(do)
		}
	}
	if t.Func != nil {
		for _, param := range t.Func.Params {
			param.Walk(do)
		}
		if t.Func.Result != nil {
			t.Func.Result.Walk(do)
		}
	}
}
