package xgrammar_test

import (
	"os"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

func TestMain(m *testing.M) {
	nativetest.ProvideLibrary("xgrammar")
	os.Exit(m.Run())
}
