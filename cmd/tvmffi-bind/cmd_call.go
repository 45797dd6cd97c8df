package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/report"
	"github.com/tvmffi-go/tvmffi/schema"
)

func newCall(con *console.Console, p *probe.Prober) *cobra.Command {
	var in probe.Inputs
	cmd := &cobra.Command{
		Use:   "call FILE|PACKAGE[==VERSION]|WHEEL... NAME ['JSON ARGS']",
		Short: "Call a function and print its result as JSON",
		Long: `call loads libraries, those of files or of a Python package, calls a function of the registry or of a module with the
arguments of a JSON array, and prints the result as JSON. A value without
a JSON form, such as an object, is printed as a string. The call runs in a
separate process.`,
		Example: `  tvmffi-bind call libgarden.so garden.alive
  tvmffi-bind call libtvm_ffi_testing.so testing.add_one '[41]'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, err := in.Take(args)
			if err != nil {
				return err
			}
			if len(args) < 1 || len(args) > 2 {
				return fmt.Errorf("call takes the library, the name of the function, and its arguments as one JSON array, as in %s call libgarden.so garden.water '[1, 2.5]'", console.Command())
			}
			c, err := in.Source(cmd.Context(), p)
			if err != nil {
				return err
			}
			if c.From != "" {
				return errors.New("a function of a saved schema cannot be called: name the library")
			}
			values := "[]"
			if len(args) == 2 {
				values = args[1]
			}
			if err := checkArray(values); err != nil {
				return err
			}
			libs, err := p.Locate(cmd.Context(), c)
			if err != nil {
				return err
			}
			result, thrown, err := p.Call(cmd.Context(), libs, args[0], []byte(values))
			if err != nil {
				return err
			}
			if thrown != "" {
				return console.Refuse("%s: %s", args[0], thrown)
			}
			con.Printf("%s\n", result)
			return nil
		},
	}
	cmd.ValidArgsFunction = in.Names(p, func(s schema.Schema) []string {
		own := report.Own(s)
		own.Types = nil
		return report.ItemNames(own)
	})
	in.Register(cmd)
	_ = cmd.Flags().MarkHidden("from")
	return cmd
}

// checkArray returns an error if text is not a JSON array.
func checkArray(text string) error {
	var list []json.RawMessage
	err := json.Unmarshal([]byte(text), &list)
	if err == nil {
		return nil
	}
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		err = fmt.Errorf("%s is not an array", text)
	}
	return fmt.Errorf("the arguments must be a JSON array such as '[1, \"two\"]': %w", err)
}
