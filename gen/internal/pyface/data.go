package pyface

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// enums writes the enums.
func (w *writer) enums() {
	for _, e := range w.lib.Enums {
		name := w.names[e]
		w.export(name)
		base, stubBase := private+".IntEnum", w.ref("enum", "IntEnum")
		if e.Flags() {
			base, stubBase = private+".IntFlag", w.ref("enum", "IntFlag")
		}
		if e.Kind == crossing.KindString {
			text := w.builtin("str")
			base, stubBase = "str, "+private+".Enum", text+", "+w.ref("enum", "Enum")
		}
		names := members(e)
		doc := cmp.Or(w.text(e.Doc, e.Name, name), name+" is the Go type "+e.Name+".")
		var lines []string
		for i, m := range e.Members {
			lines = append(lines, described(names[i], w.text(m.Doc, m.GoName, names[i]))...)
		}
		w.pyf("\n\nclass %s(%s):\n%s\n", name, base, docstring("    ", doc+section("Members", lines...)))
		w.pyif("\nclass %s(%s):\n", name, stubBase)
		for i, m := range e.Members {
			w.both("    %s = %s\n", names[i], value(m.Value))
		}
		if e.Kind == crossing.KindString {
			text := w.builtin("str")
			w.pyf("\n    def __str__(self) -> %s:\n        return self.value\n", text)
			w.pyif("    def __str__(self) -> %s: ...\n", text)
		}
		w.values = true
		w.pyf("\n\n%s_values.enum(%s, %s)\n", private, quote(e.Path), name)
	}
}

// keys are the required or the optional keys of a record.
type keys struct {
	what   string
	fields []face.Field
	total  string // how the class says which
	made   direction
}

// givenRecords returns the records that are in arguments, fields or functions. Only Go makes the others.
func givenRecords(l *face.Library) map[*face.Record]bool {
	visited := map[*face.Record]bool{} // true: given
	var visit func(t *face.Type, given bool)
	visit = func(t *face.Type, given bool) {
		given = given || t.Kind == crossing.KindCallable
		for _, e := range t.Elems {
			visit(e, given)
		}
		if before, seen := visited[t.Record]; t.Record != nil && (!seen || given && !before) {
			visited[t.Record] = given
			for _, f := range t.Record.Fields {
				visit(f.Type, given)
			}
		}
	}
	l.EachFunction(func(_ *face.Class, f *face.Function) {
		for _, p := range f.Params {
			visit(p.Type, true)
		}
		visit(f.Result(), false)
	})
	l.EachField(func(f face.Field) { visit(f.Type, true) })
	return visited
}

// typedDicts writes classes for the maps that stand for structs.
func (w *writer) typedDicts() {
	isGiven := givenRecords(w.lib)
	for _, r := range w.records {
		name := w.names[r]
		w.export(name)
		made := returned
		if isGiven[r] {
			made = given
		}
		required, optional := keys{what: "Required", made: made}, keys{what: "Optional", total: ", total=False", made: made}
		var lines []string
		awkward := false // some keys are not names of Python
		for _, f := range r.Fields {
			lines = append(lines, described(f.Name, f.Doc)...)
			awkward = awkward || inClass(f.Name) != f.Name
			// A record that Go makes has the fields with defaults, too, except optional ones.
			if f.HasDefault && (isGiven[r] || f.Default != nil && f.Default.Kind == crossing.KindNone) {
				optional.fields = append(optional.fields, f)
			} else {
				required.fields = append(required.fields, f)
			}
		}
		doc := name + " is a dict with the fields of the Go struct " + r.Name + "." + section("Keys", lines...)
		switch {
		case awkward:
			w.record(name, doc, w.part(r, required)+", "+w.part(r, optional), keys{})
		case len(required.fields) == 0:
			w.record(name, doc, "", optional)
		case len(optional.fields) == 0:
			w.record(name, doc, "", required)
		default:
			base := w.fresh(r.Name + required.what)
			w.record(base, "", "", required)
			w.record(name, doc, base, optional)
		}
	}
}

// record writes a class of dicts. Without a base, it is a TypedDict.
func (w *writer) record(name, doc, base string, k keys) {
	w.pyf("\n\nclass %s(%s%s):\n%s", name, cmp.Or(base, private+".TypedDict"), k.total, docstring("    ", doc))
	w.pyif("\nclass %s(%s%s):\n", name, cmp.Or(base, w.ref("typing", "TypedDict")), k.total)
	if len(k.fields) == 0 {
		w.pyif("    pass\n")
		return
	}
	w.pyf("\n")
	for _, f := range k.fields {
		w.both("    %s: %s\n", f.Name, w.typeText(f.Type, k.made))
	}
}

// part writes keys that are not names of Python as a class of its own.
func (w *writer) part(r *face.Record, k keys) string {
	name := w.fresh(r.Name + k.what)
	var items []string
	for _, f := range k.fields {
		items = append(items, quote(f.Name)+": "+quote(w.typeText(f.Type, k.made)))
	}
	rest := quote(name) + ", {" + strings.Join(items, ", ") + "}" + k.total
	w.pyf("\n%s = %s.TypedDict(%s)\n", name, private, rest)
	w.pyif("\n%s = %s(%s)\n", name, w.ref("typing", "TypedDict"), rest)
	return name
}

// typedAttributes are the attributes to which type checkers know the type in exceptions of Python.
var typedAttributes = map[string]string{
	"OSError": "errno strerror", "BlockingIOError": "characters_written", "ImportError": "name path msg", "AttributeError": "name obj",
	"NameError": "name", "SyntaxError": "msg lineno offset text filename end_lineno end_offset print_file_and_line",
}

// overrides reports whether a property takes the place of such an attribute, which type checkers refuse.
func overrides(base, name string) bool {
	for kind := crossing.FindErrorKind(base); kind != nil; kind = crossing.FindErrorKind(kind.Base) {
		if slices.Contains(strings.Fields(typedAttributes[kind.Name]), name) {
			return true
		}
	}
	return false
}

// errors writes the classes of exceptions.
func (w *writer) errors() {
	for _, e := range w.lib.Errors {
		name := w.names[e]
		w.export(name)
		base := cmp.Or(e.Base, "RuntimeError")
		doc := cmp.Or(w.text(e.Doc, e.Name, name), name+" is the Go error type "+e.Name+".")
		params := w.fields(e.Fields, face.NewScope(inClass))
		var fields, names, lines, converts []string
		for i, p := range params {
			params[i].kwOnly = true
			if shaped(p.Type) {
				to := "None"
				if checked(p.Type) {
					to = cmp.Or(w.converter(p.Type), to)
				}
				converts = append(converts, fmt.Sprintf("%s: (%s, %s)", quote(p.name), w.fromField(p.Type), to))
			}
			fields = append(fields, quote(p.name))
			if p.key != p.name {
				names = append(names, quote(p.name)+": "+quote(p.key))
			}
			lines = append(lines, p.name+" : "+w.out(p.Type))
			if p.doc != "" {
				lines = append(lines, "    "+p.doc)
			}
		}
		if len(fields) == 1 {
			fields = append(fields, "")
		}
		w.pyf("\n\nclass %s(%s_errors.GoError, %s_errors.base(%s)):\n%s", name, private, private, quote(base), docstring("    ", doc+section("Attributes", lines...)))
		w.pyf("\n    _kind = %s\n    _fields = (%s)\n", quote(e.Kind), strings.TrimRight(strings.Join(fields, ", "), " "))
		if len(names) > 0 {
			w.pyf("    _names = {%s}\n", strings.Join(names, ", "))
		}
		if len(converts) > 0 {
			w.pyf("    _converts = {%s}\n", strings.Join(converts, ", "))
		}
		w.pyf("\n\n%s_errors.register_error(%s, %s)\n", private, quote(e.Kind), name)
		w.pyif("\nclass %s(%s):\n", name, w.builtin(base))
		property := w.builtin("property")
		if slices.ContainsFunc(params, func(p parameter) bool { return p.name == property }) {
			property = w.ref("", "builtins") + ".property"
		}
		for _, p := range params {
			comment := ""
			if overrides(base, p.name) {
				comment = "  # type: ignore[override]"
			}
			w.pyif("    @%s\n    def %s(self) -> %s: ...%s\n", property, p.name, w.out(p.Type), comment)
		}
		signature := strings.TrimSuffix(fmt.Sprintf("self, message: %s | None = None, /, %s", w.builtin("str"), w.signature(params, false, true)), ", ")
		w.pyif("    def __init__(%s) -> None: ...\n", signature)
	}
}
