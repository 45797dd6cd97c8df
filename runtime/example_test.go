package tvmffi_test

import (
	"errors"
	"fmt"
	"log"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// errSoldOut is an error of the program.
var errSoldOut = errors.New("sold out")

// price is a Go func that every language of the process can call.
func price(name string, count int64) (float64, error) {
	if name == "tea" {
		return 0, errSoldOut
	}
	return 2.5 * float64(count), nil
}

// A program registers a Go func and calls it by its name, as C++ and Python can. The
// error that the func returns comes back through the library as the same error.
func Example() {
	if err := tvmffi.Load(); err != nil {
		log.Fatal(err) // libtvm_ffi is missing: run "go tool tvmffi-bind setup"
	}
	if err := tvmffi.Register("example.price", price, tvmffi.Doc("What count of them cost.")); err != nil {
		log.Fatal(err)
	}
	defer tvmffi.Unregister("example.price") // most programs keep their functions

	f, err := tvmffi.Lookup("example.price")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Release()

	result, err := f.Call("coffee", 4)
	if err != nil {
		log.Fatal(err)
	}
	total, err := tvmffi.As[float64](result)
	fmt.Println(total, err)

	_, err = f.Call("tea", 1)
	fmt.Println(errors.Is(err, errSoldOut))

	_, err = f.Call("coffee", "four")
	fmt.Println(errors.Is(err, tvmffi.ErrType))
	// Output:
	// 10 <nil>
	// true
	// true
}
