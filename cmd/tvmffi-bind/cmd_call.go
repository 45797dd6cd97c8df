package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/internal/bindtool/console"
)

func newCall(t *tool) *cobra.Command {
	var in inputs
	cmd := &cobra.Command{
		Use:   "call FILE... NAME ['JSON ARGS']",
		Short: "Call a function and print its result as JSON",
		Long: `call loads libraries, calls a function of the registry or of a module with the
arguments of a JSON array, and prints the result as JSON. What has no JSON form,
such as an object, is printed as text. The call happens in a process of its own.`,
		Example: `  tvmffi-bind call libgarden.so garden.alive
  tvmffi-bind call libtvm_ffi_testing.so testing.add_one '[41]'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, err := in.take(args)
			if err != nil {
				return err
			}
			if len(args) < 1 || len(args) > 2 {
				return fmt.Errorf("call takes the library, the name of the function, and its arguments as one JSON array, as in %s call libgarden.so garden.water '[1, 2.5]'", console.Command())
			}
			c, err := in.source()
			if err != nil {
				return err
			}
			if c.From != "" {
				return errors.New("a function of a saved schema cannot be called: name the library")
			}
			request := callRequest{Name: args[0], Args: json.RawMessage("[]")}
			if len(args) == 2 {
				request.Args = json.RawMessage(args[1])
			}
			var list []json.RawMessage
			if err := json.Unmarshal(request.Args, &list); err != nil {
				var syntax *json.SyntaxError
				if !errors.As(err, &syntax) {
					err = fmt.Errorf("%s is not an array", request.Args)
				}
				return fmt.Errorf("the arguments must be a JSON array such as '[1, \"two\"]': %w", err)
			}
			libs, err := t.locateAll(cmd.Context(), c)
			if err != nil {
				return err
			}
			reply, err := t.inChild(cmd.Context(), childRequest{Libraries: libs, Call: &request})
			if err != nil {
				return err
			}
			if reply.Thrown != "" {
				return console.Refuse("%s: %s", request.Name, reply.Thrown)
			}
			t.Printf("%s\n", reply.Result)
			return nil
		},
	}
	in.register(cmd)
	_ = cmd.Flags().MarkHidden("from")
	return cmd
}
