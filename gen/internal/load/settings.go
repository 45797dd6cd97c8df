package load

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Lacking returns why the go command finds no package of a path in the module around dir, and what to do about it, if a
// setting of the go command is the reason; otherwise it returns "".
func Lacking(dir, path string) string {
	env := exec.Command("go", "env", "GO111MODULE", "GOFLAGS", "GOWORK")
	env.Dir = Existing(dir)
	out, err := env.Output()
	settings := strings.Split(string(out), "\n")
	if err != nil || len(settings) < 3 {
		return ""
	}
	mode, flags, work := settings[0], settings[1], settings[2]
	if mode == "off" {
		return "GO111MODULE=off turns modules off, and bindings need them: run go env -u GO111MODULE, and unset the variable"
	}
	if strings.Contains(flags, "-mod=mod") || strings.Contains(flags, "-mod=readonly") {
		return "" // no folder vendor is used
	}
	root, command := filepath.Dir(work), "go work vendor"
	if work == "" || work == "off" {
		module, err := ModuleAround(env.Dir)
		if err != nil {
			return ""
		}
		root, command = module.Dir, "go mod vendor"
	}
	vendor := filepath.Join(root, "vendor")
	if _, err := os.Stat(filepath.Join(vendor, "modules.txt")); err != nil {
		return ""
	}
	if _, err := os.Stat(filepath.Join(vendor, filepath.FromSlash(path))); err == nil {
		return ""
	}
	return fmt.Sprintf("the folder %s lacks %s: add -mod=readonly to GOFLAGS for this command, as in GOFLAGS=-mod=readonly go generate, and then run %s", vendor, path, command)
}
