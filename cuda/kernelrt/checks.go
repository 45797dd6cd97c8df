package kernelrt

import (
	"fmt"
	"strings"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/cuda/spec/run"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Checks are the checks of a kernel in the order of spec.Func.Plan, as static data. The
// generated func accepts arguments by straight code; if it does not, Refuse finds out why.
type Checks struct {
	// Signature is a part of messages.
	Signature string
	// List is spec.Plan.Checks. Operand i is argument i.
	List []spec.Check
}

// Refuse returns the error of the first check that does not hold. The caller has refused
// the arguments; if all checks hold, the two disagree, and that is an internal error.
func (c *Checks) Refuse(args []Value) error {
	p := spec.Plan{Signature: c.Signature, NumArgs: int(c.List[0].Want), Checks: c.List}
	if len(args) != p.NumArgs {
		return refused(run.Count(&p))
	}
	p.Operands = make([]spec.Operand, len(args))
	values := make([]run.Value, len(args))
	for i, v := range args {
		p.Operands[i] = spec.Operand{Parent: -1, Index: i, Arg: i}
		values[i] = run.Of(v)
	}
	vars := 0
	for i := range c.List {
		vars = max(vars, c.List[i].Var+1)
	}
	if r := run.InOrder(&p, values, make([]int64, vars), make([]int32, vars)); r != (run.Refusal{}) {
		return refused(r)
	}
	name, _, _ := strings.Cut(c.Signature, "(")
	return tvmffi.NewError("InternalError", fmt.Sprintf("kernel `%s`: the generated func refuses arguments that all its checks accept: report this as a bug of tvmffi-bind gen", name))
}

func refused(r run.Refusal) error { return tvmffi.NewError(r.Kind, r.Message) }
