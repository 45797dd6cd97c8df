package find

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// ErrDamaged is the error for a file that is not what its wheel had.
var ErrDamaged = errors.New("is damaged")

// RepairCache is what to do about a damaged file of the cache.
const RepairCache = `run "go tool tvmffi-bind setup", which repairs the cache`

// Record reads the RECORD of the wheel that lies unpacked in a folder: the SHA-256 hash, in hex,
// of each file, by its path with slashes. The wheel itself says this, and its hash is pinned;
// so wheels that earlier versions of this module have unpacked can be checked as well.
func Record(tree string) (map[string]string, error) {
	matches, _ := filepath.Glob(filepath.Join(escape(tree), "*.dist-info", "RECORD"))
	if len(matches) != 1 {
		return nil, fmt.Errorf("%s %w: it has %d files *.dist-info/RECORD, not 1", tree, ErrDamaged, len(matches))
	}
	f, err := os.Open(matches[0])
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := csv.NewReader(f)
	lines.FieldsPerRecord = 3
	all, err := lines.ReadAll()
	if _, malformed := errors.AsType[*csv.ParseError](err); malformed {
		return nil, fmt.Errorf("%s %w: its lines are not of the form PATH,sha256=HASH,SIZE: %w", matches[0], ErrDamaged, err)
	}
	if err != nil {
		return nil, err
	}
	hashes := map[string]string{}
	for _, fields := range all {
		name, hash, ok := recorded(fields)
		switch {
		case !ok && hash != "":
			return nil, fmt.Errorf("%s cannot be checked: the hash of %.100q is neither empty nor sha256= and base64: %.100q", matches[0], name, hash)
		case !ok:
			return nil, fmt.Errorf("%s %w: the line %.100q is not of the form PATH,sha256=HASH,SIZE", matches[0], ErrDamaged, strings.Join(fields, ","))
		case hash != "":
			hashes[name] = hash
		}
	}
	if len(hashes) == 0 {
		return nil, fmt.Errorf("%s %w: it is empty", matches[0], ErrDamaged)
	}
	return hashes, nil
}

// recorded reads the three fields of a line of RECORD. The line of RECORD itself has no hash. A hash of another form is
// returned as it is, and ok is false.
func recorded(fields []string) (name, hash string, ok bool) {
	if !filepath.IsLocal(filepath.FromSlash(fields[0])) || strings.Trim(fields[2], "0123456789") != "" {
		return "", "", false
	}
	if fields[1] == "" {
		return fields[0], "", true
	}
	digest, is := strings.CutPrefix(fields[1], "sha256=")
	sum, err := base64.RawURLEncoding.DecodeString(digest)
	if !is || err != nil || len(sum) != sha256.Size {
		return fields[0], fields[1], false
	}
	return fields[0], hex.EncodeToString(sum), true
}

// Damaged returns the error for a file of a wheel in the cache whose hash is not the
// one in RECORD. Where RECORD does not name the file, or is missing, there is no error.
func (c Candidate) Damaged(hash string) error {
	if want := c.recorded(); want != "" && want != hash {
		return fmt.Errorf("%s %w: its sha256 is %s, its wheel had %s", c.Path, ErrDamaged, hash, want)
	}
	return nil
}

// recorded returns the hash that RECORD has of the file, "" if it has none.
func (c Candidate) recorded() string {
	hashes, err := Record(c.Site)
	rel, relErr := filepath.Rel(c.Site, c.Path)
	if err != nil || relErr != nil {
		return ""
	}
	return hashes[filepath.ToSlash(rel)]
}

// HashFile returns the SHA-256 hash of a file in hex.
func HashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
