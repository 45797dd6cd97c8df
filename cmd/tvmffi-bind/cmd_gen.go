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

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/bindings"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/files"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/report"
)

// genOptions are the flags of gen.
type genOptions struct {
	probe.Inputs
	pkg, out string
	prefixes []string
	preview
	report string
	timing bool
}

// preview is the flags of gen and export that keep them from writing.
type preview struct{ check, diff, dryRun bool }

func (p *preview) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&p.check, "check", false, "write nothing; fail if the files on disk are stale")
	f.BoolVar(&p.diff, "diff", false, "write nothing; show what would change as a unified diff")
	f.BoolVar(&p.dryRun, "dry-run", false, "write nothing; list what would change")
	cmd.MarkFlagsMutuallyExclusive("check", "diff", "dry-run")
}

func newGen(con *console.Console, p *probe.Prober) *cobra.Command {
	var o genOptions
	cmd := &cobra.Command{
		Use:   "gen [FILE|NAME[==VERSION]|WHEEL]... | gen DIR/...",
		Short: "Write the bindings of a library as a Go package",
		Long: `gen reads libraries, generates a Go package for them, checks that it compiles
together with the files that are already there, and writes it: all of it or nothing.

Flags or a configuration (` + project.ConfigName + `) name what to bind. Without
--prefix everything that the libraries add is bound. Beside the configuration, or
in the output folder, a lock file records the libraries with their hashes and
interfaces, and what each Go name stands for. An item keeps its name: if a name
means another item all the same, gen says so.

After a new version in ` + project.ConfigName + `, gen reads the *.names.json of that library
again, writes the files whose content changes, and says what is new, gone or different
for callers.

DIR/..., such as ./..., stands for each ` + project.ConfigName + ` in that folder and below it, in the
same module. One that fails does not keep the others from being written.`,
		Example: `  //go:generate go tool tvmffi-bind gen --lib ./libgarden.so --package garden --out ./garden
  //go:generate go tool tvmffi-bind gen ./...
  tvmffi-bind gen --check`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if i := slices.IndexFunc(args, project.IsPattern); i >= 0 {
				if len(args) > 1 || o.FromFlags() || o.Config != "" || o.pkg != "" || o.out != "" || len(o.prefixes)+len(o.Deps) > 0 || o.report != "" {
					return fmt.Errorf("%s names configurations, which say what to bind: leave out the other arguments, and all flags but --check, --diff, --dry-run and --timing", args[i])
				}
				return genEach(cmd.Context(), con, p, &o, args[0])
			}
			if err := o.TakeAll(args); err != nil {
				return err
			}
			c, err := o.configuration(cmd.Context(), con, p)
			if err != nil {
				return err
			}
			return runGen(cmd.Context(), con, p, &o, c)
		},
	}
	o.Register(cmd)
	o.preview.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.pkg, "package", "", "name of the Go package")
	f.StringVar(&o.out, "out", "", "folder of the Go package")
	f.StringArrayVar(&o.prefixes, "prefix", nil, "bind registry names with this prefix; may be repeated")
	f.StringVar(&o.report, "report", "", "write a report as JSON to this file, - for standard output")
	f.BoolVar(&o.timing, "timing", false, "show how long each stage took")
	_ = cmd.MarkFlagDirname("out")
	_ = cmd.MarkFlagFilename("report", "json")
	return cmd
}

// configuration returns what the flags or the configuration file say.
func (o *genOptions) configuration(ctx context.Context, con *console.Console, p *probe.Prober) (*project.Config, error) {
	if !o.FromFlags() {
		if o.pkg != "" || o.out != "" || len(o.prefixes)+len(o.Deps) > 0 {
			return nil, errors.New("--package, --out, --prefix and --dep need --lib or --from: put them into the configuration instead")
		}
		if o.Config != "" {
			return project.ReadConfig(o.Config)
		}
		file, err := project.FindConfig()
		if err != nil {
			return nil, err
		}
		noteConfig(con, file)
		return project.ReadConfig(file)
	}
	c, err := o.Flags(ctx, p)
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

// noteConfig says which configuration is used if it is not in this folder.
func noteConfig(con *console.Console, file string) {
	if strings.HasPrefix(file, ".."+string(filepath.Separator)) {
		con.Notef("using %s\n", file)
	}
}

// genEach runs gen for each configuration that a pattern stands for. It goes on after an error, and returns all.
func genEach(ctx context.Context, con *console.Console, p *probe.Prober, o *genOptions, pattern string) error {
	all, err := project.Configs(pattern)
	if len(all) == 0 {
		return err
	}
	var stale error
	var failed []error
	if err != nil {
		failed = append(failed, err)
	}
	for _, file := range all {
		if err := ctx.Err(); err != nil { // the user has ended it
			return errors.Join(append(failed, err)...)
		}
		c, err := project.ReadConfig(file)
		if err == nil {
			err = runGen(ctx, con, p, o, c)
		}
		r, refused := errors.AsType[*console.Refusal](err)
		switch {
		case err == nil:
		case refused && r.Quiet:
			stale = err
		case strings.HasPrefix(err.Error(), file):
			failed = append(failed, err)
		default:
			failed = append(failed, fmt.Errorf("%s: %w", file, err))
		}
	}
	if len(failed) > 0 {
		return errors.Join(failed...)
	}
	return stale
}

// runGen runs gen: it makes the bindings in memory, then does what the flags say.
func runGen(ctx context.Context, con *console.Console, p *probe.Prober, o *genOptions, c *project.Config) error {
	memory := bindings.Remember(c)
	remembers := !o.diff && !o.dryRun && !o.timing && o.report == ""
	if remembers {
		if summary, written, yes := memory.Unchanged(ctx, p, c); yes {
			if o.check {
				upToDate(con, memory.Root(), written)
			} else {
				con.Notef("%s", summary)
			}
			return nil
		}
	}
	b, err := bindings.Generate(ctx, p, c)
	if err != nil {
		return err
	}
	verdict := finish(con, b, o)
	if verdict == nil && !o.diff && !o.dryRun {
		var summary strings.Builder
		report.Summarize(&console.Console{Err: &summary}, b, false)
		memory.Keep(p, c, b, summary.String())
	}
	if o.report != "" {
		return errors.Join(verdict, report.WriteJSON(con, o.report, b))
	}
	return verdict
}

// finish is the last stage: write, or show what would be written.
func finish(con *console.Console, b *bindings.Result, o *genOptions) error {
	switch {
	case o.check:
		return checkFiles(con, b.Root, b.Output, append(b.Changes(), b.Notes...))
	case o.diff:
		con.Printf("%s", b.Output.Diff())
		report.Changes(con, b)
	case o.dryRun:
		if o.report == "-" {
			con.Notef("%s", b.Output.List()) // standard output belongs to the report
		} else {
			con.Printf("%s", b.Output.List())
		}
		report.Summarize(con, b, o.timing)
		report.Changes(con, b)
	default:
		took, err := con.Step("writing", b.Output.Write)
		if err != nil {
			return err
		}
		b.Took("write", took)
		report.Summarize(con, b, o.timing)
		report.Changes(con, b)
	}
	return nil
}

// checkFiles prints which files in dir are stale, for which reasons, and the command
// that writes them.
func checkFiles(con *console.Console, dir string, o *files.Output, reasons []string) error {
	if o.UpToDate() {
		upToDate(con, dir, o.Same)
		return nil
	}
	con.Printf("%s", o.Stale())
	for _, reason := range reasons {
		con.Printf("%s\n", reason)
	}
	con.Printf("run: %s\n", console.WritingCommand(os.Args[1:]))
	return console.RefuseQuietly("files are stale")
}

func upToDate(con *console.Console, dir string, n int) {
	con.Notef("%s: up to date (%d files)\n", console.Shown(dir), n)
}
