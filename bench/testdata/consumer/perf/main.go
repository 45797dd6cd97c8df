// Command perf adds one with the library of the benchmark: a program that has a library of its own. Its argument is the
// library.
package main

import (
	"fmt"
	"io"
	"log"
	"os"

	"github.com/tvmffi-go/tvmffi/bench/perf"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func main() {
	if err := perf.Load(tvmffi.WithFile(os.Args[1])); err != nil {
		log.Fatal(err)
	}
	n, err := perf.AddOne(1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("result", n)
	_, _ = io.Copy(io.Discard, os.Stdin) // at rest
}
