package define_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/runtime/define"
	"github.com/tvmffi-go/tvmffi/runtime/leaktest"
)

type (
	firstMade struct {
		N int64 `ffi:"n"`
	}
	secondMade struct {
		N int64 `ffi:"n"`
	}
)

// TestRegister_releases: what registering a type takes, it gives back, and does not wait
// for the collector.
func TestRegister_releases(t *testing.T) {
	runtimetest.LoadDefine(t)
	if err := define.Object[firstMade]("gotest.FirstMade").Register(); err != nil { // with what is looked up once
		t.Fatal(err)
	}
	leaktest.Check(t)
	if err := define.Object[secondMade]("gotest.SecondMade").Register(); err != nil {
		t.Fatal(err)
	}
}
