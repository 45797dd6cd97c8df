package pyface

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
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
	// targets are the variables of the functions of the library, by the name of the member.
	targets, setters map[string]string
	order, fields    []string
	called           []string // statements
}

// class writes a class of objects.
func (w *writer) class(class *face.Class) {
	c := &classWriter{writer: w, Class: class, name: w.names[class], used: face.NewScope(inClass, reserved...), members: map[string]string{}, targets: map[string]string{}, setters: map[string]string{}}
	w.export(c.name)
	converters := c.prepare()
	base, stubBase := private+".Object, metaclass="+private+".Meta", w.tvm("Object")
	switch {
	case c.Parent != nil:
		base = w.names[c.Parent]
		stubBase = base
	case c.ParentKey != "":
		base = private + ".parent(" + quote(c.ParentKey) + ")"
	}
	w.pyf("\n\n@%s.register(%s)\nclass %s(%s):\n", private, quote(c.Key), c.name, base)
	w.pyif("\nclass %s(%s):\n", c.name, stubBase)
	params := c.constructor()
	doc := cmp.Or(w.text(c.Doc, c.Name, c.name), c.name+" is the Go type "+c.Name+".")
	w.pyf("%s\n    __slots__ = ()\n", docstring("    ", doc+parameterDocs(params)))
	aliases := c.attributes(converters)
	c.init(params)
	for _, f := range c.Properties {
		c.member(f, converters[f], true)
	}
	for _, f := range c.Methods {
		c.member(f, converters[f], false)
	}
	c.special()
	c.connect(aliases)
}

// prepare chooses the variables and the converters of the members.
func (c *classWriter) prepare() map[any]string {
	converters := map[any]string{}
	for _, f := range slices.Concat(c.Properties, c.Methods) {
		converters[f] = c.resultConverter(f)
		c.targets[f.Name] = c.fresh(c.Name + "_" + f.Name)
		c.order = append(c.order, f.Name)
	}
	for i := range c.Fields {
		f := &c.Fields[i]
		if t := f.Type; t.Kind == face.KindEnum || t.Kind == face.KindOptional && t.Elems[0].Kind == face.KindEnum {
			converters[f] = c.converter(t)
			c.targets[f.Name] = c.fresh(c.Name + "_" + f.Name)
			c.setters[f.Name] = c.fresh(c.Name + "_set_" + f.Name)
		}
	}
	return converters
}

// attributes writes the fields. tvm_ffi makes properties of most of them; those with enums
// need conversions. It returns the fields with another name in Python.
func (c *classWriter) attributes(converters map[any]string) (aliases [][2]string) {
	for i := range c.Fields {
		f := &c.Fields[i]
		name := c.used.Claim(f.Name)
		convert := converters[f]
		if convert == "" && name != f.Name {
			aliases = append(aliases, [2]string{f.Name, name})
		}
		if convert == "" && !f.ReadOnly && !c.Frozen {
			c.pyif("    %s: %s\n", name, c.typeText(f.Type, raw))
			continue
		}
		result := c.typeText(f.Type, raw)
		if convert != "" {
			result = c.out(f.Type)
		}
		c.pyif("    @%s\n    def %s(self) -> %s: ...\n", c.builtin("property"), name, result)
		if convert == "" {
			continue
		}
		c.fields = append(c.fields, f.Name)
		c.pyf("\n    @%s.property\n    def %s(self) -> %s:\n%s        return %s(%s(self))\n",
			private, name, result, docstring("        ", f.Doc), convert, c.targets[f.Name])
		if !f.ReadOnly && !c.Frozen {
			c.pyf("\n    @%[1]s.setter\n    def %[1]s(self, value: %[2]s) -> None:\n        %[3]s(self, value)\n", name, c.in(f.Type), c.setters[f.Name])
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
	used := face.NewScope(inClass, "self")
	var params []parameter
	for _, f := range c.Init() {
		params = append(params, parameter{
			Param: face.Param{Name: f.Name, Type: f.Type, Default: f.Default}, name: used.Claim(f.Name),
			key: f.Name, doc: f.Doc, kwOnly: f.KwOnly, unknown: f.HasDefault && f.Default == nil,
		})
	}
	slices.SortStableFunc(params, func(a, b parameter) int { return a.place() - b.place() })
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
	if args := forC(object, params, c.Constructor == nil); args != "" && (c.Constructor == nil || !c.Constructor.Context) {
		c.called = append(c.called, fmt.Sprintf("%s_face.constructor(%s, %s)\n", private, c.name, args))
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
		c.bounded("        ", c.name, false, p)
		if c.Constructor != nil && guarded(p.Type) {
			c.pyf("        %[1]s = %[2]s_errors.guard(%[1]s)\n", p.name, private)
		}
	}
	call += strings.Join(args, ", ") + ")"
	if c.Constructor != nil {
		call = "try:\n            " + call + "\n        except:  # noqa: E722\n            " + private + "_errors.reraise()"
	}
	c.pyf("        %s\n", call)
}

// member writes a method or a property.
func (c *classWriter) member(f *face.Function, convert string, property bool) {
	d := def{indent: "    ", method: true, call: c.targets[f.Name] + "(%s)", convert: convert}
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
	if args := c.argsInC(f, true, convert); args != "" {
		c.called = append(c.called, fmt.Sprintf("%s_face.method(%s, %s, %s, %s)\n", private, c.name, quote(d.name), c.targets[f.Name], args))
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
	if c.All != nil {
		define("__iter__", "self", c.out(c.All.Results[0].Type), "return self."+inClass(c.All.Name)+"()")
	}
	if c.Close != nil {
		define("__enter__", "self", c.ref("typing_extensions", "Self"), "return self")
		define("__exit__", "self, *exc: "+object, "None", "self."+inClass(c.Close.Name)+"()")
	}
	c.pyf("\n")
	compared := "(self, other: " + object + ") -> " + boolean
	switch {
	case c.Equal || c.Compare:
		set("__eq__", "equal", compared)
		set("__ne__", "not_equal", compared)
		if c.Hash {
			set("__hash__", "hash_value", "(self) -> "+c.builtin("int"))
		} else {
			c.pyf("    __hash__ = None\n")
			c.pyif("    __hash__: %s[None]  # type: ignore[assignment]\n", c.ref("typing", "ClassVar"))
		}
	case c.Structural:
		set("__eq__", "structural_equal", compared)
		set("__ne__", "not_equal", compared)
		set("__hash__", "structural_hash", "(self) -> "+c.builtin("int"))
	case c.Hash:
		set("__hash__", "hash_value", "(self) -> "+c.builtin("int"))
	}
	if c.Compare {
		ordered := "(self, other: " + c.name + ") -> " + boolean
		for _, names := range [][2]string{{"__lt__", "less"}, {"__le__", "less_equal"}, {"__gt__", "greater"}, {"__ge__", "greater_equal"}} {
			set(names[0], names[1], ordered)
		}
	}
	if c.Opaque {
		set("__reduce_ex__", "not_copied", "")
		return
	}
	self := c.ref("typing_extensions", "Self")
	set("__reduce__", "reduce", "")
	set("__copy__", "copy", "(self) -> "+self)
	set("__deepcopy__", "deepcopy", "(self, memo: "+c.ref("typing", "Any")+" = None) -> "+self)
}

// connect writes what needs the finished class.
func (c *classWriter) connect(aliases [][2]string) {
	if len(c.order) > 0 {
		c.pyf("\n\n%s\n", c.assignment("members", c.order, func(name string) string { return c.targets[name] }))
	} else if len(c.called) > 0 {
		c.pyf("\n\n")
	}
	for _, line := range c.called {
		c.pyf("%s", line)
	}
	if len(c.fields) > 0 {
		c.pyf("\n%s\n", c.assignment("fields", c.fields, func(name string) string { return c.targets[name] + ", " + c.setters[name] }))
	}
	for _, a := range aliases {
		c.pyf("\n%s.alias(%s, %s, %s)\n", private, c.name, quote(a[0]), quote(a[1]))
	}
}

func (c *classWriter) assignment(helper string, names []string, variable func(string) string) string {
	var left, right []string
	for _, name := range names {
		left = append(left, variable(name))
		right = append(right, quote(name))
	}
	return fmt.Sprintf("[%s] = %s.%s(%s, %s)", strings.Join(left, ", "), private, helper, c.name, strings.Join(right, ", "))
}
