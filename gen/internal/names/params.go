package names

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/tvmffi-go/tvmffi/gen/internal/plan"
)

// nameAllParams names the parameters of all functions of a package, after all other
// names.
func (n *namer) nameAllParams(pkg *plan.Package) {
	for _, f := range pkg.AllFuncs() {
		nameParams(pkg, f)
	}
	for _, a := range pkg.Aliases {
		for _, f := range a.Forwards {
			if f.Call != nil {
				nameCall(f.Call, n.scopes[pkg])
			}
		}
	}
}

// nameParams names the parameters of a function. They may have the name of a package, or of a
// helper, that the body does not mention.
func nameParams(pkg *plan.Package, f *plan.Func) {
	if f.Call == nil {
		return
	}
	mentioned := newScope(reserved)
	mentioned.add("a variable of the body", f.Var)
	paths := map[string]bool{plan.Runtime: true, plan.Bindrt: true}
	mentions(f.Call, func(t plan.GoType) {
		paths[t.Path] = true
		for _, o := range []*plan.Object{t.Object, t.Ref} {
			if o != nil {
				name, _ := pkg.TypeName(o)
				paths[o.Pkg.Path] = true
				mentioned.add("a variable of the body", name)
			}
		}
	})
	for _, used := range pkg.Imports {
		if paths[used.Path] {
			mentioned.add("an import", used.Name)
		}
	}
	nameCall(f.Call, mentioned)
	f.Doc.Params = map[string]string{}
	for i, param := range f.Call.Params {
		f.Doc.Params[param.Given] = param.Name
		if o := f.Call.Options; o != nil && i >= o.First {
			f.Doc.Params[param.Given] = o.Funcs[i-o.First].GoName
		}
	}
}

// mentions calls do for every type that the body may mention: those of results and callbacks.
func mentions(c *plan.Call, do func(plan.GoType)) {
	for _, param := range c.Params {
		if param.Type.Func != nil {
			param.Type.Walk(do)
		}
	}
	if c.Result != nil {
		c.Result.Type.Walk(do)
		if c.Result.Bound != nil {
			mentions(c.Result.Bound, do)
		}
	}
}

// nameCall gives the parameters names that the body does not mention: their own names, or names
// after their types. Then it names the locals.
func nameCall(c *plan.Call, outer *scope) {
	s := newScope(outer)
	count := map[string]int{}
	for i := range c.Params {
		param := &c.Params[i]
		name := param.Usual
		if param.Object != nil {
			name = plan.LowerFirst(param.Object.GoName)
		}
		if param.Given != "" {
			name = plan.LowerCamel(param.Given)
		}
		name = cmp.Or(spellings[name], name)
		if count[name]++; count[name] > 1 {
			name = fmt.Sprint(name, count[name])
		}
		param.Name = s.free("a parameter", name, name+"Arg")
	}
	nameLocals(c, s)
	if c.Result != nil && c.Result.Bound != nil {
		inner := newScope(outer)
		inner.add("a local", c.Locals.Fn)
		nameCall(c.Result.Bound, inner)
	}
}

// nameLocals names the locals of the body.
func nameLocals(c *plan.Call, s *scope) {
	local := func(candidates ...string) string { return s.free("a local", candidates...) }
	c.Locals = plan.Locals{
		Receiver: local("x", "recv"), Frame: local("c", "call", "frame"),
		Options: local("options", "opts"), Option: local("o", "option"),
		Fn: local("fn", "callee"), Err: local("err", "callErr"),
		Args: local("a", "args"), OK: local("ok", "plain"), Value: local("v", "result"),
	}
	most := 0
	for _, param := range c.Params {
		if param.Pack == plan.PackCallback {
			most = max(most, len(param.Type.Func.Params))
		}
	}
	for i := range most {
		n := strconv.Itoa(i)
		c.Locals.Values = append(c.Locals.Values, local("p"+n, "arg"+n))
	}
}

// spellings holds the names of parameters in place of keywords and of the predeclared names that
// a body may use.
var spellings = map[string]string{
	"any": "value", "bool": "flag", "break": "stop", "byte": "octet", "case": "which", "chan": "channel",
	"const": "constant", "continue": "cont", "default": "def", "defer": "deferred", "else": "otherwise",
	"error": "cause", "for": "loop", "func": "fn", "if": "cond", "import": "imported", "int": "integer",
	"int8": "integer8", "int16": "integer16", "int32": "integer32", "int64": "integer64",
	"interface": "iface", "len": "length", "map": "mapping", "nil": "null", "package": "pkg", "range": "bounds",
	"return": "ret", "select": "selected", "string": "str", "struct": "structure", "switch": "choice",
	"type": "typ", "uint8": "unsigned8", "uint16": "unsigned16", "uint32": "unsigned32", "uint64": "unsigned64", "var": "variable",
}
