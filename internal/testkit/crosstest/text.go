package crosstest

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Text describes a value with its type, so that two values that differ have two texts.
func Text(a tvmffi.Any) string { return text(a.Value(), 0) }

func text(v any, depth int) string {
	if depth > 3 {
		return "..." // a list within itself
	}
	switch x := v.(type) {
	case nil:
		return "nil"
	case tvmffi.Any:
		return text(x.Value(), depth)
	case float64:
		return number(x)
	case string:
		return quote(x)
	case []byte:
		return "bytes " + quote(string(x))
	case tvmffi.DataType:
		return "dtype " + x.String()
	case tvmffi.Device:
		return "device " + x.String()
	case *tvmffi.Array[tvmffi.Any]:
		all, err := x.Slice()
		return "[" + orError(list(all, depth+1), err) + "]"
	case *tvmffi.List[tvmffi.Any]:
		all, err := x.Slice()
		return "List[" + orError(list(all, depth+1), err) + "]"
	case *tvmffi.Map[tvmffi.Any, tvmffi.Any]:
		var pairs []tvmffi.Pair[tvmffi.Any, tvmffi.Any]
		for k, v := range x.All() {
			pairs = append(pairs, tvmffi.Pair[tvmffi.Any, tvmffi.Any]{Key: k, Value: v})
		}
		return "{" + entries(pairs, depth+1) + "}"
	case *tvmffi.Dict[tvmffi.Any, tvmffi.Any]:
		var pairs []tvmffi.Pair[tvmffi.Any, tvmffi.Any]
		for k, v := range x.All() {
			pairs = append(pairs, tvmffi.Pair[tvmffi.Any, tvmffi.Any]{Key: k, Value: v})
		}
		return "Dict{" + entries(pairs, depth+1) + "}"
	case *tvmffi.Shape:
		return fmt.Sprint("Shape", x.Slice())
	case *tvmffi.Error:
		return Error(x.Kind, x.Message)
	case tvmffi.ObjectRef:
		return tvmffi.TypeKey(x)
	}
	return fmt.Sprint(v)
}

// Error describes an error.
func Error(kind, message string) string { return quote(kind) + ": " + quote(message) }

func orError(text string, err error) string {
	if err != nil {
		return err.Error()
	}
	return text
}

// number shows a float so that it is not taken for an int, with the sign of zero.
func number(x float64) string {
	s := strconv.FormatFloat(x, 'g', -1, 64)
	if math.IsNaN(x) || math.IsInf(x, 0) || strings.ContainsAny(s, ".e") {
		return s
	}
	return s + ".0"
}

// quote shows text in quotes, and of long text the beginning, the end and the size.
func quote(s string) string {
	const most = 40
	if len(s) <= most {
		return strconv.QuoteToASCII(s)
	}
	return strconv.QuoteToASCII(s[:8]) + "..." + strconv.QuoteToASCII(s[len(s)-8:]) + fmt.Sprintf(" (%d bytes)", len(s))
}

func list(all []tvmffi.Any, depth int) string {
	parts := make([]string, len(all))
	for i, x := range all {
		parts[i] = text(x, depth)
	}
	return strings.Join(parts, ", ")
}

func entries(pairs []tvmffi.Pair[tvmffi.Any, tvmffi.Any], depth int) string {
	parts := make([]string, len(pairs))
	for i, p := range pairs {
		parts[i] = text(p.Key, depth) + ": " + text(p.Value, depth)
	}
	return strings.Join(parts, ", ")
}
