package kernel

import (
	"errors"
	"strings"
	"testing"
)

// TestRefused has a mistake in each kernel. Each has one error, whose place and text are compared
// in full.
func TestRefused(t *testing.T) {
	const x = "f(x: Tensor([_], float32)"
	described := func(text string) func(*Source) { return func(s *Source) { s.Spec = text } }
	one := func(more string) func(*Source) { return described(x + ", " + more + ")") }
	options := func(list ...string) func(*Source) {
		return func(s *Source) { s.Images, s.Program, s.Options = nil, "k.cu", list }
	}
	images := func(list ...string) func(*Source) { return func(s *Source) { s.Images = list } }
	register := func(name string) func(*Source) { return func(s *Source) { s.Register = name } }
	const (
		names   = " is not a name for the registry: write letters, digits, _, - and $, with dots between words, such as kernels.saxpy"
		symbols = " is not the name of a kernel: write it as PTX has it, with letters, digits, _ and $; the name of a template is mangled"
		embed   = ": name one in the folder of the package or below, without quotes and the characters * ? [ ] < > | \\ :"
	)
	for _, c := range []struct {
		change func(*Source)
		want   string
	}{
		// Divisors.
		{one("k: int8 % 300"), `spec: byte 37 of "...float32), k: int8 % 300)": the divisor 300 is more than the type int8 holds: write a number from 1 to 127, or another type`},
		{one("k: uint16 % 65536"), `spec: byte 39 of "...oat32), k: uint16 % 65536)": the divisor 65536 is more than the type uint16 holds: write a number from 1 to 65535, or another type`},
		{described("f(x: Tensor([n % 3000000000], float32))"), `spec: f: n: the divisor 3000000000 is more than the type int32 holds: write a number from 1 to 2147483647, or another type`},
		{one("s: Shape([n: int8]), t: Shape([n % 300])"), `spec: f: n: the divisor 300 is more than the type int8 holds: write a number from 1 to 127, or another type`},
		{one("k: int32 % 0"), `spec: byte 38 of "...loat32), k: int32 % 0)": a value cannot be divisible by 0: write a number from 1 on`},
		{one("k: int32 % -1"), `spec: byte 38 of "...loat32), k: int32 % -1)": a value cannot be divisible by -1: write a number from 1 on`},
		{one("k: bool % 2"), `spec: f: k: only integers are divisible, not bool`},
		{one("k: float32 % 2"), `spec: f: k: only integers are divisible, not float32`},
		{described("f(x: Tensor([n % 4], float32), y: Tensor([n % 6], float32))"), `spec: f: n is divisible by 4 in one place and by 6 in another: write one divisor`},
		// Sizes, strides and devices.
		{one("s: Shape([-1])"), `spec: f: s[0]: the size -1 is negative: write a number from 0 on, a name, or _ for any value`},
		{described("f(x: Tensor([-1], float32))"), `spec: f: x.shape[0]: the size -1 is negative: write a number from 0 on, a name, or _ for any value`},
		{described("f(x: Tensor([9223372036854775807, 2], float32))"), `spec: f: x: the sizes are those of more elements than an int64 counts: write smaller ones, or names`},
		{described("f(x: Tensor([_], float32, strides=[_, _]))"), `spec: f: x: it needs a stride for each dimension: the shape has 1, the strides have 2`},
		{described("f(x: Tensor([" + strings.Repeat("1, ", 64) + "1], float32))"), `spec: x: 65 dimensions are too many: write at most 64`},
		{one("s: Shape([" + strings.Repeat("1, ", 64) + "1])"), `spec: s: 65 dimensions are too many: write at most 64`},
		{described("f(x: Tensor([_], float32, device=cuda:-1))"), `spec: f: x: -1 is not the number of a device: write one from 0 on, such as 1, or a name`},
		{described("f(x: Tensor([_], float32, device=cuda:9999999999))"), `spec: f: x: 9999999999 is not the number of a device: write one from 0 on, such as 1, or a name`},
		{described("f(x: Tensor([_], float32, align=3))"), `spec: byte 32 of "...[_], float32, align=3))": x: an address cannot be aligned to 3 bytes: write a power of 2, such as 16`},
		{described("f(x: Tensor([_], float32, align=0))"), `spec: byte 32 of "...[_], float32, align=0))": x: an address cannot be aligned to 0 bytes: write a power of 2, such as 16`},
		// Types and constants.
		{described("f(x: Tensor([_], ))"), `spec: byte 17 of "f(x: Tensor([_], ))": expected the data type of the elements, such as float32, found ')'`},
		{described("f(x: Tensor([n: bool], float32))"), `spec: f: dimension n: its type bool is not an integer of at most 64 bits: write int32 or int64`},
		{one("k: int1"), `spec: k: Go has no int1: take a type of 8, 16, 32 or 64 bits`},
		{one("c: Int(99999999999999999999)"), `spec: byte 34 of "...], float32), c: Int(99999999999999999999...": 99999999999999999999 does not fit int64`},
		{one("c: Bool(2)"), `spec: byte 35 of "..., float32), c: Bool(2))": expected True or False in Bool(), found '2'`},
		{one("c: Float(1e999)"), `spec: byte 36 of "... float32), c: Float(1e999))": "1e999" is not a number: write one like Float(1.5)`},
		{one("t: Tuple[]"), `spec: t: a Tuple without elements passes nothing: write its elements, or remove it`},
		{one("t: Tuple[int32, Tuple[]]"), `spec: t[1]: a Tuple without elements passes nothing: write its elements, or remove it`},
		{one("s: Shape([])"), `spec: s: a Shape without sizes passes nothing: write its sizes, or remove it`},
		{one("s: EnvStream, t: EnvStream"), `spec: t: it is the second stream beside s, and a kernel runs on one: remove one`},
		{one("s: Stream, t: EnvStream"), `spec: t: it is the second stream beside s, and a kernel runs on one: remove one`},
		// Names.
		{one("x: int32"), `spec: f: two parameters have the name x: give one of them another name`},
		{one("t: Tuple[x: int32]"), `spec: f: two parameters have the name x: give one of them another name`},
		{one("_: int32"), `spec: parameter 1 has no name: give it one in place of _`},
		{described("_(x: Tensor([_], float32))"), `name: "" is not an exported Go name: write one such as Saxpy`},
		{described("f..g(x: Tensor([_], float32))"), `spec: "kernels.f..g"` + names},
		{register("a b"), `register: "a b"` + names},
		{register("a\x00"), `register: "a\x00"` + names},
		{register(" "), `register: " "` + names},
		{register("a."), `register: "a."` + names},
		{register("\xff"), `register: "\xff"` + names},
		{register("a\nb"), `register: "a\nb"` + names},
		{func(s *Source) { s.Entry = "k<float>" }, `entry: "k<float>"` + symbols},
		{func(s *Source) { s.Entry = "a b" }, `entry: "a b"` + symbols},
		{func(s *Source) { s.Entry = "1f" }, `entry: "1f"` + symbols},
		{func(s *Source) { s.Doc = "about\x00it" }, `doc: byte 5 of "about\x00it" cannot stand in a comment: remove it`},
		{func(s *Source) { s.Doc = "a\uFEFFb" }, `doc: byte 1 of "a\ufeffb" cannot stand in a comment: remove it`},
		{func(s *Source) { s.Doc = "a\xffb" }, `doc: "a\xffb" is not UTF-8: write it in UTF-8`},
		// The launch.
		{func(s *Source) { s.Args = []string{"x", ""} }, `args[1]: unknown name "": the description has no names of sizes; its parameters are x`},
		{func(s *Source) { s.Grid = []string{"x"} }, `grid[0]: byte 0 of "x": x is not a size or an integer: the description has no names of sizes`},
		{func(s *Source) { s.Grid = []string{"7 % (3 - 3)"} }, `grid[0]: byte 2 of "7 % (3 - 3)": a division by 0`},
		{func(s *Source) { s.Block = []string{"-1"} }, `block[0]: byte 0 of "-1": expected a number, the name of a size, ceildiv(), min(), max() or "(", found '-'`},
		{func(s *Source) { s.Cluster = []string{"2"} }, `cluster: the grid is 3 in x, and the cluster 2: write a grid that is a multiple of the cluster`},
		{func(s *Source) { s.Cluster = []string{"3", "2"} }, `cluster: the grid is 1 in y, and the cluster 2: write a grid that is a multiple of the cluster`},
		// Files and options.
		{images("../f.ptx"), `image[0]: go:embed does not take the file "../f.ptx"` + embed},
		{images("/f.ptx"), `image[0]: go:embed does not take the file "/f.ptx"` + embed},
		{images("f*.ptx"), `image[0]: go:embed does not take the file "f*.ptx"` + embed},
		{images("f.ptx", "g.ptx", "f.ptx"), `image[2]: f.ptx is named twice: remove one`},
		{images("f.sm_90.cubin", "f.sm_90a.cubin", "g.sm_90.cubin"), `image[2]: f.sm_90.cubin and g.sm_90.cubin are for one architecture: keep one`},
		{func(s *Source) { s.Images, s.Program = nil, "../k.cu" }, `source: go:embed does not take the file "../k.cu"` + embed},
		{options("-lineinfo", ""), `options[1]: "" is not an option of NVRTC: remove it`},
		{options("-D\x00"), `options[0]: "-D\x00" is not an option of NVRTC: remove it`},
		{options("--gpu-architecture=sm_90"), `options[0]: --gpu-architecture=sm_90: name the architecture with arch in place of this option`},
		{options("-dlto"), `options[0]: -dlto: its result is for a linker, and a kernel is loaded as it is: remove it`},
	} {
		s := Source{Spec: x + ")", Images: []string{"f.ptx"}, Grid: []string{"3"}, Block: []string{"32"}}
		c.change(&s)
		_, err := Make("kernels", []Source{s}, nil)
		var e *Error
		if err == nil || err.Error() != "kernels[0]."+c.want || !errors.As(err, &e) || e.Kernel != 0 {
			t.Errorf("%.80s: %v\nwant kernels[0].%s", s.Spec, err, c.want)
		}
	}
}

// TestAccepted has what is next to these mistakes and is correct.
func TestAccepted(t *testing.T) {
	ones := strings.Repeat("1, ", 63) + "1"
	for _, s := range []Source{
		{Spec: "f(x: Tensor([n: uint8 % 255, _ % 2147483647], float32), k: int8 % 127, m: int64 % 9223372036854775807)"},
		{Spec: "f(x: Tensor([" + ones + "], float32, device=cuda:2147483647), s: Shape([" + ones + "]))"},
		{Spec: "f(x: Tensor([0, 9223372036854775807, 2], float32), t: Tuple[None], e: EnvStream)"},
		{Spec: "func(x: Tensor([_], float32), type: int32, range: int32, a.b: int32, a$b: int32)", Register: "größe.a-b.$1"},
		{Spec: "ns.größe(x: Tensor([_], float32))", Entry: "_Z1fIfEvPT_", Doc: "Größe\n\tof it."},
		{Spec: "f(x: Tensor([_], float32))", Doc: "For astronauts, 👩\u200d🚀, and soft\u00adware."},
		{Spec: "f(x: Tensor([_], float32))", Images: []string{}, Program: "k.cu", Options: []string{"-D", "arch=90", "-I", "dlto"}},
		{Spec: "f(x: Tensor([_], float32), k: int32)", Args: []string{"x", "x", "k"}, Cluster: []string{"3"}},
		{Spec: "f(x: Tensor([_], float32), k: int32, b: bool)", Args: []string{"x", "b"}, Grid: []string{"k"}},
		{Spec: "f(x: Tensor([n], float32))", Grid: []string{"n"}, Cluster: []string{"2"}},
		{Spec: "f(x: Tensor([_], float32))", Images: []string{"a/f.sm_90.cubin", "a/f.sm_90a.cubin", "a/f.ptx", "a/g h.ptx"}},
	} {
		s.Block = []string{"32"}
		if s.Images == nil {
			s.Images = []string{"f.ptx"}
		}
		if s.Grid == nil {
			s.Grid = []string{"3"}
		}
		if _, err := Make("kernels", []Source{s}, nil); err != nil {
			t.Errorf("%.80s: %v", s.Spec, err)
		}
	}
}
