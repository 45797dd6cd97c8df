package cppface

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// referenceMembers are the names that an ffi::ObjectRef has itself, and that TVM-FFI uses.
var referenceMembers = []string{
	"data_", "get_mutable", "defined", "as", "as_or_throw", "get", "same_as", "unique", "use_count", "type_index", "GetTypeKey", "ContainerType",
	"_type_is_nullable", "_type_container_is_exact", "begin", "end", "size", "tvmffi_close", "hash",
}

// hidden are those of them that a method with parameters may have too, as an overload.
var hidden = map[string]bool{"get": true, "unique": true, "use_count": true, "begin": true, "end": true, "size": true, "hash": true, "as": true}

// object is the C++ struct of the objects of a class.
func (w *writer) object(c *face.Class) string { return "detail::" + w.names[c] + "Obj" }

// objects writes the structs of objects, which name types in the type table.
func (w *writer) objects() {
	for _, c := range w.lib.Classes {
		name, parent := w.names[c]+"Obj", "ffi::Object"
		if c.Parent != nil {
			parent = w.names[c.Parent] + "Obj"
		}
		w.p("struct %s : ClassObject<%[1]s, %s> {\n  static constexpr const char* _type_key = %s;\n  static constexpr bool _type_final = %t;\n  static void Wait() { Ready(); }\n};\n\n",
			name, parent, quote(c.Key), c.Final)
	}
}

// class is a class while it is written.
type class struct {
	*face.Class
	name, base, object string
	// constructor is nil if objects come from functions only.
	constructor *function
	// maker is the name of the static function that makes objects, if a constructor would
	// be a copy constructor.
	maker      string
	fields     []string // the names of the functions that read the fields
	setters    []string // and of those that write them, empty for fields to read only
	properties []*function
	methods    []*function
	using      []string
}

// members names the members of c.
func (w *writer) members(c *face.Class) *class {
	k := &class{Class: c, name: w.names[c], base: "ffi::ObjectRef", object: w.object(c)}
	if c.Parent != nil {
		k.base = w.own(w.names[c.Parent])
	}
	s := newScope(append(slices.Clone(referenceMembers), k.name)...)
	for _, f := range c.Fields {
		k.fields = append(k.fields, s.Claim(f.Name))
	}
	for _, f := range c.Properties {
		k.properties = append(k.properties, w.function(f, s, c.Name))
	}
	for _, f := range c.Methods {
		id := identifier(f.Name)
		required := len(f.Params) > 0 && f.Params[0].Default == nil && !f.Params[0].Variadic
		if hidden[id] && required && s.Taken[id] {
			delete(s.Taken, id)
			if id != "begin" && id != "end" && id != "size" && id != "hash" {
				k.using = append(k.using, id)
			}
		}
		k.methods = append(k.methods, w.function(f, s, c.Name))
	}
	for _, f := range c.Fields {
		if c.Frozen || f.ReadOnly {
			k.setters = append(k.setters, "")
			continue
		}
		k.setters = append(k.setters, s.Claim("set_"+f.Name))
	}
	k.constructor = w.constructorOf(c)
	if f := k.constructor; f != nil && f.single() {
		t := f.ordered()[0].Type
		// That would be a copy constructor, or one that the others have to look at before the record is complete.
		if t.Bare().Kind == crossing.KindClass && t.Bare().Class == c || len(f.params) == 1 && w.needs(t) {
			k.maker = s.Claim("make")
		}
	}
	return k
}

// constructorOf returns what makes objects of c: the func of the directive, or a
// constructor that takes the fields.
func (w *writer) constructorOf(c *face.Class) *function {
	if c.Constructor != nil {
		return &function{Function: c.Constructor, params: params(c.Constructor, newScope(w.ns))}
	}
	if c.Opaque {
		return nil
	}
	foreign := false // the fields of a parent of another library are not known, so places are not
	for k := c; k != nil; k = k.Parent {
		foreign = foreign || k.ParentKey != ""
	}
	g := &function{Function: &face.Function{Doc: "Makes an object of its fields."}}
	s := newScope(w.ns)
	for _, f := range c.Init() {
		if f.HasDefault && f.Default == nil {
			continue
		}
		p := fieldParam(f, s)
		if f.KwOnly || foreign {
			p.keyword = f.Name
		}
		g.params = append(g.params, p)
	}
	return g
}

// fieldParam is the parameter for a field.
func fieldParam(f face.Field, s face.Scope) param {
	return param{Param: face.Param{Name: f.Name, Type: f.Type, Default: f.Default}, name: s.Claim(f.Name)}
}

// ordered returns the parameters in the order of C++, those without defaults first.
func (f *function) ordered() []param {
	all := slices.Clone(f.params)
	rank := func(p param) int {
		if p.Default != nil || p.Variadic {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b param) int { return rank(a) - rank(b) })
	return all
}

// single reports whether a constructor can be called with one argument.
func (f *function) single() bool {
	all := f.ordered()
	return len(all) == 1 || len(all) > 1 && (all[1].Default != nil || all[1].Variadic)
}

// constructorParams is the list of parameters of a constructor.
func (w *writer) constructorParams(k *class, defaults bool) string {
	var list []string
	all := k.constructor.ordered()
	defaults = w.defaults(all, defaults, false)
	for i, p := range all {
		first := i == 0 && w.stage == defining && k.maker == "" // the definition of a constructor cannot make it one without arguments
		if p.Variadic {
			list = append(list, "const detail::Sequence<"+w.value(p.Type)+">& "+p.name+map[bool]string{true: " = {}"}[defaults])
			continue
		}
		list = append(list, w.declared(p, defaults && !first))
	}
	return strings.Join(list, ", ")
}

// constructed is the code that makes an object.
func (w *writer) constructed(k *class) string {
	var positional, keywords []string
	many := ""
	all := k.constructor.params
	if k.Constructor == nil {
		all = k.constructor.ordered() // as the constructor of the type has them
	}
	for _, p := range all {
		switch arg := w.arg(p.Type, p.name); {
		case p.Variadic:
			many = p.name + ".values()"
		case p.keyword != "":
			keywords = append(keywords, quote(p.keyword), arg)
		default:
			positional = append(positional, arg)
		}
	}
	if len(keywords) > 0 {
		positional = append(positional, "detail::Keywords()")
	}
	args := slices.Concat([]string{k.object + "::Constructor()"}, positional, keywords)
	if many != "" {
		return "detail::Raw{detail::InvokeMany<ffi::ObjectRef>(" + strings.Join(slices.Insert(args, 1, many), ", ") + ")}"
	}
	return "detail::Construct(" + strings.Join(args, ", ") + ")"
}

// class declares a class.
func (w *writer) class(k *class) {
	about := "It is a reference: a copy is the same object. It is null only if it is made of nullptr, or returned as nil of Go."
	w.p("%sclass %s : public %s {\n public:\n", comment("", join(doc(k.Doc), about)), k.name, k.base)
	w.p("  using ContainerType = %s;\n  static constexpr bool _type_is_nullable = true;\n", k.object)
	for _, name := range k.using {
		w.p("  using ffi::ObjectRef::%s;\n", name)
	}
	w.p("\n  %s(std::nullptr_t) : %s(%s) {}\n", k.name, k.base, map[bool]string{true: "nullptr", false: "ffi::UnsafeInit{}"}[k.Parent != nil])
	w.p("  explicit %s(ffi::UnsafeInit) : %[1]s(nullptr) {}\n", k.name)
	w.p("  explicit %s(detail::Raw raw) : %s(std::move(raw%s)) {}\n", k.name, k.base, map[bool]string{false: ".object"}[k.Parent != nil])
	if f := k.constructor; f != nil {
		w.p("%s", comment("  ", doc(f.Doc)))
		switch {
		case k.maker != "":
			w.p("  static %s %s(%s);\n", w.own(k.name), k.maker, w.constructorParams(k, true))
		case f.single():
			w.p("  explicit %s(%s);\n", k.name, w.constructorParams(k, true))
		default:
			w.p("  %s(%s);\n", k.name, w.constructorParams(k, true))
		}
	}
	w.p("\n")
	for i, f := range k.Fields {
		w.p("%s  %s %s() const;\n", comment("  ", doc(f.Doc)), w.result(f.Type), k.fields[i])
		if k.setters[i] != "" {
			w.p("  void %s(%s value) const;\n", k.setters[i], w.param(f.Type))
		}
	}
	for _, m := range slices.Concat(k.properties, k.methods) {
		for _, form := range w.forms(m, "", "") {
			w.p("%s", comment("  ", w.formDoc(m, form)))
			if form.template != "" {
				w.p("  %s\n", form.template)
			}
			w.p("  %s %s(%s) const;\n", form.result, form.name, strings.Join(form.params(true), ", "))
		}
	}
	w.special(k)
	w.p("};\n\n")
}

// special declares what C++ expects of types that can be closed, counted, written, iterated
// over and compared.
func (w *writer) special(k *class) {
	name := w.own(k.name)
	if f := w.made[k.Close]; f != nil {
		w.p("  /// Closes an object at the end of a block: `%s::Closing guard(x);`\n  using Closing = detail::ClosingOf<%s>;\n  void tvmffi_close() const { %s(); }\n", k.name, name, f.name)
	}
	if f := w.made[k.Len]; f != nil {
		w.p("  /// The number of elements, as of a container.\n  std::size_t size() const { return static_cast<std::size_t>(%s()); }\n", f.name)
	}
	if f := w.made[k.All]; f != nil {
		elem := w.result(f.Results[0].Type.Elems[0])
		w.p("  /// The values of %s, for a range-for.\n  detail::ValuesOf<%s> begin() const { return detail::ValuesOf<%[2]s>(%[1]s()); }\n", f.name, elem)
		w.p("  typename detail::Iterator<%s>::End end() const { return {}; }\n", elem)
	}
	switch f := w.made[k.String]; {
	case k.Repr:
		w.p("  friend std::ostream& operator<<(std::ostream& os, const %s& x) {\n    static const detail::Entry entry = detail::Global(\"ffi.ReprPrint\");\n    return os << std::string(detail::Invoke<ffi::String>(entry, x));\n  }\n", name)
	case f != nil:
		w.p("  friend std::ostream& operator<<(std::ostream& os, const %s& x) {\n    return x == nullptr ? os << \"null\" : os << std::string(x.%s());\n  }\n", name, f.name)
	}
	global := func(function, result string) string {
		return fmt.Sprintf("\n    static const detail::Entry entry = detail::Global(%q);\n    return detail::Invoke<%s>(entry, ", function, result)
	}
	if k.Equal {
		w.p("  friend bool operator==(const %[1]s& a, const %[1]s& b) {%sa, b);\n  }\n", name, global("ffi.RecursiveEq", "bool"))
		w.p("  friend bool operator!=(const %[1]s& a, const %[1]s& b) { return !(a == b); }\n", name)
	}
	if k.Compare {
		for op, function := range []string{"Lt", "Le", "Gt", "Ge"} {
			w.p("  friend bool operator%s(const %[2]s& a, const %[2]s& b) {%sa, b);\n  }\n", []string{"<", "<=", ">", ">="}[op], name, global("ffi.Recursive"+function, "bool"))
		}
	}
	w.p("  friend bool operator==(const %s& a, std::nullptr_t) { return !a.ffi::ObjectRef::defined(); }\n", name)
	w.p("  friend bool operator!=(const %s& a, std::nullptr_t) { return a.ffi::ObjectRef::defined(); }\n", name)
}

// definitions defines the members of a class.
func (w *writer) definitions(k *class) {
	if k.constructor != nil {
		params := w.constructorParams(k, false)
		if k.maker != "" {
			w.p("inline %s %s::%s(%s) { return %s(%s); }\n\n", w.own(k.name), k.name, k.maker, params, k.name, w.constructed(k))
		} else {
			w.p("inline %[1]s::%[1]s(%[2]s) : %[1]s(%[3]s) {}\n\n", k.name, params, w.constructed(k))
		}
	}
	for i, f := range k.Fields {
		field := fmt.Sprintf("static const detail::Field<%s> tvmffi_field(%s::RuntimeTypeIndex(), %s);", w.result(f.Type), k.object, quote(f.Name))
		w.p("inline %s %s::%s() const {\n  %s\n  return tvmffi_field.Get(*this);\n}\n\n", w.result(f.Type), k.name, k.fields[i], field)
		if k.setters[i] != "" {
			value := "value"
			if !f.Type.Wide() { // which Set may store as it is
				value = w.arg(f.Type, value)
			}
			w.p("inline void %s::%s(%s value) const {\n  %s\n  tvmffi_field.Set(*this, %s);\n}\n\n", k.name, k.setters[i], w.param(f.Type), field, value)
		}
	}
	for _, m := range slices.Concat(k.properties, k.methods) {
		call := fmt.Sprintf("[]() -> const detail::Entry& {\n    static const detail::Entry entry = detail::FindMethod(%s::RuntimeTypeIndex(), %s);\n    return entry;\n  }()", k.object, quote(m.Name))
		start := fmt.Sprintf("[]() -> const detail::Entry& {\n    static const detail::Entry entry = detail::Starter(%s, %s);\n    return entry;\n  }()", quote(w.lib.Prefix+"_async"), quote(k.Key+"."+m.Name))
		for _, form := range w.forms(m, call, start, fmt.Sprintf("detail::Self(*this, %s)", quote(m.name))) {
			if form.template != "" {
				w.p("%s\n", withoutDefault(form.template))
			}
			w.p("inline %s %s::%s(%s) const {\n  %s\n}\n\n", form.result, k.name, form.name, strings.Join(form.params(false), ", "), form.body)
		}
	}
}

// hashes writes std::hash for the classes that have a hash of their own.
func (w *writer) hashes() {
	for _, c := range w.lib.Classes {
		if !c.Hash {
			continue
		}
		w.p("template <>\nstruct std::hash<%[1]s> {\n  std::size_t operator()(const %[1]s& x) const {\n    static const ::%[2]s::detail::Entry entry = ::%[2]s::detail::Global(\"ffi.RecursiveHash\");\n    return static_cast<std::size_t>(::%[2]s::detail::Invoke<int64_t>(entry, x));\n  }\n};\n\n", w.own(w.names[c]), w.ns)
	}
}

// withoutDefault returns the template of a definition, which does not repeat the default
// of the declaration.
func withoutDefault(template string) string {
	if first, _, ok := strings.Cut(template, ", typename = "); ok {
		return first + ", typename>"
	}
	return template
}
