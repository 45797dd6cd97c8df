package codec

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
)

// differing returns how many of the borrowed values differ. Numbers are compared as numbers, texts and containers by what they
// hold, all others by their bits.
func differing(all []abi.Any) int {
	seen := map[string]bool{}
	for _, v := range all {
		seen[content(v)] = true
	}
	return len(seen)
}

// content returns a text that two borrowed values share if they do not differ.
func content(v abi.Any) string {
	if text, ok := capi.StringOf(v); ok {
		switch v.TypeIndex {
		case abi.TypeSmallBytes, abi.TypeBytes, abi.TypeByteArrayPtr:
			return "bytes" + strconv.Quote(text)
		}
		return strconv.Quote(text)
	}
	switch v.TypeIndex {
	case abi.TypeInt, abi.TypeBool:
		return strconv.FormatInt(int64(v.Bits), 10)
	case abi.TypeBigInt:
		return bigInt(v).String()
	case abi.TypeFloat:
		x := math.Float64frombits(v.Bits)
		if x == math.Trunc(x) && !math.IsInf(x, 0) && v.Bits != 1<<63 { // but not -0.0
			n, _ := big.NewFloat(x).Int(nil)
			return n.String()
		}
		return "float" + strconv.FormatUint(v.Bits, 16)
	}
	if all, ok := Elements(v); ok {
		parts := make([]string, len(all))
		for i, x := range all {
			parts[i] = content(x)
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	if value, ok := withoutType(v); ok {
		defer Release(value)
		return content(value)
	}
	if MapKindOf(v.TypeIndex) != nil {
		var parts []string
		ReadEntries(v, func(key, x abi.Any) bool {
			parts = append(parts, content(key)+":"+content(x))
			return true
		})
		slices.Sort(parts)
		return "{" + strings.Join(parts, ",") + "}"
	}
	return strconv.Itoa(int(v.TypeIndex)) + "." + strconv.FormatUint(v.Bits, 16)
}
