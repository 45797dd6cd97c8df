//go:build tvm

package builtin_test

import (
	"fmt"
	"log"
	"os"
	"testing"

	"github.com/tvmffi-go/tvmffi/generated/tvm/vm/builtin"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func TestMain(m *testing.M) {
	nativetest.ProvideLibrary("apache-tvm")
	os.Exit(m.Run())
}

// The scores of a model for one sequence become probabilities, where they are.
func ExampleApplySoftmaxWithTemperature() {
	logits, err := tvmffi.FromSlice([]float32{0, 0, 0, 0}, 1, 1, 4)
	if err != nil {
		log.Fatal(err)
	}
	defer logits.Release()
	if err := builtin.ApplySoftmaxWithTemperature(logits, 0.7); err != nil {
		log.Fatal(err)
	}
	fmt.Println(tvmffi.ReadSlice[float32](logits))
	// Output: [0.25 0.25 0.25 0.25] <nil>
}
