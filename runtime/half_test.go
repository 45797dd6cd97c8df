package tvmffi_test

import (
	_ "embed"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

//go:embed testdata/narrow.txt
var narrowValues string

func hexFloat(t *testing.T, text string) float32 {
	t.Helper()
	bits, err := strconv.ParseUint(text, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	return math.Float32frombits(uint32(bits))
}

// The conversions agree with ml_dtypes, whose values the file holds.
func TestNarrowFloats_asMLDtypes(t *testing.T) {
	decoded, encoded := 0, 0
	for line := range strings.Lines(narrowValues) {
		words := strings.Fields(line)
		if words[0] == "#" {
			continue
		}
		dtype := runtimetest.Must[tvmffi.DataType](t)(tvmffi.ParseDataType(words[1]))
		for i, word := range words[2:] {
			if words[0] == "decode" {
				decoded++
				got := float32(dtype.Float64(uint64(i)))
				if word == "nan" {
					if got == got {
						t.Errorf("%s: code %#x is %v, want NaN", dtype, i, got)
					}
				} else if want := hexFloat(t, word); math.Float32bits(got) != math.Float32bits(want) {
					t.Errorf("%s: code %#x is %v, want %v", dtype, i, got, want)
				}
				continue
			}
			encoded++
			in, out, _ := strings.Cut(word, ":")
			want, err := strconv.ParseUint(out, 16, 16)
			if err != nil {
				t.Fatal(err)
			}
			x := hexFloat(t, in)
			got := dtype.FromFloat32(x)
			a, b := dtype.Float64(got), dtype.Float64(want)
			if got != want && (a == a || b == b) {
				t.Errorf("%s: %v is %#x (%v), want %#x (%v)", dtype, x, got, a, want, b)
			}
		}
	}
	if decoded != 8*256+2*64+16 || encoded < 5000 {
		t.Errorf("only %d values and %d conversions were compared", decoded, encoded)
	}
}

// exact computes a narrow float from its definition with exact numbers.
func exact(code, exponent, mantissa, bias int) float64 {
	m, e := code&(1<<mantissa-1), code>>mantissa&(1<<exponent-1)
	if e == 0 {
		e = 1
	} else {
		m |= 1 << mantissa
	}
	x := new(big.Rat).SetInt64(int64(m))
	for shift := e - bias - mantissa; shift != 0; {
		if shift > 0 {
			x.Mul(x, big.NewRat(2, 1))
			shift--
		} else {
			x.Mul(x, big.NewRat(1, 2))
			shift++
		}
	}
	if code>>(mantissa+exponent)&1 == 1 {
		x.Neg(x)
	}
	f, _ := x.Float64()
	return f
}

// Every code comes back, and is what its definition says.
func TestNarrowFloats_exhaustive(t *testing.T) {
	for _, k := range []struct {
		dtype                    tvmffi.DataType
		exponent, mantissa, bias int
		special                  int // codes that are not finite numbers
	}{
		{tvmffi.Float8E3M4, 3, 4, 3, 32}, {tvmffi.Float8E4M3, 4, 3, 7, 16}, {tvmffi.Float8E4M3B11FNUZ, 4, 3, 11, 1}, {tvmffi.Float8E4M3FN, 4, 3, 7, 2},
		{tvmffi.Float8E4M3FNUZ, 4, 3, 8, 1}, {tvmffi.Float8E5M2, 5, 2, 15, 8}, {tvmffi.Float8E5M2FNUZ, 5, 2, 16, 1},
		{tvmffi.Float6E2M3FN, 2, 3, 1, 0}, {tvmffi.Float6E3M2FN, 3, 2, 3, 0}, {tvmffi.Float4E2M1FN, 2, 1, 1, 0},
	} {
		special := 0
		for code := range 1 << k.dtype.Bits {
			x := k.dtype.Float64(uint64(code))
			if math.IsNaN(x) || math.IsInf(x, 0) {
				special++
				if back := k.dtype.Float64(k.dtype.FromFloat32(float32(x))); !(back == x || math.IsNaN(back) && math.IsNaN(x)) {
					t.Errorf("%s: %v comes back as %v", k.dtype, x, back)
				}
				continue
			}
			if want := exact(code, k.exponent, k.mantissa, k.bias); x != want {
				t.Errorf("%s: code %#x is %v, want %v", k.dtype, code, x, want)
			}
			if back := k.dtype.FromFloat32(float32(x)); back != uint64(code) {
				t.Errorf("%s: code %#x comes back as %#x", k.dtype, code, back)
			}
		}
		if special != k.special {
			t.Errorf("%s has %d codes without a number, want %d", k.dtype, special, k.special)
		}
	}
}

func TestBF16(t *testing.T) {
	for code := range 1 << 16 {
		b := tvmffi.BF16(code)
		x := b.Float32()
		if back := tvmffi.ToBF16(x); back != b && x == x || x != x && back.Float32() == back.Float32() {
			t.Fatalf("%#x is %v and comes back as %#x", code, x, back)
		}
	}
	for x, want := range map[float32]tvmffi.BF16{
		1: 0x3f80, 1.00390625: 0x3f80, 1.01171875: 0x3f82, 1.0039064: 0x3f81, math.MaxFloat32: 0x7f80, -2: 0xc000,
	} {
		if got := tvmffi.ToBF16(x); got != want {
			t.Errorf("%v is %#x, want %#x", x, uint16(got), uint16(want))
		}
	}
	if s := tvmffi.ToBF16(1.5).String(); s != "1.5" {
		t.Errorf("BF16 1.5 prints %s", s)
	}
}

func TestDataTypeNumbers(t *testing.T) {
	int4 := tvmffi.DataType{Code: tvmffi.Int8.Code, Bits: 4, Lanes: 1}
	for _, c := range []struct {
		dtype tvmffi.DataType
		in    float32
		bits  uint64
		out   float64
	}{
		{int4, -8, 8, -8}, {int4, 100, 7, 7}, {int4, -100, 8, -8}, {int4, 2.5, 2, 2}, {int4, 3.5, 4, 4}, {int4, float32(math.NaN()), 0, 0},
		{tvmffi.Uint8, 300, 255, 255}, {tvmffi.Uint8, -1, 0, 0}, {tvmffi.Int64, 1e30, math.MaxInt64, math.MaxInt64}, {tvmffi.Uint64, 1e30, math.MaxUint64, math.MaxUint64},
		{tvmffi.Int64, -1e30, 1 << 63, math.MinInt64}, {tvmffi.Bool, 3, 1, 1}, {tvmffi.Float64, 0.5, math.Float64bits(0.5), 0.5},
		{tvmffi.Float16, 0.5, 0x3800, 0.5}, {tvmffi.BFloat16, 0.5, 0x3f00, 0.5}, {tvmffi.Float32, -2, 0xc0000000, -2},
	} {
		bits := c.dtype.FromFloat32(c.in)
		if out := c.dtype.Float64(bits); bits != c.bits || out != c.out {
			t.Errorf("%s: %v is %#x, which is %v; want %#x and %v", c.dtype, c.in, bits, out, c.bits, c.out)
		}
	}
	for _, d := range []tvmffi.DataType{tvmffi.Complex64, tvmffi.OpaqueHandle, tvmffi.Void, {Code: tvmffi.Float32.Code, Bits: 24, Lanes: 1}, {Code: tvmffi.Float8E5M2.Code, Bits: 7, Lanes: 1}} {
		runtimetest.WantPanic(t, tvmffi.ErrType, "is not a real number type of at most 64 bits", func() { d.Float64(0) })
		runtimetest.WantPanic(t, tvmffi.ErrType, "is not a real number type of at most 64 bits", func() { d.FromFloat32(0) })
	}
}
