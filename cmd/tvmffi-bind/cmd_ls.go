package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/internal/bindtool/console"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/probe"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/project"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/report"
	"github.com/tvmffi-go/tvmffi/internal/nearest"
	"github.com/tvmffi-go/tvmffi/schema"
)

// lsOptions are the flags of ls.
type lsOptions struct {
	probe.Inputs
	json, all bool
	html      string
}

func newLs(con *console.Console, p *probe.Prober) *cobra.Command {
	var o lsOptions
	cmd := &cobra.Command{
		Use:   "ls [FILE]... [PATTERN]",
		Short: "List the functions and types of libraries",
		Long: `ls shows functions with their signatures, types with fields, methods, constructors
and layout, and the first paragraph of their docs; --html and --json have the whole
docs. PATTERN is a part of a name, or a glob that matches the whole name, such as
"testing.*Pair*".

FILE is a library, or a schema that dump wrote. Without FILE, ls reads the libraries
of ` + project.ConfigName + ` in this folder, or libtvm_ffi.`,
		Example: `  tvmffi-bind ls libgarden.so
  tvmffi-bind ls libgarden.so 'garden.*Bed*'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runLs(cmd.Context(), con, p, &o, args)
		},
	}
	o.Register(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "print the schema as JSON, like dump, with the constructors")
	cmd.Flags().StringVar(&o.html, "html", "", "write a page with the type tree to this file")
	cmd.Flags().BoolVar(&o.all, "all", false, "show libtvm_ffi and the dependencies too")
	cmd.MarkFlagsMutuallyExclusive("json", "html")
	_ = cmd.MarkFlagFilename("html", "html")
	return cmd
}

// runLs runs ls.
func runLs(ctx context.Context, con *console.Console, p *probe.Prober, o *lsOptions, args []string) error {
	args, err := o.Take(args)
	if err != nil {
		return err
	}
	if len(args) > 1 {
		return fmt.Errorf("too many patterns %q: ls takes files and then one pattern, which may contain *", args)
	}
	c, err := o.Source()
	if err != nil {
		return err
	}
	whole, err := p.Read(ctx, c)
	if err != nil {
		return err
	}
	pattern := ""
	if len(args) == 1 {
		pattern = args[0]
	}
	s, err := report.Select(whole, pattern, o.all)
	if err != nil {
		return err
	}
	switch l := report.NewListing(whole, s); {
	case o.json:
		return con.JSON(l.JSON())
	case o.html != "":
		return l.WriteHTML(con, o.html)
	case len(s.Functions)+len(s.Types)+len(s.Flaws) == 0:
		return nothingListed(whole, pattern)
	default:
		l.Print(con)
		return nil
	}
}

// nothingListed says why ls shows nothing.
func nothingListed(s schema.Schema, pattern string) error {
	if pattern == "" {
		return console.Refuse("%s has no TVM-FFI functions or types: name another library, or use --all to include libtvm_ffi", report.BoundNames(s))
	}
	if info, err := os.Stat(pattern); err == nil && info.Mode().IsRegular() {
		return probe.NotLibrary(pattern)
	}
	return console.Refuse("nothing in %s matches %q: name another library, or use --all to include libtvm_ffi%s", report.BoundNames(s), pattern, nearest.Question(pattern, report.ItemNames(s)))
}
