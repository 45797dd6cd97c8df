package main

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// script exports the network.
//
//go:embed testdata/mlp.py
var script string

// packages are the versions for which the bindings of the runtime of TVM were generated.
var packages = []string{"apache-tvm==0.27.0.post1", "apache-tvm-ffi==0.1.14.post1", "numpy"}

// export returns the file of the network, which is made once for the contents of the script
// and then kept in the cache of the user. So is the Python environment that makes it, which
// has the libraries too: the program finds them there through VIRTUAL_ENV.
func export(ctx context.Context) (model string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(fmt.Sprint(packages, script)))
	dir := filepath.Join(cache, "tvmffi-example-vm", hex.EncodeToString(sum[:8]))
	environment := filepath.Join(dir, "python")
	if err := os.Setenv("VIRTUAL_ENV", environment); err != nil {
		return "", err
	}
	model = filepath.Join(dir, "mlp.so")
	if _, err := os.Stat(model); err == nil {
		return model, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	python := filepath.Join(environment, "bin", "python")
	fmt.Fprintln(os.Stderr, "exporting the network: the first time this gets TVM with pip, 500 MB in", dir)
	for _, args := range [][]string{
		{"python3", "-m", "venv", "--clear", environment},
		append([]string{python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"}, packages...),
	} {
		if err := command(ctx, args...); err != nil {
			return "", err
		}
	}
	return model, write(ctx, python, model)
}

// write runs the script. The file has its name only when it is complete.
func write(ctx context.Context, python, model string) error {
	file := filepath.Join(filepath.Dir(model), "mlp.py")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		return err
	}
	partial := filepath.Join(filepath.Dir(model), "partial.so")
	if err := command(ctx, python, file, partial); err != nil {
		return err
	}
	return os.Rename(partial, model)
}

func command(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = os.Stderr, os.Stderr, time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%q: %w", args, err)
	}
	return nil
}
