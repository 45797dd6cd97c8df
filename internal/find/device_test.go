package find

import (
	"path/filepath"
	"runtime"
	"testing"
)

// Windows has devices whose names no file can have, whatever its folder and its ending.
func TestDevice(t *testing.T) {
	for name, device := range map[string]bool{
		"NUL": true, "con": true, "aux.dll": true, "COM1.dll": true, `\\.\aux\`: true, filepath.Join("a", "nul"): true,
		"auxiliary.dll": false, "a.dll": false, ".": false, "..": false, filepath.Join("..", "con", "x.dll"): false, `C:\`: false, `\\server\share\x.dll`: false,
	} {
		if err := Device(name); (err != nil) != (device && runtime.GOOS == "windows") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
