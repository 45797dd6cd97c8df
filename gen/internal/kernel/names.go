package kernel

import (
	"fmt"
	"go/token"
	"go/types"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
)

// ownParams are the names that the body of the typed func uses, ownLocals those that the
// func that launches uses.
var (
	ownParams = []string{"args", "err", "kernelrt"}
	ownLocals = []string{"args", "stream", "d", "l", "err", "kernelrt"}
)

// unique makes Go names that differ.
type unique map[string]bool

func (u unique) name(text string) string {
	parts := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("._$ ", r) })
	for i := 1; i < len(parts); i++ {
		r, size := utf8.DecodeRuneInString(parts[i])
		parts[i] = string(unicode.ToUpper(r)) + parts[i][size:]
	}
	name := strings.Join(parts, "")
	if !token.IsIdentifier(name) && !token.IsKeyword(name) {
		name = "x" + name
	}
	for token.IsKeyword(name) || types.Universe.Lookup(name) != nil || u[name] {
		name += "_"
	}
	u[name] = true
	return name
}

// names gives the parameters, tensors and variables their names in Go.
func (k *Kernel) names() {
	params, locals := unique{}, unique{}
	for _, n := range ownParams {
		params[n] = true
	}
	for _, n := range ownLocals {
		locals[n] = true
	}
	k.Tensors = make([]string, len(k.Plan.Operands))
	for i := range k.Params {
		p := &k.Params[i]
		p.Name = params.name(k.path(p.Operand))
		if p.Kind == Tensor {
			k.Tensors[p.Operand] = locals.name(k.path(p.Operand))
		}
	}
	k.Locals, k.Known = make([]string, len(k.Plan.Vars)), make([]string, len(k.Plan.Vars))
	for i, v := range k.Plan.Vars {
		k.Locals[i] = locals.name(v.Name)
	}
	for i := range k.Plan.Checks {
		if c := &k.Plan.Checks[i]; c.Maybe && k.Known[c.Var] == "" {
			k.Known[c.Var] = locals.name(k.Plan.Vars[c.Var].Name + " known")
		}
	}
}

// path is the name of a parameter, after the names of the tuples that it is in: "t k" for the
// element k, and "t 1" for an element without a name.
func (k *Kernel) path(operand int) string {
	at := &k.Plan.Operands[operand]
	name := ownName(at.Param)
	if at.Parent < 0 {
		return name
	}
	if name == "" {
		name = strconv.Itoa(at.Index)
	}
	return k.path(at.Parent) + " " + name
}

// ownName is the name that the description gives a parameter or an element, "" for none.
func ownName(p spec.Param) string {
	switch p := p.(type) {
	case spec.Tensor:
		return p.Name
	case spec.Var:
		return p.Name
	case spec.Stream:
		return p.Name
	case spec.DataPointer:
		return p.Name
	case spec.Shape:
		return p.Name
	case spec.Tuple:
		return p.Name
	}
	return ""
}

// args finds the parameters of the kernel. Without a list they are all arguments, and the
// names in each Shape.
func (k *Kernel) args() {
	names := k.Source.Args
	if names == nil {
		for _, p := range k.Params {
			at := &k.Plan.Operands[p.Operand]
			if shape, ok := at.Param.(spec.Shape); ok {
				for _, d := range shape.Dims {
					if v, ok := d.(spec.Var); ok && v.Name != "_" {
						names = append(names, v.Name)
					}
				}
			} else if p.Kind != Stream {
				names = append(names, at.Name)
			}
		}
	}
	const most = 64
	if len(names) > most {
		k.fail("args", -1, "%d parameters are too many: a kernel has at most %d here", len(names), most)
	}
	for i, name := range names {
		if a, err := k.arg(name); err != nil {
			k.fail("args", i, "%w", err)
		} else {
			k.Args, k.passed = append(k.Args, a), append(k.passed, name)
		}
	}
}

func (k *Kernel) arg(name string) (Arg, error) {
	for _, p := range k.Params {
		at := &k.Plan.Operands[p.Operand]
		if at.Name != name && ownName(at.Param) != name {
			continue
		}
		a := Arg{Operand: p.Operand, Var: -1, Method: "Pointer", Size: 8}
		switch p.Kind {
		case Stream:
			return a, fmt.Errorf("%s is the stream, which is not a parameter of the kernel: remove it", name)
		case Shape:
			return a, fmt.Errorf("%s is a Shape: name its sizes, and pass those names", name)
		case Int, Uint, Bool:
			a.Var = k.Plan.VarIndex(ownName(at.Param)) // -1 for an element without a name
			return a.word(at.Param.(spec.Var).DType)
		case Float32, Float64:
			switch t := at.Param.(spec.Var).DType; t {
			case spec.Float16:
				a.Method, a.Size = "Float16", 2
			case spec.BFloat16:
				a.Method, a.Size = "BFloat16", 2
			case spec.Float32:
				a.Method, a.Size = "Float32", 4
			default:
				a.Method = "Float64"
			}
		}
		return a, nil
	}
	for i := range k.Plan.Operands {
		at := &k.Plan.Operands[i]
		switch t := at.Param.(type) {
		case spec.Tuple:
			if at.Name == name || t.Name == name {
				return Arg{}, fmt.Errorf("%s is a Tuple: pass its elements, by their names or as %s[0]", name, at.Name)
			}
		case spec.Const:
			if at.Name == name || t.Name == name {
				return Arg{}, fmt.Errorf("%s is a constant, which the kernel has: remove it", name)
			}
		}
	}
	v, err := k.lookup(name)
	if err != nil {
		var params []string
		for _, p := range k.Params {
			params = append(params, k.Plan.Operands[p.Operand].Name)
		}
		return Arg{}, fmt.Errorf("%w; its parameters are %s", err, strings.Join(params, ", "))
	}
	return Arg{Operand: -1, Var: v}.word(k.Plan.Vars[v].DType)
}

// word makes a an integer of a type.
func (a Arg) word(t spec.DType) (Arg, error) {
	switch t.Bits {
	case 8, 16, 32, 64:
		a.Size = int(t.Bits) / 8
		a.Method = fmt.Sprintf("Word%d", t.Bits)
		return a, nil
	}
	return a, fmt.Errorf("%s is not a type of a parameter: take one of 8, 16, 32 or 64 bits", t)
}

// Uses counts the uses of the value of each variable, without the checks.
func (k *Kernel) Uses() []int {
	uses := make([]int, len(k.Plan.Vars))
	for _, a := range k.Args {
		if a.Var >= 0 {
			uses[a.Var]++
		}
	}
	for _, list := range [][]*Expr{k.Grid, k.Block, k.Cluster, {k.Shared}} {
		for _, e := range list {
			if e != nil {
				e.walk(func(v int) { uses[v]++ })
			}
		}
	}
	return uses
}

// unused refuses names and arguments that nothing uses.
func (k *Kernel) unused() {
	uses := k.Uses()
	places := make([]int, len(uses))
	dimension := make([]bool, len(uses))
	for i := range k.Plan.Checks {
		c := &k.Plan.Checks[i]
		if c.Op == spec.OpBind || c.Op == spec.OpMatch {
			places[c.Var]++
			dimension[c.Var] = dimension[c.Var] || c.Field == spec.FieldShape || c.Field == spec.FieldStrides || c.Field == spec.FieldDim
		}
	}
	for i, v := range k.Plan.Vars {
		// A type or a divisor is a demand on the argument, which the checks use.
		if dimension[i] && places[i] == 1 && uses[i] == 0 && !v.Constrained {
			k.fail("spec", -1, "nothing uses the dimension %s: pass it in args, use it in the grid, or write _ for any value", v.Name)
		}
	}
	passed := map[int]bool{}
	for _, a := range k.Args {
		passed[a.Operand] = true
	}
	for _, p := range k.Params {
		at := &k.Plan.Operands[p.Operand]
		if p.Kind == Int || p.Kind == Uint || p.Kind == Bool {
			if v := k.Plan.VarIndex(ownName(at.Param)); v >= 0 && uses[v] > 0 {
				continue
			}
		}
		if p.Kind != Stream && p.Kind != Shape && !passed[p.Operand] {
			k.fail("args", -1, "the parameter %s goes nowhere: pass it in args, or remove it from the description", at.Name)
		}
	}
}
