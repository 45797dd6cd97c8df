//go:build tvm

package disco_test

import (
	"fmt"
	"log"
	"os"
	"testing"

	"github.com/tvmffi-go/tvmffi/generated/tvm/disco"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

func TestMain(m *testing.M) {
	nativetest.ProvideLibrary("apache-tvm")
	os.Exit(m.Run())
}

// Workers that are threads of this process. Package tvm/disco of this module has Go workers, also on other hosts.
func ExampleSessionThreaded() {
	session, err := disco.SessionThreaded(2, 1)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Release()
	fmt.Println(disco.SessionGetNumWorkers(session))
	if err := disco.SessionShutdown(session); err != nil {
		log.Fatal(err)
	}
	// Output: 2 <nil>
}
