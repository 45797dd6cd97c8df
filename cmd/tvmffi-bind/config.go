package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	yamltoken "github.com/goccy/go-yaml/token"

	"github.com/tvmffi-go/tvmffi/internal/bindtool/console"
	"github.com/tvmffi-go/tvmffi/internal/nearest"
)

// configName is the name under which commands look for a configuration.
const configName = "tvmffi.yaml"

// config says what to bind and where to put it. It comes from a file or from flags.
type config struct {
	// Package is the name of the Go package, Out the folder for it.
	Package string `yaml:"package"`
	Out     string `yaml:"out"`
	// From is a saved schema to read instead of the libraries.
	From string `yaml:"from,omitempty"`
	// Libraries are bound; Deps are only loaded before them.
	Libraries []librarySpec `yaml:"libraries,omitempty"`
	Deps      []librarySpec `yaml:"deps,omitempty"`
	// Prefixes selects namespaces such as garden; without any, everything that the
	// libraries add is bound.
	Prefixes []string `yaml:"prefixes,omitempty"`
	// Root is the namespace that becomes the package itself, if gen guesses wrong.
	Root string `yaml:"root,omitempty"`
	// Split says whether sub-namespaces become sub-packages, which is the default.
	Split *bool `yaml:"split,omitempty"`
	// Rename gives the Go name for a registry name.
	Rename map[string]string `yaml:"rename,omitempty"`
	// Skip lists registry names to leave out.
	Skip []string `yaml:"skip,omitempty"`
	// External gives the import path of the Go package that owns a type key.
	External map[string]string `yaml:"external,omitempty"`
	// Kernels are CUDA kernels that become typed funcs. They have a package of their
	// own, so they stand in place of libraries.
	Kernels []kernelSpec `yaml:"kernels,omitempty"`

	file string // the file it came from, "" for flags
	dir  string // relative paths start here
	// where returns "file:line:column" of a YAML path.
	where func(path string) string
}

// librarySpec names one library: a file, or a file inside a Python package.
type librarySpec struct {
	File    string `yaml:"file,omitempty"`
	Package string `yaml:"package,omitempty"`
	Version string `yaml:"version,omitempty"`
	Path    string `yaml:"path,omitempty"`
}

// String is the file, or the package and the path in it.
func (s librarySpec) String() string {
	if s.Package == "" {
		return s.File
	}
	return s.Package + ":" + s.Path
}

// readConfig reads and checks a configuration file. Its errors start with the
// file, line and column.
func readConfig(file string) (*config, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("no configuration at %s: write one with \"%s init\", or say what to bind with --lib, --package and --out", file, console.Command())
	}
	if err != nil {
		return nil, err
	}
	c := &config{file: file, dir: filepath.Dir(file)}
	if err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return nil, positioned(file, err)
	}
	if path, problem := c.problem(); problem != nil {
		return nil, fmt.Errorf("%s: %w", locate(file, data, path), problem)
	}
	c.where = func(path string) string { return locate(file, data, path) }
	return c, nil
}

// positioned puts file, line and column in front of an error of the YAML reader.
func positioned(file string, err error) error {
	var e yaml.Error
	if !errors.As(err, &e) || e.GetToken() == nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	p := e.GetToken().Position
	return fmt.Errorf("%s:%d:%d: %s", file, p.Line, p.Column, explained(e))
}

// explained is the message of an error of the YAML reader, in the words of somebody who
// writes a configuration and not of one who reads the source of this tool.
func explained(e yaml.Error) string {
	message, word := e.GetMessage(), e.GetToken().Value
	switch e := e.(type) {
	case *yaml.UnknownFieldError:
		keys := slices.Concat(keysOf[config](), keysOf[librarySpec](), keysOf[kernelSpec]())
		slices.Sort(keys)
		if near := nearest.Question(word, slices.Compact(keys)); near != "" {
			return message + near
		}
		if e.Token.Position.Column == 1 {
			return message + ": the keys are " + strings.Join(keysOf[config](), ", ")
		}
	case *yaml.TypeError:
		switch e.DstType.Kind() {
		case reflect.Bool:
			return fmt.Sprintf("%q is neither true nor false: write one of them", word)
		case reflect.String:
			return "a list or a mapping stands where a text is expected: write one text"
		}
	case *yaml.UnexpectedNodeTypeError:
		switch e.Expected {
		case ast.SequenceType:
			return message + ": write a list, each item on its line after a dash"
		case ast.MappingType:
			return message + ": write key: value"
		}
	case *yaml.SyntaxError:
		if strings.Contains(message, "mapping value is not allowed") {
			return message + ": put a text that has a colon into quotes"
		}
	}
	return message
}

// keysOf lists the YAML keys of a struct, in order.
func keysOf[T any]() []string {
	var keys []string
	for field := range reflect.TypeFor[T]().Fields() {
		if key, _, _ := strings.Cut(field.Tag.Get("yaml"), ","); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// locate returns "file:line:column" of the node at a YAML path such as
// $.libraries[0], or of the nearest node above it.
func locate(file string, data []byte, path string) string {
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		return file
	}
	for path != "" {
		if node := nodeAt(tree, path); node != nil {
			p := firstToken(node).Position
			return fmt.Sprintf("%s:%d:%d", file, p.Line, p.Column)
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return file + ":1:1"
}

func nodeAt(tree *ast.File, path string) ast.Node {
	p, err := yaml.PathString(path)
	if err != nil {
		return nil
	}
	node, err := p.FilterFile(tree)
	if err != nil {
		return nil
	}
	return node
}

// firstToken is where a node starts; the token of a mapping is its first colon.
func firstToken(node ast.Node) *yamltoken.Token {
	switch n := node.(type) {
	case *ast.MappingNode:
		if len(n.Values) > 0 {
			return n.Values[0].Key.GetToken()
		}
	case *ast.MappingValueNode:
		return n.Key.GetToken()
	}
	return node.GetToken()
}

// problem returns the first thing wrong with c and the YAML path of it.
func (c *config) problem() (path string, err error) {
	switch {
	case c.Package == "":
		return "$", errors.New("package is missing: name the Go package to write")
	case !token.IsIdentifier(c.Package) || c.Package == "main" || c.Package == "_":
		return "$.package", fmt.Errorf("%q cannot be the name of a Go package that others import: it has letters and digits, and is neither main nor a keyword", c.Package)
	case c.Out == "":
		return "$", errors.New("out is missing: name the folder to write to")
	case c.From != "" && len(c.Libraries)+len(c.Deps) > 0:
		return "$.from", errors.New("from replaces libraries and deps: keep one of them")
	case len(c.Kernels) > 0 && (c.From != "" || len(c.Libraries)+len(c.Deps) > 0):
		return "$.kernels", errors.New("kernels have a package of their own: move them, or the libraries, to another configuration")
	case len(c.Kernels) == 0 && c.From == "" && len(c.Libraries) == 0:
		return "$", errors.New("libraries is missing: name at least one library to bind, or list kernels")
	}
	for _, list := range []struct {
		name  string
		specs []librarySpec
	}{{"libraries", c.Libraries}, {"deps", c.Deps}} {
		for i, s := range list.specs {
			if err := s.problem(); err != nil {
				return fmt.Sprintf("$.%s[%d]", list.name, i), err
			}
		}
	}
	return "", nil
}

func (s librarySpec) problem() error {
	switch {
	case s.File == "" && s.Package == "":
		return errors.New("a library needs file, or package and path")
	case s.File != "" && s.Package != "":
		return errors.New("a library has either file or package, not both")
	case s.Package != "" && s.Path == "":
		return fmt.Errorf("path is missing: which file of the Python package %s", s.Package)
	case s.Package == "" && (s.Path != "" || s.Version != ""):
		return errors.New("path and version belong to a library with package")
	case s.Path != "" && !filepath.IsLocal(filepath.FromSlash(s.Path)):
		return fmt.Errorf("path %q leaves the package", s.Path)
	}
	return nil
}

// coreVersion is the version of libtvm_ffi that the configuration asks for, "" if
// any will do.
func (c *config) coreVersion() string {
	for _, s := range append(slices.Clone(c.Deps), c.Libraries...) {
		if s.Package == corePackage && s.Version != "" {
			return s.Version
		}
	}
	return ""
}

// rooted makes a path of the configuration absolute.
func (c *config) rooted(path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.dir, path)
	}
	return filepath.Abs(path)
}

// lockFile is where the lock of c lies: beside the configuration file, or in the
// output folder if the flags said it all.
func (c *config) lockFile() (string, error) {
	if c.file == "" {
		return c.rooted(filepath.Join(c.Out, lockName))
	}
	base := filepath.Base(c.file)
	return c.rooted(strings.TrimSuffix(base, filepath.Ext(base)) + ".lock")
}
