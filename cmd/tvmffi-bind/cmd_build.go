package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
	"github.com/tvmffi-go/tvmffi/internal/symbols"
	"github.com/tvmffi-go/tvmffi/native"
)

func newBuild(con *console.Console, p *probe.Prober) *cobra.Command {
	var code native.Code
	var output string
	var verbose bool
	cmd := &cobra.Command{
		Use:   "build -o LIBRARY SOURCE...",
		Short: "Compile C++ or CUDA to a library that gen can bind",
		Long: `build compiles sources with the C++ compiler of this machine (CXX, or g++, or clang++)
and with nvcc (.cu), against the headers of the libtvm_ffi that setup finds, and links
them to a shared library. It passes the flags that "config" prints.`,
		Example: `  //go:generate go tool tvmffi-bind build -o libgarden.so native/garden.cc
  //go:generate go tool tvmffi-bind gen --lib libgarden.so --package garden --out garden`,
		Args: console.Takes(1, math.MaxInt),
		RunE: func(cmd *cobra.Command, files []string) error {
			if output == "" {
				return errors.New("-o is missing: name the library to write, as in build -o libgarden.so native/garden.cc")
			}
			file, err := filepath.Abs(output)
			if err != nil {
				return err
			}
			if err := replaceable(file); err != nil {
				return err
			}
			core, err := p.Core(cmd.Context(), "")
			if err != nil {
				return err
			}
			code.Name = strings.TrimPrefix(strings.TrimSuffix(filepath.Base(output), filepath.Ext(output)), "lib")
			code.Files, code.Library = files, core.Path
			if verbose {
				code.Log = con.Err
			}
			_, err = con.Step("compiling", func() error { return native.BuildTo(cmd.Context(), code, file) })
			var failed *native.CompileError
			if errors.As(err, &failed) {
				return console.Refuse("%w", err)
			}
			if err != nil {
				return err
			}
			con.Notef("wrote %s\n", console.Shown(file))
			return nil
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return fmt.Errorf("%w: pass compiler flags with --cxxflag, --nvccflag and --ldflag, as in --cxxflag=-DNAME", err)
	})
	f := cmd.Flags()
	f.StringVarP(&output, "output", "o", "", "library to write, such as libgarden.so")
	f.StringArrayVarP(&code.Include, "include", "I", nil, "folder for #include; may be repeated")
	f.StringArrayVar(&code.CXXFlags, "cxxflag", nil, "flag of the C++ compiler; may be repeated")
	f.StringArrayVar(&code.NVCCFlags, "nvccflag", nil, "flag of nvcc; may be repeated")
	f.StringArrayVar(&code.LinkFlags, "ldflag", nil, "flag of the linker; may be repeated")
	f.StringSliceVar(&code.Arch, "arch", nil, "CUDA architectures, such as 9.0a (default TVM_FFI_CUDA_ARCH_LIST, then the GPU's)")
	f.BoolVar(&verbose, "verbose", false, "show the command lines and what the compilers print")
	_ = cmd.MarkFlagDirname("include")
	return cmd
}

// replaceable returns an error if file exists and is not a library, such as a source.
func replaceable(file string) error {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		return nil
	}
	if _, err := symbols.Read(file); err != nil {
		return console.Refuse("%s is in the way and is not a library: move it, or give -o another name", console.Shown(file))
	}
	return nil
}
