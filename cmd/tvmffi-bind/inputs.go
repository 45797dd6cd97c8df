package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/reflection/schema"
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
	f.StringVar(&in.config, "config", "", "configuration file (default "+configName+" if there is no --lib and no --from)")
	f.StringArrayVar(&in.libs, "lib", nil, "library file; may be repeated")
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

// fromFlags is true if the flags name the input themselves.
func (in *inputs) fromFlags() bool { return len(in.libs) > 0 || in.from != "" }

// source returns the part of a configuration that the flags or the configuration
// file say about the input. Without any of them it is empty: libtvm_ffi alone.
func (in *inputs) source() (*config, error) {
	if in.fromFlags() {
		c := &config{dir: ".", From: in.from}
		for _, f := range in.libs {
			c.Libraries = append(c.Libraries, librarySpec{File: f})
		}
		for _, f := range in.deps {
			c.Deps = append(c.Deps, librarySpec{File: f})
		}
		return c, nil
	}
	if in.config != "" {
		return readConfig(in.config)
	}
	if _, err := os.Stat(configName); errors.Is(err, fs.ErrNotExist) {
		return &config{dir: "."}, nil
	}
	return readConfig(configName)
}

// read returns the schema that c describes.
func (t *tool) read(ctx context.Context, c *config) (schema.Schema, error) {
	if c.From != "" {
		path, err := c.rooted(c.From)
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
		return schema.Schema{}, fmt.Errorf("there is no schema at %s: write one with \"%s dump --lib FILE -o %s\"", shown(path), commandName(), shown(path))
	}
	if err != nil {
		return schema.Schema{}, err
	}
	s, err := schema.Decode(data)
	if err != nil {
		return schema.Schema{}, fmt.Errorf("%s: %w", shown(path), err)
	}
	return s, nil
}
