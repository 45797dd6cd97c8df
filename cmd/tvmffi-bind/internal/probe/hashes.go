package probe

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
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
	note := Note("hashes", path)
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
		Keep(note, hash+" "+state)
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
	state, changed := state(info)
	if changed.IsZero() || time.Since(changed) < age {
		return ""
	}
	return state + " " + path
}

// state describes a file or folder by what a change of it changes: the inode, the size and the times. It also returns when
// it changed, the zero time if the system does not say.
func state(info os.FileInfo) (string, time.Time) {
	sys := reflect.Indirect(reflect.ValueOf(info.Sys()))
	if sys.Kind() != reflect.Struct {
		return "", time.Time{}
	}
	changed := sys.FieldByName("Ctim")
	if !changed.IsValid() {
		changed = sys.FieldByName("Ctimespec") // of macOS
	}
	if !changed.IsValid() {
		return "", time.Time{}
	}
	return fmt.Sprint(sys.FieldByName("Dev"), sys.FieldByName("Ino"), changed, info.Size(), info.ModTime().UnixNano()),
		time.Unix(changed.Field(0).Int(), changed.Field(1).Int())
}

// Absent is the State of a path without a file.
const Absent = "absent"

// State describes what is at a path, which may be a folder, without reading it: every later change gives it another
// description, unless the clock of the file system has not moved since the last one. It follows links. It also returns when that
// change was.
func State(path string) (string, time.Time, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return Absent, time.Time{}, nil
	}
	if err != nil {
		return "", time.Time{}, err
	}
	text, changed := state(info)
	if changed.IsZero() {
		return "", time.Time{}, fmt.Errorf("the system does not say when %s changed", path)
	}
	return text, changed, nil
}

// HashTool returns the hash of the file of this program.
func HashTool() (string, error) {
	file, err := os.Executable()
	if err != nil {
		return "", err
	}
	return hashFile(file, 0, keptAge)
}

// Note returns a file of the cache, in that folder, for what is known about a path, "" if the cache is not the user's alone.
func Note(folder, path string) string {
	dir, err := find.CacheDir()
	if err != nil {
		return ""
	}
	note := filepath.Join(dir, folder, fmt.Sprintf("%x", sha256.Sum256([]byte(path)))[:16])
	if find.Private(note) != nil {
		return ""
	}
	return note
}

// Keep writes a note, if it can: another process finds all of it or none.
func Keep(note, text string) {
	if os.MkdirAll(filepath.Dir(note), 0o700) != nil {
		return
	}
	_ = whole.Write(note, strings.NewReader(text), 0o600)
}
