package sites

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
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
	hashes := map[string]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if lines.Text() == "" {
			continue
		}
		name, hash, ok := recordLine(lines.Text())
		if !ok {
			return nil, fmt.Errorf("%s %w: the line %.100q is not of the form PATH,sha256=HASH,SIZE", matches[0], ErrDamaged, lines.Text())
		}
		if hash != "" {
			hashes[name] = hash
		}
	}
	if lines.Err() == nil && len(hashes) == 0 {
		return nil, fmt.Errorf("%s %w: it is empty", matches[0], ErrDamaged)
	}
	return hashes, lines.Err()
}

// recordLine reads a line of RECORD. The line of RECORD itself has no hash.
func recordLine(line string) (name, hash string, ok bool) {
	line, size, sized := cutLast(line)
	name, encoded, ok := cutLast(line)
	if !sized || !ok || strings.Trim(size, "0123456789") != "" {
		return "", "", false
	}
	if quoted, is := strings.CutPrefix(name, `"`); is {
		if name, ok = strings.CutSuffix(quoted, `"`); !ok {
			return "", "", false
		}
		name = strings.ReplaceAll(name, `""`, `"`)
	}
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", "", false
	}
	if encoded == "" {
		return name, "", true
	}
	digest, is := strings.CutPrefix(encoded, "sha256=")
	sum, err := base64.RawURLEncoding.DecodeString(digest)
	return name, hex.EncodeToString(sum), is && err == nil && len(sum) == sha256.Size
}

func cutLast(s string) (before, after string, found bool) {
	at := strings.LastIndexByte(s, ',')
	if at < 0 {
		return s, "", false
	}
	return s[:at], s[at+1:], true
}

// Damaged returns the error for a file of a wheel in the cache whose hash is not the
// one in RECORD. Where RECORD does not name the file, or is missing, there is no error.
func Damaged(tree, file, hash string) error {
	hashes, err := Record(tree)
	rel, relErr := filepath.Rel(tree, file)
	if err != nil || relErr != nil {
		return nil
	}
	if want := hashes[filepath.ToSlash(rel)]; want != "" && want != hash {
		return fmt.Errorf("%s %w: its sha256 is %s, its wheel had %s", file, ErrDamaged, hash, want)
	}
	return nil
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
