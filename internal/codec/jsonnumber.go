package codec

import (
	"bytes"
	"math"
	"strconv"
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

// ExactNumbers returns JSON text in which the floats below the normal ones have all their
// digits. It returns text itself if there are none.
func ExactNumbers(text []byte) []byte {
	if !bytes.Contains(text, []byte("e-3")) && !bytes.Contains(text, []byte("E-3")) {
		return text
	}
	var out []byte
	written, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c >= '0' && c <= '9' || c == '-'):
			end := i + 1
			for end < len(text) && isNumber(text[end]) {
				end++
			}
			if f, ok := denormal(text[i:end]); ok {
				out = appendExact(append(out, text[written:i]...), f)
				written = end
			}
			i = end - 1
		}
	}
	if written == 0 {
		return text
	}
	return append(out, text[written:]...)
}

func isNumber(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
}

// denormal returns the float that a number is, if it is below the normal ones or the first of
// them.
func denormal(number []byte) (f float64, ok bool) {
	if !bytes.Contains(number, []byte("e-3")) && !bytes.Contains(number, []byte("E-3")) {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(number), 64)
	return f, err == nil && f != 0 && math.Abs(f) <= smallestNormal
}
