//go:build tvm

package sort_test

import (
	"fmt"
	"log"
	"os"
	"testing"

	"github.com/tvmffi-go/tvmffi/generated/tvm/contrib/sort"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

func TestMain(m *testing.M) {
	nativetest.ProvideLibrary("apache-tvm")
	os.Exit(m.Run())
}

// The function writes its result into a tensor of the caller.
func ExampleArgsort() {
	scores, err := tvmffi.FromSlice([]float32{0.2, 0.7, 0.1})
	if err != nil {
		log.Fatal(err)
	}
	defer scores.Release()
	order, err := tvmffi.NewTensor(tvmffi.Int32, 3)
	if err != nil {
		log.Fatal(err)
	}
	defer order.Release()
	if err := sort.Argsort(scores, order, 0, false); err != nil {
		log.Fatal(err)
	}
	fmt.Println(tvmffi.ReadSlice[int32](order))
	// Output: [1 0 2] <nil>
}
