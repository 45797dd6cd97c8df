package project

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/schema/hints"
)

// NamesEnd ends the names of the files that the tool writes by itself. Others are left alone: a user may have written them.
const NamesEnd = ".names.json"

// IsNames reports whether data is a names file, which a new one may replace.
func IsNames(data []byte) bool {
	_, err := hints.Decode(data)
	return err == nil
}

// ReadNames reads the names files of c, in their order. An error starts with the position of
// the file in c.
func (c *Config) ReadNames() ([]hints.File, error) {
	var all []hints.File
	for i, name := range c.Names {
		f, err := c.readNames(name)
		if err != nil {
			return nil, &console.Refusal{Err: fmt.Errorf("%s: %w", c.Where(fmt.Sprintf("$.names[%d]", i)), err)}
		}
		all = append(all, f)
	}
	return all, nil
}

func (c *Config) readNames(name string) (hints.File, error) {
	data, err := c.readBeside(name)
	if errors.Is(err, fs.ErrNotExist) {
		return hints.File{}, fmt.Errorf("there is no names file %s: write it with \"%s names\", or remove the line", name, console.Command())
	}
	if err != nil {
		return hints.File{}, err
	}
	f, err := hints.Decode(data)
	if err != nil {
		return hints.File{}, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// readBeside reads a names file.
func (c *Config) readBeside(name string) ([]byte, error) {
	if c.beside != nil {
		return c.beside(name)
	}
	file, err := c.Rooted(name)
	if err != nil {
		return nil, err
	}
	return ReadFile(file, hints.MaxLen)
}

// WhereNamed returns "file:line:column" of an entry of the names file with that index in c, and
// the name of the item.
func (c *Config) WhereNamed(index string, path []string) string {
	i, err := strconv.Atoi(index)
	if err != nil || i >= len(c.Names) {
		return c.file
	}
	data, err := c.readBeside(c.Names[i])
	if err != nil {
		return c.Names[i]
	}
	line, column := hints.Position(data, path...)
	return fmt.Sprintf("%s:%d:%d: %s", c.Names[i], line, column, strings.Join(path[1:], ": "))
}
