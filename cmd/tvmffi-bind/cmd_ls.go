package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/bindings"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/report"
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
		Use:   "ls [FILE|NAME[==VERSION]|WHEEL]... [PATTERN]",
		Short: "List the functions and types of libraries",
		Long: `ls shows functions with their signatures, types with fields, methods, constructors
and layout, and the first paragraph of their docs; --html and --json have the whole
docs. PATTERN is a part of a name, or a glob that matches the whole name, such as
"testing.*Pair*". Types that a configuration or its names files add, such as the widths of
ints, are in the signatures; --json has those of the library.

FILE is a library, or a schema that dump wrote. NAME is a known Python package, NAME==VERSION
any other one, and WHEEL the file of one, as for init. Without these, ls reads the
libraries of ` + project.ConfigName + ` in this folder or above, or libtvm_ffi.`,
		Example: `  tvmffi-bind ls libgarden.so
  tvmffi-bind ls libgarden.so 'garden.*Bed*'
  tvmffi-bind ls xgrammar==0.2.7 Matcher`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runLs(cmd.Context(), con, p, &o, args)
		},
	}
	cmd.ValidArgsFunction = o.Names(p, func(s schema.Schema) []string { return report.ItemNames(report.Own(s)) })
	o.Register(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "print the schema as JSON, like dump, with the constructors")
	cmd.Flags().StringVar(&o.html, "html", "", "write a page with docs and Go declarations to this file")
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
	pattern := strings.Join(args, " ")
	if len(args) > 1 {
		return fmt.Errorf("too many patterns %q: ls takes files and then one pattern, which may contain *", args)
	}
	if pattern == "." || pattern == ".." {
		return refusePath(pattern)
	}
	c, err := o.Source(ctx, p)
	if err != nil {
		return err
	}
	whole, err := p.Read(ctx, c)
	if err != nil {
		return err
	}
	if !o.json && o.html == "" {
		if hinted, err := bindings.WithHints(whole, c); err == nil {
			whole = hinted
		} else {
			con.Notef("the types of the configuration and of names files are not shown, because gen refuses them: %s\n", console.FirstLines(err.Error()))
		}
	}
	s, err := report.Select(whole, pattern, o.all)
	if err != nil {
		return err
	}
	found := len(s.Functions)+len(s.Types)+len(s.Flaws) > 0
	if !found {
		if err := refusePath(pattern); err != nil {
			return err
		}
	}
	if o.Config == "" {
		noteConfig(con, c.File())
	}
	if !o.FromFlags() && c.File() == "" {
		con.Notef("there is no %s here or above, and no library is named, so this is libtvm_ffi\n", project.ConfigName)
	}
	switch l := report.NewListing(whole, s); {
	case o.json:
		return con.JSON(l.JSON())
	case o.html != "":
		names, err := bindings.NamesInGo(whole, c)
		if err != nil {
			con.Notef("the page has no Go declarations, because gen refuses this input: %v\n", err)
		}
		return l.WriteHTML(con, o.html, names)
	case !found:
		return nothingListed(whole, pattern, o.all, o.FromFlags() || c.File() != "")
	default:
		l.Print(con)
		return nil
	}
}

// refusePath returns an error for a pattern that names a file or a folder.
func refusePath(pattern string) error {
	switch info, err := os.Stat(pattern); {
	case err != nil:
		return nil
	case info.IsDir():
		return fmt.Errorf("%s is a folder: name a library file in it, or leave it out", pattern)
	case info.Mode().IsRegular():
		return probe.NotLibrary(pattern)
	}
	return nil
}

// nothingListed says why ls shows nothing.
func nothingListed(s schema.Schema, pattern string, all, named bool) error {
	if pattern == "" {
		return console.Refuse("%s has no TVM-FFI functions or types: name another library, or use --all to include libtvm_ffi", report.BoundNames(s))
	}
	among, more, packages := s, "", ""
	if !named && !strings.ContainsAny(pattern, "*?[.") {
		more = fmt.Sprintf(", or a Python package as %s==VERSION", pattern)
		packages = nearest.WordQuestion(pattern, project.KnownNames())
	}
	if !all && len(s.Libraries) > 1 {
		among, more = report.Own(s), ", or use --all to include libtvm_ffi"
	}
	return console.Refuse("nothing in %s matches %q: name another library%s%s", report.BoundNames(s), pattern, more, cmp.Or(resembling(pattern, report.ItemNames(among)), packages))
}

// resembling asks for names like pattern, which may lack the namespace.
func resembling(pattern string, names []string) string {
	if question := nearest.Question(pattern, names); question != "" {
		return question
	}
	var short []string
	for _, name := range names {
		short = append(short, name[strings.LastIndexByte(name, '.')+1:])
	}
	near := nearest.Names(pattern, short)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + names[slices.Index(short, near[0])] + "?"
}
