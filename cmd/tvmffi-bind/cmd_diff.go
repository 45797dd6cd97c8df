package main

import (
	"fmt"
	"os"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
	"github.com/tvmffi-go/tvmffi/gen"
	"github.com/tvmffi-go/tvmffi/schema"
)

func newDiff(con *console.Console, p *probe.Prober) *cobra.Command {
	var asJSON bool
	var deps []string
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Compare the interfaces of two versions of a library",
		Long: `diff compares two libraries, schemas that dump wrote, or Python packages as
NAME==VERSION or by their wheels. Breaking changes come
first; if there are any, the exit code is 1.

An item that moved to another namespace, with its name and its signature, is one
line. --json lists the items. An item that fits several others is reported as
removed and added. If one library with exported functions is there under two file
names, the functions are compared.

A Go name whose item is gone and that a new item takes is a breaking change, too:
callers may compile and do something else.`,
		Example: `  tvmffi-bind diff garden.json libgarden.so
  tvmffi-bind diff old/libgarden.so new/libgarden.so
  tvmffi-bind diff xgrammar==0.2.7 xgrammar==0.2.8`,
		Args: console.Takes(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var both [2]schema.Schema
			for i, file := range args {
				in := probe.Inputs{Deps: deps}
				_, missing := os.Stat(file)
				switch form := probe.FormOf(file); {
				case probe.NamesLibrary(file), form == probe.WheelFile, form == probe.PackageName:
					in.Libs = []string{file}
				case missing != nil && form != probe.SchemaFile:
					return fmt.Errorf("%s is neither a library (.so, .dylib, .dll) nor a package (NAME==VERSION) nor a schema (.json)", file)
				default: // a schema may have any name
					in.From = file
				}
				c, err := in.Source(cmd.Context(), p)
				if err != nil {
					return err
				}
				if both[i], err = p.Read(cmd.Context(), c); err != nil {
					return err
				}
			}
			changes := append(newMeanings(con, both[0], both[1]), schema.Diff(both[0], both[1])...)
			if err := printChanges(con, changes, asJSON); err != nil {
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

// newMeanings returns the Go names that bindings with the usual names would give to other items after a
// change of the library. Bindings keep the name of each item, so the old item is gone.
func newMeanings(con *console.Console, old, new schema.Schema) []schema.Change {
	config := gen.NewConfig("library", "example.com/library")
	before, err := gen.Preview(old, config)
	if err == nil {
		config.Before = &before.Names
		before, err = gen.Preview(new, config)
	}
	if err != nil {
		con.Notef("the Go names are not compared: %s\n", console.FirstLines(err.Error()))
		return nil
	}
	var changes []schema.Change
	for _, m := range before.Meanings {
		name := m.GoName
		if m.Package != "." {
			name = m.Package + "." + name
		}
		changes = append(changes, schema.Change{Breaking: true, Action: schema.Changed, Kind: "Go name", Item: name, Aspect: "meaning", Old: m.Was, New: m.Now})
	}
	return changes
}

func printChanges(con *console.Console, changes []schema.Change, asJSON bool) error {
	if asJSON {
		if changes == nil {
			changes = []schema.Change{}
		}
		return con.JSON(changes)
	}
	breaking := 0
	for _, c := range changes {
		line := c.String()
		if c.Breaking {
			breaking++
			line = con.Paint(text.FgRed, line)
		}
		con.Printf("%s\n", line)
	}
	con.Notef("%d breaking, %d additive\n", breaking, len(changes)-breaking)
	return nil
}
