package main

import (
	"fmt"
	"os"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/internal/bindtool/console"
	"github.com/tvmffi-go/tvmffi/schema"
)

func newDiff(t *tool) *cobra.Command {
	var asJSON bool
	var deps []string
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Compare the interfaces of two versions of a library",
		Long: `diff compares two libraries, or schemas that dump wrote. Breaking changes come
first; with any, the exit code is 1.`,
		Example: `  tvmffi-bind diff garden.json libgarden.so
  tvmffi-bind diff old/libgarden.so new/libgarden.so`,
		Args: console.Takes(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var both [2]schema.Schema
			for i, file := range args {
				in := inputs{deps: deps}
				_, missing := os.Stat(file)
				switch {
				case namesLibrary(file):
					in.libs = []string{file}
				case missing != nil && !isSchemaName(file):
					return fmt.Errorf("%s is neither a library (.so, .dylib, .dll) nor a schema (.json)", file)
				default: // a schema may have any name
					in.from = file
				}
				c, err := in.source()
				if err != nil {
					return err
				}
				if both[i], err = t.read(cmd.Context(), c); err != nil {
					return err
				}
			}
			changes := schema.Diff(both[0], both[1])
			if err := t.printChanges(changes, asJSON); err != nil {
				return err
			}
			if len(changes) > 0 && changes[0].Breaking {
				return console.RefuseQuietly("the new interface breaks the old one")
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	cmd.Flags().StringArrayVar(&deps, "dep", nil, "library file to load first; may be repeated")
	_ = cmd.MarkFlagFilename("dep")
	return cmd
}

func (t *tool) printChanges(changes []schema.Change, asJSON bool) error {
	if asJSON {
		if changes == nil {
			changes = []schema.Change{}
		}
		return t.JSON(changes)
	}
	breaking := 0
	for _, c := range changes {
		line := c.String()
		if c.Breaking {
			breaking++
			line = t.Paint(text.FgRed, line)
		}
		t.Printf("%s\n", line)
	}
	t.Notef("%d breaking, %d additive\n", breaking, len(changes)-breaking)
	return nil
}
