package tvmffi

import (
	"math"
	"strconv"
	"sync"

	"github.com/x448/float16"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/failure"
)

// F16 is an IEEE floating-point number of 16 bits, the element of tensors of [Float16].
// float16.Fromfloat32 makes one; its method Float32 converts it back.
type F16 = float16.Float16

// BF16 holds the upper 16 bits of a float32, the element of tensors of [BFloat16].
// [ToBF16] makes one.
type BF16 uint16

// ToBF16 rounds x to the nearest BF16, and to the even one of two equally near ones.
func ToBF16(x float32) BF16 {
	b := math.Float32bits(x)
	if x != x {
		return BF16(b>>16 | 1<<6) // stays a NaN
	}
	return BF16((b + 0x7fff + b>>16&1) >> 16)
}

// Float32 returns the exact value of b.
func (b BF16) Float32() float32 { return math.Float32frombits(uint32(b) << 16) }

// String returns the number in decimal.
func (b BF16) String() string { return strconv.FormatFloat(float64(b.Float32()), 'g', -1, 32) }

// narrow describes a float of up to 8 bits.
type narrow struct {
	exponent, mantissa int // widths in bits
	bias               int
	kind               narrowKind
}

// narrowKind says which codes are not finite numbers.
type narrowKind uint8

const (
	ieee   narrowKind = iota // the greatest exponent: infinity if the mantissa is 0, otherwise NaN
	fn                       // all ones is NaN
	fnuz                     // the code of -0 is NaN
	finite                   // every code is finite
	scale                    // a power of two without a sign; all ones is NaN
)

var narrows = map[uint8]narrow{
	abi.DLFloat8E3M4: {3, 4, 3, ieee}, abi.DLFloat8E4M3: {4, 3, 7, ieee}, abi.DLFloat8E4M3B11FNUZ: {4, 3, 11, fnuz},
	abi.DLFloat8E4M3FN: {4, 3, 7, fn}, abi.DLFloat8E4M3FNUZ: {4, 3, 8, fnuz}, abi.DLFloat8E5M2: {5, 2, 15, ieee},
	abi.DLFloat8E5M2FNUZ: {5, 2, 16, fnuz}, abi.DLFloat8E8M0FNU: {8, 0, 127, scale},
	abi.DLFloat6E2M3FN: {2, 3, 1, finite}, abi.DLFloat6E3M2FN: {3, 2, 3, finite}, abi.DLFloat4E2M1FN: {2, 1, 1, finite},
}

// table holds the values of all codes of a narrow float.
type table struct {
	narrow
	values [256]float32
	top    int // the code of the greatest finite number
	sign   int // the sign bit, 0 if there is none
	nan    int // the code of NaN; if there is none, the code for -0
}

var tables [32]struct {
	once sync.Once
	table
}

// tableOf returns the table for the code of a DataType. It makes the table on first use.
func tableOf(code uint8) *table {
	t := &tables[code]
	t.once.Do(func() { t.make(narrows[code]) })
	return &t.table
}

func (t *table) make(n narrow) {
	t.narrow = n
	width := n.exponent + n.mantissa
	if n.kind != scale {
		t.sign = 1 << width
	}
	for code := range 1 << width {
		v := n.Value(code)
		t.values[code] = v
		if t.sign != 0 {
			t.values[code|t.sign] = -v
		}
		if v-v == 0 {
			t.top = code
		}
	}
	switch n.kind {
	case fnuz:
		t.nan = t.sign
		t.values[t.sign] = float32(math.NaN())
	case ieee:
		t.nan = t.top + 1 + 1<<(n.mantissa-1)
	case fn, scale:
		t.nan = t.top + 1
	case finite:
		t.nan = t.sign
	}
}

// width returns the number of bits.
func (n narrow) width() int {
	if n.kind == scale {
		return n.exponent
	}
	return 1 + n.exponent + n.mantissa
}

// Value returns the number that a code without its sign bit stands for.
func (n narrow) Value(code int) float32 {
	e, m := code>>n.mantissa, code&(1<<n.mantissa-1)
	last := 1<<n.exponent - 1
	switch {
	case n.kind == ieee && e == last && m == 0:
		return float32(math.Inf(1))
	case n.kind == ieee && e == last, n.kind == fn && e == last && m == 1<<n.mantissa-1, n.kind == scale && e == last:
		return float32(math.NaN())
	case e == 0 && n.kind != scale:
		return float32(math.Ldexp(float64(m), 1-n.bias-n.mantissa))
	}
	return float32(math.Ldexp(float64(m|1<<n.mantissa), e-n.bias-n.mantissa))
}

// encode returns the code of the number nearest to x. Of two equally near numbers it takes
// the even code, and for powers of two the greater number, since their significand 1 is
// odd. A number that is too large becomes infinity; if there is none, NaN; if there is no
// NaN either, the greatest number.
func (t *table) encode(x float32) int {
	sign := 0
	if math.Signbit(float64(x)) {
		if t.kind == scale {
			return t.nan
		}
		sign, x = t.sign, -x
	}
	switch {
	case x != x && t.kind == fnuz, x != x && t.sign == 0:
		return t.nan
	case x != x:
		return t.nan ^ sign
	case x == 0 && t.kind == scale:
		return t.nan
	}
	low, high := 0, t.top
	for low < high { // find the greatest code whose value is not above x
		middle := (low + high + 1) / 2
		if t.values[middle] <= x {
			low = middle
		} else {
			high = middle - 1
		}
	}
	// The middle between this number and the next. After the last number, the next one
	// would follow at the same distance as before it. All of this is exact in float64.
	at, above := float64(t.values[low]), 0.0
	if low < t.top {
		above = float64(t.values[low+1])
	} else {
		above = 2*at - float64(t.values[low-1])
		if t.kind == scale {
			above = 2 * at
		}
	}
	middle := (at + above) / 2
	code := low
	if float64(x) > middle || float64(x) == middle && (low&1 == 1 || t.kind == scale) {
		code++
	}
	if code > t.top {
		switch t.kind {
		case finite:
			code = t.top
		case fnuz:
			return t.nan
		default: // infinity or NaN follows the greatest number
			code = t.top + 1
		}
	}
	if code == 0 && t.kind == fnuz {
		return 0
	}
	return code | sign
}

// numeric returns an error unless one lane of t converts to float32.
func (t DataType) numeric() error {
	n, isNarrow := narrows[t.Code]
	switch {
	case isNarrow && int(t.Bits) == n.width(),
		t.Code == abi.DLFloat && (t.Bits == 16 || t.Bits == 32 || t.Bits == 64),
		t.Code == abi.DLBfloat && t.Bits == 16,
		(t.Code == abi.DLInt || t.Code == abi.DLUInt || t.Code == abi.DLBool) && t.Bits >= 1 && t.Bits <= 64:
		return nil
	}
	return failure.Errorf(failure.KindType, "data type %s is not a real number type of at most 64 bits", t)
}

// Float64 returns the number that the bits of one lane of t stand for. It panics with an
// *Error if t is not a real number type of at most 64 bits.
func (t DataType) Float64(bits uint64) float64 {
	if err := t.numeric(); err != nil {
		panic(err)
	}
	return t.number(bits)
}

// number is Float64 for a t that numeric accepts.
func (t DataType) number(bits uint64) float64 {
	switch t.Code {
	case abi.DLFloat:
		switch t.Bits {
		case 16:
			return float64(float16.Float16(bits).Float32())
		case 32:
			return float64(math.Float32frombits(uint32(bits)))
		}
		return math.Float64frombits(bits)
	case abi.DLBfloat:
		return float64(BF16(bits).Float32())
	case abi.DLInt:
		shift := 64 - t.Bits
		return float64(int64(bits<<shift) >> shift)
	case abi.DLBool:
		if bits<<(64-t.Bits) != 0 { // other languages may write any byte
			return 1
		}
		return 0
	case abi.DLUInt:
		shift := 64 - t.Bits
		return float64(bits << shift >> shift)
	}
	return float64(tableOf(t.Code).values[bits&(1<<t.Bits-1)])
}

// FromFloat32 returns the bits of the number of type t that is nearest to x. Of two equally
// near numbers it takes the even one. For an integer type, a number out of range becomes
// the smallest or greatest integer, and NaN becomes 0. For a float, it becomes an infinity; without one, NaN; and in the
// floats of 4 and 6 bits, which have neither, the greatest number, while NaN becomes -0. float8_e8m0fnu has powers of two
// only: 0 and negative numbers become NaN. FromFloat32 panics with an *Error
// if t is not a real number type of at most 64 bits.
func (t DataType) FromFloat32(x float32) uint64 {
	if err := t.numeric(); err != nil {
		panic(err)
	}
	return t.nearest(x)
}

func (t DataType) nearest(x float32) uint64 {
	switch t.Code {
	case abi.DLFloat:
		switch t.Bits {
		case 16:
			return uint64(float16.Fromfloat32(x))
		case 32:
			return uint64(math.Float32bits(x))
		}
		return math.Float64bits(float64(x))
	case abi.DLBfloat:
		return uint64(ToBF16(x))
	case abi.DLBool:
		return codec.BoolBits(x != 0)
	case abi.DLInt, abi.DLUInt:
		return t.integer(math.RoundToEven(float64(x)))
	}
	return uint64(tableOf(t.Code).encode(x))
}

// integer returns the bits of the integer nearest to x, which is whole or NaN.
func (t DataType) integer(x float64) uint64 {
	if x != x {
		return 0
	}
	mask := ^uint64(0) >> (64 - t.Bits)
	if t.Code == abi.DLUInt {
		switch {
		case x <= 0:
			return 0
		case x >= math.Ldexp(1, int(t.Bits)):
			return mask
		}
		return uint64(x)
	}
	top := math.Ldexp(1, int(t.Bits)-1)
	switch {
	case x >= top:
		return mask >> 1
	case x <= -top:
		return mask>>1 + 1
	}
	return uint64(int64(x)) & mask
}
