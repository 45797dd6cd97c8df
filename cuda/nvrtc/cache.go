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
	"regexp"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/wheel/sites"
)

// key is the hash of all that decides what the compiler makes.
func (p *Program) key(options []string) string {
	h := sha256.New()
	fmt.Fprintf(h, "1 %d.%d %d\n%q\n%q\n%q\n%q\n", library.major, library.minor, library.size, p.Name, p.Source, options, p.Kernels)
	for _, name := range slices.Sorted(maps.Keys(p.Headers)) {
		fmt.Fprintf(h, "%q %q\n", name, p.Headers[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// fileOptions begin the names of options that make the compiler read files whose
// content is not known here, or write some.
var fileOptions = []string{"I", "include", "pre-include", "pch", "create-pch", "use-pch", "time", "fdevice-time-trace", "optix"}

// directive finds what may read a file, in texts without continued lines.
var directive = regexp.MustCompile(`(?:#|%:)[ \t]*(?:include|embed)[a-z_]*[ \t]*(?:"([^"\n]*)"|<([^>\n]*)>)?|__has_(?:include|embed)`)

// readsFiles reports whether the result may depend on files. NVRTC looks for a header
// in Headers first, then beside the source and in the working directory.
func (p *Program) readsFiles() bool {
	for _, o := range p.Options {
		name := strings.TrimLeft(o, "-")
		if slices.ContainsFunc(fileOptions, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			return true
		}
	}
	for _, text := range append(slices.Collect(maps.Values(p.Headers)), p.Source) {
		for _, found := range directive.FindAllStringSubmatch(strings.ReplaceAll(text, "\\\n", ""), -1) {
			if _, own := p.Headers[found[1]+found[2]]; !own {
				return true
			}
		}
	}
	return false
}

// place returns the file for a key, and an error if there is no cache or another user can change it.
func place(key string) (string, error) {
	dir, err := sites.CacheDir()
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "nvrtc", key[:2], key+".json")
	return file, sites.Private(file)
}

// cached reads what store wrote. A file begins with the hash of the rest, so that a
// damaged file counts as missing.
func cached(key string) (*Code, bool) {
	file, err := place(key)
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
	file, err := place(key)
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
	temp, err := os.CreateTemp(dir, ".part-")
	if err != nil {
		return
	}
	_, err = temp.Write(append([]byte(sumOf(rest)+"\n"), rest...))
	if closed := temp.Close(); err != nil || closed != nil || os.Rename(temp.Name(), file) != nil {
		os.Remove(temp.Name())
	}
}
