package schema_test

import (
	"fmt"
	"log"

	"github.com/tvmffi-go/tvmffi/schema"
)

// A signature in the notation of error messages and of "tvmffi-bind ls".
func ExampleParseSignature() {
	s, err := schema.ParseSignature("(ffi.String, int) -> ffi.Array<float>")
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range s.Params {
		fmt.Println(p.Type)
	}
	fmt.Println(s.Return)
	// Output:
	// ffi.String
	// int
	// ffi.Array<float>
}

// Diff compares what two versions of a library offer.
func ExampleDiff() {
	version := func(signature string) schema.Schema {
		s, err := schema.ParseSignature(signature)
		if err != nil {
			log.Fatal(err)
		}
		return schema.Schema{Functions: []schema.Function{
			{Name: "garden.water", Source: schema.SourceGlobal, Signature: s},
		}}
	}
	for _, change := range schema.Diff(version("(int) -> None"), version("(int, float) -> None")) {
		fmt.Println(change)
	}
	// Output: breaking: function garden.water changed: signature (int, float) -> None, was (int) -> None
}
