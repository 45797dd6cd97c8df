package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/internal/bindtool/console"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/files"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/project"
)

// genOptions are the flags of gen.
type genOptions struct {
	inputs
	pkg, out string
	prefixes []string
	preview
	report string
	timing bool
}

// preview is the flags of gen and export that keep them from writing.
type preview struct{ check, diff, dryRun bool }

func (p *preview) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&p.check, "check", false, "write nothing; fail if the files on disk are stale")
	f.BoolVar(&p.diff, "diff", false, "write nothing; show what would change as a unified diff")
	f.BoolVar(&p.dryRun, "dry-run", false, "write nothing; list what would change")
	cmd.MarkFlagsMutuallyExclusive("check", "diff", "dry-run")
}

func newGen(t *tool) *cobra.Command {
	var o genOptions
	cmd := &cobra.Command{
		Use:   "gen [FILE]...",
		Short: "Write the bindings of a library as a Go package",
		Long: `gen reads libraries, generates a Go package for them, checks that it compiles
together with the files that are already there, and writes it: all of it or nothing.

What to bind comes from flags or from a configuration (` + project.ConfigName + `). Without
--prefix everything that the libraries add is bound. Beside the configuration, or
in the output folder, a lock file records the libraries with their hashes and
interfaces.`,
		Example: `  //go:generate go tool tvmffi-bind gen --lib ./libgarden.so --package garden --out ./garden
  tvmffi-bind gen --check`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.takeAll(args); err != nil {
				return err
			}
			return t.gen(cmd.Context(), &o)
		},
	}
	o.inputs.register(cmd)
	o.preview.register(cmd)
	f := cmd.Flags()
	f.StringVar(&o.pkg, "package", "", "name of the Go package")
	f.StringVar(&o.out, "out", "", "folder of the Go package")
	f.StringArrayVar(&o.prefixes, "prefix", nil, "bind registry names that start so; may be repeated")
	f.StringVar(&o.report, "report", "", "write a report as JSON to this file, - for standard output")
	f.BoolVar(&o.timing, "timing", false, "show how long each stage took")
	_ = cmd.MarkFlagDirname("out")
	_ = cmd.MarkFlagFilename("report", "json")
	return cmd
}

// configuration is what the flags and the configuration file say together.
func (o *genOptions) configuration() (*project.Config, error) {
	if !o.fromFlags() {
		if o.pkg != "" || o.out != "" || len(o.prefixes)+len(o.deps) > 0 {
			return nil, errors.New("--package, --out, --prefix and --dep go with --lib or --from: put them into the configuration otherwise")
		}
		file := o.config
		if file == "" {
			file = project.ConfigName
		}
		return project.ReadConfig(file)
	}
	c, err := o.source()
	if err != nil {
		return nil, err
	}
	c.Package, c.Out, c.Prefixes = o.pkg, o.out, o.prefixes
	if _, problem := c.Problem(); problem != nil {
		flag, rest, _ := strings.Cut(problem.Error(), " ")
		if slices.Contains([]string{"package", "out"}, flag) {
			return nil, fmt.Errorf("--%s %s", flag, rest)
		}
		return nil, problem
	}
	return c, nil
}

// gen is the command: the bindings in memory, then what the flags say about them.
func (t *tool) gen(ctx context.Context, o *genOptions) error {
	c, err := o.configuration()
	if err != nil {
		return err
	}
	b, err := t.generate(ctx, c)
	if err != nil {
		return err
	}
	verdict := t.finish(b, o)
	if o.report != "" {
		return errors.Join(verdict, t.writeReport(o.report, b))
	}
	return verdict
}

// finish is the last stage: write, or show what would be written.
func (t *tool) finish(b *bindings, o *genOptions) error {
	switch {
	case o.check:
		return t.checkFiles(b.root, b.output, b.lock.Changed(b.previous))
	case o.diff:
		t.Printf("%s", b.output.Diff())
	case o.dryRun:
		if o.report == "-" {
			t.Notef("%s", b.output.List()) // standard output belongs to the report
		} else {
			t.Printf("%s", b.output.List())
		}
		t.summarize(b, o.timing)
	default:
		took, err := t.Step("writing", b.output.Write)
		if err != nil {
			return err
		}
		b.took("write", took)
		t.summarize(b, o.timing)
	}
	return nil
}

// checkFiles prints which files in dir are stale, for which reasons, and the command
// that writes them.
func (t *tool) checkFiles(dir string, o *files.Output, reasons []string) error {
	if len(o.Changes) == 0 {
		t.Notef("%s: up to date (%d files)\n", console.Shown(dir), o.Same)
		return nil
	}
	t.Printf("%s", o.Stale())
	for _, reason := range reasons {
		t.Printf("%s\n", reason)
	}
	t.Printf("run: %s\n", console.WritingCommand(os.Args[1:]))
	return console.RefuseQuietly("files are stale")
}
