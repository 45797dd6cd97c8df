package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
)

// The JSON form has one object for each parameter, whose "type" is a data type or
// tensor, shape, stream, env_stream, data_pointer, const or tuple. A dimension is a
// number, a name, or an object with name, dtype and divisibility, or with size and dtype.

type jsonFunc struct {
	Name    string      `json:"name"`
	Dialect string      `json:"dialect,omitempty"`
	Params  []jsonParam `json:"params"`
}

const jsonTVM = "tvm"

type jsonParam struct {
	Name         string          `json:"name,omitempty"`
	Type         string          `json:"type"`
	DType        string          `json:"dtype,omitempty"`
	Shape        *[]jsonDim      `json:"shape,omitempty"`
	Strides      []jsonDim       `json:"strides,omitempty"`
	Align        int64           `json:"align,omitempty"`
	Offset       *jsonDim        `json:"offset,omitempty"`
	Device       string          `json:"device,omitempty"`
	DeviceID     *jsonDim        `json:"device_id,omitempty"`
	Divisibility int64           `json:"divisibility,omitempty"`
	Space        int             `json:"space,omitempty"`
	Value        json.RawMessage `json:"value,omitempty"`
	Elems        *[]jsonParam    `json:"elems,omitempty"`
	Optional     bool            `json:"optional,omitempty"`
}

type jsonVar struct {
	Size         *int64 `json:"size,omitempty"` // in place of a name, of a Size64
	Name         string `json:"name,omitempty"`
	DType        string `json:"dtype,omitempty"`
	Divisibility int64  `json:"divisibility,omitempty"`
}

// jsonDim is a Dim.
type jsonDim struct{ dim Dim }

// MarshalJSON writes a size as a number and a variable as its name, or as an object
// if it says more.
func (d jsonDim) MarshalJSON() ([]byte, error) {
	switch d := d.dim.(type) {
	case Size:
		return json.Marshal(int64(d))
	case Var:
		if d.DType == (DType{}) && d.Divisibility == 0 {
			return json.Marshal(d.Name)
		}
		return json.Marshal(jsonVar{Name: d.Name, DType: d.DType.name(), Divisibility: d.Divisibility})
	case Size64:
		return json.Marshal(jsonVar{Size: (*int64)(&d), DType: Int64.name()})
	}
	return nil, fmt.Errorf("spec: a dimension is nil")
}

// UnmarshalJSON reads what MarshalJSON writes.
func (d *jsonDim) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '"':
		var v Var
		err := json.Unmarshal(data, &v.Name)
		d.dim = v
		return err
	case '{':
		var j jsonVar
		if err := strict(data, &j); err != nil {
			return err
		}
		t, err := dtypeOf(j.DType)
		if j.Size != nil {
			if d.dim = Size64(*j.Size); j.Name != "" || t != Int64 || j.Divisibility != 0 {
				return fmt.Errorf("spec: the dimension %.80s has a size: it needs the dtype int64, and nothing more", data)
			}
			return err
		}
		d.dim = Var{j.Name, t, j.Divisibility}
		return err
	}
	n, err := strconv.ParseInt(string(data), 10, 64)
	if err != nil {
		return fmt.Errorf("spec: the dimension %.40s is not a whole number, a name or an object", data)
	}
	d.dim = Size(n)
	return nil
}

// name is the name of a type, "" for the zero one.
func (t DType) name() string {
	if t == (DType{}) {
		return ""
	}
	return t.String()
}

func dtypeOf(name string) (DType, error) {
	if name == "" {
		return DType{}, nil
	}
	t, err := ParseDType(name)
	if err != nil {
		return DType{}, fmt.Errorf("spec: %w", err)
	}
	return t, nil
}

// strict reads JSON without members that it does not know.
func strict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("spec: unexpected data after the JSON value")
	}
	if err := jsonlines.Check(data, into); err != nil {
		return fmt.Errorf("spec: %w", err)
	}
	return nil
}

// MarshalJSON writes the description, which must be valid.
func (f *Func) MarshalJSON() ([]byte, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	j := jsonFunc{Name: f.Name, Params: []jsonParam{}}
	if f.Dialect == TVM {
		j.Dialect = jsonTVM
	}
	for _, p := range f.Params {
		j.Params = append(j.Params, toJSON(p))
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (f *Func) UnmarshalJSON(data []byte) error {
	if len(data) > maxText {
		return fmt.Errorf("spec: the JSON has %d bytes, the limit is %d", len(data), maxText)
	}
	var j jsonFunc
	if err := strict(data, &j); err != nil {
		return err
	}
	read := Func{Name: j.Name}
	switch j.Dialect {
	case "":
	case jsonTVM:
		read.Dialect = TVM
	default:
		return fmt.Errorf("spec: %s: %.40q is not a dialect: write tvm, or leave it out for that of the CuTe DSL", j.Name, j.Dialect)
	}
	for _, p := range j.Params {
		param, err := p.param(0)
		if err != nil {
			return fmt.Errorf("spec: %s: %s: %w", j.Name, p.Name, err)
		}
		read.Params = append(read.Params, param)
	}
	if err := read.Validate(); err != nil {
		return err
	}
	*f = read
	return nil
}

func dimsToJSON(dims []Dim) []jsonDim {
	j := make([]jsonDim, len(dims))
	for i, d := range dims {
		j[i] = jsonDim{d}
	}
	return j
}

func toJSON(p Param) jsonParam {
	j := jsonParam{Name: p.name()}
	switch p := p.(type) {
	case Var:
		j.Type, j.Divisibility = p.DType.String(), p.Divisibility
	case Tensor:
		shape := dimsToJSON(p.Shape)
		j.Type, j.DType, j.Shape = "tensor", p.DType.name(), &shape
		j.Align, j.Device = p.Align, p.Device
		if len(p.Strides) > 0 {
			j.Strides = dimsToJSON(p.Strides)
		}
		if p.Offset != nil {
			j.Offset = &jsonDim{p.Offset}
		}
		if p.DeviceID != nil {
			// As in the other notation, a number stands beside the type of its device.
			j.Device, j.DeviceID = p.device(), &jsonDim{p.DeviceID}
		}
	case Shape:
		shape := dimsToJSON(p.Dims)
		j.Type, j.Shape = "shape", &shape
	case Stream:
		j.Type = "stream"
	case EnvStream:
		j.Type = "env_stream"
	case DataPointer:
		j.Type, j.Space = "data_pointer", p.Space
	case Const:
		// The text is that of the other notation: JSON has no infinity.
		j.Type = "const"
		j.Value, _ = json.Marshal(constText(p.Value))
	case Tuple:
		elems := []jsonParam{}
		for _, e := range p.Elems {
			elems = append(elems, toJSON(e))
		}
		j.Type, j.Elems = "tuple", &elems
	case Optional:
		j = toJSON(p.Param)
		j.Optional = true
	}
	return j
}

func (j *jsonParam) param(depth int) (Param, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("types nest deeper than %d", maxDepth)
	}
	if j.Optional {
		inner := *j
		inner.Optional = false
		p, err := inner.param(depth)
		return Optional{p}, err
	}
	p, err := j.plain(depth)
	if err != nil {
		return nil, err
	}
	// The description must have all members of the JSON.
	want, err := json.Marshal(toJSON(p))
	if err != nil {
		return nil, err
	}
	got, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(got, want) {
		return nil, fmt.Errorf("%s should be written as %s", abbreviate(got), abbreviate(want))
	}
	return p, nil
}

func abbreviate(b []byte) string {
	if len(b) > 200 {
		return string(b[:200]) + "..."
	}
	return string(b)
}

func (j *jsonParam) plain(depth int) (Param, error) {
	dims := func(from []jsonDim) []Dim {
		d := make([]Dim, len(from))
		for i := range from {
			d[i] = from[i].dim
		}
		return d
	}
	var shape []Dim
	if j.Shape != nil {
		shape = dims(*j.Shape)
	}
	switch j.Type {
	case "tensor":
		t, err := dtypeOf(j.DType)
		p := Tensor{Name: j.Name, DType: t, Shape: shape, Align: j.Align, Device: j.Device}
		if j.Strides != nil {
			p.Strides = dims(j.Strides)
		}
		if j.Offset != nil {
			p.Offset = j.Offset.dim
		}
		if j.DeviceID != nil {
			p.DeviceID = j.DeviceID.dim
		}
		return p, err
	case "shape":
		return Shape{j.Name, shape}, nil
	case "stream":
		return Stream{j.Name}, nil
	case "env_stream":
		return EnvStream{j.Name}, nil
	case "data_pointer":
		return DataPointer{j.Name, j.Space}, nil
	case "const":
		var text string
		if err := json.Unmarshal(j.Value, &text); err != nil {
			return nil, fmt.Errorf("the value of a constant must be a string such as %q: %w", "Int(5)", err)
		}
		p := parser{text: text}
		c, err := p.param(j.Name, 0)
		if err == nil && p.pos < len(text) {
			err = p.errorf("unexpected text after the constant")
		}
		return c, err
	case "tuple":
		return j.tuple(depth)
	}
	t, err := dtypeOf(j.Type)
	if err != nil || j.Type == "" {
		return nil, fmt.Errorf("%q is not a type: write a data type such as float32, or tensor, shape, stream, env_stream, data_pointer, const or tuple", j.Type)
	}
	return Var{j.Name, t, j.Divisibility}, nil
}

func (j *jsonParam) tuple(depth int) (Param, error) {
	t := Tuple{Name: j.Name}
	if j.Elems == nil {
		return t, nil
	}
	for i := range *j.Elems {
		e, err := (*j.Elems)[i].param(depth + 1)
		if err != nil {
			return nil, err
		}
		t.Elems = append(t.Elems, e)
	}
	return t, nil
}
