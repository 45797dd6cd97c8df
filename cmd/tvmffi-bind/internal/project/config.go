package project

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/parser"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/gen/config"
)

// ConfigName is the name under which commands look for a configuration.
const ConfigName = "tvmffi.yaml"

// CorePackage is the Python distribution of libtvm_ffi.
const CorePackage = "apache-tvm-ffi"

// Config says what to bind and where to put it. It comes from a file or from flags.
type Config struct {
	// Package is the name of the Go package, Out the folder for it.
	Package string `yaml:"package"`
	Out     string `yaml:"out"`
	// From is a saved schema to read instead of the libraries.
	From string `yaml:"from,omitempty"`
	// Libraries are bound; Deps are only loaded before them.
	Libraries []LibrarySpec `yaml:"libraries,omitempty"`
	Deps      []LibrarySpec `yaml:"deps,omitempty"`
	// Names lists names files, which say the same as Functions and Enums.
	Names          []string `yaml:"names,omitempty"`
	config.Choices `yaml:",inline"`
	// Kernels are CUDA kernels that become typed funcs. They have a package of their
	// own, so they replace libraries.
	Kernels []KernelSpec `yaml:"kernels,omitempty"`

	file string // the file that it came from or will be written to, "" for flags
	dir  string // relative paths start here
	data []byte // of the file
	// beside reads the files of a configuration that is still to be written; it is nil for others.
	beside func(name string) ([]byte, error)
}

// NewConfig returns an empty configuration whose relative paths start at dir. File is
// the file that it will be written to, or "" if all comes from flags.
func NewConfig(dir, file string) *Config { return &Config{dir: dir, file: file} }

// Add makes c use a names file that is still to be written.
func (c *Config) Add(name string, data []byte) {
	c.Names = append(c.Names, name)
	before := c.beside
	c.beside = func(other string) ([]byte, error) {
		if other == name || before == nil {
			return data, nil
		}
		return before(other)
	}
}

// File returns the file of the configuration, "" if it comes from flags.
func (c *Config) File() string { return c.file }

// Identity returns a text that is another one for every other configuration, and for the same one in another place. It
// returns "" for a configuration of which a part is still to be written.
func (c *Config) Identity() (string, error) {
	dir, err := c.Rooted(".")
	data := c.data
	if err == nil && data == nil {
		data, err = c.Encode()
	}
	if err != nil || c.beside != nil {
		return "", err
	}
	return fmt.Sprintf("%q %q %q", c.file, dir, data), nil
}

// Where returns "file:line:column" of a YAML path such as $.libraries[0], or of the
// nearest node above it.
func (c *Config) Where(path string) string { return locate(c.file, c.data, path) }

// LibrarySpec names one library: a file, or a file inside a Python package.
type LibrarySpec struct {
	File    string `yaml:"file,omitempty"`
	Package string `yaml:"package,omitempty"`
	Version string `yaml:"version,omitempty"`
	Path    string `yaml:"path,omitempty"`
}

// String returns the file, or the package and the path in it.
func (s LibrarySpec) String() string {
	if s.Package == "" {
		return s.File
	}
	return s.Package + ":" + s.Path
}

// FileName returns the name of the file of the library.
func (s LibrarySpec) FileName() string { return path.Base(filepath.ToSlash(cmp.Or(s.File, s.Path))) }

// KernelSpec describes a CUDA kernel; gen.Kernel says what each key means.
type KernelSpec struct {
	Spec  string `yaml:"spec"`
	Name  string `yaml:"name,omitempty"`
	Doc   string `yaml:"doc,omitempty"`
	Entry string `yaml:"entry,omitempty"`
	// Image are files, or patterns such as saxpy.*.cubin, and Source is one file. They
	// lie in the output folder or below, where go:embed finds them.
	Image        OneOrMore `yaml:"image,omitempty"`
	Source       string    `yaml:"source,omitempty"`
	Arch         string    `yaml:"arch,omitempty"`
	Options      []string  `yaml:"options,omitempty"`
	Args         []string  `yaml:"args,omitempty"`
	Grid         OneOrMore `yaml:"grid,omitempty"`
	Block        OneOrMore `yaml:"block,omitempty"`
	Cluster      OneOrMore `yaml:"cluster,omitempty"`
	Shared       string    `yaml:"shared,omitempty"`
	Cooperative  bool      `yaml:"cooperative,omitempty"`
	Programmatic bool      `yaml:"programmatic,omitempty"`
	Empty        string    `yaml:"empty,omitempty"`
	Register     string    `yaml:"register,omitempty"`
}

// OneOrMore is a list of strings. A single item needs no brackets, and a number needs no quotes.
type OneOrMore []string

// UnmarshalYAML reads a list, or a single item in place of a list.
func (l *OneOrMore) UnmarshalYAML(read func(any) error) error {
	var list []string
	if read(&list) == nil {
		*l = list
		return nil
	}
	var one string
	if err := read(&one); err != nil {
		return err
	}
	*l = OneOrMore{one}
	return nil
}

// FindConfig returns the path of the configuration in this folder, or in the nearest one
// above it in the same module: a file further up may be anybody's, and names code to load.
// If there is none, it returns an error that names the configurations below this folder.
func FindConfig() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(wd); err == nil {
		wd = real // Getwd may return a path with links, above which .. does not lead
	}
	exists := func(dir, name string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return err == nil && info.Mode().IsRegular()
	}
	top := wd // of the module
	for ; !exists(top, "go.mod"); top = filepath.Dir(top) {
		if top == filepath.Dir(top) {
			top = wd
			break
		}
	}
	for dir, up := wd, ""; ; dir, up = filepath.Dir(dir), filepath.Join(up, "..") {
		if exists(dir, ConfigName) {
			return filepath.Join(up, ConfigName), nil
		}
		if dir == top {
			break
		}
	}
	below := ""
	if found := configsBelow(); len(found) > 0 {
		below = fmt.Sprintf("; name one with --config, or run the command in its folder: there is %s", strings.Join(found, ", "))
	}
	return "", fmt.Errorf("no configuration at %s: write one with \"%s init\", or say what to bind with --lib, --package and --out%s", ConfigName, console.Command(), below)
}

// configsBelow lists configurations in the sub-folders, such as the modules of a workspace.
func configsBelow() []string {
	var all []string
	for _, pattern := range []string{"*/", "*/*/"} {
		found, _ := filepath.Glob(filepath.FromSlash(pattern + ConfigName)) // the pattern is valid
		all = append(all, found...)
	}
	return all[:min(len(all), 5)]
}

// IsPattern reports whether an argument stands for all configurations in a folder and below it, such as ./...
func IsPattern(arg string) bool {
	return arg == "..." || strings.HasSuffix(filepath.ToSlash(arg), "/...")
}

// Configs returns the configurations that a pattern stands for, in the order of their paths. As the go command does, it leaves out
// other modules, folders named testdata or vendor, and those whose name begins with a dot or _. It is an error if there are none, or if
// a folder cannot be read: the configurations of the others are returned with it.
func Configs(pattern string) ([]string, error) {
	dir := filepath.Clean(strings.TrimSuffix(pattern, "..."))
	var all []string
	var unread error
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil && entry != nil && file != dir {
			unread = errors.Join(unread, fmt.Errorf("%w: make the folder readable, or name the others one by one", err))
			return filepath.SkipDir
		}
		if err != nil {
			return err
		}
		switch name := entry.Name(); {
		case name == ConfigName && !entry.IsDir():
			all = append(all, file)
		case entry.IsDir() && file != dir:
			_, module := os.Stat(filepath.Join(file, "go.mod"))
			if module == nil || name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
				return filepath.SkipDir
			}
		}
		return nil
	})
	if err = errors.Join(err, unread); err == nil && len(all) == 0 {
		err = fmt.Errorf("%s stands for no %s: name the folder of a module that has some", pattern, ConfigName)
	}
	return all, err
}

// ReadConfig reads and checks a configuration file. Its errors start with the
// file, line and column.
func ReadConfig(file string) (*Config, error) {
	data, err := ReadFile(file, maxConfigLen)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("no configuration at %s: correct the path, or write one with \"%s init\"", file, console.Command())
	}
	if err != nil {
		return nil, err
	}
	return parseConfig(file, data)
}

// parseConfig is [ReadConfig] of a file with that content.
func parseConfig(file string, data []byte) (*Config, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors begin a file with this mark
	if err := checkDepth(file, data); err != nil {
		return nil, err
	}
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, positioned(file, err)
	}
	c := &Config{}
	for i, doc := range tree.Docs {
		if i > 0 && doc.Body != nil {
			return nil, fmt.Errorf("%s:%d:1: a second document begins here, expected one: write it to a configuration of its own", file, firstToken(doc.Body).Position.Line)
		}
		if doc.Body == nil {
			continue
		}
		if doc.Body, err = asWritten(file, doc.Body, reflect.TypeFor[Config]()); err != nil {
			return nil, err
		}
		if err := yaml.NewDecoder(bytes.NewReader(nil), yaml.Strict()).DecodeFromNode(doc.Body, c); err != nil {
			return nil, positioned(file, err)
		}
	}
	c.file, c.dir, c.data = file, filepath.Dir(file), data
	if path, problem := c.Problem(); problem != nil {
		return nil, fmt.Errorf("%s: %w", c.Where(path), problem)
	}
	return c, nil
}

// Encode returns the content of a new configuration file.
func (c *Config) Encode() ([]byte, error) {
	data, err := yaml.MarshalWithOptions(c, yaml.IndentSequence(true))
	return append([]byte("# What tvmffi-bind gen binds. Run: go generate ./...\n"), data...), err
}

// CoreVersion returns the version of libtvm_ffi that the configuration asks for, or ""
// for any.
func (c *Config) CoreVersion() string {
	for _, s := range append(slices.Clone(c.Deps), c.Libraries...) {
		if s.Package == CorePackage && s.Version != "" {
			return s.Version
		}
	}
	return ""
}

// Rooted returns a path of the configuration as an absolute path.
func (c *Config) Rooted(path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.dir, path)
	}
	return filepath.Abs(path)
}

// LockFile returns the path of the lock of c: beside the configuration file, or in the
// output folder if there is no such file.
func (c *Config) LockFile() (string, error) {
	if c.file == "" {
		return c.Rooted(filepath.Join(c.Out, LockName))
	}
	base := filepath.Base(c.file)
	return c.Rooted(strings.TrimSuffix(base, filepath.Ext(base)) + ".lock")
}

// PackageName makes the name of a Go package from the name of a library:
// libtvm_ffi_testing.so becomes tvmffitesting.
func PackageName(file string) string {
	base, _, _ := strings.Cut(filepath.Base(file), ".")
	base = strings.TrimPrefix(base, "lib")
	name := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return unicode.ToLower(r)
		}
		return -1
	}, base)
	name = strings.TrimLeft(name, "0123456789")
	if _, err := (&Config{Package: name, Out: ".", From: "x"}).Problem(); name == "" || err != nil {
		return "lib" + name
	}
	return name
}
