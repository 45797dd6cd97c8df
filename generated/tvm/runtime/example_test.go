//go:build tvm

package runtime_test

import (
	"fmt"
	"log"
	"os"
	"testing"

	"github.com/tvmffi-go/tvmffi/generated/tvm/runtime"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func TestMain(m *testing.M) {
	nativetest.ProvideLibrary("apache-tvm")
	os.Exit(m.Run())
}

// The weights of a model, in the form that TVM's compiler and Python read too.
func ExampleSaveParams() {
	weights, err := tvmffi.FromSlice([]float32{1, 2, 3, 4}, 2, 2)
	if err != nil {
		log.Fatal(err)
	}
	defer weights.Release()
	data, err := runtime.SaveParams(tvmffi.MapOf(map[string]*tvmffi.Tensor{"dense.weight": weights}))
	if err != nil {
		log.Fatal(err)
	}
	params, err := runtime.LoadParams(data)
	if err != nil {
		log.Fatal(err)
	}
	defer params.Release()
	for name, t := range params.All() {
		values, err := tvmffi.ReadSlice[float32](t)
		fmt.Println(name, t.Shape(), values, err)
		t.Release()
	}
	// Output: dense.weight [2 2] [1 2 3 4] <nil>
}
