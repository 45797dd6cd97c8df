package child

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
)

// running is a path that the system takes for the program that runs, even when its file is gone. Only Linux has it.
var running = "/proc/self/exe"

// byRunning begins the version in the order of a child that was started by that path. Such a child is not the emulator or
// the loader that look must tell from a program.
const byRunning = "="

// itself says how this program starts again. Main looks while the file of the program is the one that runs.
var itself = sync.OnceValue(look)

// trusted is whether this is a child that was started by running, so that the file at its own path may be another one.
var trusted bool

// self is a program that can start again.
type self struct {
	path    string      // of its file
	file    os.FileInfo // as it was at first
	err     error       // without one of the two
	running bool        // the system has it at that path
	version string
}

// look finds this program. Under an emulator or a loader, the path of the system is the emulator or the loader.
func look() self {
	var s self
	if s.path, s.err = os.Executable(); s.err == nil {
		s.file, s.err = os.Stat(s.path)
	}
	now, err := os.Stat(running)
	s.running = err == nil && (trusted || s.err != nil || os.SameFile(now, s.file))
	if s.running {
		s.version = version(running)
	} else {
		s.version = version(s.path)
	}
	return s
}

// Program returns a path that starts the program that runs. On Linux it does so even when the file was removed or replaced,
// as an update does. Elsewhere, and where /proc is not mounted, that is an error, which says to restart the program.
func Program() (path string, err error) {
	s := itself()
	if _, err := os.Stat(running); err == nil && s.running {
		return running, nil
	}
	if s.err != nil {
		return "", fmt.Errorf("the system does not say what the file of this program is, so no process can be this program again: restart it, on Linux with /proc: %w", s.err)
	}
	now, err := os.Stat(s.path)
	if err == nil && (!os.SameFile(now, s.file) || !now.ModTime().Equal(s.file.ModTime()) || now.Size() != s.file.Size()) {
		err = errors.New("it is another file now")
	}
	if err != nil {
		return "", fmt.Errorf("the file %s of this program was removed or replaced, and the system cannot start what runs in another way: restart the program: %w", s.path, err)
	}
	return s.path, nil
}

// order returns the environment variable of a child that is started by the path.
func order(path, role, task string) string {
	mark := ""
	if path == running {
		mark = byRunning
	}
	return variable + "=" + role + " " + mark + itself().version + " " + task
}

// version returns a text that only this build of the program has: from the linker's ID and the versions of its modules.
func version(path string) string {
	hash := sha256.New()
	if f, err := os.Open(path); err == nil { // a program that may run need not be readable
		head, _ := io.ReadAll(io.LimitReader(f, 64<<10))
		_ = f.Close()
		hash.Write(buildID(head))
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		_, _ = io.WriteString(hash, info.String())
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}

// buildID returns the linker's ID in the first bytes of a program, nil if there is none: a note of an ELF file, and a text
// between two marks in others.
func buildID(head []byte) []byte {
	note := []byte("\x04\x00\x00\x00Go\x00\x00") // the type and the owner
	if i := bytes.Index(head, note); i >= 8 {
		rest := head[i+len(note):]
		return rest[:min(int(binary.NativeEndian.Uint32(head[i-4:])), len(rest))]
	}
	_, rest, _ := bytes.Cut(head, []byte("\xff Go build ID: \""))
	id, _, _ := bytes.Cut(rest, []byte("\"\n \xff"))
	return id
}

// called gives a process the name of its program in lists of processes. Without it, it is the last part of the path.
func called() {
	if itself().running {
		_ = os.WriteFile(filepath.Join(filepath.Dir(running), "comm"), []byte(filepath.Base(os.Args[0])), 0)
	}
}
