package xgrammar

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// XGrammar keeps numbers in 32 bits, and would take another one for a larger one without an error.

// fits returns an error for a negative number, and for one that XGrammar would cut.
func fits(name string, n int) error {
	if n > math.MaxInt32 {
		return fmt.Errorf("%s is %d, want at most %d", name, n, math.MaxInt32)
	}
	return atLeast(0, name, n)
}

// atLeast returns an error for a smaller number.
func atLeast[T int | int64 | time.Duration](least T, name string, n T) error {
	if n < least {
		return fmt.Errorf("%s is %v, want %v or more", name, n, least)
	}
	return nil
}

// A start compiles no pattern.
var (
	longRepetition = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\d*,?\d{10}`) }) // which most texts do not have
	repetition     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\{(\d*)(?:,(\d*))?\}`) })
)

// numbers returns an error for a source with a number that XGrammar would cut: a{4294967298} is a{2} to it. It also returns one for
// a number in the options that would have no effect.
func numbers(s Source) (err error) {
	kind := "InternalError"
	switch s := s.(type) {
	case Regex:
		err = repeats(string(s), "")
	case Lark: // in its regular expressions; it refuses its own repetitions itself
		kind, err = "XGrammarError", repeats(string(s), "//")
	case EBNF:
		err = repeats(s.Text, "#")
	case JSONSchema:
		err = cmp.Or(fits("MaxWhitespace", s.MaxWhitespace), fits("Indent", s.Indent), s.layout(), patterns(s.Text))
	case StructuralTag:
		kind, err = "InvalidStructuralTagError", patterns(string(s))
	}
	if err != nil {
		return tvmffi.NewError(kind, err.Error())
	}
	return nil
}

// layout returns an error for an option that XGrammar takes without an effect.
func (s JSONSchema) layout() error {
	switch {
	case s.Indent > 0 && !s.Compact:
		return fmt.Errorf("%s is %d without Compact, by which white space may stand anywhere: set Compact, or leave it out", "Indent", s.Indent)
	case s.MaxWhitespace > 0 && s.Compact:
		return fmt.Errorf("MaxWhitespace is %d with Compact, which fixes all white space: leave one of the two out", s.MaxWhitespace)
	}
	return nil
}

// repeats looks for such a repetition in a regular expression, or in a grammar, which has texts in quotes and comments.
func repeats(text, comment string) error {
	if !longRepetition().MatchString(text) {
		return nil
	}
	end := byte(0) // of what has no repetitions
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case end != 0:
			if c == end {
				end = 0
			}
		case c == '[':
			end = ']'
		case comment != "" && c == '"':
			end = '"'
		case comment != "" && strings.HasPrefix(text[i:], comment):
			end = '\n'
		case c == '{':
			for _, number := range repetition().FindStringSubmatch(text[i:]) {
				if n, err := strconv.ParseUint(number, 10, 64); number != "" && number[0] != '{' && (err != nil || n > math.MaxInt32) {
					return fmt.Errorf("a repetition has the number %s, want at most %d", number, math.MaxInt32)
				}
			}
		}
	}
	return nil
}

// patterns looks for such a repetition in the patterns and grammars of the JSON of a schema or a structural tag.
func patterns(text string) error {
	var tree any
	if !longRepetition().MatchString(text) || json.Unmarshal([]byte(text), &tree) != nil {
		return nil // the compiler says that it is not JSON
	}
	if err := repeats(grammars(tree), "#"); err != nil {
		return err
	}
	return eachPattern(tree)
}

func eachPattern(tree any) (err error) {
	switch t := tree.(type) {
	case []any:
		for i := 0; i < len(t) && err == nil; i++ {
			err = eachPattern(t[i])
		}
	case map[string]any:
		if p, ok := t["pattern"].(string); ok {
			err = repeats(p, "")
		}
		byPattern, _ := t["patternProperties"].(map[string]any)
		for p := range byPattern {
			if err == nil {
				err = repeats(p, "")
			}
		}
		for _, x := range t {
			if err == nil {
				err = eachPattern(x)
			}
		}
	}
	return err
}
