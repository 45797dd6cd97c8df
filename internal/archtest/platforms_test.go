package archtest

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestPlatforms asks the go command, which compiles nothing for it, whether packages can be
// built for a platform. Where they cannot, the one error is an import path that says why.
func TestPlatforms(t *testing.T) {
	const refusal = "build constraints exclude all Go files in ROOT/internal/needs_64_bit_linux_macos_or_windows_see_readme"
	data := []string{"./schema", "./gen", "./cuda/spec"}
	product := []string{"./runtime", "./cmd/tvmffi-bind", "./cuda", "./native"}
	for platform, supported := range map[string]bool{
		"linux/amd64": true, "linux/riscv64": true, "darwin/arm64": true, "windows/amd64": true,
		"linux/386": false, "linux/s390x": false, "windows/386": false, "js/wasm": false, "freebsd/amd64": false, "android/arm64": false,
	} {
		t.Run(platform, func(t *testing.T) {
			goos, goarch, _ := strings.Cut(platform, "/")
			cmd := exec.Command("go", slices.Concat([]string{"list", "-e", "-f", "{{.ImportPath}}:{{range .DepsErrors}}{{.Err}};{{end}}"}, data, product)...)
			cmd.Dir = "../.."
			cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Split(strings.ReplaceAll(string(out), repository(t), "ROOT"), "\n")
			for i, root := range slices.Concat(data, product) {
				want := self + root[1:] + ":"
				if !supported && i >= len(data) {
					want += refusal + ";"
				}
				if got[i] != want {
					t.Errorf("got %q, want %q", got[i], want)
				}
			}
		})
	}
}
