package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// takes checks how many arguments a command gets. Its errors show the usage, so that
// they tell what to write.
func takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("%s lacks an argument: write %s", cmd.Name(), cmd.UseLine())
		case len(args) > most:
			return fmt.Errorf("%s does not take %q: write %s", cmd.Name(), args[most], cmd.UseLine())
		}
		return nil
	}
}

// unknownCommand refuses what stands in the place of a command and is none.
func unknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if near := root.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("unknown command %q; did you mean %s?", args[0], strings.Join(near, " or "))
	}
	return fmt.Errorf("unknown command %q: \"%s help\" lists them", args[0], commandName())
}

// badFlag adds to an error of a flag where the flags are told.
func badFlag(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%w: \"%s --help\" lists the flags", err, strings.Replace(cmd.CommandPath(), cmd.Root().Name(), commandName(), 1))
}
