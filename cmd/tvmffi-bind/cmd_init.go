package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/bindings"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/pynames"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/report"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

func newInit(con *console.Console, p *probe.Prober) *cobra.Command {
	var deps []string
	cmd := &cobra.Command{
		Use:   "init NAME[==VERSION]|WHEEL|FILE...",
		Short: "Start a program that uses a library: configuration, bindings, main and tests",
		Long: `Run init in the folder of a Go module. It writes a configuration, a go:generate line,
the bindings, a main that calls a real function, a test and an example. It never
overwrites a file.

FILE is a library. NAME is a Python package, which pip or uv downloads, and WHEEL the
file of one: init binds the libraries of TVM-FFI in it, with the libtvm_ffi that it
asks for, and takes the names of parameters from its Python sources. The lock records
the hashes. For these packages init has a program and names of its own:
` + strings.Join(project.KnownNames(), ", ") + `.`,
		Example: `  go mod init example.com/hello
  go get -tool ` + project.ToolPath + `
  go tool tvmffi-bind init xgrammar
  go run .`,
		Args: console.Takes(1, math.MaxInt),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return project.KnownNames(), cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runInit(cmd.Context(), con, p, args, deps)
		},
	}
	cmd.Flags().StringArrayVar(&deps, "dep", nil, "library file to load first but not to bind; may be repeated")
	_ = cmd.MarkFlagFilename("dep")
	return cmd
}

// runInit runs init: it writes the files of a new program, all of them or none.
func runInit(ctx context.Context, con *console.Console, p *probe.Prober, args, deps []string) error {
	start, err := startFor(args, deps)
	if err != nil {
		return err
	}
	if err := start.refuseExisting(); err != nil {
		return err
	}
	if err := bindings.Check(ctx, start.config); err != nil {
		return err // before a download
	}
	switch {
	case start.pkg != "":
		err = start.discover(ctx, con, p)
	case start.known == nil:
		err = p.AddCUDA(ctx, start.config, args)
	}
	if err != nil {
		return err
	}
	b, err := bindings.Generate(ctx, p, start.config)
	if err != nil {
		return err
	}
	files, err := start.files(ctx, p, b)
	if err != nil {
		return err
	}
	never := func([]byte) bool { return false }
	for name, data := range files {
		path, err := filepath.Abs(name)
		if err != nil {
			return err
		}
		if err := b.Output.Put(path, data, never); err != nil {
			return err
		}
	}
	if err := b.Output.Write(); err != nil {
		return err
	}
	report.Summarize(con, b, false)
	for _, name := range start.names() {
		con.Printf("wrote %s\n", name)
	}
	con.Printf("wrote %s/ (%s)\n", filepath.ToSlash(filepath.Clean(start.config.Out)), console.Count(len(b.Files), "file"))
	if !b.Module.HasTool() {
		con.Printf("for go generate, run once: %s\n", b.Module.AddToolCommand())
	}
	if none, all := unnamed(b.Schema); none > 0 && start.pkg == "" && start.known == nil {
		con.Notef("%d of %s have no names: \"%s names FOLDER\" reads them in the sources of the library\n", none, console.Count(all, "parameter"), console.Command())
	}
	if len(p.StandIns) > 0 {
		con.Printf("next, on a machine that has %s: go run .\n", strings.Join(p.StandIns, ", "))
		return nil
	}
	con.Printf("next: go run .\n")
	return nil
}

// start describes the program that init makes.
type start struct {
	config *project.Config
	known  *project.KnownPackage // the recipe, nil without one
	pkg    string                // the Python package or its wheel, "" for library files and for a recipe
	hints  []byte                // the names file of pkg
}

// startFor finds out what to bind.
func startFor(args, deps []string) (*start, error) {
	isName := len(args) == 1 && !probe.NamesFile(args[0]) && !isWheel(args[0]) && !exists(args[0])
	if isName {
		if strings.ContainsAny(strings.Replace(args[0], "==", "", 1), "<>=!~,*") {
			return nil, fmt.Errorf("%q names no single version: write NAME or NAME==VERSION", args[0])
		}
		k, err := recipe(args[0])
		if err != nil {
			return nil, err
		}
		if k != nil {
			if len(deps) > 0 {
				return nil, fmt.Errorf("init knows what %s needs: leave --dep out", args[0])
			}
			c, err := k.Config()
			return &start{config: c, known: k}, err
		}
	}
	c := project.NewConfig(".", project.ConfigName)
	for _, dep := range deps {
		c.Deps = append(c.Deps, specOf(dep))
	}
	s := &start{config: c}
	from := args[0]
	switch {
	case isName:
		s.pkg = args[0]
		from, _, _ = strings.Cut(from, "==")
	case len(args) == 1 && isWheel(args[0]) && exists(args[0]):
		s.pkg, from = args[0], strings.SplitN(filepath.Base(args[0]), "-", 2)[0]
	default:
		for _, file := range args {
			info, err := os.Stat(file)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil, probe.NoLibrary(file)
			case err != nil:
				return nil, err
			case info.IsDir():
				return nil, fmt.Errorf("%s is a folder: name the library file in it; \"%s gen\" writes the bindings of %s again", file, console.Command(), project.ConfigName)
			}
			c.Libraries = append(c.Libraries, specOf(file))
		}
	}
	c.Package = project.PackageName(from)
	c.Out = "./" + c.Package
	return s, nil
}

// specOf names a library file, or, if it lies in a wheel of the cache, the Python package: the cache of another machine
// has another path.
func specOf(file string) project.LibrarySpec {
	if path, err := filepath.Abs(file); err == nil {
		if c, ok := find.InCache(path); ok {
			return project.LibrarySpec{Package: c.Package, Version: c.Version, Path: c.PathInPackage}
		}
	}
	return project.LibrarySpec{File: filepath.ToSlash(file)}
}

func isWheel(file string) bool { return strings.EqualFold(filepath.Ext(file), ".whl") }

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// discover gets the Python package, and reads the names in its sources. Without names, the
// bindings are as good as for a library file.
func (s *start) discover(ctx context.Context, con *console.Console, p *probe.Prober) error {
	dir, err := p.Discover(ctx, s.config, s.pkg)
	if err != nil {
		return err
	}
	read, err := p.Read(ctx, s.config)
	if err != nil {
		return err
	}
	origin := hints.Source{Package: dir.Spec().Package, Version: dir.Spec().Version, SHA256: dir.Spec().SHA256}
	var f hints.File
	var r *pynames.Report
	_, err = con.Step("reading the Python sources", func() (err error) {
		f, r, err = pynames.Read(ctx, []pynames.Input{{Path: dir.Root(), Origin: origin}}, pynames.Options{Interface: &read, Timeout: p.Timeout})
		return err
	})
	if ctx.Err() != nil {
		return err
	}
	if err != nil || len(f.Items) == 0 {
		if none, all := unnamed(read); none > 0 {
			con.Notef("%d of %s have no names: %v\n", none, console.Count(all, "parameter"), errOr(err, "no call in the Python sources is one of a function of the libraries"))
		}
		return nil
	}
	if s.hints, err = f.Encode(); err != nil {
		return err
	}
	s.config.Add(s.config.Package+project.NamesEnd, s.hints)
	r.Print(con, s.config.Names[0])
	return nil
}

// unnamed counts the parameters of the bound libraries that have no name there, and all of them.
func unnamed(s schema.Schema) (none, all int) {
	bound := map[string]bool{}
	for _, l := range s.Libraries {
		bound[l.File] = l.Role == schema.RoleBound
	}
	count := func(library string, sig *schema.Signature, skip int) {
		if !bound[library] || sig == nil {
			return
		}
		for _, p := range sig.Params[min(skip, len(sig.Params)):] {
			all++
			if p.Name == "" {
				none++
			}
		}
	}
	for _, f := range s.Functions {
		count(f.Library, f.Signature, 0)
	}
	for _, t := range s.Types {
		for _, m := range t.Methods {
			skip := 1
			if m.Flags&schema.FlagIsStaticMethod != 0 {
				skip = 0
			}
			count(t.Library, m.Signature, skip)
		}
	}
	return none, all
}

func errOr(err error, text string) error {
	if err != nil {
		return err
	}
	return errors.New(text)
}

// refuseExisting checks before the libraries are read, so that init fails early.
func (s *start) refuseExisting() error {
	for _, pattern := range []string{"*.c", "*.cc", "*.cpp", "*.cxx"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return console.Refuse("the go command builds no package without cgo beside %s, and init writes main.go here: move it to a folder such as native", console.Shown(found[0]))
		}
	}
	for _, name := range append(s.names(), s.config.Out) {
		if _, err := os.Lstat(name); err == nil {
			remedy := "run init in a new module"
			if exists(project.ConfigName) {
				remedy = fmt.Sprintf("use \"%s gen\"", console.Command())
			}
			return console.Refuse("%s already exists, and init overwrites nothing: remove it, or %s", console.Shown(name), remedy)
		}
	}
	return nil
}

const generateName = "generate.go"

// names lists the files that init writes beside the bindings, the configuration first.
func (s *start) names() []string {
	names := []string{project.ConfigName, project.LockName, generateName}
	if s.known == nil {
		if s.hints != nil {
			names = append(names, s.config.Names...)
		}
		return append(names, project.MainName, project.TestName, s.example())
	}
	isConfig := func(name string) bool { return name == project.ConfigName }
	return append(names, slices.DeleteFunc(s.known.FileNames(), isConfig)...)
}

// example returns the path of the example.
func (s *start) example() string {
	return filepath.ToSlash(filepath.Join(s.config.Out, project.ExampleName))
}

// files returns the files that belong to the user from now on: init never touches them
// again.
func (s *start) files(ctx context.Context, p *probe.Prober, b *bindings.Result) (map[string][]byte, error) {
	text, err := s.program(ctx, p, b)
	if err != nil {
		return nil, err
	}
	text[generateName] = []byte("package main\n\n//go:generate go tool tvmffi-bind gen\n")
	return text, nil
}

// program returns the configuration, main and its tests.
func (s *start) program(ctx context.Context, p *probe.Prober, b *bindings.Result) (map[string][]byte, error) {
	data := project.Scaffold{Package: s.config.Package, Import: b.ImportPath}
	if s.known != nil {
		return s.known.Files(data)
	}
	for _, spec := range slices.Concat(s.config.Deps, s.config.Libraries) {
		if spec.File != "" {
			data.Files = append(data.Files, spec.File)
		}
	}
	data.Lacks = strings.Join(p.StandIns, ", ")
	if err := s.sample(ctx, p, b, &data); err != nil {
		return nil, err
	}
	text, err := project.LibraryProgram(data)
	if err != nil {
		return nil, err
	}
	text[s.example()] = text[project.ExampleName]
	delete(text, project.ExampleName)
	if s.hints != nil {
		text[s.config.Names[0]] = s.hints
	}
	text[project.ConfigName], err = s.config.Encode()
	return text, err
}

// sample chooses the function that the program calls. It makes the call itself, if this machine
// can: a call that fails does not belong into a first program, and the example shows its result.
func (s *start) sample(ctx context.Context, p *probe.Prober, b *bindings.Result, data *project.Scaffold) error {
	call, name, err := b.SampleCall()
	if err != nil {
		return err
	}
	data.Call = call
	if data.Lacks != "" {
		return nil
	}
	if call == nil {
		data.Output = "the library is loaded"
		return nil
	}
	if name == "" {
		return nil
	}
	libs, err := p.Locate(ctx, s.config)
	if err != nil {
		return err
	}
	var results [2][]byte
	for i := range results {
		result, thrown, err := p.Call(ctx, libs, name, []byte("["+call.Arguments()+"]"))
		if err != nil || thrown != "" {
			data.Call, data.Output = nil, "the library is loaded"
			return ctx.Err()
		}
		results[i] = result
	}
	if string(results[0]) != string(results[1]) {
		return nil
	}
	var value any
	if err := json.Unmarshal(results[0], &value); err != nil {
		return nil // it is for people
	}
	switch value := value.(type) {
	case bool:
		data.Output = fmt.Sprint(value)
	case float64:
		if text := fmt.Sprint(value); len(text) <= 6 { // the last digits of a float may differ elsewhere
			data.Output = text
		}
	case string:
		if value != "" && value == strings.TrimSpace(value) && !strings.ContainsAny(value, "\r\n") {
			data.Output = value
		}
	}
	return nil
}
