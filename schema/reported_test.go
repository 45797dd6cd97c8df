package schema

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

const (
	messageTVM  = "Expected 2 arguments when calling:\n  `add_one(A: Tensor([n], float32), B: Tensor([n], float32))`"
	messageCuTe = "TypeError: Expects 5 parameters when calling: " +
		"`add(a: Tensor([n0], float32), b: Tensor([n0], float32), c: Tensor([n0], float32), k: int32, stream: Stream)`"
	messageCPP = "TypeError: Mismatched number of arguments when calling: `testing.apply2(0: Array<str>, 1: (0: int, 1: bytes) -> void, 2: std::function<int(str, Any)>) -> Map<str, BigInt>`. Expected 1 but got 0 arguments"
)

func TestParseReported(t *testing.T) {
	const tensors = "(DLTensor*, DLTensor*) -> None"
	for _, c := range []struct{ message, name, sig string }{
		{messageTVM, "add_one", tensors},
		{messageCuTe, "add", "(DLTensor*, DLTensor*, DLTensor*, int, void*) -> None"},
		{messageCPP, "testing.apply2", "(ffi.Array<ffi.String>, (int, ffi.Bytes) -> None, (ffi.String, Any) -> int) -> ffi.Map<ffi.String, ffi.BigInt>"},
		{"Mismatched type on argument #1 when calling:\n  `add_one(A: Tensor([n], float32), B: Tensor([n], float32))`,\n  expected Tensor", "add_one", tensors},
		{"Expects 0 parameters when calling: `noop()`", "noop", "() -> None"},
		{"Mismatched number of arguments when calling: `NAME(0: int) -> int`. Expected 1 but got 0 arguments", "NAME", "(int) -> int"},
		{"Mismatched number of arguments when calling: `over (0: int) -> Optional<ir.Span>`. Expected 1 arguments", "over", "(int) -> Optional<ir.Span>"},
		{"when calling: `(0: std::array<int, 4>) -> std::vector<Any>`", "", "(ffi.Array<int>) -> ffi.Array"},
		{"when calling: `k(a: int8, b: uint64, c: float16, d: bool, e: handle, f: DataPointer, g: float8_e4m3fn, h: bfloat16, i: Shape([n]), j: int, l: int32x4, m: intent, n: Tuple(int32, Tensor([a, b], int8)))`",
			"k", "(int, int, float, bool, void*, void*, float, float, ffi.Shape, int, Any, Any, Any) -> None"},
		{"when calling: `tuples(p: Tuple[Tensor([n0], float32), int32], t: Tuple[x: int32, Tuple[float32, Tensor([n0, 2], float32)]], c: Tuple[Int(5), None, Stream], e: Tuple[], m: Tuple[bool, bool, bool, bool, bool, bool, bool, bool, bool], o: Tuple[int32] x)`",
			"tuples", "(Tuple<ffi.Tensor, int>, Tuple<int, Tuple<float, ffi.Tensor>>, Tuple<Any, Any, void*>, ffi.Array, ffi.Array, Any) -> None"},
	} {
		name, sig, err := ParseReported(c.message)
		if err != nil {
			t.Errorf("%s: %v", c.message, err)
		} else if name != c.name || sig.String() != c.sig {
			t.Errorf("%s:\ngot  %q %s\nwant %q %s", c.message, name, sig, c.name, c.sig)
		}
	}
}

func TestReportedNamesAndNotes(t *testing.T) {
	_, sig, err := ParseReported(messageCuTe)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range sig.Params {
		got = append(got, p.Name+"|"+p.Note)
	}
	want := "a|Tensor([n0], float32) b|Tensor([n0], float32) c|Tensor([n0], float32) k|int32 stream|Stream"
	if strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
	_, sig, err = ParseReported("Expected 3 arguments when calling:\n  `f(a: Tensor([n, T.int64(4)], float32), h: T.handle, k: int32)`")
	if err != nil || sig.Params[0].Note != "Tensor([n, T.int64(4)], float32, align=64)" || sig.Params[1].Note != "T.handle" || sig.Params[2].Note != "int32" {
		t.Errorf("notes of TVM: %+v, %v", sig, err)
	}
	_, sig, err = ParseReported("when calling: `f(flag: bool, n: int)`")
	if err != nil || sig.Params[0].Note != "" || sig.Params[1].Note != "" {
		t.Errorf("a note that repeats the type: %+v, %v", sig, err)
	}
	if _, sig, err := ParseReported(messageCPP); err != nil || sig.Params[0].Name != "" {
		t.Errorf("an index is not a name: %+v, %v", sig, err)
	}
}

// Every function of the real libraries refused a call with 40 arguments; the
// signature in its message must agree with its metadata.
func TestReportedAgreesWithMetadata(t *testing.T) {
	data, err := os.ReadFile("testdata/reported-" + newRelease + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var messages map[string]string
	if err := json.Unmarshal(data, &messages); err != nil {
		t.Fatal(err)
	}
	if len(messages) < 140 {
		t.Errorf("only %d messages", len(messages))
	}
	s := realSchema(t, newRelease)
	for name, message := range messages {
		reported, sig, err := ParseReported(message)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if want := function(t, s, name).Signature.String(); reported != name || sig.String() != want {
			t.Errorf("%s: the message has %s %s, the metadata %s", name, reported, sig, want)
		}
	}
}

func TestParseReportedErrors(t *testing.T) {
	for _, c := range []struct{ message, want string }{
		{"", "lacks \"when calling:\""},
		{"RuntimeError: out of memory", "lacks \"when calling:\""},
		{"when calling: add(a: int32)", "no signature in backquotes"},
		{"when calling: `add(a: int32", "no closing backquote"},
		{"when calling: `add`", "to look like"},
		{"when calling: `add(a: int32`", "lacks the closing parenthesis"},
		{"when calling: `add(a: Tensor([n)])`", "unexpected ')'"},
		{"when calling: `add(])`", "unexpected ']'"},
		{"when calling: `add(int32)`", "expected \"name: type\""},
		{"when calling: `add(a: int32,)`", "expected \"name: type\""},
		{"when calling: `add(a: )`", "expected \"name: type\""},
		{"when calling: `add(a: int32) and more`", "unexpected \"and more\""},
		{"when calling: `add(0: Map<int>) -> int`", "ffi.Map takes no or 2"},
		{"when calling: `add(0: int) -> int int()`", "unexpected text"},
		{"when calling: `f(0: std::function<int>) -> int`", "after the result of std::function"},
		{"when calling: `f(" + strings.Repeat("(", 10000) + "`", "nest deeper"},
		{strings.Repeat("x", maxTextLen+1), "the limit is"},
	} {
		name, sig, err := ParseReported(c.message)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s: %s %s, error %v, want %q", c.message, name, sig, err, c.want)
		}
	}
}

func FuzzParseReported(f *testing.F) {
	f.Add(messageTVM)
	f.Add(messageCuTe)
	f.Add(messageCPP)
	f.Add("when calling: `k(a: Tuple(int32, Tensor([a, b], int8)), b: bool)`")
	f.Fuzz(func(t *testing.T, message string) {
		_, sig, err := ParseReported(message)
		if err != nil {
			return
		}
		if err := sig.validate(1); err != nil && !strings.Contains(err.Error(), "UTF-8") {
			t.Fatalf("accepted what Validate refuses: %v", err)
		}
		if back, err := ParseSignature(sig.String()); err != nil || back.String() != sig.String() {
			t.Fatalf("%s read back as %s, %v", sig, back, err)
		}
	})
}

// TestParam_Noted: the note of a parameter says the widths of ints.
func TestParam_Noted(t *testing.T) {
	for note, want := range map[string]string{
		"int32": "int32", "uint8": "uint8", "uint64": "uint64", "int64": "int", "int": "int", "int4": "int", "float16": "float", "bool": "bool",
		"Tuple[int32, int64]": "Tuple<int32, int>", "Tuple[a: uint16, Tensor([n], float32)]": "Tuple<uint16, ffi.Tensor>",
		"Tensor([n], int32)": "DLTensor*", "None": "Any", "Int(5)": "Any", "": "Any",
	} {
		if got := (Param{Type: kernelType(note), Note: note}).Noted().String(); got != want {
			t.Errorf("%q is noted as %s, want %s", note, got, want)
		}
	}
	if got := (Param{Type: TypeSchema{Name: "float"}, Note: "int32"}).Noted().String(); got != "float" {
		t.Errorf("a note that contradicts the type makes it %s", got)
	}
}
