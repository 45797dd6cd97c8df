package main

import (
	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
)

func newChild(con *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:    probe.ChildCommand + " PIPE",
		Short:  "Load libraries on behalf of another tvmffi-bind",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return probe.Serve(cmd.Context(), con.In, args[0])
		},
	}
}
