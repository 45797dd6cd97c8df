package emit

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/gen/internal/kernel"
)

// checksTable writes all checks of a kernel as data, which has the errors.
func checksTable(f *jen.File, k *kernel.Kernel) {
	dynamic := make([]bool, len(k.Plan.Vars)) // the message says what gave the value
	for _, c := range k.Plan.Checks {
		if c.Op == spec.OpMatch && c.From < 0 {
			dynamic[c.Var] = true
		}
	}
	signature, calling := jen.Id("signature"+k.GoName), jen.Id("calling"+k.GoName)
	rows := make([]jen.Code, len(k.Plan.Checks))
	for i, c := range k.Plan.Checks {
		// Fields that the check does not use are left out.
		if c.From >= 0 {
			c.From = 0
		}
		if c.Op != spec.OpMatch && c.Op != spec.OpBind && !c.Maybe {
			c.Var = 0
		}
		if c.Op != spec.OpBind || !dynamic[c.Var] {
			c.Source = ""
		}
		before, after, _ := strings.Cut(c.Message, " when calling: `"+k.Plan.Signature+"`")
		message := jen.Lit(before).Op("+").Add(calling)
		if after != "" {
			message.Op("+").Lit(after)
		}
		rows[i] = checkRow(c, message)
	}
	f.Line()
	f.Const().Defs(
		signature.Clone().Op("=").Lit(k.Plan.Signature),
		calling.Clone().Op("=").Lit(" when calling: `").Op("+").Add(signature).Op("+").Lit("`"))
	f.Line()
	fields := []jen.Code{field("Signature", signature)}
	if k.Nested {
		fields = append(fields, field("Args", jen.Index().Add(kernelrt("Form")).ValuesFunc(func(g *jen.Group) {
			for i, at := range k.Plan.Operands {
				if at.Parent < 0 {
					g.Add(form(k, i))
				}
			}
		})))
	}
	f.Var().Id("checks" + k.GoName).Op("=").Add(kernelrt("Checks")).Values(append(fields, field("List", jen.Index().Qual(specPath, "Check").Add(perLine(rows))))...)
}

// form writes what an argument is made of.
func form(k *kernel.Kernel, operand int) jen.Code {
	switch p := k.Plan.Operands[operand].Param.(type) {
	case spec.Shape:
		return jen.Values(field("Name", jen.Lit(k.Plan.Operands[operand].Name)), field("Sizes", jen.Lit(len(p.Dims))), field("Shape", jen.True()))
	case spec.Tuple:
		elems := jen.Index().Add(kernelrt("Form")).ValuesFunc(func(g *jen.Group) {
			for i := range k.Plan.Operands {
				if k.Plan.Operands[i].Parent == operand {
					g.Add(form(k, i))
				}
			}
		})
		return jen.Values(field("Name", jen.Lit(k.Plan.Operands[operand].Name)), field("Elems", elems))
	}
	return jen.Values(field("Name", jen.Lit(k.Plan.Operands[operand].Name)))
}

// The names of the constants of package spec, by their values.
var (
	opNames     = []string{"Count", "Element", "SkipNone", "Type", "ElementInt", "DType", "Contiguous", "Float", "Equal", "Range", "Divisible", "Match", "Bind", "SameDType", "Compact", "NotNull"}
	fieldNames  = []string{"None", "Value", "Len", "Dim", "Address", "DeviceID", "DeviceType", "NDim", "Shape", "Strides", "Data", "ByteOffset"}
	acceptNames = []string{"None", "Int", "Bool", "Float", "Pointer", "DLTensor", "Tensor", "Shape", "Array", "Object"}
)

// checkRow writes the fields of a check that are not zero.
func checkRow(c spec.Check, message jen.Code) jen.Code {
	var row []jen.Code
	fields := reflect.ValueOf(c)
	for i := range fields.NumField() {
		name, v := fields.Type().Field(i).Name, fields.Field(i)
		if v.IsZero() && name != "Op" {
			continue
		}
		var value jen.Code
		switch v := v.Interface().(type) {
		case spec.Op:
			value = jen.Qual(specPath, "Op"+opNames[v])
		case spec.Field:
			value = jen.Qual(specPath, "Field"+fieldNames[v])
		case spec.Accept:
			var kinds []string
			for i, kind := range acceptNames {
				if v&(1<<i) != 0 {
					kinds = append(kinds, "spec.Accept"+kind)
				}
			}
			value = jen.Id(strings.Join(kinds, " | "))
		case float64:
			value = jen.Qual("math", "Float64frombits").Call(jen.Id(bitsText(v)))
		case spec.DType:
			value = jen.Qual(specPath, dtypeText(v))
		default:
			value = jen.Id(fmt.Sprintf("%#v", v))
		}
		if name == "Message" {
			value = message
		}
		row = append(row, field(name, value))
	}
	return jen.Values(row...)
}

func dtypeText(t spec.DType) string {
	return fmt.Sprintf("DType{Code: %d, Bits: %d, Lanes: %d}", t.Code, t.Bits, t.Lanes)
}

// acceptor writes the straight code that accepts arguments. It keeps the order of the
// checks only where one needs another: the error comes from the table.
type acceptor struct {
	*kernel.Kernel
	body *jen.Group
	// now is the value of each variable, as far as the checks are written.
	now []string
	// refusals are the conditions that are not written yet, in lines by operand. operand
	// is the one whose conditions are in line.
	refusals, line []string
	operand        int
}

func (w *acceptor) write() {
	var names, tensors []string
	for i, name := range w.Tensors {
		if name != "" {
			names = append(names, name)
			tensors = append(tensors, fmt.Sprintf("kernelrt.TensorAt(args, %d)", w.Leaf[i]))
		}
	}
	w.body.Id(strings.Join(names, ", ") + " := " + strings.Join(tensors, ", "))
	w.now = make([]string, len(w.Plan.Vars))
	for v, known := range w.Known {
		if w.several(v) && w.needed(v, w.Plan.Checks) {
			w.now[v] = w.Locals[v]
			w.body.Var().Id(w.now[v]).Int64()
		}
		if known != "" {
			w.body.Var().Id(known).Bool()
		}
	}
	for i := range w.Plan.Checks {
		w.check(&w.Plan.Checks[i], w.Plan.Checks[i+1:])
	}
	w.flush()
	for v, n := range w.Uses() {
		if n > 0 && !w.several(v) {
			w.body.Id(w.Locals[v] + " := " + w.now[v])
		}
	}
}

// several reports whether a variable is bound by an optional argument, or by one of
// several arguments.
func (w *acceptor) several(v int) bool {
	for _, c := range w.Plan.Checks {
		if c.Op == spec.OpBind && c.Var == v && (c.Maybe || w.Plan.Operands[c.Operand].Optional) {
			return true
		}
	}
	return false
}

// needed reports whether a variable is passed on, or compared with by one of the checks.
func (w *acceptor) needed(v int, checks []spec.Check) bool {
	for _, c := range checks {
		if c.Op == spec.OpMatch && c.Var == v {
			return true
		}
	}
	return w.Uses()[v] > 0
}

func (w *acceptor) refuse(format string, args ...any) {
	w.line = append(w.line, fmt.Sprintf(format, args...))
}

// end ends the conditions of an operand.
func (w *acceptor) end() {
	if len(w.line) == 0 {
		return
	}
	line := strings.Join(w.line, " || ")
	if at := &w.Plan.Operands[w.operand]; at.Optional {
		if len(w.line) > 1 {
			line = "(" + line + ")"
		}
		line = fmt.Sprintf("!kernelrt.IsNone(args[%d]) && %s", w.Leaf[w.operand], line)
	}
	w.refusals, w.line = append(w.refusals, line), nil
}

// flush writes the conditions.
func (w *acceptor) flush() {
	w.end()
	if len(w.refusals) > 0 {
		w.body.If(jen.Id(strings.Join(w.refusals, " ||\n"))).Block(jen.Return(jen.Id("checks" + w.GoName + ".Refuse(args)")))
		w.refusals = nil
	}
}

// check writes a check; later are those after it.
func (w *acceptor) check(c *spec.Check, later []spec.Check) {
	if c.Op == spec.OpCount {
		w.refusals = append(w.refusals, fmt.Sprintf("len(args) != %d", w.Leaves))
		return
	}
	if c.Op == spec.OpElement || c.Op == spec.OpElementInt || c.Field == spec.FieldLen {
		return // what takes the arguments apart has done it
	}
	if c.Operand != w.operand {
		w.end()
		w.operand = c.Operand
	}
	value, before, after := w.number(c), "", ""
	if c.Maybe && c.Op == spec.OpMatch {
		before = w.Known[c.Var] + " && "
	} else if c.Maybe {
		before = "!" + w.Known[c.Var] + " && "
	}
	if c.UnlessOne {
		after = fmt.Sprintf(" && kernelrt.Size(%s, %d) != 1", w.Tensors[c.Operand], c.Index)
	}
	switch c.Op {
	case spec.OpSkipNone, spec.OpDType: // see end and typ
	case spec.OpType:
		w.typ(c, later)
	case spec.OpContiguous:
		w.refuse("!kernelrt.Contiguous(%s)", w.Tensors[c.Operand])
	case spec.OpEqual:
		if c.Field != spec.FieldNDim && c.Field != spec.FieldDeviceType { // see typ
			w.refuse("%s != %d%s", value, c.Want, after)
		}
	case spec.OpFloat:
		w.refuse("!kernelrt.EqualFloat(args[%d], %s)", w.Leaf[c.Operand], bitsText(c.Float))
	case spec.OpRange:
		w.refuse("%s!kernelrt.Within(%s, %d, %d)", before, value, c.Min, c.Max)
	case spec.OpDivisible:
		w.refuse("%s%s%%%d != 0%s", before, value, c.Want, after)
	case spec.OpMatch:
		if c.Peer {
			after += fmt.Sprintf(" && !kernelrt.Reaches(%s, %s)", w.now[c.Var], w.Tensors[c.Operand])
		}
		w.refuse("%s%s != %s%s", before, value, w.now[c.Var], after)
	case spec.OpBind:
		w.bind(c, value, later)
	default:
		panic(fmt.Sprintf("emit: no code for check %d", c.Op))
	}
}

// typ writes the check of a type. For a tensor it includes the later checks of the rank,
// the device and the elements.
func (w *acceptor) typ(c *spec.Check, later []spec.Check) {
	t := w.Tensors[c.Operand]
	if t == "" {
		if c.Accept&spec.AcceptArray != 0 {
			return // as OpElement
		}
		is := map[spec.Accept]string{
			spec.AcceptNone:                  "IsNone",
			spec.AcceptBool:                  "IsBool",
			spec.AcceptFloat:                 "IsFloatOnly",
			spec.AcceptInt | spec.AcceptBool: "IsInt",
			spec.AcceptFloat | spec.AcceptInt | spec.AcceptBool:   "IsFloat",
			spec.AcceptPointer | spec.AcceptNone:                  "IsHandle",
			spec.AcceptPointer | spec.AcceptNone | spec.AcceptInt: "IsAddress",
		}[c.Accept]
		w.refuse("!kernelrt.%s(args[%d])", is, w.Leaf[c.Operand])
		return
	}
	var ndim, device int64
	var dtype spec.DType
	for _, l := range later {
		switch {
		case l.Operand != c.Operand:
		case l.Field == spec.FieldNDim:
			ndim = l.Want
		case l.Field == spec.FieldDeviceType:
			device = l.Want
		case l.Op == spec.OpDType:
			dtype = l.DType
		}
	}
	if dtype.Code == spec.Int8.Code || dtype.Code == spec.Uint8.Code {
		w.refuse("!kernelrt.IsIntTensor(%s, %d, %d, %d, %d)", t, ndim, device, dtype.Bits, dtype.Lanes)
	} else {
		w.refuse("!kernelrt.IsTensor(%s, %d, %d, kernelrt.%s)", t, ndim, device, dtypeText(dtype))
	}
}

// bind notes the value of a variable. If several arguments may give the value, it writes
// the value to a local, after the checks before it.
func (w *acceptor) bind(c *spec.Check, value string, later []spec.Check) {
	if !w.several(c.Var) {
		w.now[c.Var] = value
		return
	}
	if !w.needed(c.Var, later) {
		return
	}
	w.flush()
	var when []string
	if w.Plan.Operands[c.Operand].Optional {
		when = append(when, w.Tensors[c.Operand]+" != nil")
	}
	known := w.Known[c.Var]
	if c.Maybe {
		when = append(when, "!"+known)
	}
	set := w.Locals[c.Var] + " = " + value
	if known != "" {
		set = fmt.Sprintf("%s, %s = %s, true", w.Locals[c.Var], known, value)
	}
	w.body.If(jen.Id(strings.Join(when, " && "))).Block(jen.Id(set))
}

// number writes the number that a check reads.
func (w *acceptor) number(c *spec.Check) string {
	t := w.Tensors[c.Operand]
	switch c.Field {
	case spec.FieldAddress:
		return fmt.Sprintf("int64(kernelrt.Address(%s))", t)
	case spec.FieldDeviceID:
		return fmt.Sprintf("int64(%s.Device.ID)", t)
	case spec.FieldShape:
		return fmt.Sprintf("kernelrt.Size(%s, %d)", t, c.Index)
	case spec.FieldStrides:
		return fmt.Sprintf("kernelrt.Stride(%s, %d)", t, c.Index)
	case spec.FieldDim:
		return fmt.Sprintf("int64(args[%d].Bits)", w.Leaf[c.Operand]+c.Index)
	}
	return fmt.Sprintf("int64(args[%d].Bits)", w.Leaf[c.Operand])
}
