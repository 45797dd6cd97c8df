package vm

import (
	"context"
	"errors"
	"fmt"
	"strings"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/rpc"
)

// Function is a function of a model on a machine.
type Function struct {
	machine   *Machine
	signature Signature
	function  *tvmffi.Function
}

// Function returns a function of the model. The error lists the functions of the executable
// if there is none of that name. The function is valid until the machine is closed.
func (m *Machine) Function(name string) (*Function, error) {
	f, err := m.find(name)
	if err != nil {
		if text, _ := m.executable.Text(); text != "" && !errors.Is(err, errClosed) {
			err = fmt.Errorf("there is no such function, only %s: %w", strings.Join(functionNames(text), ", "), err)
		}
		return nil, fail("find", name, err)
	}
	var signature Signature
	if err := m.Do(context.Background(), func() (err error) {
		signature, err = signatureOf(m.module, name)
		return err
	}); err != nil {
		return nil, fail("find", name, err)
	}
	return &Function{m, signature, f}, nil
}

// Signature returns the parameter names. The caller must not change it.
func (f *Function) Signature() Signature { return f.signature }

// Call calls the function, which borrows args: tensors on the first device of the machine,
// numbers, shapes and the like. The caller owns the result: a tensor, or an array of results
// for a tuple. [Tensors] takes it apart.
//
// Call allocates nothing in Go if all arguments are objects and the result holds no object, and one small block for a
// result that is a tensor. Go puts a number on its heap to pass it as an any. So a function for the path of a
// token writes to tensors that are arguments, reads the position from one, and returns a number.
func (f *Function) Call(args ...any) (tvmffi.Any, error) {
	if err := f.count("call", args); err != nil {
		return tvmffi.Any{}, err
	}
	result, err := f.machine.call(f.function, args)
	if err != nil {
		return tvmffi.Any{}, fail("call", f.signature.Name, err)
	}
	return result, nil
}

// Args returns arguments for a call by the names of the parameters, after those that stand first.
func (f *Function) Args(named map[string]any, first ...any) ([]any, error) {
	args, used := first[:len(first):len(first)], 0
	for _, p := range f.signature.Params[min(len(first), len(f.signature.Params)):] {
		if arg, ok := named[p]; ok {
			args, used = append(args, arg), used+1
			continue
		}
		return nil, fail("call", f.signature.Name, fmt.Errorf("there is no argument for %s of %v", p, f.signature))
	}
	if used < len(named) {
		return nil, fail("call", f.signature.Name, fmt.Errorf("%d of the named arguments are not parameters, or stand first too: %v", len(named)-used, f.signature))
	}
	return args, nil
}

// Save makes a function of the machine that calls f with args, which the machine keeps: to measure f, for example. The
// new function takes no arguments. Its name must differ from those of the model.
func (f *Function) Save(name string, args ...any) (*Function, error) {
	if err := f.count("save", args); err != nil {
		return nil, err
	}
	if _, err := f.machine.state("save_function", append([]any{f.signature.Name, name, true}, args...)...); err != nil {
		return nil, fail("save", f.signature.Name, err)
	}
	saved, err := f.machine.find(name)
	if err != nil {
		return nil, fail("save", f.signature.Name, err)
	}
	return &Function{f.machine, Signature{Name: name}, saved}, nil
}

// Timer returns a timer of the function, as rpc.Module.Timer does for one of a server. Its Run takes the arguments of
// the function. Run it inside [Machine.Do]: it calls the function on the thread of its caller. The caller releases it.
func (f *Function) Timer(o rpc.TimerOptions) (t *rpc.Timer, err error) {
	err = f.machine.Do(context.Background(), func() (err error) {
		t, err = rpc.TimerOf(f.machine.module, f.signature.Name, o)
		return err
	})
	return t, fail("measure", f.signature.Name, err)
}

// InvokeClosure calls a closure, which is a result of a function of this machine. The caller owns the result.
func (m *Machine) InvokeClosure(closure tvmffi.Any, args ...any) (tvmffi.Any, error) {
	result, err := m.state("invoke_closure", append([]any{closure}, args...)...)
	return result, fail("invoke", "closure", err)
}

// CallTensor is like [Function.Call] for a function that returns one tensor. tvmffi.Slice reads its elements without a
// copy, such as logits: the memory is TVM's, and valid until the tensor is released. The machine never writes to it again
// before that. A tensor of float16 has elements of tvmffi.F16, and tvmffi.ToFloat32 copies any type to float32.
func (f *Function) CallTensor(args ...any) (*tvmffi.Tensor, error) {
	result, err := f.Call(args...)
	if err != nil {
		return nil, err
	}
	x, err := tvmffi.As[*tvmffi.Tensor](result)
	if err != nil {
		result.Release()
	}
	return x, fail("call", f.signature.Name, err)
}

// count returns an error unless args are as many as the parameters.
func (f *Function) count(op string, args []any) error {
	if n := len(f.signature.Params); len(args) != n {
		return fail(op, f.signature.Name, fmt.Errorf("the number of arguments is %d, expected %d: %v", len(args), n, f.signature))
	}
	return nil
}

// SetInput keeps arguments for [Function.Invoke]. Tensors that are not on the first device of
// the machine are copied there, the others are kept.
func (f *Function) SetInput(args ...any) error {
	if err := f.count("set the input of", args); err != nil {
		return err
	}
	_, err := f.machine.state("set_input", append([]any{f.signature.Name}, args...)...)
	return fail("set the input of", f.signature.Name, err)
}

// Invoke calls the function with the arguments of [Function.SetInput]. Its result stays in the
// machine until the next Invoke or Close.
func (f *Function) Invoke() error {
	_, err := f.machine.state("invoke_stateful", f.signature.Name)
	return fail("invoke", f.signature.Name, err)
}

// Output returns a tensor of the last [Function.Invoke]: the result itself, or with indices an
// element of a tuple, of a nested tuple, and so on. It fails for a tuple: pass one more index.
// The caller owns the tensor.
func (f *Function) Output(index ...int) (*tvmffi.Tensor, error) {
	v, err := f.machine.state("get_output", f.at(index)...)
	if err != nil {
		return nil, fail("output of", f.signature.Name, err)
	}
	x, err := tvmffi.As[*tvmffi.Tensor](v)
	if err != nil {
		v.Release()
	}
	return x, fail("output of", f.signature.Name, err)
}

// OutputLen returns the length of the result at an index, as for [Function.Output], or -1 if it
// is not a tuple.
func (f *Function) OutputLen(index ...int) (int, error) {
	v, err := f.machine.state("get_output_arity", f.at(index)...)
	if err != nil {
		return 0, fail("output of", f.signature.Name, err)
	}
	n, err := tvmffi.As[int](v)
	return n, fail("output of", f.signature.Name, err)
}

// at returns the arguments of get_output.
func (f *Function) at(index []int) []any {
	args := []any{f.signature.Name}
	for _, i := range index {
		args = append(args, i)
	}
	return args
}

// Tensors returns the tensors of a result, in order, including tensors of nested tuples. The
// caller owns each of them, and still owns the result.
func Tensors(result tvmffi.Any) ([]*tvmffi.Tensor, error) {
	if x, err := tvmffi.As[*tvmffi.Tensor](result); err == nil {
		return []*tvmffi.Tensor{tvmffi.Retain(x)}, nil
	}
	a, err := tvmffi.As[*tvmffi.Array[tvmffi.Any]](result)
	if err != nil {
		return nil, fail("take apart", "result", errors.New("it is "+result.TypeKey()+", neither a tensor nor a tuple"))
	}
	var all []*tvmffi.Tensor
	for _, element := range a.All() {
		more, err := Tensors(element)
		all = append(all, more...)
		element.Release()
		if err != nil {
			for _, x := range all {
				x.Release()
			}
			return nil, err
		}
	}
	return all, nil
}
