package tvmffi

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"math/big"
	"runtime"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/values"
)

var (
	jsonParse     = codec.NewLibraryFunc("ffi.json.Parse", "0.1.9")
	jsonStringify = codec.NewLibraryFunc("ffi.json.Stringify", "0.1.9")
)

// ParseJSON reads JSON text with the parser of the library, as a T: an array
// becomes an Array, an object a Map in the order of the text, a number an int, of any size, if it
// is written as one, otherwise a float. JSON has one kind of number, so 3 is also a float if T, or
// what T holds, wants one, and a float32 is the nearest one to the float64: []float64, *Array[float64] and *List[float64] take [1, 2.5]. -0 is the float -0.0. The parser is
// lenient: it takes NaN, Infinity, 01, +1, .5 and 1. too. Its errors, ErrValue, name line, column and
// character. Text that is nested deeper than 1000 levels is refused. Of two equal names in an object
// the last counts, and a struct ignores a name that it has no field for. A libtvm_ffi before 0.1.14 has no ints beyond int64, and makes floats of them.
func ParseJSON[T any](text []byte) (T, error) {
	var none T
	if err := nestedJSON(text); err != nil {
		return none, err
	}
	if err := Load(); err != nil {
		return none, err
	}
	exact := codec.ExactNumbers(text)
	marked, mark := codec.MarkBigInts(codec.SignedZeros(exact))
	out, err := parseJSON(marked)
	if err != nil && len(marked) != len(exact) { // it is elsewhere in the text itself
		if x, there := parseJSON(codec.ZeroBigInts(exact)); there != nil {
			err = there
		} else {
			codec.Release(x)
		}
	}
	if err == nil {
		err = mark.Resolve(&out)
	}
	if err != nil {
		codec.Release(out)
		return none, err
	}
	x, err := codec.DecodeFrom[T](out, objects.Reading{Numbers: true})
	codec.Release(out)
	return x, err
}

// parseJSON reads JSON text with the parser of the library. The result is owned.
func parseJSON(text []byte) (abi.Any, error) {
	v, err := values.NewString(unsafe.String(unsafe.SliceData(text), len(text))) // copies
	if err != nil {
		return abi.Any{}, err
	}
	defer codec.Release(v)
	return jsonParse.Call(v)
}

// nestedJSON returns an error if text is nested too deep for the parser of the
// library, which is lenient: all that opens outside strings counts.
func nestedJSON(text []byte) error {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > codec.MaxDepth {
				return failure.Errorf(failure.KindValue, "the JSON text is nested deeper than %d levels", codec.MaxDepth)
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return nil
}

// StringifyJSON writes None, bools, numbers, strings, Arrays, Lists and Maps with
// string keys as JSON text with the writer of the library, on one line, or with
// indent spaces for each level if that is not 0. Floats have 17 digits, or all their
// digits below 2.3e-308; a whole float from 1e15 to 1e17 may have no point, so its text is that of an
// int, which ParseJSON takes for a float where one is wanted. NaN and Infinity appear as these words. For other values the
// error is of kind ErrValue. json.Marshal writes more types, in the form of Go.
func StringifyJSON(x any, indent int) ([]byte, error) {
	var o codec.PackedArgs
	defer o.Close()
	v, err := o.PackFinite(x)
	if err != nil {
		return nil, err
	}
	width := abi.Any{}
	if indent != 0 {
		if indent < 0 || indent > 100 {
			return nil, failure.Errorf(failure.KindValue, "an indent of %d spaces: use 0 to 100", indent)
		}
		width = codec.IntValue(int64(indent))
	}
	out, err := jsonStringify.Call(v, width)
	if err != nil {
		return nil, err
	}
	return codec.TakeJSON(out)
}

// MarshalJSON returns the value as JSON: an Array, List or Shape as an array, a Map
// or Dict with keys that are strings, ints or bools as an object, bytes in base64, a
// DataType and a Device by their names, an object by its fields. Functions, tensors,
// objects without fields, and NaN have no such form: the error is of kind ErrType. For
// text that is not UTF-8, a value that contains itself, is nested deeper than 1000 levels, or has more than 2^27
// parts because it shares them, the error is of kind ErrValue. [jsongraph.Marshal] keeps
// types and sharing.
func (a Any) MarshalJSON() ([]byte, error) {
	t, err := a.view()
	if err != nil {
		return nil, err
	}
	if t.Owned {
		defer codec.Release(t.Value)
	}
	defer runtime.KeepAlive(a.object)
	return marshalJSON(t.Value)
}

// UnmarshalJSON sets the value to what [ParseJSON] makes of the text.
func (a *Any) UnmarshalJSON(text []byte) error {
	x, err := ParseJSON[Any](text)
	if err == nil {
		*a = x
	}
	return err
}

// MarshalJSON returns an object by its fields, and a container by what it holds; see
// [Any.MarshalJSON]. Every object type has it from Object, so json.Marshal takes all
// of them, alone and in Go structs; a nil pointer is null. As always in Go, a struct
// that embeds a pointer to an object is written as that object: give it a MarshalJSON
// of its own, or name the field.
func (o *Object) MarshalJSON() ([]byte, error) { return marshalObject(o.TVMFFIObject()) }

// UnmarshalJSON always returns an error: fields of existing objects may be read-only, and JSON
// does not name the type of a new object. Use a constructor, [jsongraph.Unmarshal], or [As] with
// a Go struct.
func (o *Object) UnmarshalJSON([]byte) error {
	return failure.Errorf(failure.KindType, "json: no object of TVM-FFI is made of JSON: call its constructor, or use jsongraph.Unmarshal")
}

// MarshalJSON returns the value, whichever alternative it is; see [Any.MarshalJSON].
func (v Variant) MarshalJSON() ([]byte, error) {
	t, err := codec.Encode(v)
	if err != nil {
		return nil, err
	}
	defer codec.ReleaseTemp(t)
	defer runtime.KeepAlive(t.Keep)
	return marshalJSON(t.Value)
}

func marshalObject(o *objects.Object) ([]byte, error) {
	t, err := codec.EncodeObject(o)
	if err != nil {
		return nil, err
	}
	defer runtime.KeepAlive(o)
	return marshalJSON(t.Value)
}

func marshalJSON(v abi.Any) (text []byte, err error) {
	defer codec.Catch(&err)
	if err := codec.Finite(v, true); err != nil {
		return nil, err
	}
	return appendJSON(nil, v)
}

// appendJSON appends a borrowed value that is bounded. It panics as the readers of
// fields do.
func appendJSON(b []byte, v abi.Any) ([]byte, error) {
	if text, ok := capi.BorrowString(&v); ok {
		return appendJSONString(b, text)
	}
	switch v.TypeIndex {
	case abi.TypeSmallBytes, abi.TypeBytes, abi.TypeByteArrayPtr:
		text, _ := capi.StringOf(v)
		b = append(b, '"')
		b = base64.StdEncoding.AppendEncode(b, []byte(text))
		return append(b, '"'), nil
	case abi.TypeRawStr:
		text, _ := capi.StringOf(v)
		return appendJSONString(b, []byte(text))
	case abi.TypeNone:
		return append(b, "null"...), nil
	case abi.TypeBool:
		return strconv.AppendBool(b, v.Bits != 0), nil
	case abi.TypeInt:
		return strconv.AppendInt(b, int64(v.Bits), 10), nil
	case abi.TypeFloat:
		return appendJSONFloat(b, math.Float64frombits(v.Bits))
	case abi.TypeDataType:
		return appendJSONString(b, []byte(dataTypeOf(v.Bits).String()))
	case abi.TypeDevice:
		return appendJSONString(b, []byte(deviceOf(v.Bits).String()))
	case abi.TypeShape:
		return appendJSONShape(b, codec.Wrap[*Shape](objects.Static(uintptr(v.Bits))))
	case abi.TypeBigInt:
		n, err := codec.Decode[*big.Int](v)
		if err != nil {
			return nil, err
		}
		return n.Append(b, 10), nil
	}
	return appendJSONParts(b, v)
}

// appendJSONParts appends a container by what it holds, and another object by its
// fields.
func appendJSONParts(b []byte, v abi.Any) ([]byte, error) {
	if all, ok := codec.Elements(v); ok {
		return appendJSONElements(b, all)
	}
	if crossing.ClassOf(v.TypeIndex) != crossing.Mapping && (!codec.MayNest(v) || len(codec.FieldsOf(v.TypeIndex)) == 0) {
		return nil, failure.Errorf(failure.KindType, "%s has no form in JSON", capi.KeyOf(v.TypeIndex))
	}
	b = append(b, '{')
	var err error
	checked := false // that no two keys have one name, as 1 and "1" have
	codec.Parts(v, func(p codec.Part) bool {
		out := b
		if p.Index > 0 {
			out = append(out, ',')
		}
		if out, err = appendJSONName(out, p); err != nil {
			return false
		}
		if !checked && p.Kind == codec.PartEntry && p.Key.TypeIndex != abi.TypeStr && p.Key.TypeIndex != abi.TypeSmallStr {
			if checked, err = true, distinctNames(v); err != nil {
				return false
			}
		}
		out, failed := appendJSON(out, p.Value)
		if failed != nil {
			err = failure.Annotate(placeJSON(p), failed)
			return false
		}
		b = out
		return true
	})
	if err != nil {
		return nil, err
	}
	return append(b, '}'), nil
}

// appendJSONElements appends the elements of an Array or a List.
func appendJSONElements(b []byte, all []abi.Any) (_ []byte, err error) {
	b = append(b, '[')
	for i, x := range all {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendJSON(b, x); err != nil {
			return nil, failure.Annotate("element "+codec.Itoa(i), err)
		}
	}
	return append(b, ']'), nil
}

// appendJSONName appends the name of a field, or the key of an entry.
func appendJSONName(b []byte, p codec.Part) ([]byte, error) {
	name, err := nameJSON(p)
	if err == nil {
		b, err = appendJSONString(b, []byte(name))
	}
	return append(b, ':'), err
}

// distinctNames returns an error if two entries of a Map or a Dict have one name in JSON.
func distinctNames(v abi.Any) (err error) {
	names := map[string]bool{}
	codec.Parts(v, func(p codec.Part) bool {
		var name string
		if name, err = nameJSON(p); err == nil && names[name] {
			err = failure.Errorf(failure.KindValue, "two keys have the name %q in JSON: make them strings that differ", name)
		}
		names[name] = true
		return err == nil
	})
	return err
}

// nameJSON returns the name of a field, or the key of an entry as the string that JSON
// has for it.
func nameJSON(p codec.Part) (string, error) {
	if p.Field != nil {
		return p.Field.Name, nil
	}
	switch k := p.Key; k.TypeIndex {
	case abi.TypeSmallStr, abi.TypeStr:
		key, _ := capi.StringOf(k)
		return key, nil
	case abi.TypeInt:
		return strconv.FormatInt(int64(k.Bits), 10), nil
	case abi.TypeBool:
		return strconv.FormatBool(k.Bits != 0), nil
	}
	key := anyOf(p.Key, objects.ReadOwned())
	defer key.Release()
	return "", failure.Errorf(failure.KindType, "a key of JSON must be a string, got %s", key.TypeKey())
}

// placeJSON names an entry or a field in an error.
func placeJSON(p codec.Part) string {
	if p.Kind == codec.PartEntry {
		key, _ := nameJSON(p)
		return "value of key " + codec.Quote(key)
	}
	return "field " + p.Field.Name
}

func appendJSONShape(b []byte, s *Shape) ([]byte, error) {
	b = append(b, '[')
	for i, n := range s.Slice() {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return append(b, ']'), nil
}

// appendJSONFloat appends a float so that it is read as a float again.
func appendJSONFloat(b []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, failure.Errorf(failure.KindType, "%v has no form in JSON", f)
	}
	start := len(b)
	b = strconv.AppendFloat(b, f, 'g', -1, 64)
	for _, c := range b[start:] {
		if c == '.' || c == 'e' {
			return b, nil
		}
	}
	return append(b, ".0"...), nil
}

// appendJSONString appends a string in quotes.
func appendJSONString(b, text []byte) ([]byte, error) {
	for _, c := range text {
		if c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			if !utf8.Valid(text) { // json.Marshal would write U+FFFD, and make one key of two
				return nil, failure.Errorf(failure.KindValue, "the text %.60q is not UTF-8, so it has no form in JSON: a []byte has one, in base64", text)
			}
			quoted, err := json.Marshal(string(text))
			return append(b, quoted...), err
		}
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"'), nil
}
