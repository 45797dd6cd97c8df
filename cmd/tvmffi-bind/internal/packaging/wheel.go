package packaging

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/whole"
)

// File is a file of a wheel.
type File struct {
	// Path is its path in the wheel, with forward slashes.
	Path    string
	Content []byte
	// Executable is set for libraries and programs.
	Executable bool
}

// Wheel is a wheel.
type Wheel struct {
	Metadata Metadata
	// Tag is the platform tag, such as win_amd64.
	Tag   string
	Files []File
	// Generator names the tool and its version.
	Generator string
}

// FileName is the name of the wheel.
func (w *Wheel) FileName() string {
	return fmt.Sprintf("%s-%s-py3-none-%s.whl", fileName(w.Metadata.Name), w.Metadata.Version, w.Tag)
}

// Write writes the wheel into a folder, which it makes if it does not exist, and returns the path. The file appears
// there when it is complete. The same Wheel gives the same bytes.
func (w *Wheel) Write(dir string) (path string, err error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return "", fmt.Errorf("%s is a file: name the folder for the wheel", dir)
	}
	data, err := w.bytes()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path = filepath.Join(dir, w.FileName())
	return path, find.InUse(whole.Write(path, bytes.NewReader(data), 0o644))
}

// bytes is the content of the file.
func (w *Wheel) bytes() ([]byte, error) {
	info := fmt.Sprintf("%s-%s.dist-info/", fileName(w.Metadata.Name), w.Metadata.Version)
	files := slices.Clone(w.Files)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	files = append(files, File{Path: info + "METADATA", Content: w.Metadata.bytes()}, File{Path: info + "WHEEL", Content: w.tags()})
	for _, l := range w.Metadata.Licenses {
		files = append(files, File{Path: info + "licenses/" + l.Path, Content: l.Content})
	}
	var record strings.Builder
	for i, f := range files {
		if i > 0 && slices.ContainsFunc(files[:i], func(g File) bool { return g.Path == f.Path }) {
			return nil, fmt.Errorf("the wheel would have two files %s", f.Path)
		}
		sum := sha256.Sum256(f.Content)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", quoted(f.Path), base64.RawURLEncoding.EncodeToString(sum[:]), len(f.Content))
	}
	fmt.Fprintf(&record, "%s,,\n", quoted(info+"RECORD"))
	files = append(files, File{Path: info + "RECORD", Content: []byte(record.String())})
	return pack(files)
}

// quoted is a field of a line of RECORD, which is CSV.
func quoted(field string) string {
	if strings.ContainsAny(field, ",\"\n") {
		return `"` + strings.ReplaceAll(field, `"`, `""`) + `"`
	}
	return field
}

// tags is the file WHEEL.
func (w *Wheel) tags() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "Wheel-Version: 1.0\nGenerator: %s\nRoot-Is-Purelib: %v\n", w.Generator, w.Tag == "any")
	for _, tag := range strings.Split(w.Tag, ".") {
		fmt.Fprintf(&b, "Tag: py3-none-%s\n", tag)
	}
	return b.Bytes()
}

// pack makes the zip file.
func pack(files []File) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	modified, err := timestamp()
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		h := &zip.FileHeader{Name: f.Path, Method: zip.Deflate, Modified: modified}
		h.SetMode(0o644)
		if f.Executable {
			h.SetMode(0o755)
		}
		out, err := z.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := out.Write(f.Content); err != nil {
			return nil, err
		}
	}
	err = z.Close()
	return b.Bytes(), err
}

// timestamp is the time of all files in the wheel: SOURCE_DATE_EPOCH, or the first time that a zip file can have, which also
// stands for earlier ones.
func timestamp() (time.Time, error) {
	first, last := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2107, 12, 31, 23, 59, 58, 0, time.UTC)
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return first, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > last.Unix() {
		return first, fmt.Errorf("SOURCE_DATE_EPOCH is %q, expected seconds since 1970 up to %d, the last time that a wheel can have: correct the environment variable", text, last.Unix())
	}
	return time.Unix(max(n, first.Unix()), 0).UTC(), nil
}
