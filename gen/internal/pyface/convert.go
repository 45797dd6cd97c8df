package pyface

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
)

// converter returns a function that converts a result of type t, or "" if it stays as it is.
func (w *writer) converter(t *face.Type) string {
	to := Kinds.Row(t.Kind).to
	switch {
	case to == "":
		return ""
	case t.Record != nil:
		return w.recordConverter(t.Record)
	case t.Enum != nil:
		return w.pooled(to, w.names[t.Enum])
	}
	args := w.convertersOf(t.Elems)
	if t.Kind == face.KindOptional && args[0] == "None" {
		return ""
	}
	return w.pooled(to, args...)
}

func (w *writer) convertersOf(types []*face.Type) []string {
	var all []string
	for _, t := range types {
		all = append(all, cmp.Or(w.converter(t), "None"))
	}
	return all
}

// pooled returns a variable of the module with what a function of _tvmffi returns.
func (w *writer) pooled(helper string, args ...string) string {
	text := private + "." + helper + "(" + strings.Join(args, ", ") + ")"
	name := w.converters[text]
	if name == "" {
		name = w.fresh(fmt.Sprintf("to%d", len(w.converters)+1))
		w.converters[text] = name
		w.pyf("\n%s = %s\n", name, text)
	}
	return name
}

// recordConverter returns the converter of a record. A record may contain itself, so the
// conversions of its fields are found at the first use.
func (w *writer) recordConverter(r *face.Record) string {
	if name := w.converted[r]; name != "" {
		return name
	}
	name := w.fresh("to_" + r.Name)
	w.converted[r] = name
	var fields []string
	before := w.py
	w.py = &strings.Builder{} // the conversions of its fields may need its own
	for _, f := range r.Fields {
		if c := w.converter(f.Type); c != "" {
			fields = append(fields, quote(f.Name)+": "+c)
		}
	}
	after := w.py.String()
	w.py = before
	if len(fields) == 0 {
		w.converted[r] = w.pooled("to_dict", "None", "None")
		return w.converted[r]
	}
	inC := "True"
	if !flat(&face.Type{Kind: face.KindRecord, Record: r}, nil) {
		inC = "False"
	}
	w.pyf("\n%s = %s.to_record(lambda: {%s}, %s)\n%s", name, private, strings.Join(fields, ", "), inC, after)
	return name
}

// flat reports whether C makes the value of Python of a result of type t in flat form, which has
// lists, tuples and dicts. outer are the records around t.
func flat(t *face.Type, outer []*face.Record) bool {
	if t.Record != nil {
		return slices.Contains(outer, t.Record) || !slices.ContainsFunc(t.Record.Fields, func(f face.Field) bool {
			return !flat(f.Type, append(outer, t.Record))
		})
	}
	k := Kinds.Row(t.Kind)
	return k.to == "" || !k.class && !slices.ContainsFunc(t.Elems, func(e *face.Type) bool { return !flat(e, outer) })
}

// resultConverter returns the converter of the results of f, or "".
func (w *writer) resultConverter(f *face.Function) string {
	if name := w.tuples[f]; name != "" {
		return w.pooled("to_named", append([]string{name}, w.convertersOf(f.Result().Elems)...)...)
	}
	return w.converter(f.Result())
}
