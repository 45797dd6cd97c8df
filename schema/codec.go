package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
)

// maxSchemaLen bounds the JSON that Decode reads. The largest known schema,
// the schema of the whole TVM compiler, is below 8 MB.
const maxSchemaLen = 256 << 20

// Encode returns the JSON form of s, one item a line and in canonical order: equal
// schemas give equal bytes. It refuses a schema that Decode would refuse. Bytes
// of docs that are not valid UTF-8 are replaced. The items of libtvm_ffi are left out
// if they equal a release that Decode knows.
func Encode(s Schema) ([]byte, error) {
	s = s.clone()
	s.Sort()
	if err := s.Validate(); err != nil {
		return nil, err
	}
	d, err := s.withoutCore()
	if err != nil {
		return nil, err
	}
	for i := range d.Functions {
		d.Functions[i].Metadata = encodable(d.Functions[i].Metadata)
	}
	for _, t := range d.Types {
		for i := range t.Fields {
			t.Fields[i].Metadata = encodable(t.Fields[i].Metadata)
		}
		for i := range t.Methods {
			t.Methods[i].Metadata = encodable(t.Methods[i].Metadata)
		}
	}
	data, err := jsonlines.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if len(data) > maxSchemaLen {
		return nil, fmt.Errorf("schema: the encoded form has %d bytes, the limit is %d", len(data), maxSchemaLen)
	}
	return data, nil
}

// Decode reads what Encode wrote. The input may come from anywhere: everything
// about it is checked, and the result is valid and in canonical order.
func Decode(data []byte) (Schema, error) {
	s, err := decode(data)
	if err != nil {
		return Schema{}, err
	}
	s.Sort()
	if err := s.Validate(); err != nil {
		return Schema{}, err
	}
	return s, nil
}

func decode(data []byte) (Schema, error) {
	if len(data) > maxSchemaLen {
		return Schema{}, fmt.Errorf("schema: the file has %d bytes, the limit is %d", len(data), maxSchemaLen)
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return Schema{}, errors.New("schema: the file is empty; write it with \"tvmffi-bind dump\"")
	}
	root, err := parseJSON(string(data))
	if err != nil {
		return Schema{}, fmt.Errorf("schema: %w", err)
	}
	if err := checkFormat(root); err != nil {
		return Schema{}, err
	}
	var d document
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	if err := dec.Decode(&d); err != nil {
		return Schema{}, fmt.Errorf("schema: %w", err)
	}
	if err := jsonlines.Check(data, &d); err != nil {
		return Schema{}, fmt.Errorf("schema: %w", err)
	}
	s := d.Schema
	for i := range s.Functions {
		f := &s.Functions[i]
		if err := numbers(f.Metadata); err != nil {
			return Schema{}, fmt.Errorf("schema: function %q: %w", f.Name, err)
		}
	}
	for i := range s.Types {
		t := &s.Types[i]
		for _, f := range t.Fields {
			if err := numbers(f.Metadata); err != nil {
				return Schema{}, fmt.Errorf("schema: field %q of type %q: %w", f.Name, t.Key, err)
			}
		}
		for _, m := range t.Methods {
			if err := numbers(m.Metadata); err != nil {
				return Schema{}, fmt.Errorf("schema: method %q of type %q: %w", m.Name, t.Key, err)
			}
		}
	}
	s, err = d.whole()
	if err != nil {
		return Schema{}, err
	}
	return s.clone(), nil
}

// checkFormat checks the version first, so that a file of a
// newer tool gives that message and not one about a key.
func checkFormat(root node) error {
	if _, ok := root.value.([]member); !ok {
		return fmt.Errorf("schema: expected an object, got %s", root.kind())
	}
	format, ok := root.get("format")
	if !ok {
		return errors.New("schema: the key \"format\" is missing; this is not a file written by \"tvmffi-bind dump\"")
	}
	number, _ := format.value.(json.Number)
	version, err := strconv.Atoi(number.String())
	switch {
	case err != nil:
		return fmt.Errorf("schema: the value of \"format\" must be a whole number, got %s", format.kind())
	case version > FormatVersion:
		return fmt.Errorf("schema: format %d is newer than %d, the newest this tool reads; update tvmffi-bind", version, FormatVersion)
	case version != FormatVersion:
		return fmt.Errorf("schema: format %d is not %d; write the file again with \"tvmffi-bind dump\"", version, FormatVersion)
	}
	return nil
}

// numbers replaces the numbers of decoded metadata by int64 or float64.
func numbers(m map[string]any) error {
	for k, v := range m {
		if n, ok := v.(json.Number); ok {
			value, err := numberValue(n)
			if err != nil {
				return fmt.Errorf("metadata %q: %w", k, err)
			}
			m[k] = value
		}
	}
	return nil
}

// metadataFloat is a float64 in metadata, written so that it is read back as
// one even if it is a whole number.
type metadataFloat float64

// MarshalJSON implements json.Marshaler.
func (f metadataFloat) MarshalJSON() ([]byte, error) {
	text := strconv.FormatFloat(float64(f), 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return []byte(text), nil
}

// clone returns a copy of s whose slices may be changed, with empty slices
// where the JSON form has them.
func (s Schema) clone() Schema {
	s.Libraries = append([]Library{}, s.Libraries...)
	s.Functions = append([]Function{}, s.Functions...)
	s.Types = append([]Type{}, s.Types...)
	s.Flaws = cloneSlice(s.Flaws)
	for i := range s.Functions {
		f := &s.Functions[i]
		f.Signature = f.Signature.clone()
	}
	for i := range s.Types {
		t := &s.Types[i]
		t.Ancestors = cloneSlice(t.Ancestors)
		t.Attributes = cloneSlice(t.Attributes)
		if t.Accepts != nil {
			accepts := t.Accepts.clone()
			t.Accepts = &accepts
		}
		t.Fields = cloneSlice(t.Fields)
		for k := range t.Fields {
			t.Fields[k].Type = t.Fields[k].Type.clone()
		}
		t.Methods = cloneSlice(t.Methods)
		for k := range t.Methods {
			t.Methods[k].Signature = t.Methods[k].Signature.clone()
		}
	}
	return s
}

// cloneSlice copies a slice; an empty one becomes nil, as the JSON form omits it.
func cloneSlice[T any](s []T) []T { return append([]T(nil), s...) }

func (s *Signature) clone() *Signature {
	if s == nil {
		return nil
	}
	out := &Signature{Params: append([]Param{}, s.Params...), Return: s.Return.clone()}
	for i := range out.Params {
		out.Params[i].Type = out.Params[i].Type.clone()
	}
	return out
}

func (t TypeSchema) clone() TypeSchema {
	t.Args = cloneSlice(t.Args)
	for i := range t.Args {
		t.Args[i] = t.Args[i].clone()
	}
	t.Func = t.Func.clone()
	return t
}

// encodable returns metadata as it is written.
func encodable(m map[string]any) map[string]any {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]any, len(m))
	for k, v := range m {
		if f, ok := v.(float64); ok {
			v = metadataFloat(f)
		}
		out[k] = v
	}
	return out
}

func checkMetadata(m map[string]any) error {
	for k, v := range m {
		switch v := v.(type) {
		case bool, int64:
		case float64:
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("metadata %q: %v has no JSON form", k, v)
			}
		case string:
			if err := checkText(v); err != nil {
				return fmt.Errorf("metadata %q: %w", k, err)
			}
		default:
			return fmt.Errorf("metadata %q: the value must be a bool, number or string, not %T", k, v)
		}
		if err := checkText(k); err != nil {
			return fmt.Errorf("metadata %q: %w", k, err)
		}
	}
	return nil
}
