package xgrammar

import (
	"fmt"
	"strings"
)

// encodeSource writes a source for the other process, byte by byte: its type, a line of numbers, and its texts.
func encodeSource(s Source) (string, error) {
	switch s := s.(type) {
	case JSON:
		return "JSON\n\n", nil
	case Regex:
		return "Regex\n\n" + string(s), nil
	case Lark:
		return "Lark\n\n" + string(s), nil
	case StructuralTag:
		return "StructuralTag\n\n" + string(s), nil
	case EBNF:
		return fmt.Sprintf("EBNF\n%d\n%s%s", len(s.Root), s.Root, s.Text), nil
	case JSONSchema:
		return fmt.Sprintf("JSONSchema\n%t %t %t %d %t %d %d %d\n%s%s%s", s.Loose, s.Exact, s.AnyOrder, s.MaxWhitespace, s.Compact, s.Indent,
			len(s.Separators[0]), len(s.Separators[1]), s.Separators[0], s.Separators[1], s.Text), nil
	}
	return "", fmt.Errorf("%T cannot be compiled in another process", s)
}

// decodeSource reads what encodeSource has written.
func decodeSource(text string) (Source, error) {
	kind, rest, _ := strings.Cut(text, "\n")
	numbers, rest, _ := strings.Cut(rest, "\n")
	var err error
	cut := func(n int) (part string) {
		if n < 0 || n > len(rest) {
			err = fmt.Errorf("a source of the type %q has no text of %d bytes", kind, n)
			return ""
		}
		part, rest = rest[:n], rest[n:]
		return part
	}
	switch kind {
	case "JSON":
		return JSON{}, nil
	case "Regex":
		return Regex(rest), nil
	case "Lark":
		return Lark(rest), nil
	case "StructuralTag":
		return StructuralTag(rest), nil
	case "EBNF":
		var root int
		if _, err := fmt.Sscan(numbers, &root); err != nil {
			return nil, err
		}
		s := EBNF{Root: cut(root)}
		s.Text = rest
		return s, err
	case "JSONSchema":
		var s JSONSchema
		var item, key int
		if _, err := fmt.Sscan(numbers, &s.Loose, &s.Exact, &s.AnyOrder, &s.MaxWhitespace, &s.Compact, &s.Indent, &item, &key); err != nil {
			return nil, err
		}
		s.Separators = [2]string{cut(item), cut(key)}
		s.Text = rest
		return s, err
	}
	return nil, fmt.Errorf("sources of the type %q are not known", kind)
}
