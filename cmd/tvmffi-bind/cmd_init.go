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
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/bindings"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/pynames"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/report"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
	"github.com/tvmffi-go/tvmffi/schema"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

func newInit(con *console.Console, p *probe.Prober) *cobra.Command {
	var deps []string
	var call, noCall bool
	cmd := &cobra.Command{
		Use:   "init NAME[==VERSION]|WHEEL|FILE...",
		Short: "Start a program that uses a library: configuration, bindings, main and tests",
		Long: `Run init in the folder of a Go module. It writes a configuration, a go:generate line,
the bindings, a main that calls a real function, a test and an example. It never
overwrites a file.

FILE is a library. NAME is a Python package, which pip or uv downloads, and WHEEL the
file of one: init binds the libraries of TVM-FFI in it, with the libtvm_ffi that it
asks for and the libraries that it needs from other packages, and takes the names of
parameters from its Python sources. The lock records the hashes. For these packages init
has a program and names of its own:
` + strings.Join(project.KnownNames(), ", ") + `.

For any other library, init looks for a function that main can call. It calls a few of
those without parameters, each in a process of its own and in an empty folder, and takes
the first that works. With --call it then goes on with made-up arguments, which a function
such as remove_files(str) should not get. With --no-call it calls nothing. If no function
works, main only loads the library.`,
		Example: `  go mod init example.com/hello
  go get -tool ` + project.ToolPath + `
  go tool tvmffi-bind init xgrammar
  go run .`,
		Args: console.Takes(1, math.MaxInt),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return project.KnownNames(), cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runInit(cmd.Context(), con, p, args, deps, call, noCall)
		},
	}
	cmd.Flags().StringArrayVar(&deps, "dep", nil, "library file to load first but not to bind; may be repeated")
	cmd.Flags().BoolVar(&call, "call", false, "call functions of the library with made-up arguments, too")
	cmd.Flags().BoolVar(&noCall, "no-call", false, "call no function of the library: main only loads it")
	cmd.MarkFlagsMutuallyExclusive("call", "no-call")
	_ = cmd.MarkFlagFilename("dep")
	return cmd
}

// runInit runs init: it writes the files of a new program, all of them or none.
func runInit(ctx context.Context, con *console.Console, p *probe.Prober, args, deps []string, call, noCall bool) error {
	start, err := startFor(args, deps)
	if err != nil {
		return err
	}
	start.call, start.noCall = call, noCall
	if err := start.refuseExisting(); err != nil {
		return err
	}
	if err := bindings.Check(ctx, start.config); err != nil {
		return err // before a download
	}
	b, err := start.generate(ctx, con, p)
	if err != nil {
		return err
	}
	files, err := start.files(ctx, con, p, b)
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
	if none, all := unnamed(b.Schema); none > 0 && start.subject.Package == "" {
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
	config  *project.Config
	subject *probe.Subject
	known   *project.KnownPackage // the recipe, nil without one
	hints   []byte                // the names file from the sources of a package
	call    bool                  // call functions with made-up arguments, too
	noCall  bool                  // call no function
}

// startFor finds out what to bind.
func startFor(args, deps []string) (*start, error) {
	subject, err := probe.NewPackage(args, deps)
	if err != nil {
		return nil, err
	}
	for _, file := range subject.Files {
		switch info, err := os.Stat(file); {
		case errors.Is(err, fs.ErrNotExist):
			return nil, probe.NoLibrary(file)
		case err != nil:
			return nil, err
		case info.IsDir():
			if err := refuseSecond(file); err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("name a library file in the folder %s, or a Python package as NAME==VERSION", file)
		}
	}
	s := &start{subject: subject, known: subject.Known}
	if s.config, err = subject.Config(project.ConfigName); err == nil && s.known == nil {
		s.name()
	}
	return s, err
}

// name names the package of the bindings after the library.
func (s *start) name() {
	s.config.Package = project.PackageName(s.subject.Name())
	s.config.Out = "./" + s.config.Package
}

// generate gets the libraries and makes the bindings. The recipe of a known package serves for other versions, too, if its
// program compiles with their bindings.
func (s *start) generate(ctx context.Context, con *console.Console, p *probe.Prober) (*bindings.Result, error) {
	dir, err := p.Open(ctx, s.subject, s.config)
	if err != nil {
		return nil, err
	}
	if s.subject.Package != "" && !s.subject.Exact {
		if err := s.readNames(ctx, con, p, dir); err != nil {
			return nil, err
		}
	}
	if s.known != nil {
		b, err := bindings.Generate(ctx, p, s.config)
		if s.subject.Exact || ctx.Err() != nil {
			return b, err
		}
		if err == nil {
			program, failed := s.program(ctx, con, p, b)
			if failed != nil {
				return nil, failed
			}
			if err = b.Compiles(s.config, program); err == nil {
				return b, nil
			}
		}
		con.Notef("going on without the program and the names that init has for another version of %s, which do not fit %s: %s\n", s.subject.Name(), dir.Spec(), console.FirstLines(err.Error()))
		plain := project.NewConfig(".", project.ConfigName)
		plain.Libraries, plain.Deps = s.config.Libraries, s.config.Deps
		s.known, s.config = nil, plain
		s.name()
		if s.hints != nil {
			s.config.Add(s.hintsFile(), s.hints)
		}
		if err := s.refuseExisting(); err != nil {
			return nil, err
		}
	}
	return bindings.Generate(ctx, p, s.config)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// hintsFile is the file for the hints.
func (s *start) hintsFile() string { return s.config.Package + project.NamesEnd }

// readNames reads the names in the sources of a Python package. Without names, the
// bindings are as good as for a library file.
func (s *start) readNames(ctx context.Context, con *console.Console, p *probe.Prober, dir wheel.Dir) error {
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
	s.config.Add(s.hintsFile(), s.hints)
	r.Print(con, s.hintsFile())
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
			if err := refuseSecond(name); err != nil {
				return err
			}
			return console.Refuse("%s already exists, and init overwrites nothing: remove it, or run init in a new module", console.Shown(name))
		}
	}
	return nil
}

// refuseSecond returns an error if there is a configuration here, so that init need not go on because of an item that
// exists.
func refuseSecond(name string) error {
	if !exists(project.ConfigName) {
		return nil
	}
	return console.Refuse("run \"%s gen\" to write the bindings of %s again, or init in a new module for another library: %s already exists, and init overwrites nothing", console.Command(), project.ConfigName, console.Shown(name))
}

const generateName = "generate.go"

// names lists the files that init writes beside the bindings, the configuration first.
func (s *start) names() []string {
	names := []string{project.ConfigName, project.LockName, generateName}
	if s.hints != nil {
		names = append(names, s.hintsFile())
	}
	if s.known == nil {
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
func (s *start) files(ctx context.Context, con *console.Console, p *probe.Prober, b *bindings.Result) (map[string][]byte, error) {
	text, err := s.program(ctx, con, p, b)
	if err != nil {
		return nil, err
	}
	text[generateName] = []byte("package main\n\n//go:generate go tool tvmffi-bind gen\n")
	return text, nil
}

// program returns the configuration, main and its tests.
func (s *start) program(ctx context.Context, con *console.Console, p *probe.Prober, b *bindings.Result) (map[string][]byte, error) {
	data := project.Scaffold{Package: s.config.Package, Import: b.ImportPath}
	if s.known != nil {
		text, err := s.known.Files(data)
		if err == nil && !s.subject.Exact {
			text[project.ConfigName], err = s.config.Encode()
			if s.hints != nil {
				text[s.hintsFile()] = s.hints
			}
		}
		return text, err
	}
	for _, spec := range slices.Concat(s.config.Deps, s.config.Libraries) {
		if spec.File != "" {
			data.Files = append(data.Files, spec.File)
		}
	}
	data.Lacks = strings.Join(p.StandIns, ", ")
	if err := s.sample(ctx, con, p, b, &data); err != nil {
		return nil, err
	}
	text, err := project.LibraryProgram(data)
	if err != nil {
		return nil, err
	}
	text[s.example()] = text[project.ExampleName]
	delete(text, project.ExampleName)
	if s.hints != nil {
		text[s.hintsFile()] = s.hints
	}
	text[project.ConfigName], err = s.config.Encode()
	return text, err
}

// mostTries bounds how many functions init calls, and tryTimeout the time for one.
const (
	mostTries  = 8
	tryTimeout = 20 * time.Second
)

// sample chooses the function that the program calls. It makes the call itself, in a process of its own: a call that fails
// does not belong into a first program, and the example shows its result.
func (s *start) sample(ctx context.Context, con *console.Console, p *probe.Prober, b *bindings.Result, data *project.Scaffold) error {
	samples, err := b.Samples()
	if err != nil {
		return err
	}
	if len(samples) > 0 {
		data.Such = samples[0].Call
	}
	if data.Lacks != "" { // a call may need what the machine lacks
		return nil
	}
	data.Output = "the library is loaded"
	if s.noCall {
		return nil
	}
	all := len(samples)
	if !s.call {
		samples = slices.DeleteFunc(samples, func(x bindings.Sample) bool { return len(x.Call.Args) > 0 })
	}
	switch err := s.try(ctx, con, p, samples[:min(len(samples), mostTries)], data); {
	case err != nil || data.Call != nil:
		return err
	case len(samples) < all:
		con.Notef("no function without parameters works alone, so main only loads the library; --call tries made-up arguments\n")
	default:
		con.Notef("no function works with arguments that init can make up, so main only loads the library\n")
	}
	return nil
}

// try makes the program call the first of the samples that works.
func (s *start) try(ctx context.Context, con *console.Console, p *probe.Prober, samples []bindings.Sample, data *project.Scaffold) error {
	libs, err := p.Locate(ctx, s.config)
	if err != nil || len(samples) == 0 {
		return err
	}
	trial := *p
	trial.Timeout = min(p.Timeout, tryTimeout)
	_, err = con.Step("trying functions for main", func() error {
		for _, sample := range samples {
			var results [2][]byte
			for i := range results {
				result, thrown, err := trial.Try(ctx, libs, sample.Name, sample.Args)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if err != nil || thrown != "" {
					break
				}
				results[i] = result
			}
			if slices.Contains([]string{"", `""`, "[]"}, string(results[1])) { // it failed, or shows nothing
				continue
			}
			data.Call, data.Output = sample.Call, ""
			// Without arguments, a result is a fact about this machine as often as not.
			if len(sample.Call.Args) > 0 && string(results[0]) == string(results[1]) {
				data.Output = shown(results[0])
			}
			return nil
		}
		return nil
	})
	return err
}

// shown returns what a program prints for a result, "" if an example cannot compare it.
func shown(result []byte) string {
	var value any
	if err := json.Unmarshal(result, &value); err != nil {
		return "" // it is for people
	}
	switch value := value.(type) {
	case bool:
		return fmt.Sprint(value)
	case float64:
		// The last digits of a float may differ elsewhere, and an integer has no exponent.
		if text := fmt.Sprint(value); len(text) <= 6 && !strings.Contains(text, "e") {
			return text
		}
	case string:
		if value != "" && value == strings.TrimSpace(value) && !strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return value
		}
	}
	return ""
}
