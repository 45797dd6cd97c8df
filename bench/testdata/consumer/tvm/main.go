// Command tvm asks the runtime of TVM whether it runs on this CPU, by the generated bindings.
package main

import (
	"fmt"
	"io"
	"log"
	"os"

	"github.com/tvmffi-go/tvmffi/generated/tvm/runtime"
)

func main() {
	cpu, err := runtime.RuntimeEnabled("cpu")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("result", cpu)
	_, _ = io.Copy(io.Discard, os.Stdin) // at rest
}
