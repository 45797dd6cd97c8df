package driver

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for i, e := range table {
		key := e.name + " " + e.symbol // cuDeviceGetUuid stands there with both of its signatures
		base := strings.TrimSuffix(e.symbol, "_v2")
		if !strings.HasPrefix(e.name, "cu") || e.since < 2000 || e.since > 12050 || e.symbol != "" && base != e.name || seen[key] {
			t.Errorf("function %d is %+v", i, e)
		}
		seen[key] = true
	}
	if s := LaunchKernelEx.Since(); s != "11.6" {
		t.Errorf("cuLaunchKernelEx came with %s", s)
	}
}

func TestText(t *testing.T) {
	if s := Text(0); s != "" {
		t.Errorf("Text(0) = %q, want nothing", s)
	}
	for v, want := range map[int]string{12040: "12.4", 11030: "11.3", 2000: "2.0", 13000: "13.0"} {
		if got := VersionText(v); got != want {
			t.Errorf("%d is %s, want %s", v, got, want)
		}
	}
}
