package hints_test

import (
	"fmt"
	"log"

	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// A names file gives the parameter of a function a name and a default.
func ExampleFile_Encode() {
	file := hints.File{
		Format: hints.Format,
		Items: map[string]hints.Item{
			"garden.water": {Params: []string{"litres"}, Default: map[string]hints.Constant{"litres": {Value: 2.5}}},
		},
	}
	text, err := file.Encode()
	if err != nil {
		log.Fatal(err)
	}
	again, err := hints.Decode(text)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(again.Items["garden.water"].Params, again.Items["garden.water"].Default["litres"])
	// Output: [litres] 2.5
}
