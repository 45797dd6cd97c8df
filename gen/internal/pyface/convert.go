package pyface

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
)

// converter returns a function that converts a result of type t, or "" if it stays as it is.
func (w *writer) converter(t *face.Type) string {
	helper := func(name string, args ...string) string {
		return w.pooled(w.private + "." + name + "(" + strings.Join(args, ", ") + ")")
	}
	switch t.Kind {
	case face.KindEnum:
		return helper("to_enum", w.names[t.Enum])
	case face.KindOptional:
		if c := w.converter(t.Elems[0]); c != "" {
			return helper("to_optional", c)
		}
	case face.KindTuple:
		return helper("to_tuple", w.convertersOf(t.Elems)...)
	case face.KindSequence:
		return helper("to_list", w.convertersOf(t.Elems)...)
	case face.KindMapping:
		return helper("to_dict", w.convertersOf(t.Elems)...)
	case face.KindIterator:
		return helper("to_iterator", w.convertersOf(t.Elems)...)
	case face.KindRecord:
		return w.recordConverter(t.Record)
	}
	return ""
}

func (w *writer) convertersOf(types []*face.Type) []string {
	var all []string
	for _, t := range types {
		c := w.converter(t)
		if c == "" {
			c = "None"
		}
		all = append(all, c)
	}
	return all
}

// pooled returns a variable of the module with the value of an expression.
func (w *writer) pooled(text string) string {
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
		w.converted[r] = w.pooled(w.private + ".to_dict(None, None)")
		return w.converted[r]
	}
	inC := "True"
	if !flat(&face.Type{Kind: face.KindRecord, Record: r}, nil) {
		inC = "False"
	}
	w.pyf("\n%s = %s.to_record(lambda: {%s}, %s)\n%s", name, w.private, strings.Join(fields, ", "), inC, after)
	return name
}

// flat reports whether C makes the value of Python of a result of type t in flat form, which has
// lists, tuples and dicts. An enum and an iterator need their class. outer are the records around t.
func flat(t *face.Type, outer []*face.Record) bool {
	switch t.Kind {
	case face.KindEnum, face.KindIterator:
		return false
	case face.KindRecord:
		return slices.Contains(outer, t.Record) || !slices.ContainsFunc(t.Record.Fields, func(f face.Field) bool {
			return !flat(f.Type, append(outer, t.Record))
		})
	case face.KindOptional, face.KindTuple, face.KindSequence, face.KindMapping:
		return !slices.ContainsFunc(t.Elems, func(e *face.Type) bool { return !flat(e, outer) })
	}
	return true
}

// resultConverter returns the converter of the results of f, or "".
func (w *writer) resultConverter(f *face.Function) string {
	if len(f.Results) == 0 {
		return ""
	}
	if len(f.Results) == 1 {
		return w.converter(f.Results[0].Type)
	}
	var types []*face.Type
	for _, r := range f.Results {
		types = append(types, r.Type)
	}
	args, helper := w.convertersOf(types), "to_tuple"
	if name := w.resultClass(f); name != "" {
		args, helper = append([]string{name}, args...), "to_named"
	}
	return w.pooled(w.private + "." + helper + "(" + strings.Join(args, ", ") + ")")
}
