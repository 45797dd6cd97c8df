// Tvm_vm runs a small network, which the Relax compiler of TVM has exported, on the virtual
// machine of TVM: with its parameters from Go slices, and with a hook that measures each kernel.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"os/signal"
	"time"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/vm"
)

func main() {
	model := flag.String("model", "", "the exported network; without it the program exports one, by Python")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *model == "" {
		var err error
		if *model, err = export(ctx); err != nil {
			log.Fatal(err)
		}
	}
	if err := run(os.Stdout, *model); err != nil {
		log.Fatal(err)
	}
}

// network is the network with its parameters.
type network struct {
	main                   *vm.Function
	w1, b1, w2, b2, w3, b3 *tvmffi.Tensor
}

func run(out io.Writer, model string) error {
	exe, err := vm.Load(model)
	if err != nil {
		return err
	}
	defer exe.Release()
	signatures, err := exe.Signatures()
	if err != nil {
		return err
	}
	for _, s := range signatures {
		fmt.Fprintln(out, s)
	}
	machine, err := exe.NewMachine(vm.Pooled, tvmffi.CPU)
	if err != nil {
		return err
	}
	defer machine.Close()
	main, err := machine.Function("main")
	if err != nil {
		return err
	}
	n := network{main: main}
	defer n.release()
	if err := n.fill(); err != nil {
		return err
	}
	x, err := tensor([]float32{5.1, 3.5, 1.4, 0.2, 6.7, 3.1, 4.4, 1.4}, 2, 4)
	if err != nil {
		return err
	}
	defer x.Release()
	if err := n.stateless(out, x); err != nil {
		return err
	}
	if err := n.stateful(out, machine, x); err != nil {
		return err
	}
	if err := n.measure(out, machine, x); err != nil {
		return err
	}
	// A tensor of another shape is an error that names the parameter.
	if _, err := n.main.CallTensor(n.b1, n.w1, n.b1, n.w2, n.b2, n.w3, n.b3); err != nil {
		fmt.Fprintln(out, "refused:", err)
	}
	return nil
}

// tensor copies numbers to a new tensor. Its memory has the alignment that kernels of TVM
// expect, which that of a Go slice may lack.
func tensor(numbers []float32, shape ...int64) (*tvmffi.Tensor, error) {
	x, err := tvmffi.NewTensor(tvmffi.Float32, shape...)
	if err != nil {
		return nil, err
	}
	return x, tvmffi.CopyFrom(x, numbers)
}

// fill makes parameters by a formula, in place of training.
func (n *network) fill() error {
	for i, p := range []struct {
		to    **tvmffi.Tensor
		shape []int64
	}{{&n.w1, []int64{4, 16}}, {&n.b1, []int64{16}}, {&n.w2, []int64{16, 16}}, {&n.b2, []int64{16}}, {&n.w3, []int64{16, 3}}, {&n.b3, []int64{3}}} {
		numbers := make([]float32, p.shape[0]*append(p.shape, 1)[1])
		for j := range numbers {
			numbers[j] = float32(math.Sin(float64(100*i+j))) / 2
		}
		var err error
		if *p.to, err = tensor(numbers, p.shape...); err != nil {
			return err
		}
	}
	return nil
}

func (n *network) release() {
	for _, x := range []*tvmffi.Tensor{n.w1, n.b1, n.w2, n.b2, n.w3, n.b3} {
		if x != nil {
			x.Release()
		}
	}
}

// stateless passes all arguments to one call.
func (n *network) stateless(out io.Writer, x *tvmffi.Tensor) error {
	scores, err := n.main.CallTensor(x, n.w1, n.b1, n.w2, n.b2, n.w3, n.b3)
	if err != nil {
		return err
	}
	defer scores.Release()
	fmt.Fprintf(out, "scores: %+.4v\n", scores)
	return nil
}

// stateful keeps the arguments and the results in the machine.
func (n *network) stateful(out io.Writer, machine *vm.Machine, x *tvmffi.Tensor) error {
	both, err := machine.Function("both")
	if err != nil {
		return err
	}
	if err := both.SetInput(x, n.w1, n.b1, n.w2, n.b2, n.w3, n.b3); err != nil {
		return err
	}
	if err := both.Invoke(); err != nil {
		return err
	}
	hidden, err := both.Output(1, 0) // the first element of the tuple that is element 1
	if err != nil {
		return err
	}
	defer hidden.Release()
	fmt.Fprintln(out, "hidden layer:", hidden)
	return nil
}

// measure times the kernels of one call.
func (n *network) measure(out io.Writer, machine *vm.Machine, x *tvmffi.Tensor) error {
	var begin time.Time
	calls, spent := map[string]int{}, map[string]time.Duration{}
	hook := func(e vm.Event) error {
		if e.Before {
			begin = time.Now()
		} else {
			calls[e.Function]++
			spent[e.Function] += time.Since(begin)
		}
		return nil
	}
	if err := machine.SetInstrument(hook); err != nil {
		return err
	}
	scores, err := n.main.CallTensor(x, n.w1, n.b1, n.w2, n.b2, n.w3, n.b3)
	if err != nil {
		return err
	}
	scores.Release()
	for _, name := range []string{"matmul", "matmul1", "matmul2", "add", "add1", "relu"} {
		fmt.Fprintf(out, "%-8s %d calls %8v\n", name, calls[name], spent[name].Round(100*time.Nanosecond))
	}
	return machine.SetInstrument(nil)
}
