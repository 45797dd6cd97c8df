package main

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/shipment"
)

func newShip(con *console.Console) *cobra.Command {
	var named []string
	cmd := &cobra.Command{
		Use:   "ship PROGRAM DIR [--lib FILE]...",
		Short: "Make the folder that a program needs on another machine",
		Long: `ship copies a built program, the libraries that its bindings load, what these need
themselves, and the licences of all of them into a new folder DIR. The program runs from
there without Python, without the cache of this tool and without a network.

It reads which libraries the program needs from the program, without running it, and takes
those that the program would find: with TVMFFI_LIBRARY and TVMFFI_LIBRARY_PATH, beside it,
in the cache and in installed Python packages. --lib names a library that the program loads
without bindings, or with a path of its own, and the libraries of a program for another
platform. Libraries that lie in folders of the system are not copied: ship lists them.

The licences of Python packages and of Go modules are in DIR/licenses, as far as this
machine has them: ship names the others. DIR is a new or an empty folder. It appears with
all its files or not at all.`,
		Example: `  tvmffi-bind ship weather weather-1.0
  tvmffi-bind ship server image/app --lib model.so`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := args[1]
			p, err := shipment.ReadProgram(args[0])
			if err != nil {
				return err
			}
			if err := shipment.CheckFolder(dir); err != nil {
				return err
			}
			s, err := shipment.New(cmd.Context(), p, named)
			if err != nil {
				return err
			}
			if err := s.Write(dir); err != nil {
				return err
			}
			if len(p.Libraries)+len(named) == 0 {
				con.Notef("%s has no bindings, so only libtvm_ffi goes with it; name what it loads itself with --lib\n", filepath.Base(p.Path))
			}
			for _, name := range s.Unlicensed {
				con.Notef("the licence of %s was not found: add it\n", name)
			}
			con.Notef("the machine must have %s\n", strings.Join(s.System, ", "))
			for _, file := range s.Files {
				con.Printf("%s\n", filepath.Join(dir, filepath.FromSlash(file)))
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&named, "lib", nil, "library file that the program loads; may be repeated")
	_ = cmd.MarkFlagFilename("lib")
	return cmd
}
