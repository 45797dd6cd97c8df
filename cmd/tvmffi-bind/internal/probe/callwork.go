package probe

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
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
	value, err := jsonValue(result)
	if err != nil {
		return childReply{}, err
	}
	data, err := json.Marshal(value)
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
	var list []any
	if err := d.Decode(&list); err != nil {
		return nil, err
	}
	for i := range list {
		v, err := argument(list[i])
		if err != nil {
			return nil, fmt.Errorf("argument %d: %w", i, err)
		}
		list[i] = v
	}
	return list, nil
}

// argument converts a JSON value to an argument: a number without a fraction, but -0, becomes an
// int, an array an Array, an object a Map in the order of its keys.
func argument(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil && v != "-0" {
			return n, nil
		}
		if n, ok := new(big.Int).SetString(v.String(), 10); ok && v != "-0" { // of which an int has no sign
			return n, nil
		}
		return jsonlines.Float(v.String(), 64)
	case []any:
		items := make([]any, len(v))
		for i := range v {
			item, err := argument(v[i])
			if err != nil {
				return nil, err
			}
			items[i] = item
		}
		return tvmffi.Of(items...), nil
	case map[string]any:
		var pairs []tvmffi.Pair[string, any]
		for _, key := range slices.Sorted(maps.Keys(v)) {
			value, err := argument(v[key])
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, tvmffi.Pair[string, any]{Key: key, Value: value})
		}
		return tvmffi.PairsOf(pairs...), nil
	default: // nil, bool, string
		return v, nil
	}
}

// jsonValue returns the JSON form of a result. Bytes become base64. A value without a
// JSON form becomes a string.
func jsonValue(a tvmffi.Any) (any, error) {
	switch v := a.Value().(type) {
	case nil, bool, int64:
		return v, nil
	case string:
		if !utf8.ValidString(v) { // JSON would have U+FFFD in its place
			return nil, fmt.Errorf("the result has the text %.60q, which is not UTF-8, so it has no form in JSON", v)
		}
		return v, nil
	case *big.Int:
		return json.Number(v.String()), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return strconv.FormatFloat(v, 'g', -1, 64), nil
		}
		exact, err := tvmffi.AnyOf(v)
		if err != nil {
			return nil, err
		}
		return exact, nil // it writes 1.0, and not 1
	case []byte:
		return base64.StdEncoding.EncodeToString(v), nil
	case interface{ Slice() ([]tvmffi.Any, error) }: // a sequence
		items, err := v.Slice()
		if err != nil {
			return nil, err
		}
		return jsonList(items)
	case interface {
		Map() (map[tvmffi.Any]tvmffi.Any, error)
	}: // a mapping
		m, err := v.Map()
		if err != nil {
			return nil, err
		}
		return jsonObject(m)
	default:
		return a.String(), nil
	}
}

func jsonList(items []tvmffi.Any) (any, error) {
	list := make([]any, len(items))
	for i, item := range items {
		v, err := jsonValue(item)
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	return list, nil
}

// jsonObject converts the keys to strings, because JSON has no other keys.
func jsonObject(m map[tvmffi.Any]tvmffi.Any) (any, error) {
	object := map[string]any{}
	for key, value := range m {
		v, err := jsonValue(value)
		if err != nil {
			return nil, err
		}
		name := key.String()
		if !utf8.ValidString(name) {
			return nil, fmt.Errorf("the result has the key %.60q, which is not UTF-8, so it has no form in JSON", name)
		}
		if _, twice := object[name]; twice {
			return nil, fmt.Errorf("the result has two keys that JSON writes as %q: JSON has texts for keys alone", name)
		}
		object[name] = v
	}
	return object, nil
}
