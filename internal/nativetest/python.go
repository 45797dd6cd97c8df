package nativetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/tvmffi-go/tvmffi/internal/wheel"
)

// Python returns the program of a Python that has apache-tvm-ffi, of the version that the tests use, and numpy. It
// is made once, in the cache; the other programs of the package, such as tvm-ffi-stubgen, lie beside it.
func Python(t testing.TB) string {
	t.Helper()
	python, err := environment(t.Context(), Version())
	if err != nil {
		unavailable(t, fmt.Errorf("Python with apache-tvm-ffi %s: %w", Version(), err))
	}
	return python
}

func environment(ctx context.Context, version string) (string, error) {
	if runtime.GOOS == "windows" {
		return "", errors.New("it is not set up for Windows")
	}
	cache, err := wheel.CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "python", version)
	program := filepath.Join(dir, "bin", "python")
	ready := filepath.Join(dir, ".complete")
	if _, err := os.Stat(ready); err == nil {
		return program, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	lock := flock.New(dir + ".lock")
	if _, err := lock.TryLockContext(ctx, 50*time.Millisecond); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Path(), err)
	}
	defer lock.Close()
	if _, err := os.Stat(ready); err == nil {
		return program, nil
	}
	for _, args := range [][]string{
		{"python3", "-m", "venv", "--clear", dir},
		{program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:", "apache-tvm-ffi==" + version, "numpy"},
	} {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir = cache
		cmd.WaitDelay = 5 * time.Second
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w; install python3 with venv and pip\n%s", args[0], err, firstLines(out, 20))
		}
	}
	return program, os.WriteFile(ready, nil, 0o600)
}
