package probe

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/big"
	"strconv"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
	"github.com/tvmffi-go/tvmffi/internal/nearest"
	"github.com/tvmffi-go/tvmffi/internal/symbols"
	"github.com/tvmffi-go/tvmffi/reflection"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// call loads the libraries and calls the function, in the child process.
func call(request childRequest, announce func(doing string) error) (childReply, error) {
	if err := tvmffi.Load(); err != nil {
		return childReply{}, err
	}
	for _, lib := range request.Libraries[1:] {
		if err := announce("loading " + lib.Path); err != nil {
			return childReply{}, err
		}
		if err := tvmffi.LoadLibrary(lib.Path); err != nil {
			return childReply{}, fmt.Errorf("cannot load %s: %w", lib.Path, err)
		}
	}
	f, err := findFunction(request)
	if err != nil {
		return childReply{}, err
	}
	args, err := decodeArgs(request.Call.Args)
	if err != nil {
		return childReply{}, err
	}
	if err := announce(calling + request.Call.Name); err != nil {
		return childReply{}, err
	}
	result, err := f.Call(args...)
	if err != nil {
		return childReply{Thrown: err.Error()}, nil
	}
	data, err := jsonValue(result)
	return childReply{Result: data}, err
}

// findFunction looks in the registry first, then in the libraries as modules.
func findFunction(request childRequest) (*tvmffi.Function, error) {
	f, missing := tvmffi.Lookup(request.Call.Name)
	if missing == nil {
		return f, nil
	}
	for _, lib := range request.Libraries[1:] {
		m, err := tvmffi.LoadModule(lib.Path)
		if err != nil {
			return nil, fmt.Errorf("cannot load %s as a module: %w", lib.Path, err)
		}
		if f, err := m.Function(request.Call.Name); err == nil {
			return f, nil
		} else if !errors.Is(err, tvmffi.ErrAttribute) {
			return nil, err
		}
	}
	if _, err := reflection.TypeByKey(request.Call.Name); err == nil {
		return nil, fmt.Errorf("%s is a type: call accepts functions only", request.Call.Name)
	}
	known, _ := functionNames(request) // without them there is no hint
	advice := "\"ls\" with the same library lists the functions"
	if len(request.Libraries) == 1 {
		advice = "name the library before the function"
	}
	return nil, fmt.Errorf("neither the registry nor a library has the function %s: %s%s", request.Call.Name, advice, nearest.Question(request.Call.Name, known))
}

// functionNames are those that findFunction finds.
func functionNames(request childRequest) ([]string, error) {
	names, err := tvmffi.Functions()
	if err != nil {
		return nil, err
	}
	for _, lib := range request.Libraries[1:] {
		file, err := symbols.Read(lib.Path)
		if err != nil {
			return nil, err
		}
		for _, f := range file.Functions {
			names = append(names, f.Name)
		}
	}
	return names, nil
}

// decodeArgs turns a JSON array into arguments.
func decodeArgs(data []byte) ([]any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	var list []any
	for d.More() {
		v, err := argument(d)
		if err != nil {
			return nil, fmt.Errorf("argument %d: %w", len(list), err)
		}
		list = append(list, v)
	}
	return list, nil
}

// argument reads an argument: a number without a fraction, but -0, becomes an
// int, an array an Array, an object a Map in the order of the text.
func argument(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil && v != "-0" {
			return n, nil
		}
		if n, ok := new(big.Int).SetString(v.String(), 10); ok && v != "-0" { // of which an int has no sign
			return n, nil
		}
		x, err := jsonlines.Float(v.String(), 64)
		if wrong := (*strconv.NumError)(nil); errors.As(err, &wrong) {
			return nil, fmt.Errorf("%.80s is outside the range of float64", v)
		}
		return x, err
	case json.Delim:
		var items []any
		var pairs []tvmffi.Pair[string, any]
		for d.More() {
			var key json.Token
			if v == '{' {
				if key, err = d.Token(); err != nil {
					return nil, err
				}
			}
			item, err := argument(d)
			if err != nil {
				return nil, err
			}
			if name, ok := key.(string); ok {
				pairs = append(pairs, tvmffi.Pair[string, any]{Key: name, Value: item})
			} else {
				items = append(items, item)
			}
		}
		if _, err := d.Token(); err != nil {
			return nil, err
		}
		if v == '{' {
			return tvmffi.PairsOf(pairs...), nil
		}
		return tvmffi.Of(items...), nil
	}
	return token, nil // nil, bool, string
}

// jsonValue returns the JSON form of a result. Bytes become base64. A value without a
// JSON form becomes a string. An object has the order of its Map.
func jsonValue(a tvmffi.Any) (json.RawMessage, error) { return appendJSON(nil, a, 0) }

// mostDepth is that of [json.Marshal] of a [tvmffi.Any].
const mostDepth = 1000

func appendJSON(b []byte, a tvmffi.Any, depth int) ([]byte, error) {
	if depth > mostDepth {
		return nil, fmt.Errorf("the result contains itself, or is nested deeper than %d levels, so it has no form in JSON", mostDepth)
	}
	switch v := a.Value().(type) {
	case nil, bool, int64:
		return appendPlain(b, v)
	case string:
		if !utf8.ValidString(v) { // JSON would have U+FFFD in its place
			return nil, fmt.Errorf("the result has the text %.60q, which is not UTF-8, so it has no form in JSON", v)
		}
		return appendPlain(b, v)
	case *big.Int:
		return v.Append(b, 10), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return appendPlain(b, strconv.FormatFloat(v, 'g', -1, 64))
		}
		return appendPlain(b, a) // it writes 1.0, and not 1
	case []byte:
		return appendPlain(b, base64.StdEncoding.EncodeToString(v))
	case interface{ Slice() ([]tvmffi.Any, error) }: // a sequence
		items, err := v.Slice()
		if err != nil {
			return nil, err
		}
		b = append(b, '[')
		for i, item := range items {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendJSON(b, item, depth+1); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case interface {
		All() iter.Seq2[tvmffi.Any, tvmffi.Any]
	}: // a mapping
		return appendObject(b, v.All(), depth)
	default:
		return appendPlain(b, a.String())
	}
}

func appendPlain(b []byte, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	return append(b, text...), err
}

// appendObject converts the keys to strings, because JSON has no other keys.
func appendObject(b []byte, entries iter.Seq2[tvmffi.Any, tvmffi.Any], depth int) (_ []byte, err error) {
	seen := map[string]bool{}
	b = append(b, '{')
	for key, value := range entries {
		name := key.String()
		if !utf8.ValidString(name) {
			return nil, fmt.Errorf("the result has the key %.60q, which is not UTF-8, so it has no form in JSON", name)
		}
		if seen[name] {
			return nil, fmt.Errorf("the result has two keys that JSON writes as %q: JSON has texts for keys alone", name)
		}
		if len(seen) > 0 {
			b = append(b, ',')
		}
		seen[name] = true
		if b, err = appendPlain(b, name); err != nil {
			return nil, err
		}
		if b, err = appendJSON(append(b, ':'), value, depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}
