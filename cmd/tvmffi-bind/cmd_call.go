package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/bindings"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/report"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/jsonlines"
	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

func newCall(con *console.Console, p *probe.Prober) *cobra.Command {
	var in probe.Inputs
	cmd := &cobra.Command{
		Use:   "call FILE|PACKAGE[==VERSION]|WHEEL... NAME ['JSON ARGS']",
		Short: "Call a function and print its result as JSON",
		Long: `call loads libraries, those of files or of a Python package, calls a function of the registry or of a module with the
arguments of a JSON array, and prints the result as JSON. A value without
a JSON form, such as an object, is printed as a string. The call runs in a
separate process. An argument out of the range of an int of a certain width, which the
configuration or its names files say, is refused: C++ would cut it.`,
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
			if err := checkWidths(cmd.Context(), con, p, c, args[0], values); err != nil {
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

// checkWidths returns an error if an argument does not fit the width that the hints of c say.
func checkWidths(ctx context.Context, con *console.Console, p *probe.Prober, c *project.Config, name, values string) error {
	if len(c.Functions)+len(c.Names) == 0 {
		return nil
	}
	s, err := p.Read(ctx, c)
	if err != nil {
		return err
	}
	all, err := bindings.Hinted(s, c)
	if err != nil {
		con.Notef("the widths of ints are not checked, because gen refuses the configuration or a names file: %s\n", console.FirstLines(err.Error()))
		return nil
	}
	types := all["function:"+name].Types
	d := json.NewDecoder(strings.NewReader(values))
	d.UseNumber()
	var args []any
	if err := d.Decode(&args); err != nil || types == nil || len(args) != len(types.Params) {
		return err // the library knows the count
	}
	for i, param := range types.Params {
		if n, v, ok := misfit(param.Type, args[i]); !ok {
			what := fmt.Sprintf("argument %d", i)
			if param.Name != "" {
				what += " (" + param.Name + ")"
			}
			return console.Refuse("%s: %s: found %s, expected %s, %s: the library would cut it", name, what, v, n.Name, n.Range())
		}
	}
	return nil
}

// misfit finds an integer in a JSON value that a type does not hold.
func misfit(t schema.TypeSchema, v any) (hints.Integer, json.Number, bool) {
	t = t.Normalized()
	if n, narrow := hints.IntegerOf(t); narrow {
		number, ok := v.(json.Number)
		i, err := number.Int64()
		large := err != nil && n.Name == "uint64" // which the library checks
		return n, number, !ok || large || strings.ContainsAny(number.String(), ".eE") || err == nil && n.Holds(i)
	}
	check := func(t schema.TypeSchema, values ...any) (hints.Integer, json.Number, bool) {
		for _, v := range values {
			if n, number, ok := misfit(t, v); !ok {
				return n, number, false
			}
		}
		return hints.Integer{}, "", true
	}
	list, _ := v.([]any)
	object, _ := v.(map[string]any)
	kind, _ := crossing.Named(t.Name)
	switch class := crossing.Rows[kind].Class; {
	case len(t.Args) == 0:
	case t.Name == "Optional" && v != nil:
		return check(t.Args[0], v)
	case kind == crossing.KindVariant:
		if i := slices.IndexFunc(t.Args, func(t schema.TypeSchema) bool { return takes(t, v) }); i >= 0 {
			return check(t.Args[i], v)
		}
	case class == crossing.Sequence:
		return check(t.Args[0], list...)
	case t.Name == "Tuple" && len(list) == len(t.Args):
		for i, x := range list {
			if n, number, ok := check(t.Args[i], x); !ok {
				return n, number, false
			}
		}
	case class == crossing.Mapping:
		return check(t.Args[1], slices.Collect(maps.Values(object))...)
	}
	return hints.Integer{}, "", true
}

// takes reports whether an alternative of a Variant is the one for a JSON value, as far as misfit looks into it: C++ takes the first
// one of the kind of the value.
func takes(t schema.TypeSchema, v any) bool {
	t = t.Normalized()
	if t.Name == "Optional" && len(t.Args) == 1 {
		return v != nil && takes(t.Args[0], v)
	}
	kind, _ := crossing.Named(t.Name)
	switch v := v.(type) {
	case json.Number:
		_, narrow := hints.IntegerOf(t)
		return (narrow || kind == crossing.KindInt) && !strings.ContainsAny(v.String(), ".eE")
	case []any:
		return crossing.Rows[kind].Class == crossing.Sequence || t.Name == "Tuple" && len(t.Args) == len(v)
	case map[string]any:
		return crossing.Rows[kind].Class == crossing.Mapping
	}
	return false
}

// checkArray returns an error if text is not a JSON array.
func checkArray(text string) error {
	var list []json.RawMessage
	err := json.Unmarshal([]byte(text), &list)
	if err == nil {
		if err := jsonlines.CheckBig([]byte(text)); err != nil {
			return fmt.Errorf("the arguments: %w", err)
		}
		return nil
	}
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		err = fmt.Errorf("%s is not an array", text)
	}
	return fmt.Errorf("the arguments must be a JSON array such as '[1, \"two\"]': %w", err)
}
