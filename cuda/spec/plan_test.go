package spec_test

import (
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
)

func plan(t *testing.T, text string) *spec.Plan {
	t.Helper()
	f, err := spec.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.Plan()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The order is that of kernels of the CuTe DSL.
func TestPlan(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"f()", "count 0"},
		{"f(a: Tensor([n % 8, 4], float16, strides=[s: int64 % 2, 1], align=16), k: int8, s: EnvStream)", `
			count 2
			type a DLTensor*|ffi.Tensor
			divisible a.address 16
			bind a.device.index cuda device
			equal a.ndim 2
			equal a.device.type 2
			dtype a float16
			range a.shape[0] -2147483648..2147483647
			divisible a.shape[0] 8
			bind a.shape[0] n
			equal a.shape[1] 4
			divisible a.strides[0] 2 unless shape[0] is 1
			bind a.strides[0] s
			equal a.strides[1] 1 unless shape[1] is 1
			type k int|bool
			range k -128..127
			bind k k`},
		{"f(a: Tensor([n], float32, device=cuda:1), b: Tensor([_, n], float32, device=cpu))", `
			count 2
			type a DLTensor*|ffi.Tensor
			equal a.device.index 1
			equal a.ndim 1
			equal a.device.type 2
			dtype a float32
			range a.shape[0] -2147483648..2147483647
			bind a.shape[0] n
			contiguous a
			type b DLTensor*|ffi.Tensor
			equal b.ndim 2
			equal b.device.type 1
			dtype b float32
			match b.shape[1] n
			contiguous b`},
		{"f(a: Tensor([_ % 8, _: int8, _], complex64, strides=[_: int64 % 2, _ % 4, 1], device=cuda:_))", `
			count 1
			type a DLTensor*|ffi.Tensor
			equal a.ndim 3
			equal a.device.type 2
			dtype a complex64
			range a.shape[0] -2147483648..2147483647
			divisible a.shape[0] 8
			range a.shape[1] -128..127
			divisible a.strides[0] 2 unless shape[0] is 1
			range a.strides[1] -2147483648..2147483647
			divisible a.strides[1] 4 unless shape[1] is 1
			equal a.strides[2] 1 unless shape[2] is 1`},
		{"tvm: f(m: int16, a: Tensor([n, T.int64(4)], int8), h: T.handle, b: Tensor([m, n, _], float32, strides=[s, 2, 1], align=16), c: Tensor([], bool, align=1))", `
			count 5
			type m int|bool
			bind m m in 16 bits
			type a None|DLTensor*|ffi.Tensor
			type h None|pointer|DLTensor*|ffi.Tensor|ffi.Shape|ffi.Array|ffi.Object
			type b None|DLTensor*|ffi.Tensor
			type c None|DLTensor*|ffi.Tensor
			type a DLTensor*|ffi.Tensor
			equal a.ndim 2
			same dtype a int8
			bind a.shape[0] n
			equal a.device.type 1
			bind a.device.index one device in 32 bits
			type b DLTensor*|ffi.Tensor
			equal b.ndim 3
			same dtype b float32
			bind b.strides[0] s
			equal b.device.type 1
			type c DLTensor*|ffi.Tensor
			equal c.ndim 0
			same dtype c bool
			equal c.device.type 1
			compact a [n, 4]
			not null a.data unless [n, 4] is empty
			match b.shape[0] m in 16 bits
			match b.shape[1] n
			match b.device.index one device in 32 bits
			not null b.data unless [m, n, 1] is empty
			match c.device.index one device in 32 bits
			not null c.data unless [] is empty
			equal a.shape[1] 4
			equal a.byte_offset 0
			equal b.strides[2] 1
			equal b.strides[1] 2
			equal b.byte_offset 0
			equal c.byte_offset 0
			divisible a.data 64 unless [n, 4] is empty
			divisible b.data 16 unless [m, n, 1] is empty`},
		{"f(o: Optional[Shape([n])], p: Optional[Shape([n, n])], s: Shape([n: int64, n]))", `
			count 3
			skip none o to 6
			type o ffi.Shape|ffi.Array
			equal o.len 1
			element int o[0]
			bind o[0] n
			skip none p to 14
			type p ffi.Shape|ffi.Array
			equal p.len 2
			element int p[0]
			element int p[1]
			match p[0] n if bound
			bind p[0] n if n is not bound
			match p[1] n
			type s ffi.Shape|ffi.Array
			equal s.len 2
			element int s[0]
			element int s[1]
			match s[0] n if bound
			bind s[0] n if n is not bound
			match s[1] n`},
		{"f(t: Tuple[Float(1.5), Tuple[handle], Stream, None, Bool(True)])", `
			count 1
			type t ffi.Array
			equal t.len 5
			element t[0]
			type t[0] float
			float t[0] 1.5
			element t[1]
			type t[1] ffi.Array
			equal t[1].len 1
			element t[1][0]
			type t[1][0] None|pointer
			element t[2]
			type t[2] None|int|pointer
			element t[3]
			type t[3] None
			element t[4]
			type t[4] bool
			equal t[4] 1`},
	} {
		var got []string
		for line := range strings.Lines(plan(t, c.text).String()) {
			_, line, _ = strings.Cut(strings.TrimSpace(line), ": ")
			got = append(got, line)
		}
		want := strings.Split(strings.TrimSpace(strings.ReplaceAll(c.want, "\t", "")), "\n")
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", c.text, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestPlanVars(t *testing.T) {
	p := plan(t, "f(o: Optional[Shape([m, n])], a: Tensor([n: int64], float32), t: Tuple[k: int16, Tensor([n], int8, device=cpu)], s: EnvStream)")
	var got []string
	for _, v := range p.Vars {
		s := v.Name + " " + v.DType.String()
		if v.Maybe {
			s += " maybe"
		}
		got = append(got, s)
	}
	if want := "m int32 maybe, n int64, k int16, cuda device int32"; strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
	if p.VarIndex("n") != 1 || p.VarIndex("x") != -1 {
		t.Errorf("VarIndex of n is %d, of x %d, want 1 and -1", p.VarIndex("n"), p.VarIndex("x"))
	}
	if p.NumArgs != 3 || p.Operands[p.EnvStream].Name != "a" || plan(t, "f(a: Tensor([], int8))").EnvStream != -1 {
		t.Errorf("%d arguments, the stream is that of operand %d", p.NumArgs, p.EnvStream)
	}
}
