package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/schema"
)

// Inputs are the flags that name the libraries that a command reads.
type Inputs struct {
	Config string
	Libs   []string
	Deps   []string
	From   string
}

// Register defines the flags of a command that reads libraries.
func (in *Inputs) Register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&in.Config, "config", "", "configuration file (default "+project.ConfigName+" here or above if there is no --lib and no --from)")
	f.StringArrayVar(&in.Libs, "lib", nil, "library file, the same as FILE before the other arguments; may be repeated")
	f.StringArrayVar(&in.Deps, "dep", nil, "library file to load first but not to read; may be repeated")
	f.StringVar(&in.From, "from", "", "schema file written by dump, instead of libraries")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
	_ = cmd.MarkFlagFilename("from", "json")
	_ = cmd.MarkFlagFilename("lib")
	_ = cmd.MarkFlagFilename("dep")
	cmd.MarkFlagsMutuallyExclusive("config", "lib")
	cmd.MarkFlagsMutuallyExclusive("config", "from")
	cmd.MarkFlagsMutuallyExclusive("lib", "from")
}

// Take records the libraries at the start of args and returns the rest. A library, a package or a wheel counts
// like one with --lib, a schema like one with --from.
func (in *Inputs) Take(args []string) ([]string, error) {
	for len(args) > 0 && FormOf(args[0]) != Word {
		file := args[0]
		args = args[1:]
		isSchema := FormOf(file) == SchemaFile
		switch {
		case in.Config != "":
			return nil, fmt.Errorf("%s: --config already names the libraries: remove --config or the file", file)
		case isSchema && in.From == "" && len(in.Libs) == 0:
			in.From = file
		case isSchema || in.From != "":
			return nil, fmt.Errorf("%s: a schema cannot be combined with other inputs: name one schema, or libraries", file)
		default:
			in.Libs = append(in.Libs, file)
		}
	}
	return args, nil
}

// TakeAll is like Take, for a command that takes libraries only.
func (in *Inputs) TakeAll(args []string) error {
	rest, err := in.Take(args)
	if err == nil && len(rest) > 0 {
		err = NotLibrary(rest[0])
	}
	return err
}

// NotLibrary returns the error for an argument that should name a library.
func NotLibrary(arg string) error {
	return fmt.Errorf("%s is not a library file: name one that ends in .so, .dylib or .dll, or a path, or a Python package as NAME==VERSION", arg)
}

// IsSchemaName reports whether an argument names a schema file.
func IsSchemaName(arg string) bool { return strings.EqualFold(filepath.Ext(arg), ".json") }

// NamesLibrary reports whether arg is named like a library.
func NamesLibrary(arg string) bool {
	switch strings.ToLower(filepath.Ext(arg)) {
	case ".so", ".dylib", ".dll":
		return true
	}
	return strings.Contains(filepath.Base(arg), ".so.")
}

// completionTimeout limits how long a shell waits for the names in a library, unless its line has the flag --timeout.
const completionTimeout = 3 * time.Second

// Names returns a completion of names: of files until there is one, then of what the
// libraries have. kept selects the names of a schema. A library that cannot be read, or not soon,
// has no names. Nothing is downloaded or printed.
func (in *Inputs) Names(p *Prober, kept func(schema.Schema) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		rest, err := in.Take(args)
		if err != nil || len(rest) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		quiet := *p
		quiet.Console, quiet.Offline, quiet.Timeout = &console.Console{Out: io.Discard, Err: io.Discard}, true, completionTimeout
		if cmd.Flags().Changed("timeout") {
			quiet.Timeout = p.Timeout
		}
		c, err := in.Source(cmd.Context(), &quiet)
		if err != nil || len(c.Libraries) == 0 && c.From == "" || strings.ContainsAny(begun, "/"+string(filepath.Separator)) {
			return nil, cobra.ShellCompDirectiveDefault
		}
		s, err := quiet.Read(cmd.Context(), c)
		if err != nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		names := slices.DeleteFunc(kept(s), func(name string) bool {
			return !strings.HasPrefix(name, begun) || console.Visible(name) != name || strings.ContainsAny(name, "\t\n")
		})
		return names, cobra.ShellCompDirectiveDefault
	}
}

// FromFlags reports whether the flags name the input, so that no configuration is read.
func (in *Inputs) FromFlags() bool { return len(in.Libs) > 0 || in.From != "" }

// Source returns a configuration with the input that the flags or the configuration
// file name. If there is neither, it is empty, which means libtvm_ffi alone. It gets a package that is named.
func (in *Inputs) Source(ctx context.Context, p *Prober) (*project.Config, error) {
	if in.From != "" {
		c := project.NewConfig(".", "")
		c.From = in.From
		for _, f := range in.Deps {
			c.Deps = append(c.Deps, project.LibrarySpec{File: f})
		}
		return c, nil
	}
	if len(in.Libs) > 0 {
		if c := configOf(in.Libs); c != nil && len(in.Deps) == 0 {
			return c, nil
		}
		return in.named(ctx, p)
	}
	if in.Config != "" {
		return project.ReadConfig(in.Config)
	}
	file, err := project.FindConfig()
	if err != nil {
		return project.NewConfig(".", ""), nil
	}
	return project.ReadConfig(file)
}

// named returns a configuration with the libraries that the flags name, and of no file.
func (in *Inputs) named(ctx context.Context, p *Prober) (*project.Config, error) {
	s, err := NewSubject(in.Libs, in.Deps)
	if err != nil {
		return nil, err
	}
	c, err := s.Config("")
	if err == nil {
		_, err = p.Open(ctx, s, c)
	}
	return c, err
}

// Flags is like Source for a command that writes, so that it does not take the configuration of a file, with its lock, for
// the package that the flags name.
func (in *Inputs) Flags(ctx context.Context, p *Prober) (*project.Config, error) {
	if len(in.Libs) > 0 {
		return in.named(ctx, p)
	}
	return in.Source(ctx, p)
}

// configOf returns the configuration here or above, if libs is the name of a package that it binds: that is the version
// that the user has. Otherwise it returns nil.
func configOf(libs []string) *project.Config {
	file, err := project.FindConfig()
	if err != nil || len(libs) != 1 {
		return nil
	}
	c, err := project.ReadConfig(file)
	if err != nil || !slices.ContainsFunc(c.Libraries, func(s project.LibrarySpec) bool { return s.Package == libs[0] }) {
		return nil
	}
	return c
}

// Read returns the schema of the libraries of c, or the saved schema that c names.
func (p *Prober) Read(ctx context.Context, c *project.Config) (schema.Schema, error) {
	if c.From != "" {
		path, err := c.Rooted(c.From)
		if err != nil {
			return schema.Schema{}, err
		}
		return readSchema(path)
	}
	libs, err := p.toRead(ctx, c)
	if err != nil {
		return schema.Schema{}, err
	}
	return p.ReadLibraries(ctx, libs)
}

// toRead is Locate for a command that reads the libraries.
func (p *Prober) toRead(ctx context.Context, c *project.Config) ([]Library, error) {
	libs, err := p.Locate(ctx, c)
	if len(libs) == 1 {
		libs[0].Identity.Role = schema.RoleBound // read libtvm_ffi itself
	}
	return libs, err
}

// Found says which libraries Read would read now, with their hashes. [Prober.LastRead] says the same of those that were read last.
func (p *Prober) Found(ctx context.Context, c *project.Config) (string, error) {
	libs, err := p.toRead(ctx, c)
	if err != nil {
		return "", err
	}
	key, err := json.Marshal(libs)
	return string(key), err
}

// LastRead says which libraries were read last, "" if none.
func (p *Prober) LastRead() string { return string(p.lastKey) }

// maxSchemaLen bounds the file that readSchema reads into memory. Package schema has a lower
// limit, and the error for a schema above that one.
const maxSchemaLen = 1 << 30

// readSchema reads a file that dump wrote.
func readSchema(path string) (schema.Schema, error) {
	data, err := project.ReadFile(path, maxSchemaLen)
	if errors.Is(err, fs.ErrNotExist) {
		return schema.Schema{}, fmt.Errorf("there is no schema at %s: write one with \"%s dump --lib FILE -o %s\"", console.Shown(path), console.Command(), console.Shown(path))
	}
	if err != nil {
		return schema.Schema{}, err
	}
	s, err := schema.Decode(data)
	if err != nil {
		return schema.Schema{}, fmt.Errorf("%s: %w", console.Shown(path), err)
	}
	return s, nil
}
