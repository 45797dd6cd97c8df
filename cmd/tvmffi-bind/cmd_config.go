package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func newCompilerFlags(t *tool) *cobra.Command {
	var cxx, ld, asJSON bool
	cmd := &cobra.Command{
		Use:   "config [--cxxflags] [--ldflags]",
		Short: "Print the compiler flags for a C++ library of your own",
		Long: `config prints what g++ and clang++ need to build a TVM-FFI library: the headers and
the library of the libtvm_ffi that setup finds, and the definition that gives
exported functions their metadata.`,
		Example: `  g++ -shared -o libgarden.so garden.cc $(go tool tvmffi-bind config --cxxflags --ldflags)`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := t.compilerFlags(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return t.printJSON(f)
			}
			var flags []string
			if cxx || !ld {
				flags = append(flags, f.CXX...)
			}
			if ld || !cxx {
				flags = append(flags, f.LD...)
			}
			return t.printFlags(flags)
		},
	}
	cmd.Flags().BoolVar(&cxx, "cxxflags", false, "only the flags of the compiler")
	cmd.Flags().BoolVar(&ld, "ldflags", false, "only the flags of the linker, which go after the sources")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// compilerFlags are what a C++ compiler needs to build a TVM-FFI library.
type compilerFlags struct {
	CXX []string `json:"cxxflags"`
	LD  []string `json:"ldflags"`
}

// compilerFlags belong to the libtvm_ffi that every other command finds.
func (t *tool) compilerFlags(ctx context.Context) (*compilerFlags, error) {
	core, err := t.locateCore(ctx, "")
	if err != nil {
		return nil, err
	}
	lib := filepath.Dir(core.Path)
	pkg := filepath.Dir(lib)
	f := &compilerFlags{
		CXX: []string{"-std=c++17", "-fPIC", "-DTVM_FFI_DLL_EXPORT_INCLUDE_METADATA=1"},
		LD:  []string{"-L" + lib, "-ltvm_ffi"},
	}
	// Older wheels keep the headers of DLPack elsewhere.
	for _, header := range []struct {
		file  string
		roots []string
	}{
		{"tvm/ffi/c_api.h", []string{"include"}},
		{"dlpack/dlpack.h", []string{"include", "3rdparty/dlpack/include"}},
	} {
		i := slices.IndexFunc(header.roots, func(root string) bool { return isFile(filepath.Join(pkg, root, header.file)) })
		if i < 0 {
			return nil, fmt.Errorf("libtvm_ffi at %s comes without the header %s: unset TVMFFI_LIBRARY, so that the Python package with the headers is used", core.Path, header.file)
		}
		if flag := "-I" + filepath.Join(pkg, header.roots[i]); !slices.Contains(f.CXX, flag) {
			f.CXX = append(f.CXX, flag)
		}
	}
	return f, nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// printFlags writes flags for $(...) in a shell, which splits at white space and
// knows no quotes there.
func (t *tool) printFlags(flags []string) error {
	for _, f := range flags {
		if strings.ContainsAny(f, " \t\n*?[") {
			return fmt.Errorf("a shell would tear %q apart: use --json, or set TVMFFI_CACHE to a folder without spaces in its name", f)
		}
	}
	t.printf("%s\n", strings.Join(flags, " "))
	return nil
}
