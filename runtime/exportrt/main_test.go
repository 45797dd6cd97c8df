package exportrt_test

import (
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
)

func TestMain(m *testing.M) { runtimetest.Main(m) }
