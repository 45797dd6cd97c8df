// Package kernel plans typed kernels: from the description of the arguments and of
// the launch to names, parameters and checks. Package emit writes them.
package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
)

// Source describes a kernel. It is gen.Kernel, which has the documentation; package gen
// converts one into the other, which does not compile if they differ.
type Source struct {
	Spec, Name, Doc, Entry string
	Images                 []string
	Program                string
	Arch                   string
	Options                []string
	Args                   []string
	Grid, Block, Cluster   []string
	Shared                 string
	Cooperative            bool
	Programmatic           bool
	Empty                  string
	Register               string
}

// Error is one mistake in the description of a kernel.
type Error struct {
	// Kernel is the index of the kernel, -1 for the package, Key the key of the
	// configuration, such as "grid", and Item the index in its list, -1 for all of it.
	Kernel int
	Key    string
	Item   int
	Err    error
}

// Error names the key and the mistake.
func (e *Error) Error() string {
	where := e.Key
	if e.Item >= 0 {
		where += fmt.Sprintf("[%d]", e.Item)
	}
	if e.Kernel < 0 {
		return where + ": " + e.Err.Error()
	}
	return fmt.Sprintf("kernels[%d].%s: %v", e.Kernel, where, e.Err)
}

// Unwrap returns the error without its place.
func (e *Error) Unwrap() error { return e.Err }

// Package is what one file is made of.
type Package struct {
	Name    string
	Kernels []*Kernel
	Images  []*Image
}

// Image is the code of one or more kernels.
type Image struct {
	// Kernel is the first of them.
	Kernel  *Kernel
	Files   []string // as go:embed names them
	Pattern string   // of path.Match, for all Files
	Program string
	Arch    string
	Options []string
	Users   []*Kernel
}

// Kernel is one typed kernel.
type Kernel struct {
	Source
	GoName  string
	Plan    *spec.Plan
	Image   *Image
	Params  []Param
	Args    []Arg
	Device  int // the operand that is the tensor whose device runs the kernel
	Stream  int // the operand that is the stream, -1 for none
	Grid    []*Expr
	Block   []*Expr
	Cluster []*Expr
	Shared  *Expr
	// Locals are the names of the variables of Plan.Vars, Tensors those of the tensors
	// by operand.
	Locals  []string
	Tensors []string
	// Leaf has for each operand the index of its first value among those that a launch gets:
	// a Tuple is taken apart into its elements, a Shape into its sizes. Leaves is their
	// number, and Nested says that it differs from the number of the arguments, or from their order.
	Leaf   []int
	Leaves int
	Nested bool
	// Known are the names of the flags that say whether a variable has a value, "" where
	// that is known before the call.
	Known []string

	index  int
	p      *planner
	passed []string // the names of Args in the description
}

// Param is a parameter of the Go func.
type Param struct {
	Name    string // in Go
	Operand int
	Kind    Kind
	// Type is the type in Go if Kind is Int, Uint or Shape.
	Type string
}

// Kind is what a parameter is in Go.
type Kind int

// The kinds.
const (
	Tensor  Kind = iota // *tvmffi.Tensor
	Stream              // *cuda.Stream
	Pointer             // tvmffi.Pointer
	Int                 // int8 to int64
	Uint                // uint8 to uint64
	Bool                // bool
	Float32             // float32
	Float64             // float64
	Shape               // [n]int64
)

// Arg is a parameter of the kernel: an operand, or a variable.
type Arg struct {
	Operand int // -1 for a variable alone
	Var     int // -1 if the value has no variable
	// Method is the method of kernelrt.Launch that sets the parameter; Size is its size
	// in bytes.
	Method string
	Size   int
}

type planner struct {
	pkg  *Package
	errs []error
}

func (p *planner) fail(kernel int, key string, item int, format string, args ...any) {
	p.errs = append(p.errs, &Error{kernel, key, item, fmt.Errorf(format, args...)})
}

func (k *Kernel) fail(key string, item int, format string, args ...any) {
	k.p.fail(k.index, key, item, format, args...)
}

// Make plans a package. In contents are the images and programs whose kernels are
// compared with the names, by file. The error joins all mistakes, each an
// [*Error].
func Make(name string, sources []Source, contents map[string][]byte) (*Package, error) {
	p := &planner{pkg: &Package{Name: name}}
	if !token.IsIdentifier(name) || name == "main" || name == "_" {
		p.fail(-1, "package", -1, "%q cannot be the name of a Go package that others import", name)
	}
	if len(sources) == 0 {
		p.fail(-1, "kernels", -1, "there are none: list at least one")
	}
	for i, s := range sources {
		k := &Kernel{Source: s, Stream: -1, Device: -1, index: i, p: p}
		if k.describe() {
			k.texts()
			k.image()
			k.files()
			k.entry(contents)
			before := len(p.errs)
			k.params()
			k.shapes()
			if len(p.errs) == before {
				k.names()
				k.args()
				k.launch()
			}
			if len(p.errs) == before {
				k.clusters()
			}
			if len(p.errs) == before {
				k.unused()
			}
			if len(p.errs) == before {
				k.parameters(contents)
			}
		}
		p.pkg.Kernels = append(p.pkg.Kernels, k)
	}
	p.duplicates()
	return p.pkg, errors.Join(p.errs...)
}

// describe reads the description and plans the checks.
func (k *Kernel) describe() bool {
	if k.Spec == "" {
		k.fail("spec", -1, "it is missing: describe the arguments, as in saxpy(x: Tensor([n], float32), y: Tensor([n], float32), a: float32)")
		return false
	}
	f, err := spec.Parse(k.Spec)
	if err == nil && f.Dialect != spec.CuTe {
		err = errors.New("kernels have the messages of the CuTe DSL: leave out the word tvm and its colon")
	}
	if err == nil {
		k.Plan, err = f.Plan()
	}
	if err != nil {
		k.fail("spec", -1, "%s", strings.TrimPrefix(err.Error(), "spec: ")) // the key says that
		return false
	}
	if k.Entry == "" {
		k.Entry = f.Name
	}
	if k.GoName = k.Name; k.GoName == "" {
		k.GoName = exported(f.Name)
	}
	if !token.IsIdentifier(k.GoName) || !token.IsExported(k.GoName) {
		k.fail("name", -1, "%q is not an exported Go name: write one such as %s", k.GoName, "Saxpy")
	}
	if k.GoName == "Register" || k.GoName == "Unload" || k.GoName == "TVMFFIExports" {
		k.fail("name", -1, "the package has a func %s of its own: choose another name", k.GoName)
	}
	switch k.Empty {
	case "", "skip", "error":
	default:
		k.fail("empty", -1, "%q: it is skip, which launches nothing if the grid has no blocks, or error", k.Empty)
	}
	return true
}

// exported makes a Go name of the name of a kernel: add_one becomes AddOne.
func exported(name string) string {
	var b strings.Builder
	up := true
	for _, r := range name[strings.LastIndexByte(name, '.')+1:] {
		if r == '_' || r == '$' {
			up = true
			continue
		}
		if up {
			r = unicode.ToUpper(r)
		}
		b.WriteRune(r)
		up = false
	}
	return b.String()
}

var architecture = regexp.MustCompile(`[._-](sm|compute)_\d+[af]?([._-]|$)`)

// target is what NVRTC compiles for, in the forms of cuda.ParseArch.
var target = regexp.MustCompile(`^(sm_|compute_)?(\d{1,3}\.\d|\d{2,4})[af]?$`)

// image finds or makes the image of a kernel.
func (k *Kernel) image() {
	switch {
	case len(k.Images) > 0 && k.Program != "":
		k.fail("source", -1, "a kernel has either image or source, not both")
	case len(k.Images) == 0 && k.Program == "":
		k.fail("image", -1, "the image is missing: name the cubins, fatbins or PTX with image, or a text in CUDA C++ with source")
	case k.Program == "" && (k.Arch != "" || len(k.Options) > 0):
		k.fail("source", -1, "arch and options are for the compiler, and an image is compiled already: remove them, or give source")
	}
	if k.Arch != "" && !target.MatchString(k.Arch) {
		k.fail("arch", -1, "%q is not an architecture: write it as sm_90, sm_90a or compute_80", k.Arch)
	}
	for i, f := range k.Images {
		switch ext := path.Ext(f); {
		case ext != ".cubin" && ext != ".ptx" && ext != ".fatbin":
			k.fail("image", i, "%s is not a .cubin, .ptx or .fatbin file", cmp.Or(f, "an empty name"))
		case ext == ".cubin" && !architecture.MatchString(path.Base(f)):
			k.fail("image", i, "the name of the cubin %s has no architecture in it: call it %s.sm_90.cubin", f, strings.TrimSuffix(f, ext))
		case path.Dir(f) != path.Dir(k.Images[0]):
			k.fail("image", i, "%s and %s lie in two folders: put the files of one kernel into one", k.Images[0], f)
		}
	}
	images := slices.Sorted(slices.Values(k.Images))
	for _, im := range k.p.pkg.Images {
		if slices.Equal(im.Files, images) && im.Program == k.Program && im.Arch == k.Arch && slices.Equal(im.Options, k.Options) {
			k.Image = im
		}
	}
	if k.Image == nil {
		k.Image = &Image{Kernel: k, Files: images, Program: k.Program, Arch: k.Arch, Options: k.Options}
		if len(images) > 0 {
			k.Image.Pattern = path.Join(path.Dir(images[0]), "*")
		}
		k.p.pkg.Images = append(k.p.pkg.Images, k.Image)
	}
	k.Image.Users = append(k.Image.Users, k)
}

// params finds the Go type of each parameter. The elements of tuples are parameters of the
// Go func, and constants are not.
func (k *Kernel) params() {
	before := len(k.p.errs)
	for i := range k.Plan.Operands {
		at := &k.Plan.Operands[i]
		if at.Name == "_" {
			k.fail("spec", -1, "parameter %d has no name: give it one in place of _", at.Arg)
		}
		k.Leaf = append(k.Leaf, k.Leaves)
		k.Leaves++
		p := Param{Operand: i}
		if k.param(i, &p) {
			k.Params = append(k.Params, p)
		}
		if _, tensor := at.Param.(spec.Tensor); at.Optional && !tensor {
			k.fail("spec", -1, "%s: only a tensor can be optional: the kernel gets a null pointer for None", at.Name)
		}
	}
	if k.Device < 0 && len(k.p.errs) == before {
		k.fail("spec", -1, "no tensor on cuda says on which device the kernel runs: take one that is not optional")
	}
}

// param finds the Go type of an operand, and reports whether it is a parameter in Go.
func (k *Kernel) param(i int, p *Param) bool {
	at := &k.Plan.Operands[i]
	switch t := at.Param.(type) {
	case spec.Tensor:
		p.Kind = Tensor
		switch t.Device {
		case "", "cuda", "cuda_managed":
			if !at.Optional && k.Device < 0 {
				k.Device = i
			}
		case "cuda_host":
		default:
			k.fail("spec", -1, "%s: a kernel cannot read the memory of %s: take a tensor on cuda, cuda_managed or cuda_host", at.Name, t.Device)
		}
	case spec.Stream:
		p.Kind = Stream
		if k.Stream >= 0 {
			k.fail("spec", -1, "%s: it is the second stream, and a kernel runs on one: remove one", at.Name)
		}
		k.Stream = i
	case spec.DataPointer:
		p.Kind = Pointer
	case spec.Var:
		k.scalar(at, t, p)
	case spec.Shape:
		p.Kind, p.Type = Shape, fmt.Sprintf("[%d]int64", len(t.Dims))
		k.Leaves += len(t.Dims) - 1
		k.Nested = true
	case spec.Tuple:
		k.Leaves--
		k.Nested = true
		return false
	case spec.Const:
		return false
	}
	return true
}

func (k *Kernel) scalar(at *spec.Operand, t spec.Var, p *Param) {
	whole := t.DType.Bits == 8 || t.DType.Bits == 16 || t.DType.Bits == 32 || t.DType.Bits == 64
	switch {
	case t.DType == spec.Bool:
		p.Kind = Bool
	case t.DType == spec.Handle:
		p.Kind = Pointer
	case t.DType == spec.Float64:
		p.Kind = Float64
	case t.DType == spec.Float32, t.DType == spec.Float16, t.DType == spec.BFloat16:
		p.Kind = Float32
	case t.DType.Code == spec.Int8.Code && whole:
		p.Kind, p.Type = Int, fmt.Sprintf("int%d", t.DType.Bits)
	case t.DType.Code == spec.Uint8.Code && whole:
		p.Kind, p.Type = Uint, fmt.Sprintf("uint%d", t.DType.Bits)
	default:
		k.fail("spec", -1, "%s: Go has no %s: take a type of 8, 16, 32 or 64 bits", at.Name, t.DType)
	}
}

// launch reads the expressions.
func (k *Kernel) launch() {
	if len(k.Source.Grid) == 0 {
		k.fail("grid", -1, "it is missing: say how many blocks there are, such as ceildiv(n, 256)")
	}
	if len(k.Source.Block) == 0 {
		k.fail("block", -1, "it is missing: say how many threads a block has, such as 256")
	}
	k.Grid = k.exprs("grid", k.Source.Grid, [3]int64{1<<31 - 1, 65535, 65535})
	k.Block = k.exprs("block", k.Source.Block, [3]int64{1024, 1024, 64})
	k.Cluster = k.exprs("cluster", k.Source.Cluster, [3]int64{1<<31 - 1, 65535, 65535})
	for len(k.Cluster) > 0 && len(k.Cluster) < 3 {
		k.Cluster = append(k.Cluster, &Expr{Var: -1, Value: 1})
	}
	threads := int64(1)
	for _, e := range k.Block {
		if e != nil && e.Constant() {
			threads *= max(e.Value, 1)
		}
	}
	if threads > 1024 {
		k.fail("block", -1, "%s has %d threads: a block has at most 1024", strings.Join(k.Source.Block, " x "), threads)
	}
	if k.Source.Shared != "" {
		k.Shared = k.expr("shared", -1, k.Source.Shared, 0, 1<<31-1)
	}
}

func (k *Kernel) exprs(key string, texts []string, most [3]int64) []*Expr {
	if i := slices.IndexFunc(texts, open); i >= 0 && slices.ContainsFunc(texts[i+1:], closing) {
		k.fail(key, i, "%q is one part of an expression that a comma divides: quote the whole expression, as in [\"ceildiv(n, 256)\", m]", texts[i])
		return nil
	}
	if len(texts) > 3 {
		k.fail(key, 3, "%d sizes are too many: there are x, y and z", len(texts))
		return nil
	}
	var list []*Expr
	for i, text := range texts {
		if e := k.expr(key, i, text, 1, most[i]); e != nil {
			list = append(list, e)
		}
	}
	return list
}

// open reports whether a text opens more parentheses than it closes. In a list of YAML,
// [ceildiv(n, 256), m] has three items, and the first is open.
func open(text string) bool { return strings.Count(text, "(") > strings.Count(text, ")") }

// closing reports whether a text closes more parentheses than it opens.
func closing(text string) bool { return strings.Count(text, "(") < strings.Count(text, ")") }

// expr reads an expression; a constant must be in a range.
func (k *Kernel) expr(key string, item int, text string, least, most int64) *Expr {
	e, err := parseExpr(text, k.lookup)
	if err != nil {
		k.fail(key, item, "%w", err)
		return nil
	}
	if e.Constant() && (e.Value < least || e.Value > most) {
		what := fmt.Sprintf("%s = %d", text, e.Value)
		if text == fmt.Sprint(e.Value) {
			what = text
		}
		k.fail(key, item, "%s is out of range: it must be %d to %d", what, least, most)
		return nil
	}
	return e
}

// lookup finds a size that always has a value.
func (k *Kernel) lookup(name string) (int, error) {
	i := k.Plan.VarIndex(name)
	if i < 0 {
		for _, o := range k.Plan.Operands {
			if o.Name == name {
				return 0, fmt.Errorf("%s is not a size or an integer: the description has %s", name, k.known())
			}
		}
		return 0, fmt.Errorf("unknown name %s: the description has %s", cmp.Or(name, `""`), k.known())
	}
	if k.Plan.Vars[i].Maybe {
		return 0, fmt.Errorf("%s has no value if the optional argument is None: use a size of an argument that is always there", name)
	}
	return i, nil
}

// known lists the names of the sizes.
func (k *Kernel) known() string {
	var names []string
	for _, v := range k.Plan.Vars {
		if !strings.Contains(v.Name, " ") {
			names = append(names, v.Name)
		}
	}
	if len(names) == 0 {
		return "no names of sizes"
	}
	return strings.Join(names, ", ")
}
