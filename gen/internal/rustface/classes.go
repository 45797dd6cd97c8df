package rustface

import (
	"slices"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
)

// class writes an object type.
func (w *writer) class(c *face.Class) {
	name := w.names[c]
	note := "It is a reference to an object, which clones share."
	if c.Opaque {
		note = "It is a reference to a value that only Go sees, which clones share."
	}
	w.comment("", "///", c.Doc, "The object type `"+c.Key+"`.", note+" Its type key is `"+c.Key+"`.")
	w.p("#[derive(Clone)]\n#[repr(transparent)]\npub struct %s {\n    object: ::tvm_ffi::ObjectArc<library::Data<%[1]s>>,\n}\n\n", name)
	parent := "none"
	if c.Parent != nil {
		parent = w.names[c.Parent]
	}
	w.p("library::object_type!(%s, %s, %d, %s);\n", name, quoted(c.Key), depth(c), parent)
	for p := c.Parent; p != nil; p = p.Parent {
		w.p("library::derived!(%s, %s);\n", name, w.names[p])
	}
	w.p("\nimpl %s {\n", name)
	// A constructor is called new; then methods, properties and fields keep their names, and setters take what is left.
	s := newScope()
	if c.Constructor != nil || !c.Opaque {
		s.take("new")
	}
	w.claim(s, slices.Concat(c.Methods, c.Properties), c.Methods)
	var setters []string
	for _, f := range c.Fields {
		setters = append(setters, "set_"+f.Name)
	}
	fields, setters := fieldsOf(s, c.Fields), s.takeAll(setters, snake)
	switch {
	case c.Constructor != nil:
		w.names[c.Constructor] = "new"
		w.function(c.Constructor, c)
	case !c.Opaque:
		w.construct(c)
	}
	for i, f := range c.Fields {
		w.field(c, f, fields[i], setters[i])
	}
	for _, f := range slices.Concat(c.Properties, c.Methods) {
		w.function(f, c)
	}
	w.end()
	w.traits(c)
}

// depth returns how many types c derives from. A parent of another library counts as a
// child of ffi.Object, which is what the checks below do not rely on.
func depth(c *face.Class) int {
	switch {
	case c.Parent != nil:
		return depth(c.Parent) + 1
	case c.ParentKey != "":
		return 2
	}
	return 1
}

func (w *writer) method(c *face.Class, name string) string {
	return static + "library::Func::method(" + quoted(c.Key) + ", " + quoted(name) + ")"
}

// field writes the functions that read and write a field.
func (w *writer) field(c *face.Class, f face.Field, get, set string) {
	static := "FIELD: library::Field = library::Field::new(" + quoted(c.Key) + ", " + quoted(f.Name) + ")"
	w.comment("    ", "///", f.Doc, "Returns the field `"+f.Name+"`.")
	w.body("    ", get, "&self", w.value(f.Type), static, w.from(f.Type, "&mut library::Values::of(&FIELD.get(self)?)"))
	if f.ReadOnly || c.Frozen {
		return
	}
	typ, expr := w.param(f.Type, "value")
	w.p("    /// Changes the field `%s`.\n", f.Name)
	w.body("    ", set, "&self, value: "+typ, "()", static, "FIELD.set(self, "+expr+")")
}

// construct writes the constructor of a class whose fields are the parameters.
func (w *writer) construct(c *face.Class) {
	names, fields := newScope(), newScope()
	options := w.optionNames[c]
	var params, pairs []string
	variable := ""
	if options != "" {
		variable = names.take("options")
	}
	for _, f := range c.Init() {
		if f.HasDefault {
			field := fields.take(snake(f.Name))
			expr := "::std::option::Option::Some(" + w.to(f.Type, "&"+variable+"."+field) + ")"
			if known(f.Default) == nil {
				expr = variable + "." + field + ".as_ref().map(|x| -> " + result + "<" + anyType + "> { " + ok(w.to(f.Type, "x")) + " }).transpose()?"
			}
			pairs = append(pairs, "("+quoted(f.Name)+", "+expr+")")
			continue
		}
		field := names.take(snake(f.Name))
		typ, expr := w.param(f.Type, field)
		params = append(params, field+": "+typ)
		pairs = append(pairs, "("+quoted(f.Name)+", ::std::option::Option::Some("+expr+"))")
	}
	if options != "" {
		params = append(params, variable+": "+options)
	}
	w.p("    /// Makes an object. Its parameters are the fields.\n")
	w.body("    ", "new", joined(params), "Self", w.method(c, "__ffi_init__"),
		"library::construct(FUNCTION.get()?, ::std::vec!["+joined(pairs)+"])")
}

// classOptions returns the fields of c that its constructor has defaults for.
func (w *writer) classOptions(c *face.Class) []option {
	fields := newScope()
	var list []option
	for _, f := range c.Init() {
		if f.HasDefault {
			list = append(list, option{name: fields.take(snake(f.Name)), doc: f.Doc, typ: f.Type, value: known(f.Default)})
		}
	}
	return list
}

// traits writes what Rust has traits for.
func (w *writer) traits(c *face.Class) {
	name := w.names[c]
	before := w.text.Len()
	macro := func(has bool, name string, args ...string) {
		if has {
			w.p("library::%s!(%s);\n", name, joined(args))
		}
	}
	macro(c.String != nil, "display", name, w.names[c.String])
	macro(c.Close != nil, "close", name, w.names[c.Close])
	if c.All != nil {
		macro(true, "iterate", name, w.names[c.All], w.value(c.All.Results[0].Type.Elems[0]))
	}
	macro(c.Equal, "equal", name)
	macro(c.Equal && c.Hash, "hash", name)
	macro(c.Equal && c.Compare, "compare", name)
	if w.text.Len() > before {
		w.p("\n")
	}
}
