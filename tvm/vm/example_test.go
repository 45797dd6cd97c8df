package vm_test

import (
	"fmt"
	"log"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/tvm/vm"
)

// A model that TVM's Relax compiler exported runs on the CPU.
func ExampleLoad() {
	model, err := vm.Load("mlp.so")
	if err != nil {
		log.Fatal(err)
	}
	defer model.Release()
	machine, err := model.NewMachine(vm.Pooled, tvmffi.CPU)
	if err != nil {
		log.Fatal(err)
	}
	defer machine.Close()
	forward, err := machine.Function("main")
	if err != nil {
		log.Fatal(err) // the error lists the functions of the model
	}
	x, err := tvmffi.FromSlice([]float32{1, 2, 3, 4}, 1, 4)
	if err != nil {
		log.Fatal(err)
	}
	y, err := forward.CallTensor(x)
	if err != nil {
		log.Fatal(err)
	}
	defer y.Release()
	scores, err := tvmffi.ReadSlice[float32](y)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(scores)
}
