package spec_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
)

// texts are descriptions as they are printed.
var texts = []string{
	"f()",
	"add(a: Tensor([n0], float32), b: Tensor([n0], float32), c: Tensor([n0], float32), k: int32, stream: Stream)",
	"add_one(A: Tensor([n], float32), B: Tensor([n], float32))",
	"main.f_1(x: Tensor([], bool), y: Tensor([0, 128, _], float8_e4m3fn))",
	"f(a: Tensor([n: int64 % 8, 4], float4_e2m1fnx2, strides=[s % 4, -1], align=128, device=cuda:1))",
	"f(a: Tensor([n], bfloat16, device=cpu), b: Tensor([n], float32x4, device=rocm:d), c: Tensor([n], int4, device=cuda:_))",
	"f(n: int64 % 8, a: Tensor([n], int8), s: Shape([]), t: Shape([n, 4]))",
	"f(p: DataPointer, q: DataPointer(space=1), r: handle, a: Tensor([n], uint16), s: EnvStream)",
	"f(a: None, b: Int(-5), c: Bool(True), d: Bool(False), e: Float(1.5), f: Float(1e+16), g: Float(1e-05), h: Float(-0.0), i: Float(inf), j: Float(nan), k: Float(1000000000000000.0), l: Float(0.0001))",
	"f(t: Tuple[], u: Tuple[int32, Tuple[float32, Tensor([n, 2], float32)], m: int64 % 2, None], v: Shape([m]))",
	"tvm: f(a: Tensor([n, T.int64(4), 5, _], float32, strides=[s: int16, n, T.int64(1), 2], align=16), b: Tensor([], uint8, device=cuda), n: int32, h: T.handle, f: bool)",
	"tvm(n: int32)",
	"tvm: f(a: Tensor([n], float32, offset=_), b: Tensor([n], float32, strides=[1], align=8, offset=16, device=cuda), c: Tensor([], int8, offset=0))",
	"f(a: Tensor([n % 8, _ % 4, _: int64], complex64, strides=[s: int64 % 8, _: int64 % 2, 1]), b: Tensor([_: uint8], complex128), s: Shape([_: int8 % 3, _]))",
	"f(a: Optional[Tensor([n], float32)], b: Optional[int32], c: Tuple[x: Optional[Stream]])",
	// The greatest divisors and sizes.
	"f(a: int8 % 127, b: uint8 % 255, c: int64 % 9223372036854775807, d: uint64 % 9223372036854775807, e: Tensor([n % 2147483647, 4294967296, 2147483647], int8, device=cuda:2147483647), g: Tensor([0, 9223372036854775807, 2], int8))",
}

func TestTextRoundTrip(t *testing.T) {
	for _, text := range texts {
		f, err := spec.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := f.String(); got != text {
			t.Errorf("printed as\n%s, want\n%s", got, text)
		}
		roundTrip(t, f)
	}
}

// roundTrip sends f through both forms.
func roundTrip(t *testing.T, f *spec.Func) {
	t.Helper()
	equal := cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b })
	back, err := spec.Parse(f.String())
	if err != nil {
		t.Errorf("%s: %v", f, err)
	} else if d := cmp.Diff(f, back, equal); d != "" {
		t.Errorf("text %s:\n%s", f, d)
	}
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatalf("%s: %v", f, err)
	}
	read := new(spec.Func)
	if err := json.Unmarshal(data, read); err != nil {
		t.Errorf("%s: %v", data, err)
	} else if d := cmp.Diff(f, read, equal); d != "" {
		t.Errorf("%s:\n%s", data, d)
	}
	if again, err := json.Marshal(read); err != nil || string(again) != string(data) {
		t.Errorf("written again as\n%s, %v, want\n%s", again, err, data)
	}
	if _, err := f.Plan(); err != nil {
		t.Errorf("%s: %v", f, err)
	}
}

// TestTextOfPeople reads what nobody prints.
func TestTextOfPeople(t *testing.T) {
	for in, want := range map[string]string{
		" f ( a :Tensor( [ n ,4 ] ,f32 ,align = 16 ) ) ":          "f(a: Tensor([n, 4], float32, align=16))",
		"f(\n  a: Tensor([n], fp8_e5m2, device=cuda),\n  k: i32)": "f(a: Tensor([n], float8_e5m2, device=cuda), k: int32)",
		"f(a: Tensor([], f16, strides=[]))":                       "f(a: Tensor([], float16))",
		"f(a: Float(2), b: Float( 1e3 ))":                         "f(a: Float(2.0), b: Float(1000.0))",
		"f(größe: int32, s: Shape([größe]))":                      "f(größe: int32, s: Shape([größe]))",
	} {
		f, err := spec.Parse(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
		} else if f.String() != want {
			t.Errorf("%q is\n%s, want\n%s", in, f, want)
		}
	}
}

func TestSignature(t *testing.T) {
	f, err := spec.Parse("f(a: Tensor([n: int64 % 8, 4], float16, strides=[s, 1], align=16, device=cpu), b: Tensor([n], float32), t: Tuple[m: int32 % 2, Stream], p: DataPointer(space=1), o: Optional[Shape([n: int64])], s: EnvStream)")
	if err != nil {
		t.Fatal(err)
	}
	want := "f(a: Tensor([n, 4], float16), b: Tensor([n], float32), t: Tuple[int32, Stream], p: DataPointer, o: Optional[Shape([n])])"
	if got := f.Signature(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestConstructors(t *testing.T) {
	n := spec.Var{Name: "n", DType: spec.Int64, Divisibility: 4}
	f := spec.New("f",
		spec.Tensor{Name: "a", DType: spec.Float32, Shape: []spec.Dim{n, spec.Size(128)}, Strides: []spec.Dim{spec.Sym("s"), spec.Size(1)}, Align: 16, Device: "cuda", DeviceID: spec.Size(1)},
		spec.Optional{Param: spec.Tensor{Name: "b", DType: spec.BFloat16, Shape: []spec.Dim{n, spec.Any}}},
		spec.Tuple{Name: "t", Elems: []spec.Param{spec.Var{DType: spec.Int32}, spec.Const{Value: int64(5)}}},
		spec.Shape{Name: "sizes", Dims: []spec.Dim{n}},
		spec.DataPointer{Name: "p", Space: 1},
		spec.Stream{Name: "stream"})
	want := "f(a: Tensor([n: int64 % 4, 128], float32, strides=[s, 1], align=16, device=cuda:1), b: Optional[Tensor([n: int64 % 4, _], bfloat16)], t: Tuple[int32, Int(5)], sizes: Shape([n: int64 % 4]), p: DataPointer(space=1), stream: Stream)"
	if got := f.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestJSON(t *testing.T) {
	f, err := spec.Parse("f(a: Tensor([n: int64, 4], float32, strides=[s, 1], align=16, device=cuda:0), k: int32 % 2, c: Int(5), t: Tuple[Stream], o: Optional[Shape([n])])")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"f","params":[` +
		`{"name":"a","type":"tensor","dtype":"float32","shape":[{"name":"n","dtype":"int64"},4],"strides":["s",1],"align":16,"device":"cuda","device_id":0},` +
		`{"name":"k","type":"int32","divisibility":2},` +
		`{"name":"c","type":"const","value":"Int(5)"},` +
		`{"name":"t","type":"tuple","elems":[{"type":"stream"}]},` +
		`{"name":"o","type":"shape","shape":["n"],"optional":true}]}`
	got, err := json.Marshal(f)
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

// TestNumberOfTheDevice writes a number without a type, which is "cuda", in both
// notations with it.
func TestNumberOfTheDevice(t *testing.T) {
	tensor := spec.Tensor{Name: "a", DType: spec.Int8, DeviceID: spec.Size(1)}
	f := spec.New("f", tensor)
	if got, want := f.String(), "f(a: Tensor([], int8, device=cuda:1))"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	data, err := json.Marshal(f)
	if want := `{"name":"f","params":[{"name":"a","type":"tensor","dtype":"int8","shape":[],"device":"cuda","device_id":1}]}`; err != nil || string(data) != want {
		t.Errorf("got  %s, %v\nwant %s", data, err, want)
	}
	read := new(spec.Func)
	if err := json.Unmarshal(data, read); err != nil {
		t.Fatal(err)
	}
	tensor.Device, tensor.Shape = "cuda", []spec.Dim{}
	if d := cmp.Diff(spec.New("f", tensor), read); d != "" {
		t.Errorf("the tensor reads as another one (-want +got):\n%s", d)
	}
	roundTrip(t, read)
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    `spec: byte 0 of "": expected the name of the function, as in f(n: int32), found the end`,
		"f":                                   `spec: byte 1 of "f": expected "(" after the name of the function, found the end`,
		"f(":                                  `spec: byte 2 of "f(": expected the name of a parameter, as in n: int32, found the end`,
		"f(a)":                                `spec: byte 3 of "f(a)": expected ":" and a type after the name of a parameter, found ')'`,
		"f(a: )":                              `spec: byte 5 of "f(a: )": expected a type, such as float32, Tensor([n], float32), Shape([n]) or Stream, found ')'`,
		"f(a: int32,)":                        `spec: byte 11 of "f(a: int32,)": expected the name of a parameter, as in n: int32, found ')'`,
		"f(a: int32":                          `spec: byte 10 of "f(a: int32": expected "," or ")" in the parameters, found the end`,
		"f(a: int32) -> int":                  `spec: byte 12 of "f(a: int32) -> int": expected the end after ")", found '-': kernels return nothing`,
		"f(a: integer)":                       `spec: byte 5 of "f(a: integer)": "integer" is not a type: write a data type such as float32, or Tensor, Shape, Stream, EnvStream, DataPointer, None, Int, Bool, Float, Tuple or Optional`,
		"f(a: Tensor)":                        `spec: byte 11 of "f(a: Tensor)": expected "(" after Tensor, as in Tensor([n], float32), found ')'`,
		"f(a: Tensor(n))":                     `spec: byte 12 of "f(a: Tensor(n))": expected "[" before the dimensions, as in [n, 4], found "n"`,
		"f(a: Tensor([n]))":                   `spec: byte 15 of "f(a: Tensor([n]))": expected "," and a data type after the shape, as in Tensor([n], float32), found ')'`,
		"f(a: Tensor([n * 2], int8))":         `spec: byte 15 of "f(a: Tensor([n * 2], int8))": a dimension is a number or a name, not an expression: name the result, as in m in place of n * 2, or write _ for any value`,
		"f(a: Tensor([n], int8, n=1))":        `spec: byte 23 of "...: Tensor([n], int8, n=1))": "n" is not a property of a tensor: write strides=, align= or device=`,
		"f(s: Shape([n % 0]))":                `spec: byte 16 of "f(s: Shape([n % 0]))": a value cannot be divisible by 0: write a number from 1 on`,
		"f(s: Shape([99999999999999999999]))": `spec: byte 12 of "f(s: Shape([99999999999999999999...": 99999999999999999999 does not fit int64`,
		"f(c: Bool(1))":                       `spec: byte 10 of "f(c: Bool(1))": expected True or False in Bool(), found '1'`,
		"f(c: Float(1e-400))":                 `spec: byte 11 of "f(c: Float(1e-400))": "1e-400" is not a number: write one like Float(1.5)`,
		"f(c: Float(x))":                      `spec: byte 11 of "f(c: Float(x))": "x" is not a number: write one like Float(1.5)`,
		"f(c: Int)":                           `spec: byte 8 of "f(c: Int)": expected "(" after Int, which stands for a constant: write int32, bool or float32 for a value, found ')'`,
		"f(a: Tensor([n], int8, align=8, align=8))": `spec: byte 32 of "...[n], int8, align=8, align=8))": align stands there twice: remove one`,
		"f(\xff: int32)":                        `spec: byte 2 of "f(\xff: int32)": expected the name of a parameter, as in n: int32, found '�'`,
		"f(a: " + strings.Repeat("Tuple[", 100): `types nest deeper than 32`,
		"f(" + strings.Repeat("x", 1<<20) + ")": `the limit is 1048576`,
		// Types and alignments that no kernel has.
		"f(a: Tensor([n], int8, align=-1))": `spec: byte 29 of "...or([n], int8, align=-1))": a: an address cannot be aligned to -1 bytes: write a power of 2, such as 16`,
		"f(a: Tensor([n], int8, align= 3))": `spec: byte 30 of "...r([n], int8, align= 3))": a: an address cannot be aligned to 3 bytes: write a power of 2, such as 16`,
		"f(a: Tensor([n], int8, align=0))":  `spec: byte 29 of "...or([n], int8, align=0))": a: an address cannot be aligned to 0 bytes: write a power of 2, such as 16`,
		"f(a: Tensor([n], float33))":        `spec: byte 17 of "f(a: Tensor([n], float33))": there is no type float33: write float16, float32 or float64, or a smaller one with its layout, such as float8_e4m3fn`,
		"f(a: Tensor([n], f8))":             `spec: byte 17 of "f(a: Tensor([n], f8))": there is no type f8: write float16, float32 or float64, or a smaller one with its layout, such as float8_e4m3fn`,
		"f(a: Tensor([n], float128x2))":     `there is no type float128x2: write float16, float32 or float64`,
		"f(k: int33)":                       `spec: byte 5 of "f(k: int33)": there is no type int33: integers have 1, 2, 4, 8, 16, 32, 64 or 128 bits`,
		"f(s: Shape([n: uint24]))":          `spec: byte 15 of "f(s: Shape([n: uint24]))": there is no type uint24: integers have 1, 2, 4, 8, 16, 32, 64 or 128 bits`,
		"f(b: bool1)":                       `spec: byte 5 of "f(b: bool1)": there is no type bool1: write bool`,
		"f(b: Tensor([], bfloat8))":         `spec: byte 16 of "f(b: Tensor([], bfloat8))": there is no type bfloat8: write bfloat16`,
		"f(a: Tensor([], complex32))":       `spec: byte 16 of "f(a: Tensor([], complex32))": there is no type complex32: write complex64 or complex128`,
		"f(z: complex64)":                   `spec: f: z: a call cannot pass a number of type complex64: take its two parts, or a tensor`,
		"f(h: handle32)":                    `spec: byte 5 of "f(h: handle32)": there is no type handle32: write handle`,
		// Divisors and sizes that no value has.
		"f(k: int8 % 300)":                                `spec: byte 12 of "f(k: int8 % 300)": the divisor 300 is more than the type int8 holds: write a number from 1 to 127, or another type`,
		"f(k: int8 % 128)":                                `the divisor 128 is more than the type int8 holds: write a number from 1 to 127`,
		"f(k: uint8 % 256)":                               `the divisor 256 is more than the type uint8 holds: write a number from 1 to 255`,
		"f(a: Tensor([n: int16 % 32768], int8))":          `spec: byte 24 of "... Tensor([n: int16 % 32768], int8))": the divisor 32768 is more than the type int16 holds: write a number from 1 to 32767, or another type`,
		"f(s: Shape([n: int8]), t: Shape([n % 200]))":     `spec: f: n: the divisor 200 is more than the type int8 holds: write a number from 1 to 127, or another type`,
		"f(a: Tensor([n % 2147483648], int8))":            `spec: f: n: the divisor 2147483648 is more than the type int32 holds: write a number from 1 to 2147483647, or another type`,
		"f(a: Tensor([_ % 2147483648], int8))":            `spec: f: a.shape[0]: the divisor 2147483648 is more than the type int32 holds: write a number from 1 to 2147483647, or another type`,
		"f(k: bool % 2)":                                  `spec: f: k: only integers are divisible, not bool`,
		"f(a: Tensor([4294967296, n, 2147483649], int8))": `spec: f: a: the sizes are those of more elements than an int64 counts: write smaller ones, or names`,
		"f(a: Tensor([], int8, device=cuda:-1))":          `spec: f: a: -1 is not the number of a device: write one from 0 on, such as 1, or a name`,
		"f(a: Tensor([], int8, device=cuda:2147483648))":  `spec: f: a: 2147483648 is not the number of a device: write one from 0 on, such as 1, or a name`,
		// Descriptions that make no sense.
		"f(a: int32, a: int8)":                                                 `spec: f: two parameters have the name a: give one of them another name`,
		"f(a: Tensor([-1], int8))":                                             `spec: f: a.shape[0]: the size -1 is negative: write a number from 0 on, a name, or _ for any value`,
		"f(a: Tensor([n], int8, strides=[1, 1]))":                              `spec: f: a: it needs a stride for each dimension: the shape has 1, the strides have 2`,
		"f(a: Tensor([n], int8, device=gpu))":                                  `spec: f: a: "gpu" is not a type of device: write cpu, cuda, rocm, metal or another of DLPack`,
		"f(a: Tensor([n: float32], int8))":                                     `spec: f: dimension n: its type float32 is not an integer of at most 64 bits: write int32 or int64`,
		"f(n: float32, a: Tensor([n], int8))":                                  `spec: f: dimension n: its type float32 is not an integer of at most 64 bits: write int32 or int64`,
		"f(s: Shape([n: int64]), t: Shape([n: int32]))":                        `spec: f: n is of type int64 in one place and int32 in another: write one type`,
		"f(s: Shape([n % 4]), t: Shape([n % 8]))":                              `spec: f: n is divisible by 4 in one place and by 8 in another: write one divisor`,
		"f(s: Shape([_: float32]))":                                            `spec: f: s[0]: its type float32 is not an integer of at most 64 bits: write int32 or int64`,
		"tvm: f(a: Tensor([n % 4], int8))":                                     `spec: f: a.shape[0]: functions of TVM do not ask for a divisor: remove % 4`,
		"tvm: f(n: int32 % 4)":                                                 `spec: f: n: functions of TVM do not ask for a divisor: remove % 4`,
		"tvm: f(s: Shape([n]))":                                                `spec: f: s: functions of TVM take tensors and numbers, not Shape`,
		"tvm: f(s: Optional[Tensor([n], int8)])":                               `spec: f: s: functions of TVM take tensors and numbers, not Optional`,
		"tvm: f(a: Tensor([n], int8, device=cuda:1))":                          `spec: f: a: all tensors of a function of TVM are on one device: leave its number out`,
		"tvm: f(a: Tensor([T.int64(-4)], int8))":                               `spec: f: a.shape[0]: the size -4 is negative: write a number from 0 on, a name, or _ for any value`,
		"tvm: f(a: Tensor([n], int8, offset=-4))":                              `spec: f: a: the offset of a tensor is a number of bytes from 0 on, or _ for any, in the dialect of TVM alone`,
		"tvm: f(a: Tensor([n], int8, offset=n))":                               `the offset of a tensor is a number of bytes from 0 on, or _ for any`,
		"tvm: f(a: Tensor([n], int8, offset=_: int64))":                        `the offset of a tensor is a number of bytes from 0 on, or _ for any`,
		"f(a: Tensor([n], int8, offset=4))":                                    `spec: byte 23 of "...: Tensor([n], int8, offset=4))": "offset" is not a property of a tensor: write strides=, align= or device=`,
		"tvm: f(a: Tensor([n], int8, space=4))":                                `"space" is not a property of a tensor: write strides=, align=, offset= or device=`,
		"tvm: f(a: T.handl)":                                                   `spec: byte 10 of "tvm: f(a: T.handl)": "handl" is not a type: write a data type such as float32, or Tensor or T.handle`,
		"f(a: Tensor([d: float32, c: float32, b: float32, a: float32], int8))": `spec: f: dimension a: its type float32 is not an integer of at most 64 bits: write int32 or int64`,
		"tvm: (a: Tensor([1], int8))":                                          `expected the name of the function, as in tvm: f(n: int32), found '('`,
		"tvm: f(a: Tensor([T.int64(x)], int8))":                                `expected a dimension: a number, found "x"`,
		"f(a: Tensor([T.int64(4)], int8))":                                     `a dimension is a number or a name, not an expression`,
		"f(x: float32 % 4)":                                                    `spec: f: x: only integers are divisible, not float32`,
		"f(x: int32x4)":                                                        `spec: f: x: the type int32x4 of a number must be one of int, uint, bool, float16, bfloat16, float32, float64 and handle`,
		"f(a: Tensor([n], float32, device=cpu), s: EnvStream)":                 `spec: f: s: there is no tensor on a device to take the current stream of: use Stream`,
		"f(a: Tensor([n], float32), s: Tuple[EnvStream])":                      `spec: f: s[0]: an EnvStream is not an argument, so it cannot stand in a Tuple or an Optional`,
		"f(a: Optional[Optional[int32]])":                                      `spec: f: a: an Optional of an Optional: write one`,
		"f(a: Optional[None])":                                                 `spec: f: a: an Optional of None: write None`,
	} {
		_, err := spec.Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.HasPrefix(want, "spec: ") && err.Error() != want {
			t.Errorf("%.60q:\ngot  %v\nwant %s", text, err, want)
		}
		var s *spec.SyntaxError
		if syntax := strings.HasPrefix(want, "spec: byte"); errors.As(err, &s) != syntax && strings.HasPrefix(want, "spec: ") {
			t.Errorf("%q: a SyntaxError: %v, want %v", text, !syntax, syntax)
		}
	}
}

func TestJSONErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                                         `unexpected end of JSON input`,
		`{"name": "f", "x": 1}`:                     `unknown field "x"`,
		`{"name":"f","params":[],"params":[]}`:      `spec: line 1, column 25: the key "params" occurs twice: remove one`,
		`{"name":"f","params":[],"Params":[]}`:      `spec: line 1, column 25: the keys "params" and "Params" are one key: remove one`,
		`{"name": ""}`:                              `spec: "" is not the name of a function`,
		`{"name":"f","params":[{}]}`:                `"" is not a type: write a data type such as float32, or tensor,`,
		`{"name":"f","params":[null]}`:              `"" is not a type`,
		`{"name":"f","params":[{"type":"stream"}]}`: `spec: f: parameter 0 has no name`,
		`{"name":"f","params":[{"name":"a","type":"stream","align":4}]}`:                               `should be written as {"name":"a","type":"stream"}`,
		`{"name":"f","params":[{"name":"a","type":"shape","shape":[null]}]}`:                           `the dimension null is not a whole number, a name or an object`,
		`{"name":"f","params":[{"name":"a","type":"shape","shape":[1.5]}]}`:                            `the dimension 1.5 is not a whole number, a name or an object`,
		`{"name":"f","params":[{"name":"a","type":"shape","shape":[{"name":"n","x":1}]}]}`:             `unknown field "x"`,
		`{"name":"f","params":[{"name":"a","type":"tensor","shape":[]}]}`:                              `spec: f: a: void is not an element type`,
		`{"name":"f","params":[{"name":"a","type":"tensor","dtype":"f33x","shape":[]}]}`:               `Invalid lanes specification in dtype 'float33x'`,
		`{"name":"f","params":[{"name":"a","type":"tensor","dtype":"int7","shape":[]}]}`:               `spec: f: a: there is no type int7: integers have 1, 2, 4,`,
		`{"name":"f","params":[{"name":"a","type":"int65"}]}`:                                          `spec: f: a: there is no type int65: integers have 1, 2, 4,`,
		`{"name":"f","params":[{"name":"a","type":"tensor","dtype":"int8","shape":[],"align":12}]}`:    `spec: f: a: an address cannot be aligned to 12 bytes: write a power of 2`,
		`{"name":"f","params":[{"name":"a","type":"tensor","dtype":"int8","shape":[],"device_id":1}]}`: `should be written as {"name":"a","type":"tensor","dtype":"int8","shape":[],"device":"cuda","device_id":1}`,
		`{"name":"f","params":[{"name":"a","type":"const","value":5}]}`:                                `the value of a constant must be a string such as "Int(5)"`,
		`{"name":"f","params":[{"name":"a","type":"const","value":"Int(5) x"}]}`:                       `unexpected text after the constant`,
		`{"name":"f","params":[{"name":"a","type":"const","value":"int32"}]}`:                          `should be written as {"name":"a","type":"int32"}`,
	} {
		err := json.Unmarshal([]byte(text), new(spec.Func))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\ngot  %v\nwant %s", text, err, want)
		}
	}
}

func TestMessages(t *testing.T) {
	const text = "add_one(A: Tensor([n], float32), B: Tensor([n], float32))"
	f, err := spec.ParseMessage("Mismatched type on argument #1 when calling:\n  `" + text + "`,\n  expected Tensor")
	if err != nil || f.Dialect != spec.TVM || f.Signature() != text || f.String() != "tvm: "+text {
		t.Errorf("the message reads as %v, %v, want that of TVM's %s", f, err, text)
	}
	f, err = spec.ParseMessage("Mismatched type on argument #1 when calling: `" + text + "`, expected Tensor")
	if err != nil || f.Dialect != spec.CuTe || f.String() != text {
		t.Errorf("the message reads as %v, %v, want %s", f, err, text)
	}
	for _, bad := range []string{"", "when calling: f()", "when calling: `f(", "out of memory"} {
		if _, err := spec.ParseMessage(bad); err == nil || !strings.Contains(err.Error(), "has no signature") {
			t.Errorf("%q: %v, want \"has no signature\"", bad, err)
		}
	}
}

// TestNilParts makes descriptions in Go that the notations cannot express.
func TestNilParts(t *testing.T) {
	for _, c := range []struct {
		f    *spec.Func
		want string
	}{
		{nil, "the function is nil"},
		{spec.New("f", nil), "parameter 0 has no name"},
		{spec.New("f", spec.Optional{}), "parameter 0 has no name"},
		{spec.New("f", spec.Tuple{Name: "t", Elems: []spec.Param{nil}}), "t[0] is nil"},
		{spec.New("f", spec.Tuple{Name: "t", Elems: []spec.Param{spec.Optional{}}}), "t[0]: an Optional of nothing"},
		{spec.New("f", spec.Shape{Name: "s", Dims: []spec.Dim{nil}}), "s[0]: a dimension is nil"},
		{spec.New("f", spec.Shape{Name: "s", Dims: []spec.Dim{spec.Var{}}}), `s[0]: "" is not the name of a dimension`},
		{spec.New("f", spec.Const{Name: "c", Value: 5}), "c: a constant of type int: use nil, bool, int64 or float64"},
		{spec.New("f", spec.DataPointer{Name: "p", Space: -1}), "p: -1 is not an address space"},
		{spec.New("f", spec.Var{Name: "x"}), "x: the type void of a number must be one of"},
		{spec.New("f", spec.Var{Name: "a b", DType: spec.Int32}), `"a b" is not the name of a parameter`},
		{spec.New("f(", spec.Var{Name: "a", DType: spec.Int32}), `"f(" is not the name of a function`},
		{spec.New("f", spec.Tensor{Name: "t", DType: spec.DType{Code: 200, Bits: 8, Lanes: 1}}), "is not an element type"},
		{spec.New("f", spec.Var{Name: "a", DType: spec.Int32, Divisibility: -1}), "cannot be divisible by -1"},
		{spec.New("f", spec.Tensor{Name: "a", DType: spec.Int8, Offset: spec.Any}), "in the dialect of TVM alone"},
	} {
		_, err := c.f.Plan()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
		if c.f != nil {
			if _, err := json.Marshal(c.f); err == nil {
				t.Errorf("%s was written as JSON", c.want)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := spec.Parse(text)
		if err != nil {
			return
		}
		printed := d.String()
		back, err := spec.Parse(printed)
		if err != nil {
			t.Fatalf("%q is printed as %q: %v", text, printed, err)
		}
		if back.String() != printed {
			t.Fatalf("%q is printed as %q and then as %q", text, printed, back)
		}
		roundTrip(t, back)
	})
}

func FuzzJSON(f *testing.F) {
	for _, text := range texts {
		if d, err := spec.Parse(text); err == nil {
			data, err := json.Marshal(d)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(data))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := new(spec.Func)
		if json.Unmarshal([]byte(text), d) != nil {
			return
		}
		roundTrip(t, d)
	})
}
