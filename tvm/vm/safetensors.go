package vm

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// safetypes are the data types of the format safetensors.
var safetypes = map[string]tvmffi.DataType{
	"BOOL": tvmffi.Bool, "U8": tvmffi.Uint8, "I8": tvmffi.Int8, "U16": tvmffi.Uint16, "I16": tvmffi.Int16, "U32": tvmffi.Uint32, "I32": tvmffi.Int32,
	"U64": tvmffi.Uint64, "I64": tvmffi.Int64, "F16": tvmffi.Float16, "BF16": tvmffi.BFloat16, "F32": tvmffi.Float32, "F64": tvmffi.Float64, "C64": tvmffi.Complex64,
	"F8_E4M3": tvmffi.Float8E4M3FN, "F8_E5M2": tvmffi.Float8E5M2, "F8_E8M0": tvmffi.Float8E8M0FNU, "F8_E4M3FNUZ": tvmffi.Float8E4M3FNUZ, "F8_E5M2FNUZ": tvmffi.Float8E5M2FNUZ,
	"F4": tvmffi.Float4E2M1FN, "F6_E2M3": tvmffi.Float6E2M3FN, "F6_E3M2": tvmffi.Float6E3M2FN,
}

// mostHeader is the limit of the format for the header of a file.
const mostHeader = 100_000_000

// safetensors adds the tensors of a file.
func (w *Weights) safetensors(path string) error {
	m, err := mapFile(path)
	if err != nil {
		return err
	}
	all, err := safeHeader(m.bytes)
	if err != nil {
		return err
	}
	for i := range all {
		if err := w.add(m, &all[i]); err != nil {
			return err
		}
	}
	return nil
}

// safeHeader returns what the header of a file says, in the order of the data. The tensors fill the file behind the header
// without gaps, and none overlaps another.
func safeHeader(file []byte) ([]entry, error) {
	if len(file) < 8 {
		return nil, fmt.Errorf("it has %d bytes, and a file of safetensors has 8 or more", len(file))
	}
	n := binary.LittleEndian.Uint64(file)
	if n > min(mostHeader, uint64(len(file)-8)) {
		return nil, fmt.Errorf("its header has %d bytes, and the file has %d: it is not complete, or not of the format safetensors, whose limit is %d", n, len(file), mostHeader)
	}
	head, data := file[8:8+n], int64(len(file))-8-int64(n)
	all, err := safeEntries(head)
	if err != nil {
		return nil, fmt.Errorf("the header: %w", err)
	}
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.size, b.size)) })
	end := int64(0)
	for i := range all {
		e := &all[i]
		if e.begin != end {
			return nil, fmt.Errorf("tensor %.200q: it begins at byte %d of the data, expected %d: tensors overlap or leave a gap", e.name, e.begin, end)
		}
		if err := e.check(data); err != nil {
			return nil, err
		}
		end += e.size
		e.begin += 8 + int64(n)
	}
	if end != data {
		return nil, fmt.Errorf("its tensors have %d bytes, and behind the header are %d: the file is not complete, or has more than tensors", end, data)
	}
	return all, nil
}

// safeTensor is what a header says of a tensor.
type safeTensor struct {
	Type  string  `json:"dtype"`
	Shape []int64 `json:"shape"`
	Range []int64 `json:"data_offsets"`
}

// safeEntries reads the JSON of a header. A name that is there twice is an error: readers differ in which one counts.
func safeEntries(head []byte) (all []entry, err error) {
	if len(head) == 0 || head[0] != '{' {
		return nil, errors.New("it does not begin with {")
	}
	d := json.NewDecoder(bytes.NewReader(head))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string) // as JSON has no other keys
		if seen[name] {
			return nil, fmt.Errorf("%.200q is there twice", name)
		}
		seen[name] = true
		var text json.RawMessage
		if err := d.Decode(&text); err != nil {
			return nil, err
		}
		if name == "__metadata__" { // whose keys may be those of a tensor, in two cases too
			if err := jsonlines.Unmarshal(text, new(map[string]string)); err != nil {
				return nil, fmt.Errorf("__metadata__: %w", err)
			}
			continue
		}
		var v safeTensor
		err = jsonlines.Unmarshal(text, &v)
		dtype, known := safetypes[v.Type]
		switch {
		case err != nil:
		case !known:
			err = fmt.Errorf("its data type %.50q is unknown", v.Type)
		case v.Shape == nil:
			err = errors.New("it has no shape")
		case len(v.Range) != 2 || v.Range[0] < 0 || v.Range[1] < v.Range[0]:
			err = fmt.Errorf("its data_offsets are %.50v, expected the begin and the end", fmt.Sprint(v.Range))
		}
		if err != nil {
			return nil, fmt.Errorf("tensor %.200q: %w", name, err)
		}
		all = append(all, entry{name: name, dtype: dtype, shape: v.Shape, begin: v.Range[0], size: v.Range[1] - v.Range[0]})
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is text after the object")
	}
	return all, jsonlines.Check(head, nil) // the characters of names
}
