package gen_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/tvmffi-go/tvmffi/gen"
	"github.com/tvmffi-go/tvmffi/schema"
)

// Generate makes a Go package of a schema, which "tvmffi-bind dump" writes for a library.
func ExampleGenerate() {
	signature, err := schema.ParseSignature("(int, int) -> int")
	if err != nil {
		log.Fatal(err)
	}
	s := schema.Schema{
		Format:    schema.FormatVersion,
		Libraries: []schema.Library{{File: "libsums.so", Role: schema.RoleBound}},
		Functions: []schema.Function{
			{Name: "sums.add", Source: schema.SourceGlobal, Library: "libsums.so", Signature: signature},
		},
	}
	files, _, err := gen.Generate(s, gen.NewConfig("sums", "example.com/hello/sums"))
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range files {
		if strings.Contains(string(f.Content), "\nfunc Add(") {
			fmt.Println("Add is in", f.Path)
		}
	}
	// Output: Add is in functions_gen.go
}
