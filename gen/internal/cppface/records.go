package cppface

import (
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// The functions of the library that make an error of Go, and that read its fields.
const (
	errorNew    = "_error_new"
	errorFields = "_error_fields"
)

// recordField returns the type of a field of a record. A record that contains itself does
// not exist yet there: an Any holds it.
func (w *writer) recordField(r *face.Record, t *face.Type) string {
	if w.order.Hold(t, r) {
		return "ffi::Any"
	}
	if w.incomplete(t, r) {
		return w.value(t)
	}
	return w.result(t)
}

// incomplete reports whether values of t hold a record that is not complete where r is. Of the
// containers of the standard library only std::vector may hold that.
func (w *writer) incomplete(t *face.Type, r *face.Record) bool {
	if t.Kind == crossing.KindSequence && t.Elems[0].Kind == crossing.KindRecord {
		return false
	}
	return w.order.Hold(t, r) || slices.ContainsFunc(t.Elems, func(e *face.Type) bool { return w.incomplete(e, r) })
}

// lateRecords returns the records with a class in them. They follow the classes, which have to be complete there; the others
// come first, for the defaults of parameters of the classes.
func lateRecords(records []*face.Record) map[*face.Record]bool {
	late := map[*face.Record]bool{}
	var holds func(t *face.Type) bool
	holds = func(t *face.Type) bool {
		return t.Class != nil || late[t.Record] || slices.ContainsFunc(t.Elems, holds)
	}
	for found := true; found; { // records may contain one another
		found = false
		for _, r := range records {
			if !late[r] && slices.ContainsFunc(r.Fields, func(f face.Field) bool { return holds(f.Type) }) {
				late[r], found = true, true
			}
		}
	}
	return late
}

// records writes the late records, or all others.
func (w *writer) records(late bool) {
	for _, r := range w.order.List {
		if w.late[r] == late {
			w.record(r)
		}
	}
}

// record writes a struct that crosses as a map.
func (w *writer) record(r *face.Record) {
	w.p("struct %s {\n", w.names[r])
	for i, f := range r.Fields {
		w.p("%s  %s %s", comment("  ", doc(f.Doc)), w.recordField(r, f.Type), w.recordFields[r][i])
		zero := kindOf(f.Type).zero
		if f.Default != nil && f.Default.Kind != crossing.KindNone {
			zero = " = " + w.literal(f.Default, f.Type)
		}
		w.p("%s;\n", zero)
	}
	w.p("};\n\n")
}

// traits declares how the classes, records and string enums of the library become values
// of TVM-FFI. Nothing has to be complete for that.
func (w *writer) traits() {
	w.p("namespace tvm {\nnamespace ffi {\n\n")
	for _, c := range w.lib.Classes {
		name := w.own(w.names[c])
		w.p("template <>\ninline constexpr bool use_default_type_traits_v<%s> = false;\n", name)
		w.p("template <>\nstruct TypeTraits<%s> : ::%s::detail::ReferenceTraits<%s, ::%s::detail::%sObj> {};\n\n", name, w.ns, name, w.ns, w.names[c])
	}
	for _, e := range w.lib.Enums {
		if e.Kind == crossing.KindString {
			w.p("template <>\nstruct TypeTraits<%[1]s> : ::%[2]s::detail::StringEnumTraits<%[1]s> {};\n\n", w.own(w.names[e]), w.ns)
		}
	}
	for _, r := range w.order.List {
		w.p("template <>\nstruct TypeTraits<%[1]s> : ::%[2]s::detail::RecordTraits<%[1]s> {\n  template <typename F>\n  static void Each(%[1]s* x, F&& visit);\n};\n\n", w.own(w.names[r]), w.ns)
	}
	w.p("}  // namespace ffi\n}  // namespace tvm\n\n")
}

// walks defines the walks over the fields of records.
func (w *writer) walks() {
	if len(w.order.List) == 0 {
		return
	}
	w.p("namespace tvm {\nnamespace ffi {\n\n")
	for _, r := range w.order.List {
		w.p("template <typename F>\ninline void TypeTraits<%[1]s>::Each(%[1]s* x, F&& visit) {\n", w.own(w.names[r]))
		for i, f := range r.Fields {
			w.p("  visit(%s, x->%s);\n", quoteView(f.Name), w.recordFields[r][i])
		}
		if len(r.Fields) == 0 {
			w.p("  static_cast<void>(x), static_cast<void>(visit);\n")
		}
		w.p("}\n\n")
	}
	w.p("}  // namespace ffi\n}  // namespace tvm\n\n")
}

// intEnum writes an enum of integers.
func (w *writer) intEnum(e *face.Enum) {
	of := map[bool]string{true: "u"}[e.Unsigned] + "int64_t"
	w.p("\n%senum class %s : %s {\n", comment("", doc(e.Doc)), w.names[e], of)
	names := memberNames(e)
	for i, m := range e.Members {
		w.p("%s  %s = %s,\n", comment("  ", doc(m.Doc)), names[i], integer(m.Value.Text, e.Unsigned))
	}
	w.p("};\n")
	if !e.Flags() {
		return
	}
	for _, op := range []string{"|", "&", "^"} {
		w.p("constexpr %[1]s operator%[2]s(%[1]s a, %[1]s b) { return static_cast<%[1]s>(static_cast<%[3]s>(a) %[2]s static_cast<%[3]s>(b)); }\n", w.names[e], op, of)
		w.p("constexpr %[1]s& operator%[2]s=(%[1]s& a, %[1]s b) { return a = a %[2]s b; }\n", w.names[e], op)
	}
	w.p("constexpr %[1]s operator~(%[1]s x) { return static_cast<%[1]s>(~static_cast<%[2]s>(x)); }\n", w.names[e], of)
}

// stringEnums writes the enums of strings as classes, whose values may be others than the
// members, as in Go.
func (w *writer) stringEnums() {
	for _, e := range w.lib.Enums {
		if e.Kind != crossing.KindString {
			continue
		}
		name := w.names[e]
		w.p("%sclass %s : public detail::StringEnum<%[2]s> {\n public:\n  using detail::StringEnum<%[2]s>::StringEnum;\n", comment("", doc(e.Doc)), name)
		names := memberNames(e)
		for i, m := range e.Members {
			w.p("%s  static const %s %s;\n", comment("  ", doc(m.Doc)), name, names[i])
		}
		w.p("};\n")
		for i, m := range e.Members {
			text := quote(m.Value.Text)
			if strings.Contains(m.Value.Text, "\x00") {
				text = "std::string(" + quoteView(m.Value.Text) + ")"
			}
			w.p("inline const %[1]s %[1]s::%s{%s};\n", name, names[i], text)
		}
		w.p("\n")
	}
}

// errorMembers are the names that an ffi::Error has itself.
var errorMembers = []string{
	"kind", "message", "what", "backtrace", "cause_chain", "extra_context", "UpdateBacktrace", "BacktraceMostRecentCallLast",
	"TracebackMostRecentCallLast", "FullMessage", "InvalidErrorObj", "fields_", "tvmffi_kind",
}

// errorClass writes the exception of an error type.
func (w *writer) errorClass(e *face.Error) {
	name := w.names[e]
	w.p("%sclass %s : public ffi::Error {\n public:\n", comment("", join(doc(e.Doc), "Its kind is "+doc(e.Kind)+".")), name)
	w.p("  static constexpr const char* tvmffi_kind = %s;\n", quote(e.Kind))
	w.p("  /// The exception for an error of this kind.\n  explicit %s(const ffi::Error& error)\n      : ffi::Error(error), fields_(detail::Invoke<detail::Fields>(%s, error)) {}\n", name, w.entry(errorFields))
	var params, pairs []string
	s := newScope("fields_")
	made := &function{}
	for _, f := range e.Fields {
		made.params = append(made.params, fieldParam(f, s))
	}
	for _, p := range made.ordered() {
		params = append(params, w.declared(p, true))
		pairs = append(pairs, "{"+quote(p.Name)+", detail::Owned("+w.arg(p.Type, p.name)+")}")
	}
	explicit := ""
	if len(params) == 1 {
		explicit = "explicit "
	}
	w.p("  /// Makes the error of Go, whose text is the message.\n  %s%s(%s)\n", explicit, name, strings.Join(params, ", "))
	w.p("      : %s(detail::Invoke<ffi::Error>(%s, tvmffi_kind, ffi::Map<ffi::String, ffi::Any>{%s}, nullptr)) {}\n", name, w.entry(errorNew), strings.Join(pairs, ", "))
	members := newScope(append(slices.Clone(referenceMembers), errorMembers...)...)
	members.Taken[name] = true
	for _, f := range e.Fields {
		w.p("%[1]s  %[2]s %[3]s() const { return fields_.Get<%[2]s>(%[4]s); }\n", comment("  ", doc(f.Doc)), w.result(f.Type), members.Claim(f.Name), quote(f.Name))
	}
	w.p("\n private:\n  detail::Fields fields_;\n};\n\n")
}

// throwers registers the classes of errors.
func (w *writer) throwers() {
	if len(w.lib.Errors) == 0 {
		return
	}
	w.p("namespace detail {\n\n")
	for _, e := range w.lib.Errors {
		w.p("inline const Thrower k%s(%s, &ThrowAs<%s>);\n", w.names[e], quote(e.Kind), w.own(w.names[e]))
	}
	w.p("\n}  // namespace detail\n\n")
}
