package kernel

import (
	"fmt"
	"go/token"
	"go/types"
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
		p.Name = params.name(k.Plan.Operands[p.Operand].Name)
		if p.Kind == Tensor {
			k.Tensors[p.Operand] = locals.name(k.Plan.Operands[p.Operand].Name)
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

// args finds the parameters of the kernel.
func (k *Kernel) args() {
	names := k.Source.Args
	if names == nil {
		for _, p := range k.Params {
			if p.Kind != Stream {
				names = append(names, k.Plan.Operands[p.Operand].Name)
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
			k.Args = append(k.Args, a)
		}
	}
}

func (k *Kernel) arg(name string) (Arg, error) {
	for _, p := range k.Params {
		at := &k.Plan.Operands[p.Operand]
		if at.Name != name {
			continue
		}
		a := Arg{Operand: p.Operand, Var: -1, Method: "Pointer", Size: 8}
		switch p.Kind {
		case Stream:
			return a, fmt.Errorf("%s is the stream, which is not a parameter of the kernel: remove it", name)
		case Int, Uint, Bool:
			a.Var = k.Plan.VarIndex(name)
			return a.word(k.Plan.Vars[a.Var].DType)
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
			dimension[c.Var] = dimension[c.Var] || c.Field == spec.FieldShape || c.Field == spec.FieldStrides
		}
	}
	for i, v := range k.Plan.Vars {
		if dimension[i] && places[i] == 1 && uses[i] == 0 {
			k.fail("spec", -1, "nothing uses the dimension %s: pass it in args, use it in the grid, or write _ for any value", v.Name)
		}
	}
	passed := map[int]bool{}
	for _, a := range k.Args {
		passed[a.Operand] = true
	}
	for _, p := range k.Params {
		at := &k.Plan.Operands[p.Operand]
		v := k.Plan.VarIndex(at.Name)
		if p.Kind == Int || p.Kind == Uint || p.Kind == Bool {
			if uses[v] > 0 {
				continue
			}
		}
		if p.Kind != Stream && !passed[p.Operand] {
			k.fail("args", -1, "the parameter %s goes nowhere: pass it in args, or remove it from the description", at.Name)
		}
	}
}
