package nativetest

import (
	"context"
	"crypto/sha256"
	_ "embed" // of the requirements
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/tvmffi-go/tvmffi/internal/compiler"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
)

// Python returns the program of a Python that has apache-tvm-ffi, of the version that the tests use, and numpy. It
// is made once in the cache; the other programs of the package, such as tvm-ffi-stubgen, lie beside it.
func Python(t testing.TB) string {
	t.Helper()
	python, err := environment(t.Context(), "python3", Version(), "apache-tvm-ffi=="+Version(), "numpy")
	if err != nil {
		Unavailable(t, fmt.Errorf("Python with apache-tvm-ffi %s: %w", Version(), err))
	}
	return python
}

// Pythons returns the Python of [Python] by its name. With TVMFFI_TEST_PYTHONS it returns one like it for each version
// from 3.9 to 3.14 that this machine has, or that uv can get, by version. The log of the test names the others.
func Pythons(t testing.TB) map[string]string {
	t.Helper()
	if os.Getenv("TVMFFI_TEST_PYTHONS") == "" {
		return map[string]string{"python": Python(t)}
	}
	all := map[string]string{}
	for minor := 9; minor <= 14; minor++ {
		version := fmt.Sprintf("3.%d", minor)
		interpreter, err := interpreterOf(t.Context(), version)
		if err == nil {
			all[version], err = environment(t.Context(), interpreter, Version()+"-"+version, "apache-tvm-ffi=="+Version(), "numpy")
		}
		if err != nil {
			delete(all, version)
			t.Logf("not tested with Python %s: %v", version, err)
		}
	}
	if len(all) == 0 {
		Unavailable(t, errors.New("no Python from 3.9 to 3.14 works here: the log says why"))
	}
	return all
}

// interpreterOf finds a Python of that version, or gets it by uv.
func interpreterOf(ctx context.Context, version string) (string, error) {
	candidates := []string{"python" + version}
	root := os.Getenv("PYENV_ROOT")
	if home, err := os.UserHomeDir(); root == "" && err == nil {
		root = filepath.Join(home, ".pyenv")
	}
	installed, _ := filepath.Glob(filepath.Join(root, "versions", version+"*", "bin", "python"+version))
	for _, c := range append(candidates, installed...) {
		// A program that pyenv puts into PATH may refuse to run.
		if exec.CommandContext(ctx, c, "-c", "import venv").Run() == nil {
			return c, nil
		}
	}
	uv, err := exec.LookPath("uv")
	if err != nil {
		return "", fmt.Errorf("python%s is not in PATH, nor in %s, nor is uv in PATH, which could get it", version, root)
	}
	for _, args := range [][]string{{"python", "install", "--quiet", version}, {"python", "find", "--managed-python", version}} {
		out, err := exec.CommandContext(ctx, uv, args...).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("uv %s: %w\n%s", strings.Join(args, " "), err, compiler.FirstLines(string(out)))
		}
		candidates = []string{strings.TrimSpace(string(out))}
	}
	return candidates[0], nil
}

//go:embed testdata/cute_requirements.txt
var cuteRequirements string

// CuTe returns the program of a Python that has the CuTe DSL, which compiles kernels without a GPU, and its
// version. It is made once in the cache, takes 400 MB, and needs Python 3.11 on linux/amd64.
func CuTe(t testing.TB) (python, version string) {
	t.Helper()
	_, after, _ := strings.Cut(cuteRequirements, "nvidia-cutlass-dsl==")
	version, _, _ = strings.Cut(after, " ")
	python, err := pinned(t.Context(), python311(), "cute", cuteRequirements)
	if err != nil {
		Unavailable(t, fmt.Errorf("Python with nvidia-cutlass-dsl %s, which is pinned for Python 3.11 on linux/amd64: %w", version, err))
	}
	return python, version
}

//go:embed testdata/auditwheel_requirements.txt
var auditwheelRequirements string

// Auditwheel returns the program of a Python that has auditwheel and packaging, which check wheels. It is made once
// in the cache.
func Auditwheel(t testing.TB) (python string) {
	t.Helper()
	python, err := pinned(t.Context(), python311(), "auditwheel", auditwheelRequirements)
	if err != nil {
		Unavailable(t, fmt.Errorf("Python with auditwheel, which needs Python 3.10 or newer: %w", err))
	}
	return python
}

//go:embed testdata/zig_requirements.txt
var zigRequirements string

// Zig returns the program python-zig, which is zig. It is made once in the cache, takes 400 MB, and is for linux/amd64.
func Zig(t testing.TB) (program string) {
	t.Helper()
	python, err := pinned(t.Context(), python311(), "zig", zigRequirements)
	if err != nil {
		Unavailable(t, fmt.Errorf("zig, which is pinned for linux/amd64: %w", err))
	}
	return filepath.Join(filepath.Dir(python), "python-zig")
}

//go:embed testdata/flashinfer_requirements.txt
var flashInferRequirements string

// FlashInfer returns the folder of a virtual environment of Python that has FlashInfer, whose kernel sources are used,
// and nvcc, and the folder of its packages. It is made once in the cache, takes 1.6 GB, and is for linux/amd64.
func FlashInfer(t testing.TB) (environment, site string) {
	t.Helper()
	python, err := pinned(t.Context(), "python3", "flashinfer", flashInferRequirements)
	if err != nil {
		Unavailable(t, fmt.Errorf("FlashInfer and nvcc, which are pinned for linux/amd64: %w", err))
	}
	environment = filepath.Dir(filepath.Dir(python))
	found, err := filepath.Glob(filepath.Join(environment, "lib", "python3*", "site-packages"))
	if err != nil || len(found) != 1 {
		t.Fatalf("nativetest: the packages in %s: %q, %v", environment, found, err)
	}
	return environment, found[0]
}

//go:embed testdata/tvm_requirements.txt
var tvmRequirements string

// TVM returns the program of a Python that has TVM with the libtvm_ffi that it needs. It is made once in the cache,
// takes 500 MB, and needs Python 3.11 on linux/amd64.
func TVM(t testing.TB) (python string) {
	t.Helper()
	python, err := pinned(t.Context(), python311(), "tvm", tvmRequirements)
	if err != nil {
		Unavailable(t, fmt.Errorf("Python with apache-tvm, which is pinned for Python 3.11 on linux/amd64: %w", err))
	}
	return python
}

//go:embed testdata/checkers_requirements.txt
var checkersRequirements string

// Checkers returns the program of a Python that has mypy, pyright (basedpyright), apache-tvm-ffi and numpy. It is made
// once in the cache, takes 300 MB, and needs Python 3.11 on linux/amd64.
func Checkers(t testing.TB) (python string) {
	t.Helper()
	python, err := pinned(t.Context(), python311(), "checkers", checkersRequirements)
	if err != nil {
		Unavailable(t, fmt.Errorf("Python with mypy and pyright, which are pinned for Python 3.11 on linux/amd64: %w", err))
	}
	return python
}

//go:embed testdata/openai_requirements.txt
var openAIRequirements string

// OpenAI returns the program of a Python that has the client of OpenAI, apache-tvm-ffi, numpy, and the packages
// check-jsonschema and validate-pyproject-schema-store, which have the schemas of SchemaStore. It is made once in the cache,
// takes 150 MB, and needs Python 3.11 on linux/amd64.
func OpenAI(t testing.TB) (python string) {
	t.Helper()
	python, err := pinned(t.Context(), python311(), "openai", openAIRequirements)
	if err != nil {
		Unavailable(t, fmt.Errorf("Python with the client of OpenAI, which is pinned for Python 3.11 on linux/amd64: %w", err))
	}
	return python
}

//go:embed testdata/frames_requirements.txt
var framesRequirements string

// Frames returns the program of a Python that has apache-tvm-ffi, pandas, polars, Arrow and ml_dtypes. It is made once in
// the cache, takes 500 MB, and needs Python 3.11 on linux/amd64.
func Frames(t testing.TB) (python string) {
	t.Helper()
	python, err := pinned(t.Context(), python311(), "frames", framesRequirements)
	if err != nil {
		Unavailable(t, fmt.Errorf("Python with pandas, polars and Arrow, which are pinned for Python 3.11 on linux/amd64: %w", err))
	}
	return python
}

//go:embed testdata/pytest_requirements.txt
var pytestRequirements string

// Pytest returns the program of a Python that has pytest, pytest-xdist and apache-tvm-ffi. It is made once in the cache, takes
// 40 MB, and needs Python 3.11 on linux/amd64.
func Pytest(t testing.TB) (python string) {
	t.Helper()
	python, err := pinned(t.Context(), python311(), "pytest", pytestRequirements)
	if err != nil {
		Unavailable(t, fmt.Errorf("Python with pytest, which is pinned for Python 3.11 on linux/amd64: %w", err))
	}
	return python
}

// SkipShims puts the folder of the Python that python3 starts before the rest of PATH if python3 itself is a script: that
// of pyenv starts twenty processes first.
func SkipShims() error {
	program, err := exec.LookPath("python3")
	if err != nil {
		return nil
	}
	if data, err := os.ReadFile(program); err != nil || !strings.HasPrefix(string(data), "#!") {
		return err
	}
	out, err := exec.Command(program, "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	return os.Setenv("PATH", filepath.Dir(strings.TrimSpace(string(out)))+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// python311 returns the program of Python 3.11, for which some wheels are pinned, or else of any Python.
func python311() string {
	const program = "python3.11"
	if _, err := exec.LookPath(program); err != nil {
		return "python3"
	}
	return program
}

// pinned returns the program of a Python that has the packages of testdata/<name>_requirements.txt, whose text is
// requirements, and no others.
func pinned(ctx context.Context, interpreter, name, requirements string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	return pinnedIn(ctx, interpreter, name, requirements, filepath.Join(root, "internal", "testkit", "nativetest", "testdata", name+"_requirements.txt"))
}

// pinnedIn is pinned for requirements that are in another file.
func pinnedIn(ctx context.Context, interpreter, name, requirements, file string) (string, error) {
	sum := sha256.Sum256([]byte(requirements))
	return environment(ctx, interpreter, name+"-"+hex.EncodeToString(sum[:8]), "--no-deps", "--require-hashes", "-r", file)
}

// PythonWith returns the program of a Python 3.11 that has the packages of a file of requirements, whose hashes are in it, and
// no others. It is made once in the cache.
func PythonWith(t testing.TB, name, file string) (python string) {
	t.Helper()
	requirements, err := os.ReadFile(file)
	if err == nil {
		file, err = filepath.Abs(file) // pip runs in another folder
	}
	if err == nil {
		python, err = pinnedIn(t.Context(), python311(), name, string(requirements), file)
	}
	if err != nil {
		Unavailable(t, fmt.Errorf("Python 3.11 with the packages of %s: %w", file, err))
	}
	return python
}

// environment returns the program of the Python of that name in the cache, where pip has installed the
// packages. The interpreter makes it.
func environment(ctx context.Context, interpreter, name string, packages ...string) (string, error) {
	if runtime.GOOS == "windows" {
		return "", errors.New("it is not set up for Windows")
	}
	cache, err := find.CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "python", name)
	program := filepath.Join(dir, "bin", "python")
	ready := filepath.Join(dir, ".complete")
	if _, err := os.Stat(ready); err == nil {
		return program, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", find.Advise(err)
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
		{interpreter, "-m", "venv", "--clear", dir},
		append([]string{program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"}, packages...),
	} {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir = cache
		if said, err := compiler.Run(cmd); err != nil {
			// venv does not show what ensurepip printed, so a full disk is looked for.
			space := dir + ".space"
			full := os.WriteFile(space, make([]byte, 1<<20), 0o600)
			os.Remove(space)
			if full != nil {
				return "", find.Advise(full)
			}
			if said == "" || strings.Contains(said, "ensurepip") { // Debian has both in packages of their own
				return "", fmt.Errorf("%s: %w; install %s with venv and pip\n%s", args[0], err, interpreter, compiler.FirstLines(said))
			}
			return "", wheel.Failure(strings.Join(args[:4], " "), said, err)
		}
	}
	return program, os.WriteFile(ready, nil, 0o600)
}
