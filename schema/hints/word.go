package hints

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
)

// Numbers as all readers of YAML 1.2 write them. An int with zeros in front is not among them: YAML 1.1 has octal ints.
var (
	decimal   = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)$`)
	based     = regexp.MustCompile(`^0(x[0-9a-fA-F]+|o[0-7]+)$`)
	fraction  = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+\.[0-9]*)([eE][-+]?[0-9]+)?$|^[-+]?[0-9]+[eE][-+]?[0-9]+$`)
	notFinite = regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

// ParseWord reads a word of YAML that is not in quotes, as YAML 1.2 does. It refuses a number that does not fit, and words
// that some readers of YAML take for a number and some for a text, such as 1_000 and 010.
func ParseWord(word string) (Constant, error) {
	switch word {
	case "", "~", "null", "Null", "NULL":
		return Constant{}, nil
	case "true", "True", "TRUE":
		return Constant{true}, nil
	case "false", "False", "FALSE":
		return Constant{false}, nil
	}
	switch {
	case decimal.MatchString(word), based.MatchString(word):
		base := 10
		if based.MatchString(word) {
			base = 0
		}
		i, err := strconv.ParseInt(word, base, 64)
		if err != nil {
			return Constant{}, fmt.Errorf("%s is outside the range of int64", word)
		}
		if i == 0 && word[0] == '-' {
			return Constant{math.Copysign(0, -1)}, nil // an int has no sign of zero
		}
		return Constant{i}, nil
	case fraction.MatchString(word):
		f, err := jsonlines.Float(word, 64)
		if err != nil {
			return Constant{}, fmt.Errorf("%s is outside the range of float64", word)
		}
		return Constant{f}, nil
	case notFinite.MatchString(word):
		return Constant{}, fmt.Errorf("%s is not finite, expected a finite number: remove it, and pass the number in calls", word)
	case looksLikeNumber(word):
		return Constant{}, fmt.Errorf("%s is a number for some readers of YAML and a text for others: write the digits of a decimal number, or %q in quotes for the text", word, word)
	}
	return Constant{word}, nil
}

// looksLikeNumber reports whether Go, or some version of YAML, reads a word as a number.
func looksLikeNumber(word string) bool {
	word = strings.ReplaceAll(word, "_", "")
	if _, err := strconv.ParseFloat(word, 64); err == nil {
		return true
	}
	bare := strings.TrimLeft(word, "-+")
	_, err := strconv.ParseUint(bare, 0, 64)
	return err == nil && len(word)-len(bare) <= 1
}
