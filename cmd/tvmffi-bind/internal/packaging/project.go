package packaging

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/doc/comment"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
)

// Project is a Go package that becomes a Python package.
type Project struct {
	// Dir is the folder of the Go package, Main the folder of the library's main package.
	Dir, Main string
	// Doc is the doc comment of the Go package.
	Doc    string
	Target Target

	linked []linked
	goroot string
}

// linked is a package that is part of the library.
type linked struct {
	ImportPath, Dir string
	Standard        bool
	Module          *struct {
		Path, Version, Dir string
		Main               bool
		Replace            *struct{ Version string }
	}
	GoFiles, CgoFiles, CFiles, CXXFiles, HFiles, SFiles, EmbedFiles, IgnoredGoFiles []string
}

// Read asks the go command which packages the library consists of.
func (p *Project) Read(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-json=ImportPath,Dir,Standard,Module,GoFiles,CgoFiles,CFiles,CXXFiles,HFiles,SFiles,EmbedFiles,IgnoredGoFiles", ".")
	cmd.Dir = p.Main
	cmd.Env = Build{Target: p.Target}.environment("")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w\n%s", err, console.FirstLines(strings.TrimSpace(stderr.String())))
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l linked
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("go list: %w", err)
		}
		p.linked = append(p.linked, l)
	}
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	p.goroot = strings.TrimSpace(string(root))
	return err
}

// own reports whether the files of a package may change: it belongs to the module in which the work is done, or to
// one that go.mod or go.work replaces by a folder.
func (l *linked) own() bool {
	m := l.Module
	return !l.Standard && m != nil && (m.Main || m.Replace != nil && m.Replace.Version == "")
}

// root is the folder of the module of a package, also below a folder vendor.
func (l *linked) root() string {
	if l.Module.Dir != "" {
		return l.Module.Dir
	}
	below := strings.TrimPrefix(l.ImportPath, l.Module.Path)
	return strings.TrimSuffix(l.Dir, filepath.FromSlash(below))
}

// module returns the main package; its module is the module of the project.
func (p *Project) module() (*linked, error) {
	if n := len(p.linked); n > 0 && p.linked[n-1].Module != nil {
		return &p.linked[n-1], nil
	}
	return nil, fmt.Errorf("%s does not belong to a module: run go mod init", console.Shown(p.Dir))
}

// Describe returns what the Go package, its folder and its module say about the distribution. With an empty version,
// the version comes from [VersionOf].
func (p *Project) Describe(ctx context.Context, name, version string) (Metadata, error) {
	m := Metadata{Name: name, Version: version, Summary: summary(p.Doc)}
	if err := CheckDistribution(name); err != nil {
		return m, err
	}
	main, err := p.module()
	if err != nil {
		return m, err
	}
	root := main.root()
	if version == "" {
		m.Version = VersionOf(ctx, root)
	} else if m.Version, err = Version(version); err != nil {
		return m, err
	}
	folders := []string{p.Dir}
	if root != p.Dir {
		folders = append(folders, root)
	}
	m.Description, m.Type = readme(folders)
	if m.Description == nil && p.Doc != "" {
		var parser comment.Parser
		m.Description, m.Type = (&comment.Printer{}).Markdown(parser.Parse(p.Doc)), "text/markdown"
	}
	for _, dir := range folders {
		if m.Licenses, err = licenses(dir, ""); err != nil {
			return m, err
		}
		if len(m.Licenses) > 0 {
			break
		}
	}
	for _, l := range m.Licenses {
		if id := expression(l.Content); id != "" && m.License == "" {
			m.License = id
		}
	}
	m.Source = source(main.Module.Path)
	others, err := p.thirdParty(root)
	m.Licenses = append(m.Licenses, others...)
	return m, err
}

// summary is the first sentence of a doc comment.
func summary(doc string) string {
	text, _, _ := strings.Cut(doc, "\n\n")
	text = strings.Join(strings.Fields(text), " ")
	if i := strings.Index(text, ". "); i > 0 {
		text = text[:i+1]
	}
	if len(text) > 512 { // what package indexes accept
		text = text[:strings.LastIndexByte(text[:512], ' ')]
	}
	return text
}

// readme returns the text of the first README in the folders, and its media type.
func readme(folders []string) (text []byte, media string) {
	for _, dir := range folders {
		for _, kind := range [][2]string{{"README.md", "text/markdown"}, {"README.rst", "text/x-rst"}, {"README.txt", "text/plain"}, {"README", "text/plain"}} {
			if text, err := os.ReadFile(filepath.Join(dir, kind[0])); err == nil {
				return text, kind[1]
			}
		}
	}
	return nil, ""
}

var licenseFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|patents)([-_.].*)?$`)

// licenses returns the licences and notices in a folder, with a prefix before their names.
func licenses(dir, prefix string) ([]License, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []License
	for _, e := range entries {
		if !licenseFile.MatchString(e.Name()) || !e.Type().IsRegular() || path.Ext(e.Name()) == ".go" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, License{Path: prefix + e.Name(), Content: text})
	}
	return all, nil
}

// thirdParty returns the licences of Go and of the other modules that are linked into the library: most of them ask
// that a binary comes with their text.
func (p *Project) thirdParty(own string) ([]License, error) {
	all, err := licenses(p.goroot, "third_party/go/")
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{own: true}
	for _, l := range p.linked {
		if l.Standard || l.Module == nil || seen[l.root()] {
			continue
		}
		seen[l.root()] = true
		more, err := licenses(l.root(), "third_party/"+l.Module.Path+"/")
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	slices.SortStableFunc(all, func(a, b License) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// expressions lists licences, each with words of its text that no licence before it has.
var expressions = []struct {
	id    string
	words []string
}{
	{"Apache-2.0", []string{"Apache License", "Version 2.0"}},
	{"MPL-2.0", []string{"Mozilla Public License", "2.0"}},
	{"MIT", []string{"Permission is hereby granted, free of charge", "to deal in the Software without restriction"}},
	{"ISC", []string{"Permission to use, copy, modify, and", "distribute this software for any purpose with or without fee"}},
	{"BSD-3-Clause", []string{"Redistribution and use in source and binary forms", "contributors may be used to endorse"}},
	{"BSD-2-Clause", []string{"Redistribution and use in source and binary forms", "this list of conditions"}},
}

var spdx = regexp.MustCompile(`SPDX-License-Identifier: *([A-Za-z0-9.+() -]+)`)

// expression recognises a licence by its text. Others have no expression in the metadata, only the text.
func expression(text []byte) string {
	if m := spdx.FindSubmatch(text); m != nil {
		return strings.TrimSpace(string(m[1]))
	}
	flat := strings.ToLower(strings.Join(strings.Fields(string(text)), " "))
	for _, e := range expressions {
		if !slices.ContainsFunc(e.words, func(w string) bool { return !strings.Contains(flat, strings.ToLower(w)) }) {
			return e.id
		}
	}
	return ""
}

// source returns the address of the source of a module on a host whose module paths are addresses.
func source(module string) string {
	parts := strings.Split(module, "/")
	if len(parts) < 3 || !slices.Contains([]string{"github.com", "gitlab.com", "bitbucket.org", "codeberg.org"}, parts[0]) {
		return ""
	}
	return "https://" + strings.Join(parts[:3], "/")
}
