package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/files"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/report"
	"github.com/tvmffi-go/tvmffi/schema"
)

func newDump(con *console.Console, p *probe.Prober) *cobra.Command {
	var in probe.Inputs
	var file string
	cmd := &cobra.Command{
		Use:   "dump FILE|NAME[==VERSION]|WHEEL... -o schema.json",
		Short: "Save what libraries offer as JSON",
		Long: `dump reads libraries, those of files or of a Python package, and saves their schema:
everything that gen, ls and diff need to work without the libraries.`,
		Example: `  tvmffi-bind dump libgarden.so -o garden.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := in.TakeAll(args); err != nil {
				return err
			}
			c, err := in.Source(cmd.Context(), p)
			if err != nil {
				return err
			}
			if c.From != "" {
				return errors.New("dump reads libraries, not a schema: name a library")
			}
			s, err := p.Read(cmd.Context(), c)
			if err != nil {
				return err
			}
			data, err := schema.Encode(s)
			if err != nil {
				return err
			}
			if file == "-" {
				return con.Text(data)
			}
			if err := files.WriteOne(file, data, isSchema); err != nil {
				return err
			}
			own := report.Own(s)
			con.Notef("%s: %s and %s of %s; %d and %d with dependencies\n", file, console.Count(len(own.Functions), "function"), console.Count(len(own.Types), "type"),
				report.BoundNames(s), len(s.Functions), len(s.Types))
			return nil
		},
	}
	in.Register(cmd)
	_ = cmd.Flags().MarkHidden("from")
	cmd.Flags().StringVarP(&file, "output", "o", "-", "file to write, - for standard output")
	return cmd
}

// isSchema reports whether data is a schema file, which a new one may replace.
func isSchema(data []byte) bool {
	_, err := schema.Decode(data)
	return err == nil
}
