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
)

// genOptions are the flags of gen.
type genOptions struct {
	inputs
	pkg, out string
	prefixes []string

	check, diff, dryRun bool
	report              string
	timing              bool
}

func newGen(t *tool) *cobra.Command {
	var o genOptions
	cmd := &cobra.Command{
		Use:   "gen [FILE]...",
		Short: "Write the bindings of a library as a Go package",
		Long: `gen reads libraries, generates a Go package for them, checks that it compiles
together with the files that are already there, and writes it: all of it or nothing.

What to bind comes from flags or from a configuration (` + configName + `). Without
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
	o.register(cmd)
	f := cmd.Flags()
	f.StringVar(&o.pkg, "package", "", "name of the Go package")
	f.StringVar(&o.out, "out", "", "folder of the Go package")
	f.StringArrayVar(&o.prefixes, "prefix", nil, "bind registry names that start so; may be repeated")
	f.BoolVar(&o.check, "check", false, "write nothing; fail if the files on disk are stale")
	f.BoolVar(&o.diff, "diff", false, "write nothing; show what would change as a unified diff")
	f.BoolVar(&o.dryRun, "dry-run", false, "write nothing; list what would change")
	f.StringVar(&o.report, "report", "", "write a report as JSON to this file, - for standard output")
	f.BoolVar(&o.timing, "timing", false, "show how long each stage took")
	cmd.MarkFlagsMutuallyExclusive("check", "diff", "dry-run")
	_ = cmd.MarkFlagDirname("out")
	_ = cmd.MarkFlagFilename("report", "json")
	return cmd
}

// configuration is what the flags and the configuration file say together.
func (o *genOptions) configuration() (*config, error) {
	if !o.fromFlags() {
		if o.pkg != "" || o.out != "" || len(o.prefixes)+len(o.deps) > 0 {
			return nil, errors.New("--package, --out, --prefix and --dep go with --lib or --from: put them into the configuration otherwise")
		}
		file := o.config
		if file == "" {
			file = configName
		}
		return readConfig(file)
	}
	c, err := o.source()
	if err != nil {
		return nil, err
	}
	c.Package, c.Out, c.Prefixes = o.pkg, o.out, o.prefixes
	if _, problem := c.problem(); problem != nil {
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
		return t.check(b)
	case o.diff:
		t.Printf("%s", b.output.diff())
	case o.dryRun:
		if o.report == "-" {
			t.Notef("%s", b.output.list()) // standard output belongs to the report
		} else {
			t.Printf("%s", b.output.list())
		}
		t.summarize(b, o.timing)
	default:
		took, err := t.Step("writing", b.output.write)
		if err != nil {
			return err
		}
		b.took("write", took)
		t.summarize(b, o.timing)
	}
	return nil
}

// check says what is stale, why, and which command cures it.
func (t *tool) check(b *bindings) error {
	if len(b.output.changes) == 0 {
		t.Notef("%s: up to date (%d files)\n", console.Shown(b.root), b.output.same)
		return nil
	}
	for _, c := range b.output.changes {
		state := map[string]string{"create": "missing", "update": "stale", "remove": "left over"}[c.verb()]
		t.Printf("%s: %s\n", state, console.Shown(c.path))
	}
	for _, note := range b.lock.changed(b.previous) {
		t.Printf("%s\n", note)
	}
	t.Printf("run: %s\n", console.WritingCommand(os.Args[1:]))
	return console.RefuseQuietly("the bindings are stale")
}
