package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/bindings"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/report"
	"github.com/tvmffi-go/tvmffi/internal/nearest"
)

func newInit(con *console.Console, p *probe.Prober) *cobra.Command {
	return &cobra.Command{
		Use:   "init NAME|FILE",
		Short: "Start a program that uses a library: configuration, bindings, main and a test",
		Long: `Run init in the folder of a Go module. It takes the name of a known package (` + strings.Join(project.KnownNames(), ", ") + `)
or a library file, and writes a configuration, a go:generate line, the bindings, a
main that calls a real function, and a test. It never overwrites a file.`,
		Example: `  go mod init example.com/hello
  go get -tool ` + project.ToolPath + `
  go tool tvmffi-bind init xgrammar
  go run .`,
		Args: console.Takes(1, 1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return project.KnownNames(), cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runInit(cmd.Context(), con, p, args[0])
		},
	}
}

// runInit runs init: it writes the files of a new program, all of them or none.
func runInit(ctx context.Context, con *console.Console, p *probe.Prober, what string) error {
	start, err := startFor(what)
	if err != nil {
		return err
	}
	if err := refuseExisting(start); err != nil {
		return err
	}
	b, err := bindings.Generate(ctx, p, start.config)
	if err != nil {
		return err
	}
	files, err := start.files(b)
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
	con.Printf("next: go run .\n")
	return nil
}

// start describes the program that init makes.
type start struct {
	config *project.Config
	known  *project.KnownPackage // nil for a library file
}

func startFor(what string) (*start, error) {
	if k := project.Known(what); k != nil {
		c, err := k.Config()
		return &start{config: c, known: k}, err
	}
	info, err := os.Stat(what)
	if errors.Is(err, fs.ErrNotExist) && probe.NamesFile(what) {
		return nil, probe.NoLibrary(what)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is neither a library file nor a known package (known: %s): for another library, name its file, as in \"%s init libNAME.so\"%s",
			what, strings.Join(project.KnownNames(), ", "), console.Command(), nearest.WordQuestion(what, project.KnownNames()))
	}
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a folder: name the library file in it", what)
	}
	name := project.PackageName(what)
	c := project.NewConfig(".", project.ConfigName)
	c.Package, c.Out = name, "./"+name
	c.Libraries = []project.LibrarySpec{{File: filepath.ToSlash(what)}}
	return &start{config: c}, nil
}

// refuseExisting checks before the libraries are read, so that init fails early.
func refuseExisting(s *start) error {
	for _, name := range append(s.names(), s.config.Out) {
		if _, err := os.Lstat(name); err == nil {
			return console.Refuse("%s already exists, and init overwrites nothing: remove it, or use \"%s gen\"", console.Shown(name), console.Command())
		}
	}
	return nil
}

const generateName = "generate.go"

// names lists the files that init writes beside the bindings, the configuration first.
func (s *start) names() []string {
	names := []string{project.ConfigName, project.LockName, generateName}
	if s.known == nil {
		return append(names, project.MainName, project.TestName)
	}
	isConfig := func(name string) bool { return name == project.ConfigName }
	return append(names, slices.DeleteFunc(s.known.FileNames(), isConfig)...)
}

// files returns the files that belong to the user from now on: init never touches them
// again.
func (s *start) files(b *bindings.Result) (map[string][]byte, error) {
	text, err := s.program(b)
	if err != nil {
		return nil, err
	}
	text[generateName] = []byte("package main\n\n//go:generate go tool tvmffi-bind gen\n")
	return text, nil
}

// program returns the configuration, main and its test.
func (s *start) program(b *bindings.Result) (map[string][]byte, error) {
	data := project.Scaffold{Package: s.config.Package, Import: b.ImportPath}
	if s.known != nil {
		return s.known.Files(data)
	}
	call, err := b.SampleCall()
	if err != nil {
		return nil, err
	}
	data.File, data.Call = s.config.Libraries[0].File, call
	text, err := project.LibraryProgram(data)
	if err != nil {
		return nil, err
	}
	text[project.ConfigName], err = s.config.Encode()
	return text, err
}
