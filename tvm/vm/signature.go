package vm

import (
	"strings"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Signature has the name of a function, and the names of its parameters. The error of a call with a wrong type says which
// one is expected.
type Signature struct {
	Name   string
	Params []string
}

// String returns the signature in one line.
func (s Signature) String() string { return s.Name + "(" + strings.Join(s.Params, ", ") + ")" }

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

// signatureOf asks a module about a function.
func signatureOf(module *tvmffi.Module, name string) (Signature, error) {
	n, err := call[int](module, "get_function_arity", name)
	if err != nil {
		return Signature{}, err
	}
	s := Signature{Name: name, Params: make([]string, max(n, 0))}
	for i := range s.Params {
		if s.Params[i], err = call[string](module, "get_function_param_name", name, i); err != nil {
			return Signature{}, err
		}
	}
	return s, nil
}
