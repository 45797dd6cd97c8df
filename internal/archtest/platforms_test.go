package archtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestPlatforms asks the go command, which compiles nothing for it, whether packages can be
// built for a platform. Where they cannot, the one error is an import path that says why.
func TestPlatforms(t *testing.T) {
	const refusal = "internal/needs_64_bit_linux_macos_or_windows_see_readme: build constraints exclude all Go files"
	for platform, supported := range map[string]bool{
		"linux/amd64": true, "linux/riscv64": true, "darwin/arm64": true, "windows/amd64": true,
		"linux/386": false, "linux/s390x": false, "windows/386": false, "js/wasm": false, "freebsd/amd64": false, "android/arm64": false,
	} {
		t.Run(platform, func(t *testing.T) {
			goos, goarch, _ := strings.Cut(platform, "/")
			list := func(packages ...string) string {
				cmd := exec.Command("go", append([]string{"list", "-deps"}, packages...)...)
				cmd.Dir = "../.."
				cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
				var errs strings.Builder
				cmd.Stderr = &errs
				_ = cmd.Run() // it fails where packages cannot be built
				return errs.String()
			}
			if out := list("./schema", "./gen", "./cuda/spec"); out != "" {
				t.Errorf("packages of data: %s", out)
			}
			out := list("./runtime", "./cmd/tvmffi-bind", "./cuda", "./native")
			switch {
			case supported && out != "":
				t.Errorf("the platform is supported: %s", out)
			case !supported && !strings.Contains(out, refusal):
				t.Errorf("got %q, want %q", out, refusal)
			}
		})
	}
}
