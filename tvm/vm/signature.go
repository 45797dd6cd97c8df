package vm

import (
	"regexp"
	"strconv"
	"strings"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Signature describes a function of an executable.
type Signature struct {
	Name   string
	Params []Param
	// Result is the result type as Relax writes it, such as `R.Tensor((n, 3), dtype="float32")`.
	// It is empty if the executable does not check it.
	Result string
}

// Param describes a parameter.
type Param struct {
	Name string
	// Type is the type as Relax writes it. It is empty if the executable does not check it.
	Type string
}

// String returns the signature in one line.
func (s Signature) String() string {
	params := make([]string, len(s.Params))
	for i, p := range s.Params {
		params[i] = p.Name
		if p.Type != "" {
			params[i] += ": " + p.Type
		}
	}
	text := s.Name + "(" + strings.Join(params, ", ") + ")"
	if s.Result != "" {
		text += " -> " + s.Result
	}
	return text
}

// names returns the names of the parameters for errors.
func (s Signature) names() string {
	names := make([]string, len(s.Params))
	for i, p := range s.Params {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}

// functionNames returns the functions of an executable from its text: of each line that
// begins with "@", what has code is followed by a colon.
func functionNames(text string) (names []string) {
	for line := range strings.Lines(text) {
		if name, ok := strings.CutSuffix(strings.TrimSpace(line), ":"); ok && strings.HasPrefix(name, "@") {
			names = append(names, name[1:])
		}
	}
	return names
}

// signatureOf asks a module about a function. stats has the types: they are among the
// constants, for the errors of checks.
func signatureOf(module *tvmffi.Module, name, stats string) (Signature, error) {
	n, err := call[int](module, "get_function_arity", name)
	if err != nil {
		return Signature{}, err
	}
	s := Signature{Name: name, Params: make([]Param, max(n, 0))}
	for i := range s.Params {
		p := &s.Params[i]
		if p.Name, err = call[string](module, "get_function_param_name", name, i); err != nil {
			return Signature{}, err
		}
		p.Type = annotation(stats, "ErrorContext(fn="+name+", loc=param["+strconv.Itoa(i)+"], param="+p.Name+", annotation=")
	}
	s.Result = annotation(stats, "ErrorContext(fn="+name+", loc=return, annotation=")
	return s, nil
}

// annotation returns what follows begin, up to the parenthesis that closes it. Sizes are
// written without their type: 3 in place of T.int64(3).
func annotation(stats, begin string) string {
	_, rest, found := strings.Cut(stats, `"`+begin)
	if !found {
		return ""
	}
	depth := 0
	for i, c := range rest {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				return sized.ReplaceAllString(rest[:i], "$1")
			}
		case '\n':
			return ""
		}
	}
	return ""
}

var sized = regexp.MustCompile(`T\.int64\((-?\d+)\)`)
