package pyface_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/tvmffi-go/tvmffi/gen/internal/face"
	"github.com/tvmffi-go/tvmffi/gen/internal/pyface"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

var update = flag.Bool("update", false, "write the golden files")

func of(k crossing.Kind, elems ...*face.Type) *face.Type { return &face.Type{Kind: k, Elems: elems} }

var (
	integer = of(crossing.KindInt)
	text    = of(crossing.KindString)
	point   = &face.Class{Name: "Point", Key: "all.Point", Doc: "Point is a [Point] with \\ and \"\"\"."}
	color   = &face.Enum{Name: "Color", Path: "example.test/all.Color", Kind: crossing.KindInt, Members: []face.Member{
		{GoName: "ColorRed", Name: "RED", Doc: "ColorRed is like blood.", Value: face.Value{Kind: crossing.KindInt, Text: "1"}},
		{GoName: "ColorBlue", Name: "BLUE", Value: face.Value{Kind: crossing.KindInt, Text: "-2"}},
	}}
	fruit = &face.Enum{Name: "Fruit", Path: "example.test/all.Fruit", Doc: "Fruit grows.", Kind: crossing.KindString, Members: []face.Member{
		{GoName: "FruitPear", Name: "PEAR", Value: face.Value{Kind: crossing.KindString, Text: "pear"}},
	}}
	limits = &face.Record{Name: "Limits"}
)

// types has a type of each kind.
func types() []*face.Type {
	limits.Fields = []face.Field{
		{Name: "low", Type: of(crossing.KindFloat), Doc: "at least"}, {Name: "class", Type: &face.Type{Kind: crossing.KindEnum, Enum: color}},
		{Name: "more", Type: of(crossing.KindOptional, &face.Type{Kind: crossing.KindRecord, Record: limits}), HasDefault: true, Default: &face.Value{Kind: crossing.KindNone}},
	}
	all := make([]*face.Type, crossing.Exported)
	for k := range crossing.Exported {
		all[k] = of(k)
	}
	all[crossing.KindOptional] = of(crossing.KindOptional, integer)
	all[crossing.KindTuple] = of(crossing.KindTuple, integer, text)
	all[crossing.KindComplex] = of(crossing.KindComplex, of(crossing.KindFloat), of(crossing.KindFloat))
	all[crossing.KindTime] = of(crossing.KindTime, integer, integer, integer)
	all[crossing.KindSet] = of(crossing.KindSet, integer)
	for _, k := range []crossing.Kind{crossing.KindSequence, crossing.KindArray, crossing.KindList, crossing.KindIterator} {
		all[k] = of(k, &face.Type{Kind: crossing.KindEnum, Enum: color})
	}
	for _, k := range []crossing.Kind{crossing.KindMapping, crossing.KindMap, crossing.KindDict} {
		all[k] = of(k, text, of(crossing.KindSequence, integer))
	}
	all[crossing.KindCallable] = of(crossing.KindCallable, of(crossing.KindSequence, integer), of(crossing.KindSequence, text))
	all[crossing.KindRecord].Record = limits
	all[crossing.KindClass].Class = point
	all[crossing.KindEnum].Enum = color
	return all
}

// want says how each kind looks as a parameter and as a result.
var want = [crossing.Exported][2]string{
	crossing.KindNone: {"None", "None"}, crossing.KindAny: {"Any", "Any"}, crossing.KindBool: {"bool", "bool"}, crossing.KindInt: {"int", "int"},
	crossing.KindFloat: {"float", "float"}, crossing.KindBigInt: {"int", "int"}, crossing.KindString: {"str", "str"},
	crossing.KindBytes: {"bytes | bytearray | _BufferLike | _ArrayLike", "bytes"}, crossing.KindDataType: {"tvm_ffi.dtype | str", "tvm_ffi.dtype"},
	crossing.KindDevice: {"tvm_ffi.Device | str", "tvm_ffi.Device"}, crossing.KindPointer: {"ctypes.c_void_p | None", "ctypes.c_void_p | None"},
	crossing.KindOptional: {"int | None", "int | None"},
	crossing.KindComplex:  {"complex", "complex"}, crossing.KindDuration: {"timedelta", "timedelta"}, crossing.KindTime: {"datetime", "datetime"},
	crossing.KindSet:   {"Set[int]", "set[int]"},
	crossing.KindTuple: {"tuple[int, str]", "tuple[int, str]"}, crossing.KindSequence: {"Sequence[Color | int]", "list[Color]"},
	crossing.KindMapping: {"Mapping[str, Sequence[int] | _ArrayLike]", "dict[str, list[int]]"}, crossing.KindRecord: {"Limits", "Limits"},
	crossing.KindArray: {"Sequence[Color | int]", "tvm_ffi.Array[int]"}, crossing.KindList: {"tvm_ffi.List[int]", "tvm_ffi.List[int]"},
	crossing.KindMap: {"Mapping[str, Sequence[int]]", "tvm_ffi.Map[str, Sequence[int]]"}, crossing.KindDict: {"tvm_ffi.Dict[str, Sequence[int]]", "tvm_ffi.Dict[str, Sequence[int]]"},
	crossing.KindShape: {"tvm_ffi.Shape", "tvm_ffi.Shape"}, crossing.KindTensor: {"_TensorLike", "tvm_ffi.Tensor"}, crossing.KindModule: {"tvm_ffi.Module", "tvm_ffi.Module"},
	crossing.KindObject: {"tvm_ffi.Object", "tvm_ffi.Object"},
	crossing.KindClass:  {"Point", "Point"}, crossing.KindEnum: {"Color | int", "Color"}, crossing.KindError: {"Exception | Error | None", "Error | None"},
	crossing.KindCallable: {"Callable[[list[str]], Sequence[int] | _ArrayLike]", "Callable[[Sequence[str]], Sequence[int]]"},
	crossing.KindFunction: {"Callable[..., Any]", "Callable[..., Any]"}, crossing.KindIterator: {"Callable[[], Any]", "Generator[Color, None, None]"},
}

// TestKinds checks the types of parameters and results of every kind.
func TestKinds(t *testing.T) {
	l := &face.Library{Name: "all", Prefix: "all.", Path: "example.test/all", Classes: []*face.Class{point}, Enums: []*face.Enum{color}}
	for k, typ := range types() {
		f := &face.Function{Name: fmt.Sprintf("f%d", k), GoName: "F", Results: []face.Result{{Type: typ}}}
		if crossing.Kind(k) != crossing.KindNone {
			f.Params = []face.Param{{Name: "x", Type: typ}}
		} else {
			f.Results = nil
		}
		l.Functions = append(l.Functions, f)
	}
	files := write(l)
	for k, w := range want {
		line := fmt.Sprintf("def f%d(x: %s) -> %s: ...\n", k, w[0], w[1])
		if crossing.Kind(k) == crossing.KindNone {
			line = "def f0() -> None: ...\n"
		}
		if w[0] == "" || !strings.Contains(files["all/__init__.pyi"], line) {
			t.Errorf("kind %d: the stub lacks %s", k, line)
		}
	}
	if t.Failed() {
		t.Log(files["all/__init__.pyi"])
	}
	parse(t, files)
}

func write(l *face.Library) map[string]string {
	files := map[string]string{}
	for _, f := range pyface.Write(l, pyface.Config{Marker: "Code generated by a test; DO NOT EDIT.", Version: "1.2", Oldest: "0.1", Below: "0.2"}) {
		files[f.Path] = string(f.Content)
	}
	return files
}

// TestExceptions: the list in _errors.py is that of the kinds which several languages know.
func TestExceptions(t *testing.T) {
	_, after, _ := strings.Cut(write(everything())["all/_errors.py"], `for name in """`)
	list, _, ok := strings.Cut(after, `""".split()`)
	if d := cmp.Diff(crossing.Exceptions(), strings.Fields(list)); d != "" || !ok {
		t.Errorf("crossing.ErrorKinds (-) and _errors.py (+) differ:\n%s", d)
	}
	for line := range strings.Lines(list) {
		if len(line) > 140 {
			t.Errorf("a line has %d bytes: %s", len(line), line)
		}
	}
}

// parse reads all files by the grammar of the oldest Python.
func parse(t *testing.T, files map[string]string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		nativetest.Unavailable(t, err)
	}
	for name, content := range files {
		cmd := exec.CommandContext(t.Context(), python, "-c", "import ast, sys; ast.parse(sys.stdin.read(), feature_version=(3, 9))")
		cmd.Stdin = strings.NewReader(content)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Run(); err != nil {
			t.Errorf("%s: %v\n%s\n%s", name, err, &stderr, content)
		}
	}
}

// everything has what types do not show: defaults, variadic parameters, several results,
// classes with all methods, errors.
func everything() *face.Library {
	types()
	method := func(name, goName string, result *face.Type) *face.Function {
		f := &face.Function{Name: name, GoName: goName, Doc: goName + " does it.\n\n\tcode(1)\n\nSee [Sum] and [*Bag.Len].\n\n# More\nText."}
		if result != nil {
			f.Results = []face.Result{{Type: result}}
		}
		return f
	}
	bag := &face.Class{
		Name: "Bag", Key: "all.Bag", Opaque: true, Doc: "Bag holds.", Compare: true, Hash: true,
		Close: method("close", "Close", nil), Len: method("len", "Len", integer), String: method("string", "String", text),
		All: method("all", "All", of(crossing.KindIterator, text)), Properties: []*face.Function{method("size", "Size", &face.Type{Kind: crossing.KindEnum, Enum: color})},
		Constructor: &face.Function{GoName: "NewBag", Fails: true, Params: []face.Param{{Name: "self", Type: integer}, {Name: "f", Type: of(crossing.KindFunction)}, {Name: "rest", Type: text, Variadic: true}}},
	}
	bag.Methods = []*face.Function{bag.Close, bag.Len, bag.String, bag.All, {Name: "wait", GoName: "Wait", Context: true, Fails: true},
		{Name: "ends", GoName: "Ends", Results: []face.Result{{Name: "first", Type: text}, {Name: "last", Type: text}}}}
	base := &face.Class{Name: "Base", Key: "all.Base", ParentKey: "other.Base", Structural: true, Fields: []face.Field{
		{Name: "id", Type: integer, ReadOnly: true}, {Name: "color", Type: &face.Type{Kind: crossing.KindEnum, Enum: color}, Default: &face.Value{Kind: crossing.KindInt, Text: "1"}, HasDefault: true},
		{Name: "hidden", Type: text, NoInit: true}, {Name: "from", Type: text}, {Name: "until", Type: of(crossing.KindOptional, of(crossing.KindTime)), HasDefault: true}, {Name: "big", Type: of(crossing.KindBigInt), HasDefault: true},
	}}
	child := &face.Class{Name: "Child", Key: "all.Child", Parent: base, KwOnly: true, Equal: true, Fields: []face.Field{{Name: "x", Type: of(crossing.KindFloat), Doc: "across"}},
		Methods: []*face.Function{method("area", "Area", integer)}}
	base.Methods = []*face.Function{method("area", "Area", integer)}
	lent := func(k crossing.Kind, bits int, unsigned bool) *face.Type {
		return &face.Type{Kind: crossing.KindTensor, Lent: true, Elems: []*face.Type{{Kind: k, Bits: bits, Unsigned: unsigned}}}
	}
	return &face.Library{
		Name: "all", Prefix: "all.", Path: "example.test/all", Doc: "Package all has all.", Classes: []*face.Class{point, bag, {Name: "Sealed", Key: "all.Sealed", Opaque: true}, base, child},
		Enums: []*face.Enum{color, fruit},
		Errors: []*face.Error{{Name: "LostError", Kind: "all.LostError", Base: "KeyError", Doc: "LostError says what.", Fields: []face.Field{
			{Name: "name", Type: text, Doc: "what"}, {Name: "code", Type: integer, HasDefault: true, Default: &face.Value{Kind: crossing.KindInt, Text: "3"}}}}, {Name: "PlainError", Kind: "all.PlainError"},
			{Name: "LateError", Kind: "all.LateError", Fields: []face.Field{{Name: "by", Type: of(crossing.KindDuration)}}},
			{Name: "Code", Kind: "all.Code", Fields: []face.Field{{Name: "value", Type: integer}}}},
		Functions: []*face.Function{
			{Name: "divmod", GoName: "DivMod", Symbol: "divmod", Global: "all.divmod", Doc: "DivMod divides.", Fails: true, Params: []face.Param{
				{Name: "a", Type: integer}, {Name: "b", Type: integer, Default: &face.Value{Kind: crossing.KindInt, Text: "16"}}}, Results: []face.Result{{Name: "quot", Type: integer}, {Name: "_count", Type: of(crossing.KindSequence, integer)}}},
			{Name: "join", GoName: "Join", Symbol: "join", Packed: true, Results: []face.Result{{Type: of(crossing.KindAny)}}},
			{Name: "lambda", GoName: "Lambda", Global: "all.lambda", Params: []face.Param{{Name: "class", Type: text, Default: &face.Value{Kind: crossing.KindString, Text: "a\"b\nπ"}},
				{Name: "None", Type: of(crossing.KindFloat), Default: &face.Value{Kind: crossing.KindFloat, Text: "-Inf"}}, {Name: "print", Type: &face.Type{Kind: crossing.KindEnum, Enum: fruit}, Default: &face.Value{Kind: crossing.KindString, Text: "pear"}}},
				Results: []face.Result{{Type: of(crossing.KindOptional, integer)}}},
			{Name: "lent", GoName: "Lent", Symbol: "lent", Params: []face.Param{{Name: "flags", Type: lent(crossing.KindBool, 8, false)}, {Name: "floats", Type: lent(crossing.KindFloat, 32, false)}, {Name: "bytes", Type: lent(crossing.KindInt, 8, true)},
				{Name: "on", Type: of(crossing.KindBool), Default: &face.Value{Kind: crossing.KindBool, Text: "true"}}, {Name: "off", Type: of(crossing.KindBool), Default: &face.Value{Kind: crossing.KindBool, Text: "false"}},
				{Name: "mode", Type: of(crossing.KindOptional, integer), Default: &face.Value{Kind: crossing.KindNone}}, {Name: "size", Type: of(crossing.KindOptional, integer), Default: &face.Value{Kind: crossing.KindInt, Text: "8"}}},
				Results: []face.Result{{Name: "total", Type: integer}}},
			{Name: "list", GoName: "List", Symbol: "list", Params: []face.Param{{Name: "_ffi_list", Type: of(crossing.KindSequence, text)}, {Name: "class", Type: integer}, {Name: "class_", Type: integer}, {Name: "f", Type: of(crossing.KindOptional, of(crossing.KindFunction))}},
				Results: []face.Result{{Type: of(crossing.KindSequence, &face.Type{Kind: crossing.KindRecord, Record: limits})}}},
			{Name: "Point", GoName: "PointOf", Symbol: "Point", Params: []face.Param{{Name: "π", Type: of(crossing.KindFloat), Default: &face.Value{Kind: crossing.KindFloat, Text: "3.0"}}, {Name: "xs", Type: integer, Variadic: true}}},
			{Name: "plan", GoName: "Plan", Symbol: "plan", Params: []face.Param{
				{Name: "from", Type: of(crossing.KindTime)}, {Name: "every", Type: of(crossing.KindDuration), Default: &face.Value{Kind: crossing.KindDuration, Text: "5400000000000"}},
				{Name: "next", Type: of(crossing.KindOptional, of(crossing.KindCallable, of(crossing.KindSequence, of(crossing.KindTime)), of(crossing.KindTime), integer)), Default: &face.Value{Kind: crossing.KindNone}},
				{Name: "by_color", Type: of(crossing.KindOptional, of(crossing.KindMapping, &face.Type{Kind: crossing.KindEnum, Enum: color}, of(crossing.KindSet, text))), Default: &face.Value{Kind: crossing.KindNone}},
				{Name: "waves", Type: of(crossing.KindSequence, of(crossing.KindSequence, of(crossing.KindComplex))), Variadic: true}},
				Results: []face.Result{{Type: of(crossing.KindCallable, of(crossing.KindDuration), of(crossing.KindTime))}, {Type: of(crossing.KindTuple, of(crossing.KindSet, text), of(crossing.KindComplex))}}},
			{Name: "sum", GoName: "Sum", Symbol: "sum", Context: true, Fails: true, Params: []face.Param{{Name: "t", Type: of(crossing.KindTensor)}, {Name: "f", Type: of(crossing.KindOptional, of(crossing.KindCallable, of(crossing.KindNone), of(crossing.KindTuple, integer)))},
				{Name: "rows", Type: of(crossing.KindOptional, of(crossing.KindSequence, of(crossing.KindSequence, of(crossing.KindFloat))))}, {Name: "each", Type: of(crossing.KindCallable, of(crossing.KindSequence, of(crossing.KindBool)), of(crossing.KindMapping, text, of(crossing.KindSequence, integer)))},
				{Name: "more", Type: of(crossing.KindSequence, integer), Variadic: true}},
				Results: []face.Result{{Type: integer}, {Type: of(crossing.KindOptional, of(crossing.KindTuple, integer))}}},
		},
	}
}

// TestWrite compares the package of a library that has everything with a golden file.
func TestWrite(t *testing.T) {
	files := write(everything())
	parse(t, files)
	got := &txtar.Archive{Comment: []byte("What pyface makes of a library that has everything; go test ./gen/internal/pyface -update writes it.\n")}
	for _, name := range []string{"all/__init__.py", "all/__init__.pyi", "all/py.typed"} {
		got.Files = append(got.Files, txtar.File{Name: name, Data: []byte(files[name])})
	}
	golden := filepath.Join("testdata", "all.golden")
	if *update {
		if err := os.WriteFile(golden, txtar.Format(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(txtar.Format(got))); d != "" {
		t.Errorf("%s (-) and the result (+) differ:\n%s", golden, d)
	}
}
