package main

import (
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/reflection/schema"
)

func newDiff(t *tool) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff OLD.json NEW.json",
		Short: "Compare the interfaces of two versions of a library",
		Long: `diff compares two schemas that dump wrote. Breaking changes come first; with any,
the exit code is 1.`,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			old, err := readSchema(args[0])
			if err != nil {
				return err
			}
			new, err := readSchema(args[1])
			if err != nil {
				return err
			}
			changes := schema.Diff(old, new)
			if err := t.printChanges(changes, asJSON); err != nil {
				return err
			}
			if len(changes) > 0 && changes[0].Breaking {
				return refuseQuietly("the new interface breaks the old one")
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func (t *tool) printChanges(changes []schema.Change, asJSON bool) error {
	if asJSON {
		if changes == nil {
			changes = []schema.Change{}
		}
		return t.printJSON(changes)
	}
	breaking := 0
	for _, c := range changes {
		line := c.String()
		if c.Breaking {
			breaking++
			line = paint(t.out, text.FgRed, line)
		}
		t.printf("%s\n", line)
	}
	t.notef("%d breaking, %d additive\n", breaking, len(changes)-breaking)
	return nil
}
