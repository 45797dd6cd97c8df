package batch_test

import (
	"errors"
	"fmt"
	"log"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/batch"
)

// A batch makes many calls in one crossing into C.
func Example() {
	size, err := tvmffi.Lookup("ffi.ArraySize")
	if err != nil {
		log.Fatal(err)
	}
	defer size.Release()

	var b batch.Batch
	var sizes []batch.Pending
	for _, words := range [][]string{{"red"}, {"green", "blue"}, {}} {
		sizes = append(sizes, b.Add(size, words))
	}
	if err := b.Do(); err != nil {
		log.Fatal(err)
	}
	for _, p := range sizes {
		n, err := batch.Result[int](p)
		fmt.Println(n, err)
	}
	// Output:
	// 1 <nil>
	// 2 <nil>
	// 0 <nil>
}

// The first call that fails ends the batch. Its error has the number of the call.
func ExampleError() {
	at, err := tvmffi.Lookup("ffi.ArrayGetItem")
	if err != nil {
		log.Fatal(err)
	}
	defer at.Release()
	a, err := tvmffi.NewArray(10, 20)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Release()

	var b batch.Batch
	first := b.Call(at).Object(a).Int(0)
	b.Call(at).Object(a).Int(5)
	err = b.Do()
	if failed, ok := errors.AsType[*batch.Error](err); ok {
		fmt.Println("call", failed.Call, errors.Is(err, tvmffi.ErrIndex))
	}
	n, err := batch.Result[int](first)
	fmt.Println(n, err)
	// Output:
	// call 1 true
	// 10 <nil>
}
