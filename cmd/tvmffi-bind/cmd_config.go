package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
	"github.com/tvmffi-go/tvmffi/native"
)

func newCompilerFlags(con *console.Console, p *probe.Prober) *cobra.Command {
	var cxx, ld, asJSON bool
	cmd := &cobra.Command{
		Use:   "config [--cxxflags] [--ldflags]",
		Short: "Print the compiler flags for a C++ library of your own",
		Long: `config prints what g++ and clang++ need to build a TVM-FFI library: the headers and
the library of the libtvm_ffi that setup finds, and the definition that gives
exported functions their metadata.`,
		Example: `  g++ -shared -o libgarden.so garden.cc $(go tool tvmffi-bind config --cxxflags --ldflags)`,
		Args:    console.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			core, err := p.Core(cmd.Context(), "")
			if err != nil {
				return err
			}
			f, err := native.FlagsFor(core.Path)
			if err != nil {
				return err
			}
			if asJSON {
				return con.JSON(f)
			}
			var flags []string
			if cxx || !ld {
				flags = append(flags, f.Compile...)
			}
			if ld || !cxx {
				flags = append(flags, f.Link...)
			}
			return printFlags(con, flags)
		},
	}
	cmd.Flags().BoolVar(&cxx, "cxxflags", false, "only the flags of the compiler")
	cmd.Flags().BoolVar(&ld, "ldflags", false, "only the flags of the linker, which go after the sources")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// printFlags writes flags for $(...) in a shell, which splits at white space and
// ignores quotes there.
func printFlags(con *console.Console, flags []string) error {
	for _, f := range flags {
		if strings.ContainsAny(f, " \t\n*?[") {
			return fmt.Errorf("a shell would split %q: use --json, or set TVMFFI_CACHE to a folder without spaces in its name", f)
		}
	}
	con.Printf("%s\n", strings.Join(flags, " "))
	return nil
}
