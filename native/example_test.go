package native_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tvmffi-go/tvmffi/native"
)

// C++ in the program, compiled by the compiler of the machine when the program runs.
func ExampleLoad() {
	module, err := native.Load(context.Background(), native.Code{
		Name:    "sums",
		CPP:     []string{`int64_t add_one(int64_t x) { return x + 1; }`},
		Exports: map[string]string{"add_one": "Adds one to x."},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer module.Release()
	addOne, err := module.Function("add_one")
	if err != nil {
		log.Fatal(err)
	}
	defer addOne.Release()
	fmt.Println(addOne.Call(3)) // 4 <nil>
}
