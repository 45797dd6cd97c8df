package kernelrt

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/cuda/spec/run"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// Checks are the checks of a kernel in the order of spec.Func.Plan, as static data. The
// generated func accepts arguments by straight code; if it does not, Refuse finds out why.
//
// The func gets its arguments as a list of leaves: the elements of a Tuple in place of the
// Tuple, and the sizes of a Shape in place of the Shape. A typed func passes its parameters
// in this form, and Open brings the arguments of another language into it.
type Checks struct {
	// Signature is a part of messages.
	Signature string
	// Args are the forms of the arguments, nil if all are leaves.
	Args []Form
	// List is spec.Plan.Checks. Its operands are the arguments and, after each Tuple, the
	// elements.
	List []spec.Check
}

// Form is what an argument, or an element of a Tuple, is made of. It is a leaf without Shape
// and Elems.
type Form struct {
	// Name is how messages name it.
	Name string
	// Shape says that it is a Shape, whose length is the number of Sizes.
	Shape bool
	Sizes int
	// Elems are the elements of a Tuple. It is not nil for an empty Tuple.
	Elems []Form
}

// Open takes arguments apart into leaves, which are borrowed as the arguments are. Its error
// is that of the first check that does not hold, if the arguments have another form.
func (c *Checks) Open(args []Value) ([]Value, error) {
	if len(args) != len(c.Args) {
		return nil, c.run(args, false)
	}
	var leaves []Value
	for i := range args {
		v := run.Of(args[i])
		var ok bool
		if leaves, ok = c.Args[i].open(leaves, args[i], &v); !ok {
			return nil, c.run(args, false)
		}
	}
	return leaves, nil
}

// open appends the leaves of an argument, and reports whether it has the form.
func (f *Form) open(leaves []Value, arg Value, v *run.Value) ([]Value, bool) {
	switch {
	case f.Shape:
		sizes, ok := v.Sizes(f.Sizes)
		for _, n := range sizes {
			leaves = append(leaves, FromInt(n))
		}
		return leaves, ok
	case f.Elems != nil:
		elems, ok := v.Elems(len(f.Elems))
		for i := 0; ok && i < len(elems); i++ {
			e := run.Of(elems[i])
			leaves, ok = f.Elems[i].open(leaves, elems[i], &e)
		}
		return leaves, ok
	}
	return append(leaves, arg), true
}

// Refuse returns the error of the first check that does not hold. The caller has refused
// the leaves; if all checks hold, the two disagree, and that is an internal error.
func (c *Checks) Refuse(leaves []Value) error { return c.run(leaves, true) }

// run does the checks of arguments, or of leaves.
func (c *Checks) run(args []Value, leaves bool) error {
	p := spec.Plan{Signature: c.Signature, NumArgs: int(c.List[0].Want), Checks: c.List}
	var values []run.Value
	if leaves && c.Args != nil {
		for i := range c.Args {
			var v run.Value
			v, args = c.Args[i].value(args)
			values = append(values, v)
		}
	} else {
		for _, v := range args {
			values = append(values, run.Of(v))
		}
	}
	if len(values) != p.NumArgs {
		return refused(run.Count(&p))
	}
	vars := 0
	for i := range c.List {
		vars = max(vars, c.List[i].Var+1)
	}
	// The values of arguments stand before those of their elements, which InOrder finds.
	operands := make([]run.Value, 0, len(values))
	for i, v := range values {
		p.Operands = append(p.Operands, spec.Operand{Parent: -1, Index: i, Arg: i})
		operands = append(operands, v)
		if c.Args != nil {
			for _, name := range c.Args[i].names(nil) {
				p.Operands = append(p.Operands, spec.Operand{Arg: i, Name: name})
				operands = append(operands, run.Value{})
			}
		}
	}
	if r := run.InOrder(&p, operands, make([]int64, vars), make([]int32, vars), reaches); r != (run.Refusal{}) {
		return refused(r)
	}
	name, _, _ := strings.Cut(c.Signature, "(")
	return tvmffi.NewError("InternalError", fmt.Sprintf("kernel `%s`: the generated func refuses arguments that all its checks accept: report this as a bug of tvmffi-bind gen", name))
}

// value makes the value of an argument of its first leaves, and returns the others.
func (f *Form) value(leaves []Value) (run.Value, []Value) {
	switch {
	case f.Shape:
		sizes := make([]int64, f.Sizes)
		for i := range sizes {
			sizes[i] = int64(leaves[i].Bits)
		}
		return run.Ints(sizes), leaves[f.Sizes:]
	case f.Elems != nil:
		elems := make([]run.Value, len(f.Elems))
		for i := range elems {
			elems[i], leaves = f.Elems[i].value(leaves)
		}
		return run.List(unsafe.Pointer(unsafe.SliceData(elems)), len(elems), element), leaves
	}
	return run.Of(leaves[0]), leaves[1:]
}

// element reads an element of a []run.Value, which the value of its Tuple keeps alive.
func element(memory unsafe.Pointer, i int) run.Value {
	return *(*run.Value)(unsafe.Add(memory, i*int(unsafe.Sizeof(run.Value{}))))
}

// names appends the names of the elements, in the order of the operands.
func (f *Form) names(list []string) []string {
	for i := range f.Elems {
		list = f.Elems[i].names(append(list, f.Elems[i].Name))
	}
	return list
}

func refused(r run.Refusal) error { return tvmffi.NewError(r.Kind, r.Message) }
