package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// maxMetadataLen bounds one metadata text; the longest seen in real libraries
// has 1369 bytes.
const maxMetadataLen = 1 << 20

// Metadata is the content of the registry's metadata text of a function, field or
// method.
type Metadata struct {
	// Type is the type of the field, or of the function: then it is an
	// ffi.Function, and Type.Func is its signature, nil if it is packed.
	Type TypeSchema
	// HasType is false when the metadata holds no type schema.
	HasType bool
	// Extra holds the other entries: bool, int64, float64 or string. A value of
	// another kind, which no known library has, is kept as its JSON text.
	Extra map[string]any
}

// ParseMetadata reads the metadata text of a function, field or method: a JSON
// object whose entry type_schema holds a type schema, as a JSON string or
// directly. A text that is a type schema itself is accepted too; the empty text
// is metadata without a type. Both formats of function types are understood.
func ParseMetadata(text string) (Metadata, error) {
	m, err := parseMetadata(text)
	if err != nil {
		return Metadata{}, fmt.Errorf("metadata: %w", err)
	}
	return m, nil
}

func parseMetadata(text string) (Metadata, error) {
	var m Metadata
	if strings.TrimSpace(text) == "" {
		return m, nil
	}
	if len(text) > maxMetadataLen {
		return m, fmt.Errorf("the text has %d bytes, the limit is %d", len(text), maxMetadataLen)
	}
	root, err := parseJSON(text)
	if err != nil {
		return m, err
	}
	members, ok := root.value.([]member)
	if !ok {
		return m, fmt.Errorf("expected an object, got %s", root.kind())
	}
	if isTypeSchema(members) {
		m.Type, err = typeFromJSON(root, "", 1)
		m.HasType = err == nil
		return m, err
	}
	for _, entry := range members {
		if entry.name == "type_schema" {
			m.Type, m.HasType, err = typeEntry(entry.value)
		} else {
			if m.Extra == nil {
				m.Extra = map[string]any{}
			}
			m.Extra[entry.name], err = extraValue(entry.value)
		}
		if err != nil {
			return Metadata{}, fmt.Errorf("%s: %w", entry.name, err)
		}
	}
	return m, nil
}

// isTypeSchema reports whether n is a type schema, not metadata that holds one.
func isTypeSchema(members []member) bool {
	hasType := false
	for _, m := range members {
		switch m.name {
		case "type":
			_, hasType = m.value.value.(string)
		case "args", "named_args":
		default:
			return false
		}
	}
	return hasType
}

func typeEntry(n node) (t TypeSchema, has bool, err error) {
	switch v := n.value.(type) {
	case nil:
		return t, false, nil
	case string:
		if v == "" {
			return t, false, nil
		}
		if n, err = parseJSON(v); err != nil {
			return t, false, err
		}
	}
	t, err = typeFromJSON(n, "", 1)
	return t, err == nil, err
}

func extraValue(n node) (any, error) {
	switch v := n.value.(type) {
	case bool, string:
		return v, nil
	case json.Number:
		return numberValue(v)
	}
	var b strings.Builder
	n.compact(&b)
	return b.String(), nil
}

// ParseTypeSchema reads a type schema, the JSON text that the entry type_schema
// of metadata holds.
func ParseTypeSchema(text string) (TypeSchema, error) {
	if len(text) > maxMetadataLen {
		return TypeSchema{}, fmt.Errorf("type schema: the text has %d bytes, the limit is %d", len(text), maxMetadataLen)
	}
	n, err := parseJSON(text)
	if err != nil {
		return TypeSchema{}, fmt.Errorf("type schema: %w", err)
	}
	t, err := typeFromJSON(n, "", 1)
	if err != nil {
		return TypeSchema{}, fmt.Errorf("type schema: %w", err)
	}
	return t, nil
}

// at puts the place inside the type schema before the message; nil stays nil.
func at(path string, err error) error {
	if err == nil || path == "" {
		return err
	}
	return fmt.Errorf("%s: %w", strings.TrimPrefix(path, "."), err)
}

func typeFromJSON(n node, path string, depth int) (TypeSchema, error) {
	var t TypeSchema
	if depth > MaxDepth {
		return t, fmt.Errorf("types nest deeper than %d levels", MaxDepth)
	}
	members, ok := n.value.([]member)
	if !ok {
		return t, at(path, fmt.Errorf("expected an object like {\"type\":\"int\"}, got %s", n.kind()))
	}
	name, ok := n.get("type")
	if !ok {
		return t, at(path, errors.New("the object lacks the key \"type\""))
	}
	if t.Name, ok = name.value.(string); !ok || t.Name == "" {
		return t, at(path, fmt.Errorf("the value of \"type\" must be a name, got %s", describe(name)))
	}
	var args, named *node
	for i := range members {
		switch members[i].name {
		case "args":
			args = &members[i].value
		case "named_args":
			named = &members[i].value
		}
	}
	if t.IsFunction() {
		sig, err := functionFromJSON(args, named, path, depth)
		t.Func = sig
		return t, err
	}
	if named != nil {
		return t, at(path, fmt.Errorf("%s is not a function and takes no named_args", t.Name))
	}
	if args != nil {
		list, err := typeList(*args, path+".args", depth+1, t.Name == nameStdArray)
		if err != nil {
			return t, err
		}
		t.Args = list
	}
	return t, at(path, checkArgs(t))
}

func describe(n node) string {
	if n.value == "" {
		return "an empty string"
	}
	return n.kind()
}

// typeList reads an array of types. With length set, the second element may be
// a number: the length of a std::array, which becomes a type of that name.
func typeList(n node, path string, depth int, length bool) ([]TypeSchema, error) {
	items, ok := n.value.([]node)
	if !ok {
		return nil, at(path, fmt.Errorf("expected an array of types, got %s", n.kind()))
	}
	var list []TypeSchema
	for i, item := range items {
		if number, ok := item.value.(json.Number); ok && length && i == 1 && isDigits(number.String()) {
			list = append(list, TypeSchema{Name: number.String()})
			continue
		}
		t, err := typeFromJSON(item, fmt.Sprintf("%s[%d]", path, i), depth)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

// functionFromJSON reads both formats: args, which is [RET, P0, ...], and
// named_args with RET under "return" and P0, ... under "params". Neither means a packed function.
func functionFromJSON(args, named *node, path string, depth int) (*Signature, error) {
	if args != nil && named != nil {
		return nil, at(path, errors.New("a function type has either args or named_args, not both"))
	}
	if args != nil {
		list, err := typeList(*args, path+".args", depth+1, false)
		if err != nil || len(list) == 0 {
			return nil, err
		}
		return newSignature(list[0], list[1:]), nil
	}
	if named == nil {
		return nil, nil
	}
	path += ".named_args"
	members, ok := named.value.([]member)
	if !ok {
		return nil, at(path, fmt.Errorf("expected an object with return and params, got %s", named.kind()))
	}
	var result, params []TypeSchema
	var hasResult, hasParams bool
	for _, m := range members {
		var err error
		switch m.name {
		case "return":
			hasResult = true
			result, err = typeList(m.value, path+".return", depth+1, false)
		case "params":
			hasParams = true
			params, err = typeList(m.value, path+".params", depth+1, false)
		default:
			err = at(path, fmt.Errorf("unknown key %q; the keys are return and params", m.name))
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case !hasResult || !hasParams:
		return nil, at(path, errors.New("both return and params are needed"))
	case len(result) != 1:
		return nil, at(path+".return", fmt.Errorf("expected exactly one type, got %d", len(result)))
	}
	return newSignature(result[0], params), nil
}

func newSignature(result TypeSchema, params []TypeSchema) *Signature {
	sig := &Signature{Return: result, Params: make([]Param, len(params))}
	for i, p := range params {
		sig.Params[i].Type = p
	}
	return sig
}
