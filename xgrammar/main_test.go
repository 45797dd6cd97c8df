package xgrammar_test

import (
	"os"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/xgrammar"
)

func TestMain(m *testing.M) {
	nativetest.ProvideLibrary("xgrammar")
	xgrammar.Main()
	os.Exit(m.Run())
}
