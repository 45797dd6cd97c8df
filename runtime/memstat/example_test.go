package memstat_test

import (
	"fmt"
	"log"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
	"github.com/tvmffi-go/tvmffi/runtime/memstat"
)

func ExampleUseCount() {
	a, err := tvmffi.NewArray(1, 2)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Release()
	b := tvmffi.Retain(a)
	fmt.Println(memstat.UseCount(a))
	b.Release()
	fmt.Println(memstat.UseCount(a))
	// Output:
	// 2
	// 1
}
