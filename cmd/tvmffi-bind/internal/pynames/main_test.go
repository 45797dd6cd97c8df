package pynames

import (
	"fmt"
	"os"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

func TestMain(m *testing.M) {
	if err := nativetest.SkipShims(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
