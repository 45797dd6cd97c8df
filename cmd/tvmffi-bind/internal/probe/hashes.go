package probe

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/whole"
)

// The hash of a library of this size or more is kept for later runs, if the library was last
// changed so long ago. To hash the 259 MB of TVM's compiler takes a fifth of the time of gen.
const (
	keptSize = 16 << 20
	keptAge  = time.Minute
)

// hashFile returns the SHA-256 hash of a file, perhaps from an earlier run if the file has at least
// size bytes. The hash holds as long as the inode, the size and the times of the file stay the same.
// A write changes the ctime, and no program can set it. Only a mapped page is written many times
// for one change, so a file is not trusted before it reaches age. Damage by a disk changes nothing
// of this; setup and doctor always read the file.
func hashFile(path string, size int64, age time.Duration) (string, error) {
	state := stateOf(path, size, age)
	note := noteOf(path)
	if state == "" || note == "" {
		return find.HashFile(path)
	}
	if data, err := os.ReadFile(note); err == nil {
		if hash, of, _ := strings.Cut(string(data), " "); len(hash) == 2*sha256.Size && of == state {
			return hash, nil
		}
	}
	hash, err := find.HashFile(path)
	if err == nil && stateOf(path, size, age) == state {
		keep(note, hash+" "+state)
	}
	return hash, err
}

// stateOf describes a file without reading it. It is "" for a file that is small or young, or
// if the system does not say when it changed.
func stateOf(path string, size int64, age time.Duration) string {
	info, err := os.Stat(path)
	if err != nil || info.Size() < size {
		return ""
	}
	sys := reflect.Indirect(reflect.ValueOf(info.Sys()))
	if sys.Kind() != reflect.Struct {
		return ""
	}
	changed := sys.FieldByName("Ctim")
	if !changed.IsValid() {
		changed = sys.FieldByName("Ctimespec") // of macOS
	}
	if !changed.IsValid() || time.Since(time.Unix(changed.Field(0).Int(), 0)) < age {
		return ""
	}
	return fmt.Sprint(sys.FieldByName("Dev"), sys.FieldByName("Ino"), changed, info.Size(), info.ModTime().UnixNano(), " ", path)
}

// noteOf returns the file of the cache with the hash of a library, "" if the cache is not the user's alone.
func noteOf(path string) string {
	dir, err := find.CacheDir()
	if err != nil {
		return ""
	}
	note := filepath.Join(dir, "hashes", fmt.Sprintf("%x", sha256.Sum256([]byte(path)))[:16])
	if find.Private(note) != nil {
		return ""
	}
	return note
}

// keep writes a note, if it can: another process finds all of it or none.
func keep(note, text string) {
	if os.MkdirAll(filepath.Dir(note), 0o700) != nil {
		return
	}
	_ = whole.Write(note, strings.NewReader(text), 0o600)
}
