package disco

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/jsongraph"
)

// A value that a worker sends back goes as it is if it is a number. Every other value is bytes: a
// header whose first byte is one of these, and the value. The header has eight bytes, because Disco
// does not send bytes that are short enough to lie inside the value. It does not send None either:
// the worker crashes. And a tensor ends a node.
const (
	inNone     = 'n'
	inString   = 's'
	inBytes    = 'b'
	inGraph    = 'g' // JSON with types and sharing
	inTensor   = 't' // tensorHeader, dimensions, elements
	inFailure  = 'e'
	headerSize = 8
	inPlace    = '.' // an argument that is what it is
)

func framed(kind byte, content []byte) []byte {
	b := make([]byte, headerSize, headerSize+len(content))
	b[0] = kind
	return append(b, content...)
}

// encode returns the form in which a worker sends a value. A value without one becomes a failure.
func encode(v tvmffi.Any) any {
	if f, ok := failureIn(v); ok {
		return framed(inFailure, []byte(f.text()))
	}
	switch v.TypeKey() {
	case "None":
		return framed(inNone, nil)
	case "int", "bool", "float", "DataType", "Device":
		return v
	}
	switch x := v.Value().(type) {
	case string:
		return framed(inString, []byte(x))
	case []byte:
		return framed(inBytes, x)
	case *tvmffi.Tensor:
		content, err := tensorBytes(x)
		if err != nil {
			return framed(inFailure, []byte(failed("", err).text()))
		}
		return framed(inTensor, content)
	}
	text, err := jsongraph.Marshal(v, nil)
	if err != nil {
		err = tvmffi.WrapError("TypeError", fmt.Sprintf("a value of type %s cannot be sent to the controller: %v", v.TypeKey(), err), err)
		return framed(inFailure, []byte(failed("", err).text()))
	}
	return framed(inGraph, text)
}

func fixed(x any) []byte {
	b, err := binary.Append(nil, binary.LittleEndian, x)
	if err != nil {
		panic(err) // only numbers are passed
	}
	return b
}

type tensorHeader struct {
	Code, Bits  uint8
	Lanes, Dims uint16
}

func tensorBytes(t *tvmffi.Tensor) ([]byte, error) {
	elements, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	d, shape := t.DataType(), t.Shape()
	content := fixed(tensorHeader{d.Code, d.Bits, d.Lanes, uint16(len(shape))})
	return append(append(content, fixed(shape)...), elements...), nil
}

func tensorFrom(content []byte) (tvmffi.Any, error) {
	var h tensorHeader
	n, err := binary.Decode(content, binary.LittleEndian, &h)
	if err != nil {
		return tvmffi.Any{}, err
	}
	shape := make([]int64, h.Dims)
	m, err := binary.Decode(content[n:], binary.LittleEndian, shape)
	if err != nil {
		return tvmffi.Any{}, err
	}
	elements := content[n+m:]
	dtype := tvmffi.DataType{Code: h.Code, Bits: h.Bits, Lanes: h.Lanes}
	size, err := dtype.BytesOf(shape)
	if err == nil && size != int64(len(elements)) {
		err = fmt.Errorf("it has %d bytes, and %d came", size, len(elements))
	}
	if err != nil {
		return tvmffi.Any{}, fmt.Errorf("a tensor of %v with the shape %v: %w", dtype, shape, err)
	}
	t, err := tvmffi.NewTensor(dtype, shape...)
	if err != nil {
		return tvmffi.Any{}, err
	}
	defer t.Release() // the result has its own reference
	b, err := t.Bytes()
	if err != nil {
		return tvmffi.Any{}, err
	}
	copy(b, elements)
	return tvmffi.AnyOf(t)
}

// decode returns the value that encode had. The value of a failed call is its error.
func decode(v tvmffi.Any, worker int) (tvmffi.Any, error) {
	if v.TypeKey() != "ffi.Bytes" {
		return v, nil
	}
	b, ok := v.Value().([]byte)
	if !ok || len(b) < headerSize {
		return tvmffi.Any{}, fmt.Errorf("worker %d sent %d bytes without a header", worker, len(b))
	}
	switch content := b[headerSize:]; b[0] {
	case inNone:
		return tvmffi.Any{}, nil
	case inString:
		return tvmffi.AnyOf(string(content))
	case inBytes:
		return tvmffi.AnyOf(content)
	case inTensor:
		return tensorFrom(content)
	case inGraph:
		return jsongraph.Unmarshal[tvmffi.Any](content)
	case inFailure:
		var f failure
		if err := json.Unmarshal(content, &f); err != nil {
			return tvmffi.Any{}, fmt.Errorf("worker %d sent a failure that is not JSON: %w", worker, err)
		}
		return tvmffi.Any{}, f.of(worker)
	}
	return tvmffi.Any{}, fmt.Errorf("worker %d sent bytes of the unknown kind %q", worker, b[0])
}

func decodeFailures(v tvmffi.Any, worker int) ([]error, error) {
	list, err := decode(v, worker)
	if err != nil {
		return nil, err
	}
	text, _ := list.Value().([]byte)
	var all []failure
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("worker %d sent a list of failures that is not JSON: %w", worker, err)
	}
	var errs []error
	for _, f := range all {
		errs = append(errs, f.of(worker))
	}
	return errs, nil
}
