package emit

import (
	"bytes"
	"fmt"
	"go/format"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/gen/internal/kernel"
)

// kernelWriter writes the file of a package of kernels. Their bodies are statements,
// and not calls with arguments as elsewhere: they are written as text.
type kernelWriter struct{ bytes.Buffer }

func (w *kernelWriter) line(format string, args ...any) {
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

// comment writes text as a comment, with each line clean.
func (w *kernelWriter) comment(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		w.line("%s", strings.TrimRight("// "+clean(line), " "))
	}
}

// Kernels writes the file of a package of kernels.
func Kernels(pkg *kernel.Package, tool string) ([]byte, error) {
	w := &kernelWriter{}
	w.line("%s", marker(tool))
	w.line("// source: kernels of the configuration")
	w.line("\npackage %s\n", pkg.Name)
	embed := "_ "
	streams := false
	for _, im := range pkg.Images {
		if im.Program == "" {
			embed = ""
		}
	}
	for _, k := range pkg.Kernels {
		streams = streams || k.Stream >= 0
	}
	w.line("import (\n\t%s\"embed\"\n", embed)
	if streams {
		w.line("\tcuda \"github.com/tvmffi-go/tvmffi/cuda\"")
	}
	w.line("\tkernelrt \"github.com/tvmffi-go/tvmffi/cuda/kernelrt\"")
	w.line("\ttvmffi \"github.com/tvmffi-go/tvmffi/runtime\"") // each kernel has a tensor
	w.line("\texportrt %q\n)\n", exportrtPath)
	w.line("// The generated code and the module fit each other, or this does not compile.")
	w.line("const (\n_ = kernelrt.Generation1\n_ = exportrt.Generation1\n)\n")
	for _, im := range pkg.Images {
		w.image(im)
	}
	for _, k := range pkg.Kernels {
		w.data(k)
		w.typed(k)
		w.launch(k)
	}
	w.register(pkg)
	text, err := format.Source(w.Bytes())
	if err != nil {
		return nil, fmt.Errorf("write the kernels: %w\n%s", err, w.Bytes())
	}
	return text, nil
}

func quoted(list []string) string {
	q := make([]string, len(list))
	for i, s := range list {
		q[i] = strconv.Quote(s)
	}
	return "[]string{" + strings.Join(q, ", ") + "}"
}

// image writes the code of kernels. go:embed takes patterns, so names are quoted.
func (w *kernelWriter) image(im *kernel.Image) {
	name := im.Kernel.GoName
	if im.Program != "" {
		w.line("//go:embed %s\nvar source%s string\n", strconv.Quote(im.Program), name)
		more := ""
		if im.Arch != "" {
			more += fmt.Sprintf(", Arch: %q", im.Arch)
		}
		if len(im.Options) > 0 {
			more += ", Options: " + quoted(im.Options)
		}
		w.line("var image%s = kernelrt.Image{Source: &source%[1]s, File: %q%s}\n", name, im.Program, more)
	} else {
		files := make([]string, len(im.Files))
		for i, f := range im.Files {
			files[i] = strconv.Quote(f)
		}
		w.line("//go:embed %s\nvar files%s embed.FS\n", strings.Join(files, " "), name)
		w.line("var image%s = kernelrt.Image{Files: &files%[1]s, Pattern: %q}\n", name, im.Pattern)
	}
}

// data writes what is known of a kernel before a call.
func (w *kernelWriter) data(k *kernel.Kernel) {
	sizes := make([]string, len(k.Args))
	for i, a := range k.Args {
		sizes[i] = strconv.Itoa(a.Size)
	}
	w.line("var kernel%s = kernelrt.Kernel{", k.GoName)
	w.line("Name: %q, Entry: %q, Image: &image%s, Sizes: []int{%s},", k.Plan.Func.Name, k.Entry, k.Image.Kernel.GoName, strings.Join(sizes, ", "))
	w.line("Grid: %s, Block: %s,", quoted(k.Source.Grid), quoted(k.Source.Block))
	if len(k.Source.Cluster) > 0 {
		w.line("Cluster: %s,", quoted(k.Source.Cluster))
	}
	if k.Source.Shared != "" {
		w.line("Shared: %q,", k.Source.Shared)
	}
	if k.Empty == "error" {
		w.line("Full: true,")
	}
	if k.Cooperative {
		w.line("Cooperative: true,")
	}
	if k.Programmatic {
		w.line("Programmatic: true,")
	}
	w.line("}\n")
}

// typed writes the Go func.
func (w *kernelWriter) typed(k *kernel.Kernel) {
	w.comment(fmt.Sprintf("%s launches the kernel %s:\n", k.GoName, k.Plan.Func.Name))
	w.line("//\t%s", clean(k.Plan.Func.String()))
	w.line("//")
	if k.Doc != "" {
		w.comment(strings.TrimSpace(k.Doc) + "\n")
	}
	w.comment(prose(k))
	var params []string
	for i, p := range k.Params {
		if i+1 < len(k.Params) && goParam(k.Params[i+1]) == goParam(p) {
			params = append(params, p.Name)
		} else {
			params = append(params, p.Name+" "+goParam(p))
		}
	}
	w.line("func %s(%s) error {", k.GoName, strings.Join(params, ", "))
	w.line("args := [...]kernelrt.Value{")
	on := "nil"
	for _, p := range k.Params {
		switch p.Kind {
		case kernel.Tensor:
			w.line("kernelrt.FromTensor(%s),", p.Name)
		case kernel.Stream:
			w.line("{}, // %s", p.Name)
			on = p.Name
		case kernel.Pointer:
			w.line("kernelrt.FromPointer(%s),", p.Name)
		case kernel.Bool:
			w.line("kernelrt.FromBool(%s),", p.Name)
		case kernel.Int:
			w.line("kernelrt.FromInt(int64(%s)),", p.Name)
		case kernel.Uint:
			w.line("kernelrt.FromUint(uint64(%s)),", p.Name)
		default:
			w.line("kernelrt.FromFloat(float64(%s)),", p.Name)
		}
	}
	w.line("}")
	w.line("err := launch%s(args[:], kernelrt.Stream{On: %s})", k.GoName, on)
	for _, p := range k.Params {
		if p.Kind == kernel.Tensor || p.Kind == kernel.Stream {
			w.line("kernelrt.Keep(%s)", p.Name)
		}
	}
	w.line("return err\n}\n")
}

func goParam(p kernel.Param) string {
	switch p.Kind {
	case kernel.Tensor:
		return "*tvmffi.Tensor"
	case kernel.Stream:
		return "*cuda.Stream"
	case kernel.Pointer:
		return "tvmffi.Pointer"
	case kernel.Bool:
		return "bool"
	case kernel.Float32:
		return "float32"
	case kernel.Float64:
		return "float64"
	}
	return p.Type
}

// launch writes the func that checks and launches.
func (w *kernelWriter) launch(k *kernel.Kernel) {
	c := checkWriter{kernelWriter: w, k: k, uses: k.Needs(), passed: k.Uses(), calling: " when calling: `" + k.Plan.Signature + "`"}
	w.line("const calling%s = %q\n", k.GoName, c.calling)
	w.line("func launch%s(args []kernelrt.Value, stream kernelrt.Stream) error {", k.GoName)
	c.checks()
	w.line("// The launch.")
	more := ""
	if len(k.Cluster) > 0 {
		more += ", Cluster: " + c.sizes(k.Cluster)
	}
	if k.Shared != nil {
		more += ", Shared: " + c.expr(k.Shared)
	}
	w.line("d := kernelrt.Dims{Grid: %s, Block: %s%s}", c.sizes(k.Grid), c.sizes(k.Block), more)
	w.line("l, err := kernel%s.Begin(%s.Device.ID, &d)", k.GoName, k.Tensors[k.Device])
	w.line("if l == nil {\nreturn err\n}")
	for i, a := range k.Args {
		w.line("l.%s(%d, %s)", a.Method, i, c.arg(a))
	}
	w.line("return l.Run(stream)\n}\n")
}

// register writes what concerns all kernels.
func (w *kernelWriter) register(pkg *kernel.Package) {
	prefix := pkg.Name + "."
	w.line("var tvmffiExports = exportrt.Library{\nName: %q,\nPrefix: %q,\nFunctions: []exportrt.Function{", pkg.Name, prefix)
	for _, k := range pkg.Kernels {
		var names, kinds []string
		for _, p := range k.Params {
			at := k.Plan.Operands[p.Operand]
			names = append(names, at.Name)
			kind := map[kernel.Kind]string{kernel.Tensor: "DLTensor*", kernel.Stream: "void*", kernel.Pointer: "void*", kernel.Int: "int",
				kernel.Uint: "int", kernel.Bool: "bool", kernel.Float32: "float", kernel.Float64: "float"}[p.Kind]
			if at.Optional {
				kind = "Optional<" + kind + ">"
			}
			kinds = append(kinds, kind)
		}
		w.line("{\nName: %q,", k.Symbol())
		if k.Register != prefix+k.Symbol() {
			w.line("Global: %q,", k.Register)
		}
		doc := k.Plan.Func.String()
		if k.Doc != "" {
			doc = strings.TrimSpace(k.Doc) + "\n\n" + doc
		}
		w.line("Doc: %q,\nParams: %s,\nFunc: %s,\nSignature: %q,", doc, quoted(names), k.GoName, "("+strings.Join(kinds, ", ")+") -> None")
		w.line("Call: func(a *kernelrt.Args) error {")
		if k.Stream >= 0 {
			w.line("args := kernelrt.Values(a)\nreturn launch%s(args, kernelrt.StreamAt(args, %d))", k.GoName, k.Plan.Operands[k.Stream].Arg)
		} else {
			w.line("return launch%s(kernelrt.Values(a), kernelrt.Stream{})", k.GoName)
		}
		w.line("},\n},")
	}
	w.line("},\n}\n")
	w.line("// Register makes the kernels functions that all languages of this process can call by")
	w.line("// their names in the registry, all of them or none. A second call does nothing.")
	w.line("func Register() error { return tvmffiExports.Register() }\n")
	w.line("// %s is for the package that makes a shared library, which tvmffi-bind export writes.", exportsFunc)
	w.line("func %s() *exportrt.Library { return &tvmffiExports }\n", exportsFunc)
	var images []string
	for _, im := range pkg.Images {
		images = append(images, "&image"+im.Kernel.GoName)
	}
	w.line("// Unload unloads the kernels from all devices. None of them may be in a call; the next call")
	w.line("// loads them again.")
	w.line("func Unload() error { return kernelrt.Unload(%s) }", strings.Join(images, ", "))
}

// checkWriter writes the checks of a kernel in order.
type checkWriter struct {
	*kernelWriter
	k *kernel.Kernel
	// uses says which variables have a name, passed how often one is passed on.
	uses   []bool
	passed []int
	// calling is the part of the messages that all of them have, a constant.
	calling string
}

// message writes a message.
func (c *checkWriter) message(text string) string {
	before, after, found := strings.Cut(text, c.calling)
	if !found {
		return strconv.Quote(text)
	}
	s := strconv.Quote(before) + " + calling" + c.k.GoName
	if after != "" {
		s += " + " + strconv.Quote(after)
	}
	return s
}

func (c *checkWriter) checks() {
	plan := c.k.Plan
	c.outside()
	var ends []int
	arg := -1
	for i := range plan.Checks {
		for len(ends) > 0 && ends[len(ends)-1] == i {
			c.line("}")
			ends = ends[:len(ends)-1]
		}
		check := &plan.Checks[i]
		if check.Op != spec.OpCount && plan.Operands[check.Operand].Arg != arg {
			arg = plan.Operands[check.Operand].Arg
			c.comment(fmt.Sprintf("Argument %d, %s.", arg, plan.Operands[check.Operand].Name))
		}
		if check.Op == spec.OpSkipNone {
			c.line("if !kernelrt.IsNone(args[%d]) {", plan.Operands[check.Operand].Arg)
			ends = append(ends, int(check.Want))
			continue
		}
		c.check(i, check)
	}
	for range ends {
		c.line("}")
	}
}

// outside declares what is set inside of a block.
func (c *checkWriter) outside() {
	for i, at := range c.k.Plan.Operands {
		if at.Optional {
			c.line("var %s *kernelrt.Tensor", c.k.Tensors[i])
		}
	}
	for v := range c.k.Plan.Vars {
		if c.outer(v) {
			c.line("var %s int64", c.k.Locals[v])
		}
		if c.k.Sourced[v] {
			c.line("var %s string", c.k.From(v))
		}
	}
}

// outer reports whether a variable is bound in a block, or in two places.
func (c *checkWriter) outer(v int) bool {
	if !c.uses[v] {
		return false
	}
	for i := range c.k.Plan.Checks {
		check := &c.k.Plan.Checks[i]
		if check.Op == spec.OpBind && check.Var == v && (check.Maybe || c.k.Plan.Operands[check.Operand].Optional) {
			return true
		}
	}
	return false
}

func (c *checkWriter) refuse(check *spec.Check, condition string) {
	message := c.message(check.Message)
	if check.Op == spec.OpMatch && check.From < 0 {
		message += " + " + c.k.From(check.Var)
	}
	if check.Maybe {
		state := "=="
		if check.Op == spec.OpMatch {
			state = "!="
		}
		condition = fmt.Sprintf("%s %s \"\" && (%s)", c.k.From(check.Var), state, condition)
	}
	c.line("if %s {\nreturn kernelrt.%s(%s)\n}", condition, check.Kind, message)
}

func (c *checkWriter) check(i int, check *spec.Check) {
	if check.Op == spec.OpCount {
		c.refuse(check, fmt.Sprintf("len(args) != %d", check.Want))
		return
	}
	at := &c.k.Plan.Operands[check.Operand]
	t := c.k.Tensors[check.Operand]
	value := c.number(check, at.Arg, t)
	one := ""
	if check.UnlessOne {
		one = fmt.Sprintf(" && kernelrt.Size(%s, %d) != 1", t, check.Index)
	}
	switch check.Op {
	case spec.OpType:
		c.typ(check, at, t)
	case spec.OpDType:
		d := check.DType
		if d.Code == spec.Int8.Code || d.Code == spec.Uint8.Code {
			c.refuse(check, fmt.Sprintf("!kernelrt.HasInts(%s, %d, %d)", t, d.Bits, d.Lanes))
		} else {
			c.refuse(check, fmt.Sprintf("!kernelrt.HasType(%s, %d, %d, %d)", t, d.Code, d.Bits, d.Lanes))
		}
	case spec.OpContiguous:
		c.refuse(check, fmt.Sprintf("!kernelrt.Contiguous(%s)", t))
	case spec.OpEqual:
		c.refuse(check, fmt.Sprintf("%s != %d%s", value, check.Want, one))
	case spec.OpRange:
		c.refuse(check, fmt.Sprintf("%s < %d || %[1]s > %[3]d", value, check.Min, check.Max))
	case spec.OpDivisible:
		c.refuse(check, fmt.Sprintf("%s%%%d != 0%s", value, check.Want, one))
	case spec.OpMatch:
		c.refuse(check, fmt.Sprintf("%s != %s%s", value, c.k.Locals[check.Var], one))
	case spec.OpBind:
		c.bind(i, check, value)
	default:
		panic(fmt.Sprintf("emit: no code for check %d", check.Op))
	}
}

func (c *checkWriter) typ(check *spec.Check, at *spec.Operand, t string) {
	if t != "" {
		op := ":="
		if at.Optional {
			op = "="
		}
		c.line("%s %s kernelrt.TensorOf(args[%d])", t, op, at.Arg)
		c.line("if %s == nil {", t)
	} else {
		is := map[spec.Accept]string{
			spec.AcceptInt | spec.AcceptBool:                      "IsInt",
			spec.AcceptFloat | spec.AcceptInt | spec.AcceptBool:   "IsFloat",
			spec.AcceptPointer | spec.AcceptNone:                  "IsHandle",
			spec.AcceptPointer | spec.AcceptNone | spec.AcceptInt: "IsAddress",
		}[check.Accept]
		c.line("if !kernelrt.%s(args[%d]) {", is, at.Arg)
	}
	invalid := fmt.Sprintf("Invalid value on argument #%d%s", at.Arg, c.calling)
	c.line("return kernelrt.Mistyped(args[%d], %s, %s)\n}", at.Arg, c.message(check.Message), c.message(invalid))
}

// bind writes check i, which gives a variable its value, if something needs it.
func (c *checkWriter) bind(i int, check *spec.Check, value string) {
	v := check.Var
	needed, from := c.passed[v] > 0, false
	for _, later := range c.k.Plan.Checks[i+1:] {
		if later.Var == v && (later.Op == spec.OpMatch || later.Maybe) {
			needed = needed || later.Op == spec.OpMatch
			from = from || c.k.Sourced[v]
		}
	}
	if !needed && !from {
		return
	}
	if check.Maybe {
		c.line("if %s == \"\" {", c.k.From(v))
	}
	op := ":="
	if c.outer(v) {
		op = "="
	}
	if needed {
		c.line("%s %s %s", c.k.Locals[v], op, value)
	}
	if from {
		c.line("%s = %q", c.k.From(v), check.Source)
	}
	if check.Maybe {
		c.line("}")
	}
}

// number writes the number that a check compares.
func (c *checkWriter) number(check *spec.Check, arg int, t string) string {
	switch check.Field {
	case spec.FieldValue:
		return fmt.Sprintf("int64(args[%d].Bits)", arg)
	case spec.FieldAddress:
		return fmt.Sprintf("int64(kernelrt.Address(%s))", t)
	case spec.FieldDeviceID:
		return fmt.Sprintf("int64(%s.Device.ID)", t)
	case spec.FieldDeviceType:
		return t + ".Device.Type"
	case spec.FieldNDim:
		return fmt.Sprintf("kernelrt.NDim(%s)", t)
	case spec.FieldShape:
		return fmt.Sprintf("kernelrt.Size(%s, %d)", t, check.Index)
	case spec.FieldStrides:
		return fmt.Sprintf("kernelrt.Stride(%s, %d)", t, check.Index)
	}
	return ""
}

func (c *checkWriter) expr(e *kernel.Expr) string {
	switch {
	case e.Func != "":
		return fmt.Sprintf("kernelrt.%s(%s, %s)", e.Func, c.expr(e.A), c.expr(e.B))
	case e.Var >= 0:
		return c.k.Locals[e.Var]
	}
	return strconv.FormatInt(e.Value, 10)
}

// sizes writes three sizes; those that are missing are 1.
func (c *checkWriter) sizes(list []*kernel.Expr) string {
	sizes := []string{"1", "1", "1"}
	for i, e := range list {
		sizes[i] = c.expr(e)
	}
	return "[3]int64{" + strings.Join(sizes, ", ") + "}"
}

// arg writes the value of a parameter of the kernel.
func (c *checkWriter) arg(a kernel.Arg) string {
	switch {
	case a.Var >= 0 && a.Operand >= 0 && c.k.Plan.Vars[a.Var].DType == spec.Bool:
		return fmt.Sprintf("kernelrt.Truth(%s)", c.k.Locals[a.Var])
	case a.Var >= 0:
		return c.k.Locals[a.Var]
	}
	arg := c.k.Plan.Operands[a.Operand].Arg
	switch {
	case c.k.Tensors[a.Operand] != "":
		return fmt.Sprintf("kernelrt.Address(%s)", c.k.Tensors[a.Operand])
	case a.Method == "Pointer":
		return fmt.Sprintf("uintptr(args[%d].Bits)", arg)
	}
	return fmt.Sprintf("kernelrt.Float(args[%d])", arg)
}

// prose says how a kernel is launched.
func prose(k *kernel.Kernel) string {
	s := fmt.Sprintf("The grid is %s, the block %s.", strings.Join(k.Source.Grid, " x "), strings.Join(k.Source.Block, " x "))
	if k.Empty == "error" {
		s += "\nA grid without blocks is an error."
	} else {
		s += "\nIf the grid has no blocks, nothing is launched."
	}
	if k.Stream >= 0 {
		s += "\nOn a nil stream it runs on the environment stream."
	} else {
		s += "\nIt runs on the environment stream."
	}
	return s
}
