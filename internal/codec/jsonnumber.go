package codec

import (
	"bytes"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/calls"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

// The JSON parser of the library reads a float by strtod, and refuses a text for which strtod
// sets ERANGE. The strtod of libc does so for each text of a float below the normal ones,
// unless the text is exactly the float. So such a float is written with all its digits, up to
// 767. Every parser reads them.

// smallestNormal is the smallest float that is not denormal.
const smallestNormal = 0x1p-1022

// appendExact appends a float below the normal ones with all its digits.
func appendExact(b []byte, f float64) []byte {
	const digits = 766 // behind the point
	start := len(b)
	b = strconv.AppendFloat(b, f, 'e', digits, 64)
	end := bytes.LastIndexByte(b, 'e')
	exact := bytes.TrimSuffix(bytes.TrimRight(b[start:end], "0"), []byte("."))
	return append(b[:start+len(exact)], b[end:]...)
}

// mayBeSmall reports whether JSON text may have a float below the normal ones: a number with a negative exponent, or many zeros.
func mayBeSmall(text []byte) bool {
	for _, mark := range [][]byte{[]byte("e-"), []byte("E-")} {
		rest := text
		for at := bytes.Index(rest, mark); at >= 0; at = bytes.Index(rest, mark) {
			if at > 0 && isNumber(rest[at-1]) {
				return true
			}
			rest = rest[at+len(mark):]
		}
	}
	return bytes.Contains(text, manyZeros)
}

var manyZeros = bytes.Repeat([]byte("0"), 300)

// ExactNumbers returns JSON text in which the floats below the normal ones have all their
// digits. It returns text itself if there are none.
func ExactNumbers(text []byte) []byte {
	if !mayBeSmall(text) {
		return text
	}
	var out []byte
	written := 0
	eachNumber(text, func(start, end int) {
		if f, ok := denormal(text[start:end]); ok {
			out = appendExact(append(out, text[written:start]...), f)
			written = end
		}
	})
	if written == 0 {
		return text
	}
	return append(out, text[written:]...)
}

// SignedZeros returns JSON text in which -0 is -0.0: an int has no sign of zero, and the parser of the library makes an int of -0.
// It returns text itself if there is none.
func SignedZeros(text []byte) []byte {
	if !bytes.Contains(text, []byte("-0")) {
		return text
	}
	var out []byte
	written := 0
	eachNumber(text, func(start, end int) {
		if text[start] == '-' && end > start+1 && len(bytes.Trim(text[start+1:end], "0")) == 0 {
			out = append(append(out, text[written:end]...), ".0"...)
			written = end
		}
	})
	if written == 0 {
		return text
	}
	return append(out, text[written:]...)
}

// eachNumber calls each with where JSON text has a number, outside of its strings.
func eachNumber(text []byte, each func(start, end int)) {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.'):
			end := i + 1
			for end < len(text) && isNumber(text[end]) {
				end++
			}
			each(i, end)
			i = end - 1
		}
	}
}

func isNumber(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
}

// denormal returns the float that a number is, if it is below the normal ones or the first of
// them.
func denormal(number []byte) (f float64, ok bool) {
	exponent := 0
	if at := bytes.LastIndexAny(number, "eE"); at >= 0 {
		exponent, _ = strconv.Atoi(string(number[at+1:])) // one that no int holds is the nearest
	}
	// Only the digits and a negative exponent make a number small.
	if exponent > -307 && len(number)-exponent < 307 {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(number), 64)
	return f, err == nil && f != 0 && math.Abs(f) <= smallestNormal
}

// The JSON parser of the library makes a rounded float of an int beyond int64. So such a number is
// given to it as a string, which nobody can guess, and becomes a BigInt afterwards.

// BigInts are the marks of the ints beyond int64 in a JSON text; "" if there are none.
type BigInts string

// mostDigits is the number of digits that every int64 has at most.
const mostDigits = 19

// MarkBigInts returns JSON text in which the ints that may not fit int64 are marked. A library without BigInt makes floats of
// them.
func MarkBigInts(text []byte) ([]byte, BigInts) {
	if capi.API.BigIntFromByteArray == 0 {
		return text, ""
	}
	var out []byte
	var mark BigInts
	written := 0
	eachBigInt(text, func(start, end int) {
		if mark == "" {
			mark = BigInts("tvmffi.int." + strconv.FormatUint(rand.Uint64(), 36) + ".")
		}
		out = append(append(append(append(append(out, text[written:start]...), '"'), mark...), text[start:end]...), '"')
		written = end
	})
	if mark == "" {
		return text, ""
	}
	return append(out, text[written:]...), mark
}

// ZeroBigInts returns JSON text that has zeros in place of the digits of the ints that MarkBigInts marks. The parser finds in it
// what it refuses where it is in text.
func ZeroBigInts(text []byte) []byte {
	out := bytes.Clone(text)
	eachBigInt(text, func(start, end int) {
		for i := start; i < end; i++ {
			if out[i] >= '0' && out[i] <= '9' {
				out[i] = '0'
			}
		}
	})
	return out
}

// eachBigInt calls each with where the ints that may not fit int64 are in JSON text. An int before a colon is not among
// them: only a string names what is in an object.
func eachBigInt(text []byte, each func(start, end int)) {
	eachNumber(text, func(start, end int) {
		if end-start >= mostDigits && isInt(text[start:end]) && !bytes.HasPrefix(bytes.TrimLeft(text[end:], " \t\r\n"), []byte(":")) {
			each(start, end)
		}
	})
}

func isInt(number []byte) bool {
	if number[0] == '-' || number[0] == '+' {
		number = number[1:]
	}
	return len(bytes.Trim(number, "0123456789")) == 0
}

// Resolve puts the ints in place of their marks in an owned value, which was made of a marked text.
func (m BigInts) Resolve(v *abi.Any) error {
	if m == "" {
		return nil
	}
	made, changed, err := m.resolve(*v)
	if changed {
		Release(*v)
		*v = made
	}
	return err
}

// resolve returns what a borrowed value becomes, owned, and reports whether that is another value.
func (m BigInts) resolve(v abi.Any) (made abi.Any, changed bool, err error) {
	var kind *calls.Func
	var parts []abi.Any
	switch class := crossing.ClassOf(v.TypeIndex); {
	case v.TypeIndex == abi.TypeStr:
		text, _ := capi.StringOf(v)
		digits, ok := strings.CutPrefix(text, string(m))
		if !ok {
			return v, false, nil
		}
		n, _ := new(big.Int).SetString(digits, 10)
		t, err := Encode(n)
		return t.Value, err == nil, err
	case class == crossing.Sequence:
		kind, parts = &NewArray, capi.Elements(uintptr(v.Bits))
	case class == crossing.Mapping:
		kind = &Maps.Create
		Maps.Read(objects.Static(uintptr(v.Bits)), func(e *abi.MapEntry, _ int) bool {
			parts = append(parts, e.Key, e.Value)
			return true
		})
	default:
		return v, false, nil
	}
	t, err := Packed(kind, len(parts), func(p *calls.Pack) error {
		for _, part := range parts {
			x, other, err := m.resolve(part)
			if err != nil {
				return err
			}
			changed = changed || other
			p.Put(values.AnyView{Value: x, Owned: other})
		}
		return nil
	})
	if err == nil && !changed {
		Release(t.Value)
	}
	return t.Value, changed, err
}
