package wheel

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tvmffi-go/tvmffi/internal/find"
)

// Verify compares each file of an unpacked wheel with the hash that the wheel says it has, in
// its RECORD. The error names at most three files. It is find.ErrDamaged if one differs or is missing.
func (d Dir) Verify() error {
	hashes, err := find.Record(d.root)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(d.root) // no link leads out of the wheel
	if err != nil {
		return err
	}
	defer root.Close()
	var damaged []string
	for _, name := range slices.Sorted(maps.Keys(hashes)) {
		if why := verifyFile(root, name, hashes[name]); why != "" {
			damaged = append(damaged, name+" "+why)
		}
	}
	if len(damaged) == 0 {
		return nil
	}
	list := strings.Join(damaged[:min(len(damaged), 3)], "; ")
	if more := len(damaged) - 3; more > 0 {
		list += fmt.Sprintf("; and %d more", more)
	}
	return fmt.Errorf("%s %w: %s", d.root, find.ErrDamaged, list)
}

// verifyFile returns what is wrong with a file, "" if nothing is.
func verifyFile(root *os.Root, name, want string) string {
	f, err := root.Open(filepath.FromSlash(name))
	if errors.Is(err, os.ErrNotExist) {
		return "is missing"
	}
	if err != nil {
		return "cannot be read: " + err.Error()
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return "cannot be read: " + err.Error()
	}
	if sum := h.Sum(nil); hex.EncodeToString(sum) != want {
		return fmt.Sprintf("has other content (%d bytes with sha256 %x)", n, sum)
	}
	return ""
}

// Unpacked returns the pinned wheels that are complete in the cache, also for other platforms, and
// the folders there that no pinned wheel has. It returns an error if another user can change the cache.
func Unpacked() (wheels []Dir, others []string, err error) {
	cache, err := find.CacheDir()
	if err != nil {
		return nil, nil, err
	}
	parent := filepath.Join(cache, "wheels")
	if err := find.Private(parent); err != nil {
		return nil, nil, err
	}
	entries, err := os.ReadDir(parent)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, err
	}
	byFolder := map[string]Dir{}
	for _, s := range pinned {
		if d, err := place(s); err == nil {
			byFolder[filepath.Base(d.root)] = d
		}
	}
	for _, e := range entries {
		path := filepath.Join(parent, e.Name())
		if info, err := os.Stat(path); err != nil || !info.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if err := find.Private(path); err != nil {
			return nil, nil, err
		}
		switch d, known := byFolder[e.Name()]; {
		case !known:
			others = append(others, path)
		case d.marked() == nil:
			wheels = append(wheels, d)
		}
	}
	return wheels, others, nil
}

// Repair gets the wheel of d again if one of its files is not what the wheel had. It reports
// whether it did; if it cannot, the old folder stays.
func Repair(ctx context.Context, d Dir) (repaired bool, err error) {
	fetched := false
	_, err = get(ctx, d.spec, Dir.Verify, func(ctx context.Context, s Spec, dir string) (string, error) {
		fetched = true
		return download(ctx, s, dir)
	})
	return fetched && err == nil, find.Advise(err)
}

// marked returns an error if d is not completely unpacked.
func (d Dir) marked() error {
	b, err := os.ReadFile(filepath.Join(d.root, find.Marker))
	if err == nil && string(bytes.TrimSpace(b)) != d.spec.SHA256 {
		err = errors.New("it is incomplete")
	}
	return err
}
