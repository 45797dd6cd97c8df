package checktest

import (
	"fmt"
	"strings"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
)

// Signature makes a description. Names come again in other parameters, so that checks depend on each other.
func (m *Maker) Signature() *spec.Func {
	for len(m.data) > 0 {
		f, err := spec.Parse(m.text())
		if err == nil { // otherwise two places contradict each other
			return f
		}
	}
	return spec.New("f", spec.Tensor{Name: "a", DType: spec.Float32, Shape: []spec.Dim{spec.Sym("n")}})
}

func (m *Maker) text() string {
	if m.Next(4) == 0 {
		return m.tvm()
	}
	n := 1 + m.Next(4)
	if m.Next(16) == 0 {
		n = 18 // more values and names than have room in a Values
	}
	params := make([]string, n)
	for i := range params {
		name := fmt.Sprintf("p%d", i)
		if m.Next(8) == 0 {
			name = pick(m, "n", "m")
			params[i] = name + ": " + pick(m, "int32", "int8", "uint64", "int64 % 2")
			continue
		}
		params[i] = name + ": " + m.param(i, n < 18)
	}
	return "f(" + strings.Join(params, ", ") + ")"
}

// tvm makes a description of the dialect TVM, which has tensors and numbers alone.
func (m *Maker) tvm() string {
	params := make([]string, 1+m.Next(4))
	for i := range params {
		params[i] = fmt.Sprintf("p%d: ", i)
		if m.Next(3) == 0 {
			params[i] += pick(m, "int32", "int8", "uint8", "int64", "float32", "float64", "bool", "T.handle")
			continue
		}
		rank := m.Next(4)
		params[i] += "Tensor(" + m.dims(rank, "n", "m", "8", "T.int64(8)", "1", "T.int64(n)", "n: int32") + ", " + pick(m, "float32", "int8", "uint8", "bool")
		if rank > 0 && m.Next(3) == 0 {
			params[i] += ", strides=" + m.dims(rank, "n", "m", "8", "T.int64(8)", "1")
		}
		params[i] += pick(m, ", align=1", ", align=16", ", offset=_", ", offset=16", ", device=cuda", "", "", "") + ")"
	}
	return "tvm: f(" + strings.Join(params, ", ") + ")"
}

func pick(m *Maker, list ...string) string { return list[m.Next(len(list))] }

// param makes the type of parameter i.
func (m *Maker) param(i int, nested bool) string {
	dims := []string{"n", "m", "8", "64", "1", "_", "_ % 2", "_: int8", "n % 4", "m: int64", fmt.Sprintf("n%d", i), fmt.Sprintf("n%d: uint8", i)}
	kind := m.Next(16)
	switch {
	case kind < 2 && nested:
		return "Optional[" + m.param(i, false) + "]"
	case kind < 4 && nested:
		elems := make([]string, m.Next(4))
		for e := range elems {
			elems[e] = m.param(i, m.Next(4) == 0)
		}
		return "Tuple[" + strings.Join(elems, ", ") + "]"
	case kind < 6:
		return "Shape(" + m.dims(m.Next(4), dims...) + ")"
	case kind < 9:
		return pick(m, "int8", "uint8 % 4", "int32", "uint64", "bool", "float32", "bfloat16", "float64", "handle",
			"Stream", "DataPointer", "Int(8)", "Bool(True)", "Float(8.0)", "Float(-0.0)", "Float(nan)", "None")
	}
	rank := m.Next(4)
	text := "Tensor(" + m.dims(rank, dims...) + ", " + pick(m, "float32", "int8", "uint8", "bool", "float4_e2m1fnx2", "int32x4")
	if rank > 0 && m.Next(3) == 0 {
		text += ", strides=" + m.dims(rank, dims...)
	}
	if m.Next(3) == 0 {
		text += pick(m, ", align=1", ", align=4", ", align=12", ", align=128")
	}
	return text + pick(m, ", device=cpu", ", device=cuda:0", ", device=cuda:1", ", device=cuda:d", ", device=cpu:n", "", "", "") + ")"
}

// dims makes n dimensions.
func (m *Maker) dims(n int, of ...string) string {
	list := make([]string, n)
	for at := range list {
		list[at] = pick(m, of...)
	}
	return "[" + strings.Join(list, ", ") + "]"
}
