package libraries

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// A library of another size is not another build of a loaded one, and is not read.
func TestClashOfSizes(t *testing.T) {
	file := func(name string, size int64) string {
		path := filepath.Join(t.TempDir(), name)
		err := os.WriteFile(path, []byte(setsFunctions), 0o600)
		if err == nil {
			err = os.Truncate(path, size)
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	before := registering
	defer func() { registering = before }()
	registering = []Snapshot{{path: file("small.so", 1<<20)}}
	large := Snapshot{path: file("large.so", 1<<28)}
	var stats [2]runtime.MemStats
	runtime.ReadMemStats(&stats[0])
	if err := large.clash(); err != nil {
		t.Error(err)
	}
	runtime.ReadMemStats(&stats[1])
	if n := stats[1].TotalAlloc - stats[0].TotalAlloc; n > 1<<26 {
		t.Errorf("clash read %d bytes", n)
	}
}

// Two libraries of Go have this package's mark of a type among their constants, and no type in common.
func TestRegistersAgain_constants(t *testing.T) {
	file := []byte("is not a regular file" + definesType + "0.1.14")
	if name := registersAgain(file, file, nil, false); name != "" {
		t.Errorf("both register %s", name)
	}
	symbol := []byte("_ZN3tvm" + namespace + definesType + "N1aE\x00")
	if name := registersAgain(symbol, symbol, nil, false); name == "" {
		t.Error("both register the type of a symbol, and no name is returned")
	}
}
