package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/internal/bindtool/console"
	"github.com/tvmffi-go/tvmffi/internal/bindtool/project"
	"github.com/tvmffi-go/tvmffi/schema"
)

// inputs are the flags that say which libraries a command looks at.
type inputs struct {
	config string
	libs   []string
	deps   []string
	from   string
}

func (in *inputs) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&in.config, "config", "", "configuration file (default "+project.ConfigName+" if there is no --lib and no --from)")
	f.StringArrayVar(&in.libs, "lib", nil, "library file, which may also stand without --lib in front of the other arguments; may be repeated")
	f.StringArrayVar(&in.deps, "dep", nil, "library file to load first, without looking at it; may be repeated")
	f.StringVar(&in.from, "from", "", "schema file written by dump, instead of libraries")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
	_ = cmd.MarkFlagFilename("from", "json")
	_ = cmd.MarkFlagFilename("lib")
	_ = cmd.MarkFlagFilename("dep")
	cmd.MarkFlagsMutuallyExclusive("config", "lib")
	cmd.MarkFlagsMutuallyExclusive("config", "from")
	cmd.MarkFlagsMutuallyExclusive("lib", "from")
}

// take reads the files in front of the arguments, which are as good as --lib, or as
// --from for a schema, and returns the others.
func (in *inputs) take(args []string) ([]string, error) {
	for len(args) > 0 && namesFile(args[0]) {
		file := args[0]
		args = args[1:]
		switch {
		case in.config != "":
			return nil, fmt.Errorf("%s: libraries are in the configuration, or named on the command line: remove --config or the file", file)
		case isSchemaName(file) && in.from == "" && len(in.libs) == 0:
			in.from = file
		case isSchemaName(file) || in.from != "":
			return nil, fmt.Errorf("%s: a schema stands alone: name one schema, or libraries", file)
		default:
			in.libs = append(in.libs, file)
		}
	}
	return args, nil
}

// takeAll is take for a command whose arguments are files, all of them.
func (in *inputs) takeAll(args []string) error {
	rest, err := in.take(args)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%s is no library file: name one that ends in .so, .dylib or .dll, or a path", rest[0])
	}
	return err
}

func isSchemaName(arg string) bool { return strings.EqualFold(filepath.Ext(arg), ".json") }

// namesFile tells a file from the name of a function or type, which has no slash and
// does not end so.
func namesFile(arg string) bool {
	return namesLibrary(arg) || isSchemaName(arg) || strings.ContainsAny(arg, "/"+string(filepath.Separator))
}

// namesLibrary tells a library by its name.
func namesLibrary(arg string) bool {
	switch strings.ToLower(filepath.Ext(arg)) {
	case ".so", ".dylib", ".dll":
		return true
	}
	return strings.Contains(filepath.Base(arg), ".so.")
}

// fromFlags is true if the flags name the input themselves.
func (in *inputs) fromFlags() bool { return len(in.libs) > 0 || in.from != "" }

// source returns the part of a configuration that the flags or the configuration
// file say about the input. Without any of them it is empty: libtvm_ffi alone.
func (in *inputs) source() (*project.Config, error) {
	if in.fromFlags() {
		c := project.NewConfig(".", "")
		c.From = in.from
		for _, f := range in.libs {
			c.Libraries = append(c.Libraries, project.LibrarySpec{File: f})
		}
		for _, f := range in.deps {
			c.Deps = append(c.Deps, project.LibrarySpec{File: f})
		}
		return c, nil
	}
	if in.config != "" {
		return project.ReadConfig(in.config)
	}
	if _, err := os.Stat(project.ConfigName); errors.Is(err, fs.ErrNotExist) {
		return project.NewConfig(".", ""), nil
	}
	return project.ReadConfig(project.ConfigName)
}

// read returns the schema that c describes.
func (t *tool) read(ctx context.Context, c *project.Config) (schema.Schema, error) {
	if c.From != "" {
		path, err := c.Rooted(c.From)
		if err != nil {
			return schema.Schema{}, err
		}
		return readSchema(path)
	}
	libs, err := t.locateAll(ctx, c)
	if err != nil {
		return schema.Schema{}, err
	}
	if len(libs) == 1 {
		libs[0].Identity.Role = schema.RoleBound // look at libtvm_ffi itself
	}
	return t.readLibraries(ctx, libs)
}

// readSchema reads a file that dump wrote.
func readSchema(path string) (schema.Schema, error) {
	data, err := os.ReadFile(path)
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
