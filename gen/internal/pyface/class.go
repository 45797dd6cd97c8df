package pyface

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// reserved are the names of tvm_ffi.Object that its other methods use.
var reserved = []string{"same_as", "is_", "id_"}

// classWriter writes a class.
type classWriter struct {
	*writer
	*face.Class
	name string
	used face.Scope
	// members are the names of the methods and properties in Python.
	members map[string]string
	// made has what is written before the class for *face.Function and *face.Field.
	made map[any]made
	// shaped are arguments of register for fields of which a value that is not plain may be converted.
	shaped string
	after  []string // statements behind the class
}

// made is the variable of a function of the library, or those that read and write a field, and the converter of a result.
type made struct{ convert, target, setter string }

// class writes a class of objects.
func (w *writer) class(class *face.Class) {
	c := &classWriter{writer: w, Class: class, name: w.names[class], used: face.NewScope(inClass, reserved...), members: map[string]string{}, made: map[any]made{}}
	w.export(c.name)
	c.prepare()
	base, stubBase := private+".Object, metaclass="+private+".Meta", w.tvm("Object")
	slots := private + ".slots(" + quote(c.Key)
	switch {
	case c.Parent != nil:
		base, slots = w.names[c.Parent], "("
		stubBase = base
	case c.ParentKey != "":
		base = private + ".parent(" + quote(c.ParentKey) + ")"
		slots += ", " + base
	}
	w.pyf("\n\n@%s.register(%s%s)\nclass %s(%s):\n", private, quote(c.Key), c.shaped, c.name, base)
	w.pyif("\nclass %s(%s):\n", c.name, stubBase)
	params := c.constructor()
	doc := cmp.Or(w.text(c.Doc, c.Name, c.name), c.name+" is the Go type "+c.Name+".")
	w.pyf("%s\n    __slots__ = %s)\n", docstring("    ", doc+parameterDocs(params)), slots)
	aliases := c.attributes()
	c.init(params)
	for _, f := range c.Properties {
		c.member(f, true)
	}
	for _, f := range c.Methods {
		c.member(f, false)
	}
	c.special()
	c.connect(aliases)
}

// prepare chooses the variables and the converters of the members.
func (c *classWriter) prepare() {
	c.froms(c.constructor())
	for _, f := range slices.Concat(c.Properties, c.Methods) {
		c.froms(c.parameters(f, true))
		c.made[f] = made{c.resultConverter(f), c.fresh(c.Name + "_" + f.Name), ""}
	}
	for i := range c.Fields {
		if f := &c.Fields[i]; f.Type.Bare().Kind == crossing.KindEnum || converted(f.Type) || untyped(f.Type) && f.Type.Bare().Kind != crossing.KindCallable {
			c.from(f.Type)
			c.made[f] = made{c.converter(f.Type), c.fresh(c.Name + "_" + f.Name), c.fresh(c.Name + "_set_" + f.Name)}
		} else if widened(f.Type) {
			how := fmt.Sprintf("(%s, %d%s)", cmp.Or(c.fromNumber(f.Type), "None"), containers(f.Type), kindsOf(f.Type, true))
			if plain(f.Name) == f.Name && inClass(f.Name) == f.Name {
				c.shaped += fmt.Sprintf(", %s=%s", f.Name, how)
			} else {
				c.shaped += fmt.Sprintf(", **{%s: %s}", quote(f.Name), how)
			}
		}
	}
}

// attributes writes the fields. tvm_ffi makes properties of most of them; those with enums
// and values of native kinds need conversions. It returns the fields with another name in Python.
func (c *classWriter) attributes() (aliases [][2]string) {
	for i := range c.Fields {
		f := &c.Fields[i]
		name := c.used.Claim(f.Name)
		m := c.made[f]
		if m.convert == "" && name != f.Name {
			aliases = append(aliases, [2]string{f.Name, name})
		}
		changes, result := !f.ReadOnly && !c.Frozen, c.typeText(f.Type, raw)
		if m.convert == "" && changes && (!widened(f.Type) || c.typeText(f.Type, passed) == result) {
			c.pyif("    %s: %s\n", name, result)
			continue
		}
		if m.convert != "" {
			result = c.out(f.Type)
		}
		c.pyif("    @%s\n    def %s(self) -> %s: ...\n", c.builtin("property"), name, result)
		if m.convert == "" {
			if changes {
				c.pyif("    @%[1]s.setter\n    def %[1]s(self, value: %[2]s) -> None: ...\n", name, c.typeText(f.Type, passed))
			}
			continue
		}
		c.pyf("\n    @%s.property\n    def %s(self) -> %s:\n%s        return %s(%s(self))\n", private, name, result, docstring("        ", f.Doc), m.convert, m.target)
		if !checked(f.Type) {
			c.after = append(c.after, fmt.Sprintf("%s_face.field(%s, %s, %s, %s)\n", private, c.name, quote(name), quote(f.Name), m.convert))
		}
		if changes {
			what := quote(c.name + "." + name)
			value := fmt.Sprintf("%s(%s, %s)", c.from(f.Type), what, c.givenContainer(f.Type, what, "value", true))
			if !checked(f.Type) {
				value = fmt.Sprintf("%s.shaped(%s, value, %s, %d%s)", private, what, c.from(f.Type), containers(f.Type), kindsOf(f.Type, true))
			}
			c.pyf("\n    @%[1]s.setter\n    def %[1]s(self, value: %[2]s) -> None:\n        %[3]s(self, %[4]s)\n", name, c.in(f.Type), m.setter, value)
			c.pyif("    @%[1]s.setter\n    def %[1]s(self, value: %[2]s) -> None: ...\n", name, c.in(f.Type))
		}
	}
	return aliases
}

// constructor returns the parameters of __init__: those of the Go func, or the fields with
// those of the parents first. As in every class of tvm_ffi, fields with defaults come later.
func (c *classWriter) constructor() []parameter {
	if c.Constructor != nil {
		return c.parameters(c.Constructor, true)
	}
	params := c.writer.fields(c.Init(), face.NewScope(inClass, "self"))
	slices.SortStableFunc(params, func(a, b parameter) int { return a.place() - b.place() })
	return params
}

// fields returns the parameters for fields.
func (w *writer) fields(fields []face.Field, used face.Scope) []parameter {
	var params []parameter
	for _, f := range fields {
		params = append(params, parameter{
			Param: face.Param{Name: f.Name, Type: f.Type, Default: f.Default}, name: used.Claim(f.Name),
			key: f.Name, doc: f.Doc, kwOnly: f.KwOnly, unknown: f.HasDefault && f.Default == nil,
		})
	}
	return params
}

// place is 0 for fields of objects that must be given by position or name, and more for those that come later.
func (p parameter) place() int {
	place := map[bool]int{true: 2}[p.kwOnly]
	if p.optional() {
		place++
	}
	return place
}

// init writes __init__.
func (c *classWriter) init(params []parameter) {
	if c.Opaque && c.Constructor == nil {
		c.pyf("\n    def __init__(self, *args: NoReturn, **kwargs: NoReturn) -> None:\n        %s.not_constructed(self)\n", private)
		never := c.ref("typing", "NoReturn")
		c.pyif("    def __init__(self, *args: %[1]s, **kwargs: %[1]s) -> None: ...\n", never)
		return
	}
	c.pyif("    def __init__(%s) -> None: ...\n", c.signature(params, true, true))
	c.pyf("\n    def __init__(%s) -> None:\n", c.signature(params, true, false))
	object := "+"
	if c.Constructor != nil {
		object = "-"
	}
	var returned []string
	if c.Constructor != nil {
		returned = c.returned(params)
	}
	if args := forC(object, params, c.Constructor == nil); args != "" && len(returned) < 2 && (c.Constructor == nil || !c.Constructor.Context) {
		if len(returned) > 0 {
			args += ", returned=" + returned[0]
		}
		c.after = append(c.after, fmt.Sprintf("%s_face.constructor(%s, %s)\n", private, c.name, args))
	}
	call := "self.__ffi_init__("
	if slices.ContainsFunc(params, func(p parameter) bool { return p.unknown }) {
		call = private + ".construct(self, "
	}
	var args, words []string
	byName := false
	for _, p := range params {
		byName = byName || p.kwOnly || p.unknown
		switch {
		case p.Variadic:
			args = append(args, "*"+p.name)
		case !byName:
			args = append(args, p.name)
		case plain(p.key) != p.key || inClass(p.key) != p.key:
			words = append(words, quote(p.key)+": "+p.name)
		default:
			args = append(args, p.key+"="+p.name)
		}
	}
	if len(words) > 0 {
		args = append(args, "**{"+strings.Join(words, ", ")+"}")
	}
	if f := c.Constructor; f != nil {
		c.pyf("%s", docstring("        ", c.text(f.Doc, f.GoName, c.name)))
	}
	for _, p := range params {
		p.field = c.Constructor == nil
		c.argument("        ", c.name, p)
		if c.Constructor != nil && guarded(p.Type) {
			c.pyf("        %s = %s\n", p.name, c.guard(p))
		}
	}
	c.try("        ", c.name, call+strings.Join(args, ", ")+")")
}

// member writes a method or a property.
func (c *classWriter) member(f *face.Function, property bool) {
	m := c.made[f]
	d := def{indent: "    ", method: true, call: m.target + "(%s)", convert: m.convert}
	d.name = c.used.Claim(f.Name)
	d.label = c.name + "." + d.name
	c.members[f.Name] = d.name
	if c.overrides(f.Name) {
		d.suffix = "  # type: ignore[override]"
	}
	if property {
		d.decorator, d.stubDecorator = "@"+private+".property", "@"+c.builtin("property")
	}
	c.def(f, d)
	if args := c.target(f, true); args != "" {
		c.after = append(c.after, fmt.Sprintf("%[1]s = %[2]s_face.target(%[1]s, %[3]s)\n", m.target, private, args))
	}
	if args := c.argsInC(f, true, m.convert); args != "" {
		c.after = append(c.after, fmt.Sprintf("%s_face.method(%s, %s, %s, %s)\n", private, c.name, quote(d.name), m.target, args))
	}
	if f.Context && !property {
		d.name = c.used.Claim(d.name + "_async")
		d.call, d.async = private+".wait("+quote(c.Key+"."+f.Name)+"%s)", true
		c.def(f, d)
	}
}

// overrides reports whether a parent has a member of that name.
func (c *classWriter) overrides(name string) bool {
	for p := c.Parent; p != nil; p = p.Parent {
		for _, f := range slices.Concat(p.Methods, p.Properties) {
			if f.Name == name {
				return true
			}
		}
	}
	return false
}

// special writes the methods that Python calls itself.
func (c *classWriter) special() {
	object, boolean := c.builtin("object"), c.builtin("bool")
	set := func(name, helper, stub string) {
		c.pyf("    %s = %s.%s\n", name, private, helper)
		if stub != "" {
			c.pyif("    def %s%s: ...\n", name, stub)
		}
	}
	define := func(name, params, result, body string) {
		c.pyf("\n    def %s(%s) -> %s:\n        %s\n", name, params, result, body)
		c.pyif("    def %s(%s) -> %s: ...\n", name, params, result)
	}
	if c.Len != nil {
		define("__len__", "self", c.builtin("int"), "return "+c.name+"."+c.members[c.Len.Name]+"(self)")
	}
	if c.String != nil {
		define("__str__", "self", c.builtin("str"), "return "+c.name+"."+c.members[c.String.Name]+"(self)")
	}
	if names := c.shown(); names != "" {
		c.values = true
		define("__repr__", "self", c.builtin("str"), "return "+private+"_values.shown(self"+names+")")
	}
	if c.Opaque && !c.Repr {
		args := "self"
		for p := c.Class; p != nil; p = p.Parent {
			if p.String != nil {
				args += ", " + c.names[p] + ".__str__"
				break
			}
		}
		define("__repr__", "self", c.builtin("str"), "return "+private+".shown("+args+")")
	}
	if c.All != nil {
		define("__iter__", "self", c.out(c.All.Results[0].Type), "return self."+inClass(c.All.Name)+"()")
	}
	if c.Close != nil {
		define("__enter__", "self", c.ref("typing_extensions", "Self"), "return self")
		define("__exit__", "self, *exc: "+object, "None", "self."+inClass(c.Close.Name)+"()")
	}
	c.pyf("\n")
	compared, hash := "(self, other: "+object+") -> "+boolean, "(self) -> "+c.builtin("int")
	switch {
	case c.Equal || c.Compare:
		set("__eq__", "equal", compared)
		set("__ne__", "not_equal", compared)
		if !c.Hash {
			c.pyf("    __hash__ = None\n")
			c.pyif("    __hash__: %s[None]  # type: ignore[assignment]\n", c.ref("typing", "ClassVar"))
		}
	case c.Structural:
		set("__eq__", "structural_equal", compared)
		set("__ne__", "not_equal", compared)
		set("__hash__", "structural_hash", hash)
	}
	if c.Hash && (c.Equal || c.Compare || !c.Structural) {
		set("__hash__", "hash_value", hash)
	}
	if c.Compare {
		ordered := "(self, other: " + c.name + ") -> " + boolean
		set("__lt__", "less", ordered)
		set("__le__", "less_equal", ordered)
		set("__gt__", "greater", ordered)
		set("__ge__", "greater_equal", ordered)
	}
	if c.Opaque {
		set("__reduce_ex__", "not_copied", "")
		return
	}
	self := c.ref("typing_extensions", "Self")
	set("__reduce__", "reduce", "")
	set("__setstate__", "restore", "")
	set("__copy__", "copy", "(self) -> "+self)
	set("__deepcopy__", "deepcopy", "(self, memo: "+c.ref("typing", "Any")+" = None) -> "+self)
}

// shown returns the names of the fields, each behind a comma, if one has a value that other languages show in another way and
// Go has no method that shows the object.
func (c *classWriter) shown() (names string) {
	native := false
	for p := c.Class; p != nil; p = p.Parent {
		own, used := "", face.NewScope(inClass, reserved...)
		for _, f := range p.Fields {
			native = native || converted(f.Type) || untyped(f.Type)
			if name := used.Claim(f.Name); !f.NoRepr {
				own += ", " + quote(name)
			}
		}
		names = own + names
		if p.Repr {
			return ""
		}
	}
	if !native {
		return ""
	}
	return names
}

// connect writes what needs the finished class.
func (c *classWriter) connect(aliases [][2]string) {
	var targets, names, setters, fields []string
	untyped := ""
	for _, f := range slices.Concat(c.Properties, c.Methods) {
		targets, names = append(targets, c.made[f].target), append(names, quote(f.Name))
		if returnsAny(f.Result()) {
			untyped += quote(f.Name) + ", "
		}
	}
	if untyped != "" {
		names = append(names, "any=("+untyped+")")
	}
	for i := range c.Fields {
		if m, ok := c.made[&c.Fields[i]]; ok {
			setters, fields = append(setters, m.target, m.setter), append(fields, quote(c.Fields[i].Name))
		}
	}
	assign := func(helper string, variables, names []string) {
		if len(names) > 0 {
			c.pyf("\n[%s] = %s.%s(%s, %s)\n", strings.Join(variables, ", "), private, helper, c.name, strings.Join(names, ", "))
		}
	}
	if len(names) > 0 {
		c.pyf("\n")
	} else if len(c.after) > 0 {
		c.pyf("\n\n")
	}
	assign("members", targets, names)
	c.pyf("%s", strings.Join(c.after, ""))
	assign("fields", setters, fields)
	for _, a := range aliases {
		c.pyf("\n%s.alias(%s, %s, %s)\n", private, c.name, quote(a[0]), quote(a[1]))
	}
}
