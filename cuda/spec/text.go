package spec

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// String returns the whole description as text, which [Parse] reads back. For a
// description without strides, alignment, device and other properties that kernels
// do not report, it equals the signature.
func (f *Func) String() string { return f.text(true) }

// Signature returns the text that the messages contain. It leaves out what the
// CuTe DSL and TVM leave out: the dialect, an EnvStream, and what a type says beyond shape
// and data type.
func (f *Func) Signature() string { return f.text(false) }

func (f *Func) text(full bool) string {
	w := writer{full: full, tvm: f.Dialect == TVM}
	if full && w.tvm {
		w.WriteString("tvm: ")
	}
	w.WriteString(f.Name)
	w.WriteByte('(')
	first := true
	for _, p := range f.Params {
		if _, env := p.(EnvStream); env && !full {
			continue
		}
		if !first {
			w.WriteString(", ")
		}
		first = false
		w.WriteString(nameOf(p))
		w.WriteString(": ")
		w.param(p)
	}
	w.WriteByte(')')
	return w.String()
}

// nameOf returns the name of p, also if that is an Optional of nothing.
func nameOf(p Param) string {
	if o, ok := p.(Optional); ok && o.Param == nil {
		return ""
	}
	return p.name()
}

type writer struct {
	strings.Builder
	full, tvm bool
}

func (w *writer) param(p Param) {
	switch p := p.(type) {
	case Var:
		if w.tvm && p.DType == Handle {
			w.WriteString("T.")
		}
		w.WriteString(p.DType.String())
		if w.full && p.Divisibility != 0 {
			fmt.Fprintf(w, " %% %d", p.Divisibility)
		}
	case Tensor:
		w.WriteString("Tensor(")
		w.dims(p.Shape)
		w.WriteString(", " + p.DType.String())
		if w.full {
			w.properties(p)
		}
		w.WriteByte(')')
	case Shape:
		w.WriteString("Shape(")
		w.dims(p.Dims)
		w.WriteByte(')')
	case Stream:
		w.WriteString("Stream")
	case EnvStream:
		w.WriteString("EnvStream")
	case DataPointer:
		w.WriteString("DataPointer")
		if w.full && p.Space != 0 {
			fmt.Fprintf(w, "(space=%d)", p.Space)
		}
	case Const:
		w.WriteString(constText(p.Value))
	case Tuple:
		w.WriteString("Tuple[")
		for i, e := range p.Elems {
			if i > 0 {
				w.WriteString(", ")
			}
			if name := nameOf(e); w.full && name != "" {
				w.WriteString(name + ": ")
			}
			w.param(e)
		}
		w.WriteByte(']')
	case Optional:
		w.WriteString("Optional[")
		w.param(p.Param)
		w.WriteByte(']')
	}
}

func (w *writer) properties(t Tensor) {
	if len(t.Strides) > 0 {
		w.WriteString(", strides=")
		w.dims(t.Strides)
	}
	if t.Align != 0 {
		fmt.Fprintf(w, ", align=%d", t.Align)
	}
	if t.Offset != nil {
		w.WriteString(", offset=")
		w.dim(t.Offset)
	}
	if t.Device != "" || t.DeviceID != nil {
		w.WriteString(", device=" + t.device())
		if t.DeviceID != nil {
			w.WriteByte(':')
			w.dim(t.DeviceID)
		}
	}
}

// device is the type of the device.
func (t Tensor) device() string {
	if t.Device == "" {
		return "cuda"
	}
	return t.Device
}

func (w *writer) dims(dims []Dim) {
	w.WriteByte('[')
	for i, d := range dims {
		if i > 0 {
			w.WriteString(", ")
		}
		w.dim(d)
	}
	w.WriteByte(']')
}

func (w *writer) dim(d Dim) {
	switch d := d.(type) {
	case Size:
		w.WriteString(strconv.FormatInt(int64(d), 10))
	case Size64:
		fmt.Fprintf(w, "T.int64(%d)", int64(d))
	case Var:
		w.WriteString(d.Name)
		if w.full && d.DType != (DType{}) {
			w.WriteString(": " + d.DType.String())
		}
		if w.full && d.Divisibility != 0 {
			fmt.Fprintf(w, " %% %d", d.Divisibility)
		}
	}
}

// constText writes a constant in the notation of Python.
func constText(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return "Bool(" + literal(v) + ")"
	case int64:
		return "Int(" + literal(v) + ")"
	case float64:
		return "Float(" + literal(v) + ")"
	}
	return fmt.Sprintf("%T", v)
}

// literal writes a value the way Python's repr writes it.
func literal(v any) string {
	switch v := v.(type) {
	case bool:
		if v {
			return "True"
		}
		return "False"
	case float64:
		return pythonFloat(v)
	}
	return fmt.Sprint(v)
}

// pythonFloat is repr(v): the shortest digits that read back as v, with an
// exponent below 1e-4 and from 1e16 on.
func pythonFloat(v float64) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	case v != 0 && (math.Abs(v) < 1e-4 || math.Abs(v) >= 1e16):
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	s := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
