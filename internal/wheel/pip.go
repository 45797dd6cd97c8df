package wheel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// tools lists the commands that can download a wheel, the most usual first.
func tools() [][]string {
	t := [][]string{
		{"python3", "-m", "pip"},
		{"python", "-m", "pip"},
		{"pip3"},
		{"pip"},
		{"uv", "tool", "run", "pip"}, // uv itself has no download command
	}
	if runtime.GOOS == "windows" {
		t = append([][]string{{"py", "-3", "-m", "pip"}}, t...)
	}
	return t
}

const remedy = "install pip (python3 -m ensurepip, or the package python3-pip or py3-pip of the system) or uv, " +
	"or install the library by other means and name it by TVMFFI_LIBRARY"

// download gets the wheel of s by the first package tool that works and returns its path.
func download(ctx context.Context, s Spec, dir string) (string, error) {
	dest := filepath.Join(dir, "download")
	args := []string{"download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", dest}
	if s.Platform != "" {
		args = append(args, "--platform", s.Platform)
	}
	if s.Python != "" {
		args = append(args, "--python-version", s.Python, "--implementation", "cp")
	}
	args = append(args, s.Package+"=="+s.Version)

	var missing []string
	for _, tool := range tools() {
		out, err := run(ctx, dir, append(tool[1:len(tool):len(tool)], args...), tool[0])
		name := strings.Join(tool, " ")
		switch {
		case err == nil:
			file, err := oneWheel(dest)
			if err != nil {
				return "", fmt.Errorf("wheel: %s: %s: %w", s, name, err)
			}
			return file, nil
		case ctx.Err() != nil:
			return "", fmt.Errorf("wheel: %s: %s was stopped: %w", s, name, context.Cause(ctx))
		case absent(err, out):
			missing = append(missing, name)
		default:
			return "", fmt.Errorf("wheel: %s: %s download failed: %w; it printed:\n%s\n"+
				"check the network and pip's configuration, then try again, or %s", s, name, err, lastLines(out, 6), remedy)
		}
	}
	return "", fmt.Errorf("wheel: %s cannot be downloaded: none of these work here: %s; %s",
		s, strings.Join(missing, ", "), remedy)
}

// run starts a package tool and returns what it printed.
func run(ctx context.Context, dir string, args []string, tool string) (string, error) {
	path, err := exec.LookPath(tool)
	if err != nil {
		return "", err // also refuses a tool in the working directory
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir // python -m would import from the folder of the user's project
	cmd.Env = append(os.Environ(), "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_INPUT=1", "PIP_REQUIRE_VIRTUALENV=0", "PIP_NO_COLOR=1")
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// absent tells a tool that is not there, or a Python without pip, from one that failed.
func absent(err error, out string) bool {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, exec.ErrDot) {
		return true
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	// 127 is what shims and wrapper scripts return when they lead to nothing, 9009 the same on Windows.
	return exit.ExitCode() == 127 || exit.ExitCode() == 9009 || strings.Contains(out, "No module named pip")
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	for i, l := range lines {
		lines[i] = "  " + strings.TrimRight(l, "\r ")
	}
	return strings.Join(lines, "\n")
}
