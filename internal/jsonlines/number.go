package jsonlines

import (
	"fmt"
	"strconv"
	"strings"
)

// Float reads the text of a number as a float with so many bits. It is strconv.ParseFloat, but a number that becomes 0, and is
// not 0, is an error too.
func Float(text string, bits int) (float64, error) {
	x, err := strconv.ParseFloat(text, bits)
	digits, exponent := strings.TrimLeft(strings.ToLower(text), "+-"), "e"
	if hex, ok := strings.CutPrefix(digits, "0x"); ok {
		digits, exponent = hex, "p"
	}
	digits, _, _ = strings.Cut(digits, exponent)
	if err == nil && x == 0 && strings.ContainsAny(digits, "123456789abcdef") {
		return 0, fmt.Errorf("%.80s is nearer to 0 than each other float%d: %w", text, bits, strconv.ErrRange)
	}
	return x, err
}
