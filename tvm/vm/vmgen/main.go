// Vmgen writes a Go package with a method for each function of a model exported by TVM's Relax
// compiler. The parameters of a method have the model's names, and its doc has their types. The
// same model gives the same bytes.
//
//	//go:generate go run github.com/tvmffi-go/tvmffi/tvm/vm/vmgen -o mlp/mlp.go mlp.so
//
// It needs libtvm_runtime, which it finds like every generated package. The package is named
// after the file's folder. Vmgen loads the model, so it runs code of the file.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tvmffi-go/tvmffi/tvm/vm"
)

func main() {
	out := flag.String("o", "", "the Go `file` to write")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: vmgen -o FOLDER/FILE.go MODEL.so")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 || *out == "" {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *out); err != nil {
		fmt.Fprintln(os.Stderr, "vmgen:", err)
		os.Exit(1)
	}
}

func run(model, out string) error {
	full, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	exe, err := vm.Load(model)
	if err != nil {
		return err
	}
	defer exe.Release()
	signatures, err := exe.Signatures()
	if err != nil {
		return err
	}
	code, err := generate(filepath.Base(filepath.Dir(full)), filepath.Base(model), signatures)
	if err != nil {
		return fmt.Errorf("%s: %w", model, err)
	}
	if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
		return err
	}
	return os.WriteFile(full, code, 0o666)
}
