package kernel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestPTXSizes(t *testing.T) {
	for _, c := range []struct {
		params string
		want   []int
		known  bool
	}{
		{"()", nil, true},
		{" ( \n ) ", nil, true},
		{"\n.maxntid 32, 1, 1\n{ ret; }", nil, true},
		{"(\n\t.param .u32 f_param_0,\n\t.param .f32 f_param_1,\n\t.param .u64 .ptr .global .align 4 f_param_2, .param .s8 c)", []int{4, 4, 8, 1}, true},
		{"(.param .align 4 .b8 s[12], .param .align 64 .b8 map[ 2 ][64], .param .b16 h, .param .bf16 b, .param .f16x2 v, .param .f64 d)", []int{12, 128, 2, 2, 4, 8}, true},
		{"(.param .texref t)", nil, false},
		{"(.param .u32 n", nil, false},
		{"(.param .u32 n,)", nil, false},
		{"(.param .b8 s[])", nil, false},
		{"(.param .b8 s[99999999999999999999])", nil, false},
		{"(.param .b8 s[60000][60000])", nil, false},
		{"(.reg .u32 n)", nil, false},
	} {
		if got, known := ptxSizes(c.params); known != c.known || known && !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, %t, want %v, %t", c.params, got, known, c.want, c.known)
		}
	}
}

// about assembles the section about a kernel whose parameters have these bytes.
func about(sizes ...int) []byte {
	le, at := binary.LittleEndian, 0
	var records []byte
	for i, size := range sizes {
		at = (at + size - 1) / size * size
		r := make([]byte, 16)
		r[0], r[1] = 4, 0x17
		le.PutUint16(r[2:], 12)
		le.PutUint16(r[8:], uint16(i))
		le.PutUint16(r[10:], uint16(at))
		le.PutUint32(r[12:], uint32(size)<<18|0x1f000)
		at += size
		records = append(r, records...) // compilers write the last one first
	}
	return append([]byte{4, 0x37, 4, 0, 1, 2, 3, 4, 3, 0x19, byte(at), 0, 1, 0x35, 0, 0}, records...)
}

func TestCubinSizes(t *testing.T) {
	whole := about(4, 4, 8, 8, 1)
	lacks := bytes.Clone(whole)
	lacks[16+8] = 9 // there is a parameter 9 and no parameter 4
	other := bytes.Clone(whole)
	other[10]++
	for name, c := range map[string]struct {
		data  []byte
		want  []int
		known bool
	}{
		"whole":           {whole, []int{4, 4, 8, 8, 1}, true},
		"none":            {[]byte{4, 0x37, 4, 0, 1, 2, 3, 4}, nil, true},
		"no section":      {nil, nil, false},
		"a hole":          {lacks, nil, false},
		"another total":   {other, nil, false},
		"cut in a record": {whole[:len(whole)-1], nil, false},
		"cut before one":  {whole[:16], nil, false},
	} {
		if got, known := cubinSizes(c.data); known != c.known || known && !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %t, want %v, %t", name, got, known, c.want, c.known)
		}
	}
	for n := range whole {
		if got, known := cubinSizes(whole[:n]); known && (len(got) > 0 || n > 8) {
			t.Errorf("the first %d bytes: %v", n, got)
		}
	}
}

// TestParameters has kernels whose arguments are not the parameters of the image.
func TestParameters(t *testing.T) {
	ptx := []byte(".version 8.0\n.visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y) { ret; }\n.visible .entry none() { ret; }\n.visible .entry one(.param .u64 x) { ret; }")
	code := cubinAbout("saxpy", about(4, 4, 8, 8))
	contents := map[string][]byte{
		"k.ptx": ptx, "k.sm_90.cubin": code, "k.fatbin": fatbin(t, fatImageOf{2, 0, code}, fatImageOf{1, fatLZ4, ptx}),
		"second.fatbin":    fatbin(t, fatImageOf{1, 0, []byte(".version 8.0\n.visible .entry saxpy(.param .u32 n) { ret; }")}, fatImageOf{2, fatZstd, code}),
		"bare.sm_90.cubin": cubin(".nv.constant0.saxpy"), "other.fatbin": fatbin(t, fatImageOf{8, 0, code}),
	}
	const description = "saxpy(x: Tensor([n], float32), y: Tensor([n], float32), a: float32)"
	good := []string{"n", "a", "x", "y"}
	for _, c := range []struct {
		image, spec string
		args        []string
		key         string
		item        int
		want        string // "" if it is accepted
	}{
		{"k.ptx", description, good, "", 0, ""},
		{"k.sm_90.cubin", description, good, "", 0, ""},
		{"k.fatbin", description, good, "", 0, ""},
		{"bare.sm_90.cubin", description, good[1:], "", 0, ""}, // does not tell
		{"other.fatbin", description, good[1:], "", 0, ""},     // cannot be read
		{"k.ptx", description, good[1:], "args", -1, "the kernel saxpy in k.ptx: it has 4 parameters of [4 4 8 8] bytes, found 3 of [4 8 8] (a, x, y): pass one for each parameter, in their order"},
		{"k.ptx", description, append(good[:4:4], "n"), "args", -1, "the kernel saxpy in k.ptx: it has 4 parameters of [4 4 8 8] bytes, found 5 of [4 4 8 8 4] (n, a, x, y, n): pass"},
		{"k.sm_90.cubin", description, good[1:], "args", -1, "the kernel saxpy in k.sm_90.cubin: it has 4 parameters of [4 4 8 8] bytes, found 3 of [4 8 8] (a, x, y)"},
		{"k.fatbin", description, good[1:], "args", -1, "the kernel saxpy in k.fatbin: it has 4 parameters"},
		{"second.fatbin", description, good, "args", -1, "the kernel saxpy in second.fatbin: it has 1 parameter of [4] bytes, found 4"},
		{"k.ptx", description, []string{"n", "x", "a", "y"}, "args", 1, "the kernel saxpy in k.ptx: its parameter 1 has 4 bytes, found x with 8: correct the order in args, or a type in spec"},
		{"k.sm_90.cubin", strings.Replace(description, "a: float32", "a: float64", 1), good, "args", 1, "the kernel saxpy in k.sm_90.cubin: its parameter 1 has 4 bytes, found a with 8"},
		{"k.ptx", strings.Replace(description, "a: float32", "a: float16", 1), good, "args", 1, "its parameter 1 has 4 bytes, found a with 2"},
		{"k.ptx", strings.Replace(description, "[n]", "[n: int64]", 1), good, "args", 0, "its parameter 0 has 4 bytes, found n with 8"},
		{"k.ptx", description, nil, "spec", -1, "the kernel saxpy in k.ptx: it has 4 parameters of [4 4 8 8] bytes, found 3 of [8 8 4] (x, y, a)"},
		{"k.ptx", "none(x: Tensor([_], float32))", nil, "spec", -1, "the kernel none in k.ptx: it has no parameters, found 1 of [8] (x)"},
		{"k.ptx", "one(x: Tensor([_], float32), k: int8)", nil, "spec", -1, "the kernel one in k.ptx: it has 1 parameter of [8] bytes, found 2 of [8 1] (x, k)"},
	} {
		_, err := Make("kernels", []Source{{Spec: c.spec, Images: []string{c.image}, Args: c.args, Grid: []string{"1"}, Block: []string{"1"}}}, contents)
		var e *Error
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s with %q: %v\nwant %q", c.image, c.args, err, c.want)
		case c.want != "" && (!errors.As(err, &e) || e.Key != c.key || e.Item != c.item):
			t.Errorf("%s with %q: the place is %s[%d], want %s[%d]", c.image, c.args, e.Key, e.Item, c.key, c.item)
		}
	}
	_, err := Make("kernels", []Source{{Spec: description, Images: []string{"k.ptx"}, Entry: "saxpy<float>", Grid: []string{"1"}, Block: []string{"1"}}}, contents)
	if err == nil || !strings.Contains(err.Error(), "write it as PTX has it") || strings.Contains(err.Error(), "there is no kernel") {
		t.Errorf("an entry that cannot be a name: %v", err)
	}
}

// cubinAbout assembles an image with one kernel and the section about it.
func cubinAbout(name string, records []byte) []byte {
	data := cubin(".nv.info."+name, ".nv.constant0."+name)
	le := binary.LittleEndian
	section := data[le.Uint64(data[40:]):]
	le.PutUint64(section[24:], uint64(len(data)))
	le.PutUint64(section[32:], uint64(len(records)))
	return append(data, records...)
}
