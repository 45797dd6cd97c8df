package tvmffi_test

import (
	"errors"
	"fmt"
	"log"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// A tensor over a Go slice copies nothing: both have the same elements.
func ExampleFromSlice() {
	data := []float32{1, 2, 3, 4, 5, 6}
	t, err := tvmffi.FromSlice(data, 2, 3)
	if err != nil {
		log.Fatal(err)
	}
	defer t.Release()
	data[0] = 10
	fmt.Println(t.Shape(), t.DataType(), t.Device())
	fmt.Println(tvmffi.Slice[float32](t))

	_, err = tvmffi.FromSlice(data, 4, 4)
	fmt.Println(errors.Is(err, tvmffi.ErrValue))
	// Output:
	// [2 3] float32 cpu:0
	// [10 2 3 4 5 6] <nil>
	// true
}

// Slice gives the memory of a tensor, such as one that a library returned.
func ExampleSlice() {
	t, err := tvmffi.NewTensor(tvmffi.Int32, 4) // has zeros
	if err != nil {
		log.Fatal(err)
	}
	defer t.Release() // the slice ends with the tensor
	numbers, err := tvmffi.Slice[int32](t)
	if err != nil {
		log.Fatal(err)
	}
	for i := range numbers {
		numbers[i] = int32(i * i)
	}
	fmt.Println(numbers)
	// Output: [0 1 4 9]
}

// CopyTo copies the elements, also of a view with gaps.
func ExampleCopyTo() {
	t, err := tvmffi.FromSlice([]int64{1, 2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		log.Fatal(err)
	}
	defer t.Release()
	column, err := t.Select(1, 2) // of each row the last element
	if err != nil {
		log.Fatal(err)
	}
	defer column.Release()
	numbers := make([]int64, column.Len())
	if err := tvmffi.CopyTo(column, numbers); err != nil {
		log.Fatal(err)
	}
	fmt.Println(numbers)
	// Output: [3 6]
}

// A view is another tensor over the same memory.
func ExampleTensor_Transpose() {
	t, err := tvmffi.FromSlice([]int64{1, 2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		log.Fatal(err)
	}
	defer t.Release()
	u, err := t.Transpose()
	if err != nil {
		log.Fatal(err)
	}
	defer u.Release()
	numbers := make([]int64, u.Len())
	if err := tvmffi.CopyTo(u, numbers); err != nil {
		log.Fatal(err)
	}
	fmt.Println(u.Shape(), u.Contiguous(), numbers)
	// Output: [3 2] false [1 4 2 5 3 6]
}

// Models keep their weights in narrow floats.
func ExampleFromFloat32() {
	t, err := tvmffi.FromFloat32(tvmffi.BFloat16, []float32{0.5, 1, 1.5})
	if err != nil {
		log.Fatal(err)
	}
	defer t.Release()
	numbers, err := tvmffi.ToFloat32(t)
	fmt.Println(t.DataType(), t.NBytes(), numbers, err)
	// Output: bfloat16 6 [0.5 1 1.5] <nil>
}

// Frameworks exchange tensors as DLPack structs, without a copy.
func ExampleFromDLPack() {
	t, err := tvmffi.FromSlice([]float64{1, 2, 3})
	if err != nil {
		log.Fatal(err)
	}
	defer t.Release()

	managed, err := t.ToDLPackVersioned() // would go to another framework
	if err != nil {
		log.Fatal(err)
	}
	u, err := tvmffi.FromDLPack(managed) // takes the struct over
	if err != nil {
		managed.Release()
		log.Fatal(err)
	}
	defer u.Release()
	fmt.Println(u.DataPointer() == t.DataPointer())
	fmt.Println(tvmffi.Slice[float64](u))
	// Output:
	// true
	// [1 2 3] <nil>
}
