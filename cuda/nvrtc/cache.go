package nvrtc

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/whole"
)

// key is the hash of all that decides what the compiler makes. It returns "" where that is
// not known: what the compiler makes then is not kept.
func (p *Program) key(l *library, options []string) string {
	o := parse(options)
	if o.unknown != "" {
		return ""
	}
	files := p.read(o)
	if files.problem != "" {
		return ""
	}
	h := sha256.New()
	fmt.Fprintf(h, "2 %s %d\n%q\n%q\n%q\n%q\n", l.version, l.size, p.Name, p.Source, options, p.Kernels)
	for _, name := range slices.Sorted(maps.Keys(p.Headers)) {
		fmt.Fprintf(h, "%q %q\n", name, p.Headers[name])
	}
	fmt.Fprintf(h, "\n%s", files.state())
	return hex.EncodeToString(h.Sum(nil))
}

// cacheFile returns the file for a key, and an error if there is no cache or another user can change it.
func cacheFile(key string) (string, error) {
	dir, err := find.CacheDir()
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "nvrtc", key[:2], key+".json")
	return file, find.Private(file)
}

// cached reads what store wrote. A file begins with the hash of the rest, so that a
// damaged file counts as missing.
func cached(key string) (*Code, bool) {
	file, err := cacheFile(key)
	if err != nil {
		return nil, false
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, false
	}
	sum, rest, _ := bytes.Cut(data, []byte("\n"))
	c := new(Code)
	if string(sum) != sumOf(rest) || json.Unmarshal(rest, c) != nil {
		return nil, false
	}
	c.Cached = true
	return c, true
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// store keeps c for later. A cache that cannot be written costs time only, so its
// errors are not those of Compile.
func (c *Code) store(key string) {
	file, err := cacheFile(key)
	if err != nil {
		return
	}
	rest, err := json.Marshal(c)
	if err != nil {
		return
	}
	dir := filepath.Dir(file)
	if os.MkdirAll(dir, 0o700) != nil {
		return
	}
	_ = whole.Write(file, bytes.NewReader(append([]byte(sumOf(rest)+"\n"), rest...)), 0o600)
}
