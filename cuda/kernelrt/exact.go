package kernelrt

import (
	"math"
	"math/bits"
)

// NoValue is the value of an expression that overflows an int64 or divides by 0, and
// of every result that is computed from it. An argument with this value counts as such, too.
const NoValue = math.MinInt64

// Add returns a + b.
func Add(a, b int64) int64 {
	c := a + b
	if a == NoValue || b == NoValue || (c > a) != (b > 0) {
		return NoValue
	}
	return c
}

// Sub returns a - b.
func Sub(a, b int64) int64 {
	if b == NoValue {
		return NoValue
	}
	return Add(a, -b)
}

// Mul returns a * b.
func Mul(a, b int64) int64 {
	if a == NoValue || b == NoValue {
		return NoValue
	}
	high, low := bits.Mul64(magnitude(a), magnitude(b))
	if high != 0 || low > math.MaxInt64 {
		return NoValue
	}
	return a * b
}

func magnitude(a int64) uint64 { return uint64(max(a, -a)) }

// Div returns a / b, rounded down.
func Div(a, b int64) int64 {
	if a == NoValue || b == NoValue || b == 0 {
		return NoValue
	}
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// Mod returns what Div leaves, which has the sign of b.
func Mod(a, b int64) int64 {
	if a == NoValue || b == NoValue || b == 0 {
		return NoValue
	}
	r := a % b
	if r != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r
}

// CeilDiv returns a / b, rounded up.
func CeilDiv(a, b int64) int64 {
	if a == NoValue || b == NoValue || b == 0 {
		return NoValue
	}
	q := a / b
	if q*b != a && (a < 0) == (b < 0) {
		q++
	}
	return q
}

// Min returns the least value.
func Min(a, b int64) int64 { return min(a, b) } // NoValue is the least of all

// Max returns the greatest value.
func Max(a, b int64) int64 {
	if a == NoValue || b == NoValue {
		return NoValue
	}
	return max(a, b)
}
