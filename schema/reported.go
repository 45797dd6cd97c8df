package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/crossing"
)

// cppName returns the name of the registry for one in a message of C++.
func cppName(name string) string {
	if kind, ok := crossing.NamedInCpp(name); ok {
		return crossing.Rows[kind].Key
	}
	return name
}

// ParseReported reads the name and the signature of a function from the message
// with which it refuses a call with wrong arguments. It knows the messages of functions
// written in C++, and of kernels compiled by TVM and by the CuTe DSL, whose parameters have
// names and which return None. Names stay in Param.Name. Param.Note has the rest of a
// parameter type, such as "Tensor([n0], float32)". A tensor of TVM has ", align=64" there:
// TVM assumes that the memory is aligned, and does not check it.
func ParseReported(errorMessage string) (name string, sig *Signature, err error) {
	name, sig, err = parseReported(errorMessage)
	if err != nil {
		return "", nil, fmt.Errorf("signature in the message %s: %w", abbreviate(errorMessage), err)
	}
	return name, sig, nil
}

func parseReported(message string) (string, *Signature, error) {
	if len(message) > maxTextLen {
		return "", nil, fmt.Errorf("the text has %d bytes, the limit is %d", len(message), maxTextLen)
	}
	_, rest, ok := strings.Cut(message, "when calling:")
	tvm := strings.HasPrefix(rest, "\n")
	if !ok {
		return "", nil, errors.New("it lacks \"when calling:\", so it contains no signature")
	}
	_, rest, ok = strings.Cut(rest, "`")
	if !ok {
		return "", nil, errors.New("no signature in backquotes after \"when calling:\"")
	}
	text, _, ok := strings.Cut(rest, "`")
	if !ok {
		return "", nil, errors.New("the signature has no closing backquote; the message was cut")
	}
	open := strings.IndexByte(text, '(')
	if open < 0 {
		return "", nil, fmt.Errorf("expected %q to look like \"name(parameters)\"", text)
	}
	name := strings.TrimSpace(text[:open])
	params, after, err := splitParams(text[open+1:])
	if err != nil {
		return "", nil, err
	}
	if after = strings.TrimSpace(after); after == "" {
		sig, err := kernelSignature(params)
		if err == nil && tvm {
			assumeAligned(sig)
		}
		return name, sig, err
	}
	if !strings.HasPrefix(after, "->") {
		return "", nil, fmt.Errorf("unexpected %q after the parameters", after)
	}
	p := textParser{text: text, pos: open + 1, cpp: true}
	sig, err := p.signature(1)
	if err == nil {
		if p.space(); p.pos < len(text) {
			err = errors.New("unexpected text after the end")
		}
	}
	if err != nil {
		return "", nil, fmt.Errorf("%q at byte %d: %w", text, p.pos, err)
	}
	return name, sig.Normalized(), nil
}

// skipIndex skips the "0: " before a parameter in a C++ message.
func (p *textParser) skipIndex() {
	p.space()
	digits := len(p.text[p.pos:]) - len(strings.TrimLeft(p.text[p.pos:], "0123456789"))
	if digits > 0 && strings.HasPrefix(p.text[p.pos+digits:], ": ") {
		p.pos += digits + 2
	}
}

// stdFunction reads what follows "std::function<" in a C++ message: R(A, B)>.
func (p *textParser) stdFunction(depth int) (TypeSchema, error) {
	t := TypeSchema{Name: nameFunction, Func: &Signature{Params: []Param{}}}
	var err error
	if t.Func.Return, err = p.typ(depth + 1); err != nil {
		return t, err
	}
	if !p.accept("(") {
		return t, errors.New("expected \"(\" after the result of std::function")
	}
	for !p.accept(")") {
		if len(t.Func.Params) > 0 && !p.accept(",") {
			return t, errors.New("expected \",\" or \")\" in the parameters of std::function")
		}
		a, err := p.typ(depth + 1)
		if err != nil {
			return t, err
		}
		t.Func.Params = append(t.Func.Params, Param{Type: a})
	}
	if !p.accept(">") {
		return t, errors.New("expected \">\" at the end of std::function")
	}
	return t, nil
}

// splitParams cuts the text at the commas outside brackets, up to the
// parenthesis that closes the list, and returns what follows it.
func splitParams(text string) (params []string, after string, err error) {
	var closers []byte
	start := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '(':
			closers = append(closers, ')')
		case '[':
			closers = append(closers, ']')
		case ')', ']':
			if n := len(closers); n > 0 {
				if closers[n-1] != c {
					return nil, "", fmt.Errorf("unexpected %q in %q", c, text)
				}
				closers = closers[:n-1]
				continue
			}
			if c == ']' {
				return nil, "", fmt.Errorf("unexpected %q in %q", c, text)
			}
			if last := strings.TrimSpace(text[start:i]); last != "" || len(params) > 0 {
				params = append(params, last)
			}
			return params, text[i+1:], nil
		case ',':
			if len(closers) == 0 {
				params = append(params, strings.TrimSpace(text[start:i]))
				start = i + 1
			}
		}
		if len(closers) > MaxDepth {
			return nil, "", fmt.Errorf("brackets nest deeper than %d levels", MaxDepth)
		}
	}
	return nil, "", fmt.Errorf("%q lacks the closing parenthesis of its parameters", text)
}

// kernelSignature builds the signature of a compiled kernel from its
// parameters, each of the form "name: type".
func kernelSignature(params []string) (*Signature, error) {
	sig := &Signature{Params: make([]Param, len(params)), Return: TypeSchema{Name: nameNone}}
	for i, text := range params {
		name, spec, ok := strings.Cut(text, ":")
		name, spec = strings.TrimSpace(name), strings.TrimSpace(spec)
		if !ok || name == "" || spec == "" {
			return nil, fmt.Errorf("parameter %d is %q; expected \"name: type\"", i, text)
		}
		p := Param{Name: name, Type: kernelType(spec)}
		if spec != p.Type.Name {
			p.Note = spec
		}
		sig.Params[i] = p
	}
	return sig, nil
}

// assumeAligned notes what functions of TVM assume of tensors and do not check, in the
// notation of package cuda/spec. Generated functions check it.
func assumeAligned(sig *Signature) {
	for i := range sig.Params {
		if note, ok := strings.CutSuffix(sig.Params[i].Note, ")"); ok && sig.Params[i].Type.Name == "DLTensor*" {
			sig.Params[i].Note = note + ", align=64)"
		}
	}
}

// Noted returns the type of a reported parameter with the widths of ints that its note says, such as int32 or
// uint8 in place of int.
func (p Param) Noted() TypeSchema {
	if t := notedType(p.Note, noted); t.widened().String() == p.Type.String() {
		return t
	}
	return p.Type
}

// Noted returns the signature with the widths of ints that the notes of the parameters say. It is nil for a packed function.
func (f Function) Noted() *Signature {
	if !f.Reported || f.Signature == nil {
		return f.Signature
	}
	s := &Signature{Params: slices.Clone(f.Signature.Params), Return: f.Signature.Return}
	for i, p := range s.Params {
		s.Params[i].Type = p.Noted()
	}
	return s
}

// widened returns a type of a note without the widths of ints.
func (t TypeSchema) widened() TypeSchema {
	return t.Renamed(func(t TypeSchema) string {
		if noted(t.Name) != "" {
			return "int"
		}
		return t.Name
	})
}

// noted returns the name of an int type that has a width other than that of int, "" for all others.
func noted(name string) string {
	switch name {
	case "int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64":
		return name
	}
	return ""
}

// kernelType maps the type of a kernel parameter to a registry type. A parameter of an
// unknown type takes anything, and the kernel itself checks it.
func kernelType(spec string) TypeSchema {
	return notedType(spec, func(string) string { return "" })
}

// notedType is kernelType with other names for the ints for which width returns one.
func notedType(spec string, width func(string) string) TypeSchema {
	if elements, ok := strings.CutPrefix(spec, "Tuple["); ok {
		return kernelTuple(elements, width)
	}
	if name := width(spec); name != "" {
		return TypeSchema{Name: name}
	}
	head, _, _ := strings.Cut(spec, "(")
	switch head = strings.TrimSpace(head); head {
	case "Tensor":
		return TypeSchema{Name: "DLTensor*"}
	case "Shape":
		return TypeSchema{Name: "ffi.Shape"}
	case "bool":
		return TypeSchema{Name: "bool"}
	case "Stream", "DataPointer", "handle", "void*":
		return TypeSchema{Name: "void*"}
	case "bfloat16":
		return TypeSchema{Name: "float"}
	}
	for _, numeric := range []struct{ prefix, name string }{{"int", "int"}, {"uint", "int"}, {"float", "float"}} {
		if bits, ok := strings.CutPrefix(head, numeric.prefix); ok && head == spec && (bits == "" || isDigits(firstWord(bits))) {
			return TypeSchema{Name: numeric.name}
		}
	}
	return TypeSchema{Name: nameAny}
}

// maxTuple is the greatest number of elements of a tuple that has a Go type.
const maxTuple = 8

// kernelTuple is kernelType for the elements of a tuple and the bracket that closes it. Each may have a
// name before it. A tuple without a Go type is an array, as which the kernel gets all tuples.
func kernelTuple(text string, width func(string) string) TypeSchema {
	inside, ok := strings.CutSuffix(text, "]")
	elements, after, err := splitParams(inside + ")")
	if !ok || err != nil || after != "" {
		return TypeSchema{Name: nameAny}
	}
	if len(elements) == 0 || len(elements) > maxTuple {
		return TypeSchema{Name: nameArray}
	}
	t := TypeSchema{Name: nameTuple}
	for _, e := range elements {
		if name, rest, ok := strings.Cut(e, ":"); ok && !strings.ContainsAny(name, "([") {
			e = strings.TrimSpace(rest)
		}
		part := notedType(e, width)
		if part.Name == "DLTensor*" {
			part.Name = "ffi.Tensor" // which an array holds
		}
		t.Args = append(t.Args, part)
	}
	return t
}

// firstWord returns the text before the first underscore: 8 of float8_e4m3fn.
func firstWord(s string) string {
	word, _, _ := strings.Cut(s, "_")
	return word
}
