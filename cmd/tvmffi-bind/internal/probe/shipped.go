package probe

import (
	"encoding/csv"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/whole"
)

// Shipped is what a list of the parts of a program says about a library.
type Shipped struct {
	File    string `json:"file"`
	Path    string `json:"path"`
	SHA256  string `json:"sha256"`
	Package string `json:"package,omitempty"` // of Python
	Version string `json:"version,omitempty"`
	// License is what the metadata of the package says, LicenseFiles has its licences and notices.
	License      string   `json:"license,omitempty"`
	LicenseFiles []string `json:"license_files,omitempty"`

	root string // of the package
}

// NewShipped looks up the licences of a library.
func NewShipped(l Library) Shipped {
	s := Shipped{File: filepath.Base(l.Path), Path: l.Path, SHA256: l.Identity.SHA256, Package: l.Identity.Package, Version: l.Identity.PackageVersion}
	rest, inside := strings.CutSuffix(filepath.ToSlash(l.Path), "/"+l.Identity.PathInPackage)
	if s.Package == "" || !inside {
		return s
	}
	s.root = filepath.FromSlash(rest)
	root := os.DirFS(s.root)
	records, _ := fs.Glob(root, "*.dist-info/RECORD")
	for _, record := range records {
		names := recorded(root, record)
		if !slices.Contains(names, l.Identity.PathInPackage) {
			continue // the folder has other packages, too
		}
		info := path.Dir(record)
		for _, name := range names {
			if filepath.IsLocal(filepath.FromSlash(name)) && (strings.HasPrefix(name, info+"/licenses/") || licenseFile.MatchString(path.Base(name))) {
				s.LicenseFiles = append(s.LicenseFiles, filepath.Join(s.root, filepath.FromSlash(name)))
			}
		}
		s.License = licenseIn(root, info+"/METADATA")
	}
	return s
}

// licenseFile matches the names of licences and notices, but not those of sources.
var licenseFile = regexp.MustCompile(`(?i)^(licen[sc]es?|copying|notice|patents|third.?party.?notices?)([-_.](txt|md|rst|\w+\.txt|\w+))?$`)

// IsLicense reports whether a file is a licence or a notice, by its name.
func IsLicense(name string) bool { return licenseFile.MatchString(name) }

// Records reports whether the RECORD in a folder NAME.dist-info lists a file, by its path with slashes.
func Records(info, name string) bool {
	return slices.Contains(recorded(os.DirFS(info), "RECORD"), name)
}

// recorded returns the paths of the files that a RECORD lists.
func recorded(root fs.FS, file string) (names []string) {
	f, err := root.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	lines := csv.NewReader(f)
	lines.FieldsPerRecord, lines.LazyQuotes = -1, true
	for {
		fields, err := lines.Read()
		if err != nil {
			return names
		}
		names = append(names, fields[0])
	}
}

// licenseIn returns the licence that the metadata of a package names in one line, "" if none.
func licenseIn(root fs.FS, file string) (license string) {
	_ = fields(root, file, func(key, value string) {
		if key == "License-Expression" || key == "License" && license == "" {
			license = value
		}
	})
	return license
}

// fields calls yield for each field of the metadata of a package, before the description.
func fields(root fs.FS, file string, yield func(key, value string)) error {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		key, value, ok := strings.Cut(line, ":")
		if ok {
			yield(key, strings.TrimSpace(value))
		} else if strings.TrimSpace(line) == "" {
			break
		}
	}
	return nil
}

// CopyTo copies the library into a folder, and the licences of its package into a folder below.
func (s Shipped) CopyTo(dir string) error {
	if err := CopyFile(filepath.Join(dir, s.File), s.Path, 0o644); err != nil {
		return err
	}
	return s.CopyLicenses(dir)
}

// CopyLicenses copies the licences of the package into a folder below dir.
func (s Shipped) CopyLicenses(dir string) error {
	for _, file := range s.LicenseFiles {
		name, err := filepath.Rel(s.root, file)
		if err != nil {
			return err
		}
		if _, after, ok := strings.Cut(filepath.ToSlash(name), ".dist-info/"); ok {
			name = strings.TrimPrefix(after, "licenses/")
		}
		to := filepath.Join(dir, "licenses", s.Package+"-"+s.Version, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := CopyFile(to, file, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// CopyFile replaces a file at once: a program that runs may have mapped the old one.
func CopyFile(to, from string, mode fs.FileMode) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	return find.InUse(whole.Write(to, r, mode))
}
