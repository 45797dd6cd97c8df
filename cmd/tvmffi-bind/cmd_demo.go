package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/bindings"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/gen"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
	"github.com/tvmffi-go/tvmffi/internal/whole"
)

func newDemo(con *console.Console, p *probe.Prober) *cobra.Command {
	var keep string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Bind and call a real library, from scratch",
		Long: `demo finds or downloads libtvm_ffi, binds its testing library in a new Go module, and
builds and runs a program that uses the bindings. It leaves nothing behind unless
--keep is given.`,
		Args: console.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDemo(cmd.Context(), con, p, keep)
		},
	}
	cmd.Flags().StringVar(&keep, "keep", "", "keep the module of the demo in this new folder")
	_ = cmd.MarkFlagDirname("keep")
	return cmd
}

// demoPackage is the name of the package that the demo generates.
const demoPackage = "ffitest"

func runDemo(ctx context.Context, con *console.Console, p *probe.Prober, keep string) (err error) {
	dir, clean, err := demoFolder(keep)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, clean()) }()

	con.Printf("1. libtvm_ffi, the official build\n")
	core, err := p.Core(ctx, "")
	if err != nil {
		return err
	}
	con.Printf("   %s\n\n", core.Path)

	con.Printf("2. a new Go module\n")
	if err := demoModule(ctx, con, dir); err != nil {
		return err
	}
	if keep == "" {
		con.Printf("   in a temporary folder; --keep DIR keeps it\n\n")
	} else {
		con.Printf("   %s\n\n", console.Shown(dir))
	}

	con.Printf("3. bindings of the testing library\n")
	b, err := demoBindings(ctx, p, dir)
	if err != nil {
		return err
	}
	n := b.Count()
	con.Printf("   %s, %s, %s and %s in %s\n\n", console.Count(n[gen.KindFunction], "function"), console.Count(n[gen.KindType], "type"),
		console.Count(n[gen.KindMethod], "method"), console.Count(n[gen.KindField], "field"), console.Count(len(b.Files), "file"))

	con.Printf("4. a program that uses them\n")
	program, err := project.DemoProgram(project.Scaffold{Package: demoPackage, Import: b.ImportPath})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, project.MainName), program, 0o644); err != nil {
		return err
	}
	con.Printf("%s\n", indented(string(program)))

	con.Printf("5. CGO_ENABLED=0 go build, and run\n")
	out, took, err := demoRun(ctx, con, dir)
	if err != nil {
		return err
	}
	con.Printf("%s\ngo build took %.1f s. In a module of your own: %s init FILE\n", indented(out), took.Seconds(), console.Command())
	return nil
}

// demoBindings writes the bindings of the testing library into a folder below dir.
func demoBindings(ctx context.Context, p *probe.Prober, dir string) (*bindings.Result, error) {
	b, err := bindings.Generate(ctx, p, demoConfig(dir))
	if err != nil {
		if os.Getenv("TVMFFI_LIBRARY") != "" {
			err = fmt.Errorf("the demo also needs the testing library, which TVMFFI_LIBRARY does not name: %w", err)
		}
		return nil, err
	}
	return b, b.Output.Write()
}

// demoRun builds the program in dir and runs it. It returns what the program printed
// and how long the build took.
func demoRun(ctx context.Context, con *console.Console, dir string) (out string, took time.Duration, err error) {
	binary := filepath.Join(dir, "demo")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	took, err = con.Step("building", func() error {
		_, err := inModule(ctx, dir, []string{"CGO_ENABLED=0"}, "go", "build", "-o", binary, ".")
		return err
	})
	if err != nil {
		return "", took, err
	}
	out, err = inModule(ctx, dir, nil, binary)
	return out, took, err
}

// demoFolder makes the folder of the demo and returns how to clean up.
func demoFolder(keep string) (dir string, clean func() error, err error) {
	if keep == "" {
		return whole.Folder("")
	}
	if dir, err = filepath.Abs(keep); err != nil {
		return "", nil, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		if errors.Is(err, os.ErrExist) {
			return "", nil, console.Refuse("%s already exists: give --keep the name of a new folder", keep)
		}
		return "", nil, fmt.Errorf("cannot create the folder of the demo: %w", err)
	}
	return dir, func() error { return nil }, nil
}

func demoConfig(dir string) *project.Config {
	c := project.NewConfig(dir, "")
	c.Package, c.Out = demoPackage, demoPackage
	c.Libraries = []project.LibrarySpec{{Package: project.CorePackage, Path: wheel.PathOfTesting(runtime.GOOS)}}
	c.Prefixes = []string{"testing"}
	return c
}

// demoModule writes a go.mod that uses this version of the bindings: the source that
// the go command finds here, or the release that the tool was built from.
func demoModule(ctx context.Context, con *console.Console, dir string) error {
	mod := fmt.Sprintf("module demo\n\ngo 1.26\n\nrequire %s ", console.ModulePath)
	source, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", console.ModulePath).Output()
	if root := strings.TrimSpace(string(source)); err == nil && root != "" {
		mod += fmt.Sprintf("v0.0.0\n\nreplace %s => %q\n", console.ModulePath, root)
		sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
		if err != nil {
			return fmt.Errorf("the source of %s is incomplete: %w", console.ModulePath, err)
		}
		if err := os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644); err != nil {
			return err
		}
	} else if v := console.Release(); v != "" {
		mod += v + "\n"
	} else {
		return fmt.Errorf("demo needs the source of %s: run it in the repository, in a module that requires it, or as \"go run %s/cmd/tvmffi-bind@latest demo\"", console.ModulePath, console.ModulePath)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o644); err != nil {
		return err
	}
	// A first program that imports the runtime completes go.mod and go.sum.
	first := fmt.Sprintf("package main\n\nimport _ %q\n\nfunc main() {}\n", console.ModulePath+"/runtime/bindrt")
	if err := os.WriteFile(filepath.Join(dir, project.MainName), []byte(first), 0o644); err != nil {
		return err
	}
	_, err = con.Step("building the runtime", func() error {
		_, err := inModule(ctx, dir, []string{"CGO_ENABLED=0"}, "go", "build", "-mod=mod", "-o", os.DevNull, ".")
		return err
	})
	return err
}

// inModule runs a command in dir and returns what it printed. An error has the last
// lines.
func inModule(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOWORK=off", "GOFLAGS="), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, console.LastLines(string(out)))
	}
	return string(out), nil
}

func indented(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, l := range lines {
		if l != "" {
			lines[i] = "   " + l
		}
	}
	return strings.Join(lines, "\n") + "\n"
}
