package json_test

import (
	"fmt"
	"log"
	"os"
	"testing"

	"github.com/tvmffi-go/tvmffi/generated/ffi/json"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

func TestMain(m *testing.M) {
	nativetest.ProvideLibrary()
	os.Exit(m.Run())
}

// JSON becomes containers of TVM-FFI, which every language of the process can use.
func ExampleParse() {
	v, err := json.Parse(`{"name": "fir", "heights": [2, 3.5]}`)
	if err != nil {
		log.Fatal(err)
	}
	defer v.Release()
	fmt.Println(v)
	fmt.Println(json.Stringify(v, nil))
	// Output:
	// {"name": "fir", "heights": (2, 3.5)}
	// {"name":"fir","heights":[2,3.5]} <nil>
}
