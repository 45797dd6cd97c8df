package check_test

import (
	"fmt"

	"github.com/tvmffi-go/tvmffi/cuda/spec"
	"github.com/tvmffi-go/tvmffi/cuda/spec/check"
)

func Example() {
	scale := check.MustCompile("scale(sizes: Shape([n, 128]), rows: int32 % 4, stream: Stream)")
	fmt.Println(scale.Check([]int64{7, 128}, 8, nil))
	fmt.Println(scale.Check([]int64{7, 127}, 8, nil))

	var v check.Values
	if err := scale.Bind(&v, []int64{7, 128}, 8, nil); err == nil {
		n, _ := v.Int("n")
		fmt.Println("n is", n)
	}
	// Output:
	// <nil>
	// ValueError: Mismatched sizes[1] on argument #0 when calling: `scale(sizes: Shape([n, 128]), rows: int32, stream: Stream)`, expected to be 128
	// n is 7
}

func ExampleNew() {
	n := spec.Var{Name: "n", DType: spec.Int64}
	add := spec.New("add",
		spec.Tensor{Name: "a", DType: spec.Float32, Shape: []spec.Dim{n}},
		spec.Tensor{Name: "b", DType: spec.Float32, Shape: []spec.Dim{n, spec.Size(4)}, Device: "cpu"},
		spec.Optional{Param: spec.Stream{Name: "stream"}})
	c, err := check.New(add)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(add)
	fmt.Println(c.Check(nil, nil, nil))
	// Output:
	// add(a: Tensor([n: int64], float32), b: Tensor([n: int64, 4], float32, device=cpu), stream: Optional[Stream])
	// TypeError: Mismatched type on argument #0 when calling: `add(a: Tensor([n], float32), b: Tensor([n, 4], float32), stream: Optional[Stream])`, expected Tensor
}
