package hints

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"io"
	"maps"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
)

// Format is the version of the JSON form that Encode writes and Decode accepts.
const Format = 1

// MaxLen is the largest number of bytes that Decode reads. The names of whole TVM with all docs
// have 2 MB.
const MaxLen = 32 << 20

// MaxDoc is the largest number of bytes in one text of documentation.
const MaxDoc = 64 << 10

// File is the content of a names file.
type File struct {
	// Format is the constant Format.
	Format int `json:"format"`
	// Sources are the Python distributions that the file was read from.
	Sources []Source `json:"sources,omitempty"`
	// Namespaces maps namespaces, such as "garden", to their documentation.
	Namespaces map[string]string `json:"namespaces,omitempty"`
	// Items maps registry names to what the file says about them: "garden.water" is a
	// function, "garden.Rose" a type, "garden.Rose.prune" a method,
	// "garden.Rose.__ffi_init__" the constructor and "garden.Rose.color" a field. If two
	// items have one name, the kind stands before it: "type:garden.Rose".
	Items map[string]Item `json:"items,omitempty"`
	// Enums are the enums that items mention, by name.
	Enums map[string]Enum `json:"enums,omitempty"`
}

// Source is a Python distribution.
type Source struct {
	// Package and Version name the distribution; a folder has no version.
	Package string `json:"package"`
	Version string `json:"version,omitempty"`
	// SHA256 is the hash of the wheel in lower-case hexadecimal digits, "" for a folder.
	SHA256 string `json:"sha256,omitempty"`
}

// Item holds what is known of one function, method, constructor, type or field. Each part
// may be absent.
type Item struct {
	// Name is the Go name. One of a names file is a wish: if the name is taken, the item gets
	// another.
	Name string `json:"name,omitempty" yaml:"name,omitempty"`
	// Params are the names of the parameters in order, without the receiver of a method.
	// An empty name leaves that parameter as it is.
	Params []string `json:"params,omitempty" yaml:"params,omitempty"`
	// Types maps parameters, by name, to their types in the notation of ParseType. A type
	// must be one that the type in the registry allows.
	Types map[string]string `json:"types,omitempty" yaml:"types,omitempty"`
	// Returns is the type of the result.
	Returns string `json:"returns,omitempty" yaml:"returns,omitempty"`
	// Type is the type of a field: the one in the registry, with widths of ints.
	Type string `json:"type,omitempty" yaml:"type,omitempty"`
	// Default maps parameters, by name, to their default values. The last parameters become
	// options if each of them has one.
	Default map[string]Constant `json:"default,omitempty" yaml:"default,omitempty"`
	// Required lists parameters that no default of another file makes optional.
	Required []string `json:"required,omitempty" yaml:"required,omitempty"`
	// Enum maps parameters, and the result under the key Returns, to names of enums.
	Enum map[string]string `json:"enum,omitempty" yaml:"enum,omitempty"`
	// Brief says of a function that its calls are brief, or that some are not: they are light from the first one, or never.
	Brief *bool `json:"brief,omitempty" yaml:"brief,omitempty"`
	// Doc is the documentation.
	Doc string `json:"doc,omitempty" yaml:"doc,omitempty"`
}

// Returns is the key of the result in the enums of an item.
const Returns = "returns"

// Encode returns the JSON form of f, one item a line, with sorted keys. It refuses a file that
// Decode would refuse. Bytes of docs that are not valid UTF-8 are replaced.
func (f File) Encode() ([]byte, error) {
	f.Format = Format
	if err := f.check(); err != nil {
		return nil, err
	}
	data, err := jsonlines.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("names: %w", err)
	}
	if len(data) > MaxLen {
		return nil, fmt.Errorf("names: the encoded form has %d bytes, the limit is %d", len(data), MaxLen)
	}
	return data, nil
}

// Decode reads what Encode wrote. The data may come from anywhere: it is checked, and an
// error gives the line and the column. A key that an object has twice is an error, and so is half of a
// surrogate pair.
func Decode(data []byte) (File, error) {
	if len(data) > MaxLen {
		return File{}, fmt.Errorf("names: the file has %d bytes, the limit is %d", len(data), MaxLen)
	}
	var head struct{ Format int }
	if err := json.Unmarshal(data, &head); err != nil {
		return File{}, positioned(data, err)
	}
	if head.Format != Format {
		return File{}, fmt.Errorf("names: the format is %d, this version reads %d; write the file again with \"tvmffi-bind names\"", head.Format, Format)
	}
	var f File
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return File{}, positioned(data, err)
	}
	if err := jsonlines.Check(data, &f); err != nil {
		return File{}, fmt.Errorf("names: %w", err)
	}
	err := f.check()
	if problem, ok := errors.AsType[*problem](err); ok {
		line, column := Position(data, problem.path...)
		return f, fmt.Errorf("names: line %d, column %d: %w", line, column, err)
	}
	return f, err
}

// A problem is an error at a path of keys of the file.
type problem struct {
	path []string
	error
}

// Position returns the line and the column of an entry of JSON text by the keys that lead to
// it, or of the nearest entry above it.
func Position(data []byte, path ...string) (line, column int) {
	dec := json.NewDecoder(bytes.NewReader(data))
	at := int64(0)
	for _, key := range path {
		if !enter(dec, key) {
			break
		}
		at = max(dec.InputOffset()-int64(len(key))-2, 0) // the key is in quotes
	}
	before := data[:at]
	return bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}

// enter reads the next object up to a key, and reports whether it has the key.
func enter(dec *json.Decoder, key string) bool {
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	for dec.More() {
		t, err := dec.Token()
		if err != nil || t == key {
			return err == nil
		}
		var skipped json.RawMessage
		if dec.Decode(&skipped) != nil {
			return false
		}
	}
	return false
}

// positioned adds the line and the column to an error of the JSON reader.
func positioned(data []byte, err error) error {
	offset := int64(len(data))
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = syntax.Offset
	} else if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		offset = kind.Offset
		want := "another type"
		if kind.Type.Kind() == reflect.Bool {
			want = "true or false"
		}
		err = fmt.Errorf("%s is a JSON %s, expected %s", kind.Field, kind.Value, want)
	} else if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return fmt.Errorf("names: %w", err) // an unknown key, which the error names
	}
	before := data[:min(max(offset-1, 0), int64(len(data)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("names: line %d, column %d: %w", line, column, err)
}

// check checks the sizes and the encoding of what the file says.
func (f File) check() error {
	for _, namespace := range slices.Sorted(maps.Keys(f.Namespaces)) {
		if n := len(f.Namespaces[namespace]); n > MaxDoc {
			return fmt.Errorf("names: the documentation of the namespace %q has %d bytes, the limit is %d", namespace, n, MaxDoc)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Enums)) {
		if member, err := f.Enums[name].Check(); err != nil {
			return &problem{[]string{"enums", name, "values", member}, fmt.Errorf("enum %s: %w", name, err)}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Items)) {
		item := f.Items[name]
		switch {
		case name == "" || !utf8.ValidString(name):
			return fmt.Errorf("names: %q is not the name of an item", name)
		case item.Name != "" && (!token.IsIdentifier(item.Name) || !token.IsExported(item.Name)):
			return fmt.Errorf("names: the name %q of %s is not an exported Go name; write one such as %q", item.Name, name, "SomeName")
		case len(item.Doc) > MaxDoc:
			return fmt.Errorf("names: the documentation of %s has %d bytes, the limit is %d", name, len(item.Doc), MaxDoc)
		case len(item.Params) > maxParams:
			return fmt.Errorf("names: %s has %d parameters, the limit is %d", name, len(item.Params), maxParams)
		}
	}
	return nil
}

// maxParams is larger than the number of parameters of any function.
const maxParams = 1024
