package cppface

import (
	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

func typ(kind crossing.Kind, elems ...*face.Type) *face.Type {
	return &face.Type{Kind: kind, Elems: elems}
}

func integerType(bits int, unsigned bool) *face.Type {
	return &face.Type{Kind: crossing.KindInt, Bits: bits, Unsigned: unsigned}
}

var (
	int64Type   = integerType(64, false)
	stringType  = typ(crossing.KindString)
	float32Type = &face.Type{Kind: crossing.KindFloat, Bits: 32}

	durationType = typ(crossing.KindDuration)
	timeType     = typ(crossing.KindTime, int64Type, int64Type, int64Type)
	complexType  = typ(crossing.KindComplex, float32Type, float32Type)
	setType      = typ(crossing.KindSet, stringType)
)

func text(kind crossing.Kind, s string) *face.Value { return &face.Value{Kind: kind, Text: s} }

// kindsLibrary returns a library that has a function for every kind, and classes, errors
// and names of every form.
func kindsLibrary() *face.Library {
	color := &face.Enum{Name: "Color", Doc: "Color is a color.", Kind: crossing.KindInt, Members: []face.Member{
		{GoName: "ColorRed", Name: "RED", Doc: "like blood", Value: *text(crossing.KindInt, "0")},
		{GoName: "ColorEOF", Name: "EOF", Value: *text(crossing.KindInt, "-9223372036854775808")},
		{GoName: "ColorBig", Name: "BIG", Value: *text(crossing.KindInt, "9223372036854775807")},
	}}
	access := &face.Enum{Name: "Access", Kind: crossing.KindInt, Unsigned: true, Members: []face.Member{
		{Name: "NONE", Value: *text(crossing.KindInt, "0")}, {Name: "READ", Value: *text(crossing.KindInt, "1")}, {Name: "WRITE", Value: *text(crossing.KindInt, "2")}, {Name: "RUN", Value: *text(crossing.KindInt, "4")}, {Name: "ALL", Value: *text(crossing.KindInt, "7")},
	}}
	mode := &face.Enum{Name: "Mode", Kind: crossing.KindString, Members: []face.Member{
		{GoName: "ModeFast", Name: "FAST", Value: *text(crossing.KindString, "fast\"\\?\n")},
		{GoName: "ModeZero", Name: "ZERO", Value: *text(crossing.KindString, "a\x00b")},
	}}
	record := &face.Record{Name: "Limits", Fields: []face.Field{
		{Name: "low", Type: float32Type}, {Name: "class", Type: stringType, Default: text(crossing.KindString, "any")},
		{Name: "color", Type: &face.Type{Kind: crossing.KindEnum, Enum: color}}, {Name: "note", Type: typ(crossing.KindOptional, stringType)},
	}}
	tree := &face.Record{Name: "Tree"}
	treeType := &face.Type{Kind: crossing.KindRecord, Record: tree}
	tree.Fields = []face.Field{
		{Name: "value", Type: int64Type}, {Name: "left", Type: typ(crossing.KindOptional, treeType)},
		{Name: "more", Type: typ(crossing.KindSequence, treeType)},
	}
	plan := &face.Record{Name: "Plan", Fields: []face.Field{
		{Name: "length", Type: durationType, Default: text(crossing.KindDuration, "-1500")}, {Name: "when", Type: timeType}, {Name: "factor", Type: complexType},
		{Name: "tags", Type: setType}, {Name: "until", Type: typ(crossing.KindOptional, timeType)}, {Name: "days", Type: typ(crossing.KindSequence, timeType)},
	}}
	l := &face.Library{
		Name: "kinds", Prefix: "kinds.", Path: "example.com/kinds", Doc: "Package kinds */ has \\ every kind.\\",
		Enums: []*face.Enum{color, mode, access}, Classes: classes(),
		Errors: []*face.Error{{
			Name: "NotFoundError", Kind: "kinds.NotFoundError", Base: "KeyError", Doc: "NotFoundError says what is missing.",
			Fields: []face.Field{
				{Name: "name", Type: stringType}, {Name: "kind", Type: int64Type, Default: text(crossing.KindInt, "7")},
				{Name: "near", Type: typ(crossing.KindOptional, stringType), Default: &face.Value{}},
			},
		}},
	}
	counter := &face.Type{Kind: crossing.KindClass, Class: l.Classes[0]}
	types := map[string]*face.Type{
		"any": typ(crossing.KindAny), "flag": typ(crossing.KindBool), "i8": integerType(8, false), "u64": integerType(64, true), "access": {Kind: crossing.KindEnum, Enum: access},
		"optional_u64": typ(crossing.KindOptional, integerType(64, true)), "u64s": typ(crossing.KindSequence, integerType(64, true)), "set_of_u64": typ(crossing.KindSet, integerType(64, true)),
		"u64_by_u64": typ(crossing.KindMapping, integerType(64, true), integerType(64, true)), "tuple_of_u64": typ(crossing.KindTuple, integerType(64, true), typ(crossing.KindOptional, integerType(64, true))),
		"i64": int64Type,
		"f32": float32Type, "f64": {Kind: crossing.KindFloat, Bits: 64}, "big": typ(crossing.KindBigInt), "text": stringType, "bytes": typ(crossing.KindBytes),
		"dtype": typ(crossing.KindDataType), "device": typ(crossing.KindDevice), "pointer": typ(crossing.KindPointer),
		"optional": typ(crossing.KindOptional, int64Type), "optional_text": typ(crossing.KindOptional, stringType), "optional_bytes": typ(crossing.KindOptional, typ(crossing.KindBytes)),
		"optional_record": typ(crossing.KindOptional, treeType), "optional_class": typ(crossing.KindOptional, counter), "optional_any": typ(crossing.KindOptional, typ(crossing.KindAny)),
		"tuple": typ(crossing.KindTuple, int64Type, stringType), "sequence_of_any": typ(crossing.KindSequence, typ(crossing.KindAny)),
		"duration": durationType, "time": timeType, "complex": complexType, "set": setType, "set_of_colors": typ(crossing.KindSet, &face.Type{Kind: crossing.KindEnum, Enum: color}),
		"optional_duration": typ(crossing.KindOptional, durationType), "optional_time": typ(crossing.KindOptional, timeType), "optional_complex": typ(crossing.KindOptional, complexType), "optional_set": typ(crossing.KindOptional, setType),
		"times": typ(crossing.KindSequence, typ(crossing.KindOptional, timeType)), "waits": typ(crossing.KindMapping, stringType, durationType), "sets": typ(crossing.KindSequence, setType), "complexes": typ(crossing.KindSequence, complexType),
		"mixed": typ(crossing.KindTuple, durationType, timeType, complexType, setType), "plan": {Kind: crossing.KindRecord, Record: plan},
		"clock": typ(crossing.KindCallable, timeType, timeType, durationType, typ(crossing.KindOptional, timeType)), "turn": typ(crossing.KindCallable, complexType, complexType, typ(crossing.KindOptional, durationType)), "choose": typ(crossing.KindCallable, setType, setType, typ(crossing.KindOptional, setType)),
		"ticks":    typ(crossing.KindIterator, timeType),
		"sequence": typ(crossing.KindSequence, stringType), "sequence_of_records": typ(crossing.KindSequence, treeType), "sequence_of_modes": typ(crossing.KindSequence, &face.Type{Kind: crossing.KindEnum, Enum: mode}),
		"mapping": typ(crossing.KindMapping, stringType, typ(crossing.KindSequence, int64Type)), "record": {Kind: crossing.KindRecord, Record: record}, "tree": treeType,
		"array": typ(crossing.KindArray, counter), "array_of_any": typ(crossing.KindArray), "list": typ(crossing.KindList, int64Type),
		"map": typ(crossing.KindMap, stringType, int64Type), "map_of_any": typ(crossing.KindMap), "dict": typ(crossing.KindDict, stringType, int64Type),
		"shape": typ(crossing.KindShape), "tensor": typ(crossing.KindTensor), "lent": {Kind: crossing.KindTensor, Lent: true, Elems: []*face.Type{float32Type}},
		"module": typ(crossing.KindModule), "object": typ(crossing.KindObject), "class_": counter,
		"color": {Kind: crossing.KindEnum, Enum: color}, "mode": {Kind: crossing.KindEnum, Enum: mode}, "error_value": typ(crossing.KindError),
		"callable": typ(crossing.KindCallable, int64Type, int64Type, stringType), "callback_of_record": typ(crossing.KindCallable, typ(crossing.KindNone), treeType),
		"function": typ(crossing.KindFunction), "iterator": typ(crossing.KindIterator, typ(crossing.KindTuple, stringType, int64Type)),
	}
	for name, t := range types {
		l.Functions = append(l.Functions, &face.Function{
			Name: "echo_" + name, GoName: "Echo", Symbol: "echo_" + name, Global: "kinds.echo_" + name, Doc: "Echo returns x.",
			Params: []face.Param{{Name: "x", Type: t}}, Results: []face.Result{{Type: t}},
		})
	}
	l.Functions = append(l.Functions, forms(color, mode)...)
	return l
}

func exported(name string, f face.Function) *face.Function {
	f.Name, f.GoName = name, name
	if f.Symbol == "" {
		f.Symbol, f.Global = name, "kinds."+name
	}
	return &f
}

// forms are functions with parameters and results of every form, and names that C++ does
// not allow.
func forms(color, mode *face.Enum) []*face.Function {
	one := []face.Param{{Name: "x", Type: int64Type}}
	variadic := func(t *face.Type) []face.Param {
		return []face.Param{{Name: "first", Type: int64Type}, {Name: "rest", Type: t, Variadic: true}}
	}
	result := []face.Result{{Type: typ(crossing.KindAny)}}
	return []*face.Function{
		exported("nothing", face.Function{Doc: "Nothing does nothing. \\ */ @see ??/ \u202e\nIt ends with a backslash.\\ \nNext."}),
		exported("delete", face.Function{Params: one, Results: result}),
		exported("EOF", face.Function{Params: one, Results: result}),
		exported("min", face.Function{Params: one, Results: result}),
		exported("errno", face.Function{Params: one, Results: result}),
		exported("detail", face.Function{Params: one, Results: result}),
		exported("load", face.Function{Params: one, Results: result}),
		exported("Counter", face.Function{Params: one, Results: result}),
		exported("counter", face.Function{Params: one, Results: result}),
		exported("names", face.Function{Params: []face.Param{
			{Name: "class", Type: int64Type}, {Name: "class_", Type: int64Type}, {Name: "größe", Type: int64Type}, {Name: "ℵ", Type: int64Type},
			{Name: "Color", Type: &face.Type{Kind: crossing.KindEnum, Enum: color}}, {Name: "second", Type: &face.Type{Kind: crossing.KindEnum, Enum: color}},
			{Name: "ffi", Type: int64Type}, {Name: "detail", Type: stringType}, {Name: "kinds", Type: stringType},
		}, Results: result}),
		exported("defaults", face.Function{Params: []face.Param{
			{Name: "a", Type: int64Type, Default: text(crossing.KindInt, "-9223372036854775808")}, {Name: "b", Type: float32Type, Default: text(crossing.KindFloat, "0.1")},
			{Name: "c", Type: &face.Type{Kind: crossing.KindFloat, Bits: 64}, Default: text(crossing.KindFloat, "NaN")}, {Name: "d", Type: typ(crossing.KindBool), Default: text(crossing.KindBool, "true")},
			{Name: "e", Type: stringType, Default: text(crossing.KindString, "\x00?\"\n\u00e4")}, {Name: "f", Type: typ(crossing.KindDataType), Default: text(crossing.KindDataType, "float32")},
			{Name: "g", Type: typ(crossing.KindOptional, int64Type), Default: &face.Value{}}, {Name: "h", Type: typ(crossing.KindOptional, int64Type), Default: text(crossing.KindInt, "5")},
			{Name: "i", Type: &face.Type{Kind: crossing.KindEnum, Enum: color}, Default: text(crossing.KindInt, "0")}, {Name: "j", Type: &face.Type{Kind: crossing.KindEnum, Enum: color}, Default: text(crossing.KindInt, "9")},
			{Name: "k", Type: &face.Type{Kind: crossing.KindEnum, Enum: mode}, Default: text(crossing.KindString, "fast\"\\?\n")}, {Name: "l", Type: &face.Type{Kind: crossing.KindEnum, Enum: mode}, Default: text(crossing.KindString, "other")},
			{Name: "m", Type: integerType(64, true), Default: text(crossing.KindInt, "9223372036854775807")}, {Name: "n", Type: &face.Type{Kind: crossing.KindFloat, Bits: 64}, Default: text(crossing.KindFloat, "-Inf")},
			{Name: "o", Type: durationType, Default: text(crossing.KindDuration, "-9223372036854775808")}, {Name: "p", Type: typ(crossing.KindOptional, durationType), Default: text(crossing.KindDuration, "5")},
		}, Results: result}),
		exported("ints", face.Function{Params: variadic(int64Type), Results: result}),
		exported("floats", face.Function{Params: variadic(float32Type), Results: result}),
		exported("texts", face.Function{Params: variadic(stringType), Results: result}),
		exported("modes", face.Function{Params: variadic(&face.Type{Kind: crossing.KindEnum, Enum: mode}), Results: result}),
		exported("durations", face.Function{Params: variadic(durationType), Results: result}),
		exported("instants", face.Function{Params: variadic(timeType), Results: result}),
		exported("waves", face.Function{Params: variadic(complexType), Results: result}),
		exported("groups", face.Function{Params: variadic(setType), Results: result}),
		exported("anys", face.Function{Params: variadic(typ(crossing.KindAny)), Results: result}),
		exported("packed", face.Function{Packed: true, Results: result}),
		exported("pair", face.Function{Params: one, Results: []face.Result{{Type: int64Type}, {Type: stringType}}}),
		exported("named", face.Function{Params: one, Results: []face.Result{{Name: "class", Type: int64Type}, {Name: "text", Type: stringType}}, Fails: true}),
		exported("numbers", face.Function{Params: one, Results: []face.Result{{Type: typ(crossing.KindIterator, int64Type)}}}),
		exported("pairs", face.Function{Params: one, Results: []face.Result{{Type: typ(crossing.KindIterator, typ(crossing.KindTuple, int64Type, stringType))}}}),
		exported("stream", face.Function{Params: one, Results: []face.Result{
			{Name: "all", Type: typ(crossing.KindIterator, int64Type)}, {Name: "next", Type: typ(crossing.KindCallable, int64Type, int64Type)}, {Name: "n", Type: int64Type},
		}}),
		exported("streams", face.Function{Params: one, Results: []face.Result{{Type: int64Type}, {Type: typ(crossing.KindIterator, typ(crossing.KindTuple, int64Type, stringType))}}}),
		exported("fail", face.Function{Params: []face.Param{{Name: "kind", Type: stringType}}, Fails: true}),
		exported("slow", face.Function{Params: one, Results: []face.Result{{Type: int64Type}}, Context: true, Fails: true}),
	}
}

// classes are a class with fields, a child of it, an opaque one, and one with a parent of
// another library.
func classes() []*face.Class {
	counter := &face.Class{
		Name: "Counter", Key: "kinds.Counter", Doc: "Counter counts.",
		Fields: []face.Field{
			{Name: "n", GoName: "N", Type: int64Type, Doc: "the number"}, {Name: "class", Type: stringType, Default: text(crossing.KindString, "c"), HasDefault: true},
			{Name: "flag", Type: typ(crossing.KindBool), Default: text(crossing.KindBool, "true"), HasDefault: true, ReadOnly: true},
			{Name: "next", Type: typ(crossing.KindOptional, typ(crossing.KindAny)), Default: &face.Value{}, HasDefault: true, KwOnly: true},
		},
		Repr: true, Equal: true, Hash: true, Compare: true,
	}
	self := &face.Type{Kind: crossing.KindClass, Class: counter}
	counter.Fields = append(counter.Fields, face.Field{Name: "all", Type: typ(crossing.KindSequence, self), NoInit: true})
	method := func(name string, f face.Function) *face.Function { f.Name, f.GoName = name, name; return &f }
	edge := &face.Type{Kind: crossing.KindRecord, Record: &face.Record{Name: "Edge", Fields: []face.Field{{Name: "width", Type: float32Type}}}}
	scene := &face.Type{Kind: crossing.KindRecord, Record: &face.Record{Name: "Scene", Fields: []face.Field{{Name: "center", Type: self}, {Name: "edge", Type: edge}}}}
	counter.Methods = []*face.Function{
		method("add", face.Function{Params: []face.Param{{Name: "x", Type: int64Type, Default: text(crossing.KindInt, "1")}}, Results: []face.Result{{Type: int64Type}}}),
		method("get", face.Function{Params: []face.Param{{Name: "key", Type: stringType}}, Results: []face.Result{{Type: stringType}}}),
		method("defined", face.Function{Results: []face.Result{{Type: typ(crossing.KindBool)}}}),
		method("Counter", face.Function{}),
		method("operator", face.Function{Params: []face.Param{{Name: "rest", Type: int64Type, Variadic: true}}, Results: []face.Result{{Type: int64Type}}}),
		method("both", face.Function{Results: []face.Result{{Name: "a", Type: self}, {Name: "b", Type: typ(crossing.KindOptional, self)}}}),
		method("close", face.Function{}),
		method("len", face.Function{Results: []face.Result{{Type: int64Type}}}),
		method("string", face.Function{Results: []face.Result{{Type: stringType}}}),
		method("values", face.Function{Results: []face.Result{{Type: typ(crossing.KindIterator, self)}}}),
		method("wait", face.Function{Context: true, Results: []face.Result{{Type: int64Type}}}),
		method("draw", face.Function{Params: []face.Param{ // structs without a class in them, and with one
			{Name: "edge", Type: typ(crossing.KindOptional, edge), Default: &face.Value{}},
			{Name: "scene", Type: typ(crossing.KindOptional, scene), Default: &face.Value{}}, {Name: "n", Type: int64Type, Default: text(crossing.KindInt, "3")},
		}}),
	}
	counter.Properties = []*face.Function{method("twice", face.Function{Results: []face.Result{{Type: int64Type}}})}
	m := counter.Methods
	counter.Close, counter.Len, counter.String, counter.All = m[6], m[7], m[8], m[9]
	child := &face.Class{Name: "Child", Key: "kinds.Child", Parent: counter, Final: true, Fields: []face.Field{{Name: "extra", Type: float32Type}}}
	opaque := &face.Class{Name: "Größe", Key: "kinds.Opaque", Opaque: true}
	opaque.Constructor = method("NewOpaque", face.Function{Params: []face.Param{{Name: "from", Type: &face.Type{Kind: crossing.KindClass, Class: opaque}}, {Name: "n", Type: int64Type, Default: text(crossing.KindInt, "3")}}})
	foreign := &face.Class{Name: "Foreign", Key: "kinds.Foreign", ParentKey: "testing.Base", Fields: []face.Field{{Name: "x", Type: int64Type}}}
	none := &face.Class{Name: "None", Key: "kinds.None", Opaque: true}
	stage := &face.Class{Name: "Stage", Key: "kinds.Stage", Fields: []face.Field{{Name: "scene", Type: typ(crossing.KindOptional, scene), Default: &face.Value{}, HasDefault: true}}}
	return []*face.Class{counter, child, opaque, foreign, none, stage}
}
