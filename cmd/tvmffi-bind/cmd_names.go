package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/files"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/pynames"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// namesOptions are the flags of names.
type namesOptions struct {
	probe.Inputs
	file   string
	noDocs bool
	json   bool
}

func newNames(con *console.Console, p *probe.Prober) *cobra.Command {
	var o namesOptions
	cmd := &cobra.Command{
		Use:   "names [NAME[==VERSION]|WHEEL|FOLDER|FILE]... [-o FILE]",
		Short: "Read parameter names and docs from the sources of a library",
		Long: `names reads the Python and C++ sources that ship with a library and writes what its
registry does not say into a names file: the names of parameters, defaults, enums, docs,
and narrower types. The Python of this machine parses the Python sources. Nothing of
them is run. C++ gives the names of parameters and the widths of ints, also in a folder
of your own. Kernels that check the widths of their arguments need no sources.

With libraries, named by FILE, by flags or by ` + project.ConfigName + `, names leaves out and reports
entries that do not fit them. Without an argument, names reads the Python packages of the
libraries in ` + project.ConfigName + `, and writes the file beside it.`,
		Example: `  tvmffi-bind names
  tvmffi-bind names native
  tvmffi-bind names garden-1.2-py3-none-any.whl --lib libgarden.so -o garden.names.json`,
		RunE: func(cmd *cobra.Command, args []string) error { return runNames(cmd.Context(), con, p, &o, args) },
	}
	o.Register(cmd)
	f := cmd.Flags()
	f.StringVarP(&o.file, "output", "o", "", "file to write, - for standard output (default the *.names.json that the configuration lists, or PACKAGE.names.json beside it, otherwise -)")
	f.BoolVar(&o.noDocs, "no-docs", false, "leave out docs: they belong to their authors, names and types are facts")
	f.BoolVar(&o.json, "json", false, "print the report as JSON")
	return cmd
}

// runNames runs names.
func runNames(ctx context.Context, con *console.Console, p *probe.Prober, o *namesOptions, args []string) error {
	args, err := o.takeLibraries(args)
	if err != nil {
		return err
	}
	c, err := o.Source(ctx, p)
	if err != nil {
		return err
	}
	if o.Config == "" {
		noteConfig(con, c.File())
	}
	if o.json && o.output(c) == "-" {
		return errors.New("--json prints to standard output: name a file for the names with -o")
	}
	inputs, none := pythonSources(ctx, p, c, args)
	library := c.From != "" || len(c.Libraries) > 0
	if none != nil && !(library && errors.Is(none, errNoSources)) {
		return none
	}
	options := pynames.Options{NoDocs: o.noDocs, Timeout: p.Timeout}
	if library {
		s, err := p.Read(ctx, c)
		if err != nil {
			return err
		}
		if none != nil && !pynames.Noted(s) {
			return none
		}
		options.Interface = &s
	}
	var f hints.File
	var r *pynames.Report
	if _, err = con.Step("reading the sources", func() error {
		f, r, err = pynames.Read(ctx, inputs, options)
		return err
	}); err != nil {
		return err
	}
	return o.write(con, c, f, r)
}

// output returns the file to write: the flag -o, the file that the configuration lists, or one beside it.
func (o *namesOptions) output(c *project.Config) string {
	if o.file != "" {
		return o.file
	}
	if c.File() == "" {
		return "-"
	}
	name := c.Package + project.NamesEnd
	if i := slices.IndexFunc(c.Names, func(name string) bool { return strings.HasSuffix(name, project.NamesEnd) && filepath.IsLocal(name) }); i >= 0 {
		name = c.Names[i]
	}
	return filepath.Join(filepath.Dir(c.File()), name)
}

// write writes the names file and reports.
func (o *namesOptions) write(con *console.Console, c *project.Config, f hints.File, r *pynames.Report) error {
	file := o.output(c)
	if len(f.Items) > 0 {
		data, err := f.Encode()
		if err != nil {
			return err
		}
		if file == "-" {
			err = con.Text(data)
		} else {
			err = files.WriteOne(file, data, project.IsNames)
		}
		if err != nil {
			return err
		}
	}
	if o.json {
		if err := con.JSON(r); err != nil {
			return err
		}
	} else {
		r.Print(con, file)
	}
	switch {
	case len(f.Items) > 0:
	case !r.Checked && r.Natives > 0:
		return console.Refuse("C++ names no function without its library: name it by --lib")
	default:
		return console.Refuse("nothing in %s calls or registers a function or type of a library: name the Python package that calls the library, or the C++ that registers them", r.Read())
	}
	if rel, err := filepath.Rel(filepath.Dir(c.File()), file); c.File() != "" && file != "-" && err == nil && !slices.Contains(c.Names, filepath.ToSlash(rel)) {
		con.Notef("for gen to use it, write in %s:\nnames: [%s]\n", c.File(), strings.Join(append(slices.Clone(c.Names), filepath.ToSlash(rel)), ", "))
	}
	return nil
}

// takeLibraries takes the library files out of args, as if --lib named them. The others are sources.
func (o *namesOptions) takeLibraries(args []string) (sources []string, err error) {
	for _, arg := range args {
		if !probe.NamesLibrary(arg) {
			sources = append(sources, arg)
		} else if _, err := o.Take([]string{arg}); err != nil {
			return nil, err
		}
	}
	return sources, nil
}

// errNoSources is the error of pythonSources if nothing names a source.
var errNoSources = errors.New("no library here is in a Python package")

// pythonSources returns where the sources are that the arguments name, or, without arguments, those of the
// Python packages of the libraries.
func pythonSources(ctx context.Context, p *probe.Prober, c *project.Config, args []string) ([]pynames.Input, error) {
	var inputs []pynames.Input
	for _, arg := range args {
		_, err := os.Stat(arg)
		ours := slices.ContainsFunc(c.Libraries, func(s project.LibrarySpec) bool { return s.Package == arg }) // and a folder of bindings
		if form := probe.FormOf(arg); err == nil && !ours || form == probe.WheelFile || form == probe.LibraryFile {
			inputs = append(inputs, pynames.Input{Path: arg})
			continue
		}
		found, err := packageSources(ctx, p, c, arg)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, found)
	}
	if len(args) > 0 {
		return inputs, nil
	}
	for _, spec := range c.Libraries {
		if spec.Package == "" || slices.ContainsFunc(inputs, func(in pynames.Input) bool { return in.Origin.Package == spec.Package }) {
			continue
		}
		found, err := packageSources(ctx, p, c, spec.Package)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, found)
	}
	if len(inputs) == 0 {
		return nil, fmt.Errorf("%w: name the wheel, or the folder with the Python or C++ sources, as in \"%s names native\"", errNoSources, console.Command())
	}
	return inputs, nil
}

// packageSources returns where the sources of a Python package are, NAME or NAME==VERSION: beside its library in the
// configuration, or in a wheel.
func packageSources(ctx context.Context, p *probe.Prober, c *project.Config, what string) (pynames.Input, error) {
	name, version, exact := strings.Cut(what, "==")
	spec := project.LibrarySpec{Package: name, Version: version}
	if i := slices.IndexFunc(c.Libraries, func(s project.LibrarySpec) bool { return s.Package == name && (!exact || s.Version == version) }); i >= 0 {
		spec = c.Libraries[i]
	}
	found, err := p.PythonPackage(ctx, spec)
	if err != nil {
		return pynames.Input{}, err
	}
	return pynames.Input{Path: found.Dir, Origin: hints.Source{Package: name, Version: found.Version, SHA256: found.SHA256}}, nil
}
