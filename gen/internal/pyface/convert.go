package pyface

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// converted reports whether a value of type t is one of a native kind, or may hold one.
func converted(t *face.Type) bool { return holds(t, native, nil) }

func native(k crossing.Kind) bool { return Kinds.Row(k).native }

// is returns a func that reports whether a kind is the given one.
func is(kind crossing.Kind) func(crossing.Kind) bool {
	return func(k crossing.Kind) bool { return k == kind }
}

// checked reports whether code of Python converts or checks an argument of type t: it is converted, or an enum, or a
// callback that returns one.
func checked(t *face.Type) bool {
	if f := t.Bare(); f.Kind == crossing.KindCallable {
		return converted(t) || checked(f.Elems[0])
	}
	return holds(t, native, nil) || holds(t, is(crossing.KindEnum), nil)
}

// shaped reports whether an argument of type t that is not plain is converted: it is checked, or holds a record, bytes or a value
// of any type, for which there are other objects than dicts, bytes and those of TVM-FFI. The result of a callback is not in
// an argument.
func shaped(t *face.Type) bool {
	return checked(t) || hasRecord(t) || untyped(t) || t.Bare().Kind != crossing.KindCallable && holds(t, is(crossing.KindBytes), nil)
}

// hasRecord reports whether a value of type t is a record, or holds one that is converted.
func hasRecord(t *face.Type) bool {
	k := Kinds.Row(t.Kind)
	return t.Record != nil || k.from != "" && t.Kind != crossing.KindCallable && slices.ContainsFunc(t.Elems, hasRecord)
}

// untyped reports whether a value of type t is one of any type, or may hold one.
func untyped(t *face.Type) bool { return holds(t, is(crossing.KindAny), nil) }

// returnsAny reports whether a result of type t may hold a value of any type, also one of a function or an iterator in it.
func returnsAny(t *face.Type) bool {
	return untyped(t) || t.Kind == crossing.KindIterator && untyped(t.Elems[0])
}

// holds reports whether a value of type t is of one kind, or holds one that is converted. outer are the records around t.
func holds(t *face.Type, one func(crossing.Kind) bool, outer []*face.Record) bool {
	if one(t.Kind) {
		return true
	}
	if t.Record != nil {
		return !slices.Contains(outer, t.Record) && slices.ContainsFunc(t.Record.Fields, func(f face.Field) bool {
			return holds(f.Type, one, append(outer, t.Record))
		})
	}
	return Kinds.Row(t.Kind).from != "" && slices.ContainsFunc(t.Elems, func(e *face.Type) bool { return holds(e, one, outer) })
}

// converter returns a function that converts a result of type t, or "" if it stays as it is.
func (w *writer) converter(t *face.Type) string {
	to := Kinds.Row(t.Kind).to
	w.values = w.values || t.Kind == crossing.KindAny
	switch {
	case t.Lent:
		return private + ".to_array"
	case to == "":
		return ""
	case t.Kind == crossing.KindFunction || t.Kind == crossing.KindCallable && !converted(t) && !untyped(t) && !slices.ContainsFunc(t.Elems[1:], widened):
		return private + ".checked"
	case t.Record != nil:
		return w.recordConverter(t.Record, "to", w.converter)
	case t.Enum != nil:
		return w.pooled(to, w.names[t.Enum])
	case t.Kind == crossing.KindCallable:
		return w.pooled(to, append(w.each(t.Elems[:1], w.converter), w.each(t.Elems[1:], w.fromPassed)...)...)
	}
	return w.conversion(t, to, w.converter)
}

// from returns a function that converts or checks an argument of type t, or "" if it stays as it is. It is called for plain
// values, too, if the type is checked.
func (w *writer) from(t *face.Type) string {
	from := "_values." + Kinds.Row(t.Kind).from
	switch {
	case !shaped(t) && !getsLists(t.Bare()):
		return ""
	case t.Kind == crossing.KindAny:
		w.values = true
		return private + from
	case t.Record != nil:
		return w.recordConverter(t.Record, "from", w.fromField)
	case t.Enum != nil:
		return w.pooled(from, w.names[t.Enum])
	case t.Kind == crossing.KindCallable:
		result := "None" // which guard converts
		if checked(t) {
			result = cmp.Or(w.from(t.Elems[0]), result)
		}
		args := []string{strconv.Itoa(containers(t.Elems[0])), quote(arrayKinds(t.Elems[0])), result}
		return w.pooled(from, append(args, w.each(t.Elems[1:], w.callbackConverter)...)...)
	}
	return w.conversion(t, from, w.from)
}

// fromField is from for a field of a record or an error, in which an array may stand for a list.
func (w *writer) fromField(t *face.Type) string {
	from := w.from(t)
	if depth := containers(t); depth > 0 && t.Bare().Kind != crossing.KindRecord {
		return w.pooled("_values.from_given", strconv.Itoa(depth), quote(keptKinds(t)), cmp.Or(from, "None"))
	}
	return from
}

// fromPassed is from for an argument of a function that Go returns.
func (w *writer) fromPassed(t *face.Type) string {
	from, depth := w.fromNumber(t), containers(t)
	switch {
	case checked(t) && depth > 0:
		return w.pooled("_values.from_given", strconv.Itoa(depth), cmp.Or(strings.TrimPrefix(kindsOf(t, false), ", "), quote("")), from)
	case !widened(t), checked(t), isNumber(t):
		return from
	}
	return w.pooled("_values.from_shaped", cmp.Or(from, "None"), strconv.Itoa(depth)+kindsOf(t, false))
}

// fromNumber is from, or for a number the function that takes one out of an array.
func (w *writer) fromNumber(t *face.Type) string {
	if isNumber(t) {
		return private + ".number"
	}
	return w.from(t)
}

// widened reports whether a field that is set to a value of type t, or a function of Go that gets one, converts some values that
// are not plain, as exported functions do.
func widened(t *face.Type) bool { return shaped(t) || isNumber(t) || containers(t) > 0 }

// callbackConverter is converter for an argument of a callback. One that is not in converted gets containers of Python
// with what is in them as it is, as C makes them.
func (w *writer) callbackConverter(t *face.Type) string {
	to := Kinds.Row(t.Kind).to
	switch {
	case converted(t):
		return w.converter(t)
	case t.Record != nil:
		return w.recordConverter(t.Record, "plain", w.callbackConverter)
	case t.Kind == crossing.KindOptional || gets(t):
		return w.conversion(t, to, w.callbackConverter)
	}
	return ""
}

// gets reports whether a callback gets a container of Python for an argument of type t.
func gets(t *face.Type) bool {
	k := Kinds.Row(t.Bare().Kind)
	return t.Bare().Kind == crossing.KindAny || k.container && k.to != ""
}

// getsLists reports whether t is the type of a callback with such an argument.
func getsLists(t *face.Type) bool {
	return t.Kind == crossing.KindCallable && slices.ContainsFunc(t.Elems[1:], gets)
}

// getsContainers reports whether a callback of type t gets containers of tvm_ffi, which stay what they are.
func getsContainers(t *face.Type) bool {
	byReference := func(k crossing.Kind) bool { return crossing.Rows[k].Class.Container() }
	return t.Kind == crossing.KindCallable && slices.ContainsFunc(t.Elems[1:], func(p *face.Type) bool { return holds(p, byReference, nil) })
}

// conversion returns the function helper for values of type t, with the functions that convert returns for their elements.
func (w *writer) conversion(t *face.Type, helper string, convert func(*face.Type) string) string {
	if Kinds.Row(t.Kind).alone {
		w.values = true
		return private + helper
	}
	args := w.each(t.Elems, convert)
	if t.Kind == crossing.KindOptional && args[0] == "None" {
		return ""
	}
	return w.pooled(helper, args...)
}

// each returns the functions that convert returns for types.
func (w *writer) each(types []*face.Type, convert func(*face.Type) string) []string {
	var all []string
	for _, t := range types {
		all = append(all, cmp.Or(convert(t), "None"))
	}
	return all
}

// pooled returns a variable of the module with what a function of _tvmffi or _values returns.
func (w *writer) pooled(helper string, args ...string) string {
	if strings.Contains(helper, ".") {
		w.values = true
	} else {
		helper = "." + helper
	}
	text := private + helper + "(" + strings.Join(args, ", ") + ")"
	name := w.converters[text]
	if name == "" {
		way, _, _ := strings.Cut(helper[strings.LastIndexByte(helper, '.')+1:], "_")
		name = w.fresh(fmt.Sprintf("%s%d", way, len(w.converters)+1))
		w.converters[text] = name
		w.pyf("\n%s = %s\n", name, text)
	}
	return name
}

// recordConverter returns the converter of a record, whose fields convert converts. A record may contain itself, so the
// conversions of its fields are found at the first use.
func (w *writer) recordConverter(r *face.Record, way string, convert func(*face.Type) string) string {
	key := way + "_" + w.names[r]
	if name := w.converted[key]; name != "" {
		return name
	}
	name := w.fresh(key)
	w.converted[key] = name
	var fields []string
	before := w.py
	w.py = &strings.Builder{} // the conversions of its fields may need its own
	for _, f := range r.Fields {
		if c := convert(f.Type); c != "" {
			fields = append(fields, quote(f.Name)+": "+c)
		}
	}
	after := w.py.String()
	w.py = before
	switch table := "lambda: {" + strings.Join(fields, ", ") + "}"; {
	case len(fields) == 0 && way == "to":
		w.converted[key] = w.pooled("to_dict", "None", "None")
		return w.converted[key]
	case way == "from":
		w.values = true
		w.pyf("\n%s = %s_values.from_record(%s, %s)\n%s", name, private, quote(r.Name), table, after)
	case flat(&face.Type{Kind: crossing.KindRecord, Record: r}, nil):
		w.pyf("\n%s = %s.to_record(%s, True)\n%s", name, private, table, after)
	default:
		w.pyf("\n%s = %s.to_record(%s, False)\n%s", name, private, table, after)
	}
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
	return k.to == "" && !t.Lent || !k.class && !slices.ContainsFunc(t.Elems, func(e *face.Type) bool { return !flat(e, outer) })
}

// resultConverter returns the converter of the results of f, or "".
func (w *writer) resultConverter(f *face.Function) string {
	if name := w.tuples[f]; name != "" {
		return w.pooled("to_named", append([]string{name}, w.each(f.Result().Elems, w.converter)...)...)
	}
	return w.converter(f.Result())
}
