package console

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Takes returns a check for the number of arguments of a command. Its errors show what
// to write.
func Takes(least, most int) cobra.PositionalArgs {
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

// UnknownCommand refuses an argument in the place of a command below root.
func UnknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if near := root.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("unknown command %q; did you mean %s?", args[0], strings.Join(near, " or "))
	}
	return fmt.Errorf("unknown command %q: \"%s --help\" lists them", args[0], commandLine(root))
}

// BadFlag appends to an error of a flag which help lists the flags.
func BadFlag(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%w: \"%s --help\" lists the flags", err, commandLine(cmd))
}

// commandLine returns how the user most likely writes cmd.
func commandLine(cmd *cobra.Command) string {
	return strings.Replace(cmd.CommandPath(), cmd.Root().Name(), Command(), 1)
}
