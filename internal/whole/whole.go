// Package whole makes files that other programs find whole or not at all, and folders for what is not complete yet.
//
// What is being made lies beside its place, under a name of its own, and a rename puts it there. The process that makes it
// has a lock on it, which the system drops when the process ends, also by a kill. So the next process that makes
// something in the same folder knows what was left, and removes it. Windows and some network file systems have no such lock:
// there, a part that is a day old is removed.
package whole

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Replace is the Op of an [fs.PathError] that says that the new file may not take the place of the old one.
const Replace = "replace"

// Pattern matches the names of what is not complete.
const Pattern = ".tvmffi-part-*"

// Write writes what from has to a file, with the mode. Another program finds the old file or the new one, each whole: also
// when this process is killed, and when the disk is full, which is an error that names the file. The folder must exist.
func Write(file string, from io.Reader, mode fs.FileMode) error {
	dir := filepath.Dir(file)
	Sweep(dir)
	f, err := locked(func() (*os.File, error) { return os.CreateTemp(dir, Pattern) })
	if err != nil {
		return about(file, "", err)
	}
	err = fill(f, from, mode)
	if closesFirst {
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	if !closesFirst {
		err = errors.Join(err, f.Close()) // it drops the lock
	}
	return about(file, f.Name(), err)
}

// about returns an error about a file in place of one about the temporary file, "" if there is none.
func about(file, temp string, err error) error {
	if err == nil {
		return nil
	}
	if in, ok := errors.AsType[*fs.PathError](err); ok && (in.Path == temp || temp == "") {
		return &fs.PathError{Op: "write", Path: file, Err: in.Err}
	}
	if in, ok := errors.AsType[*os.LinkError](err); ok {
		op := "write"
		if errors.Is(in.Err, fs.ErrPermission) || runtime.GOOS == "windows" && errors.Is(in.Err, syscall.Errno(32)) { // a sharing violation
			op = Replace
		}
		return &fs.PathError{Op: op, Path: file, Err: in.Err}
	}
	return fmt.Errorf("write %s: %w", file, err)
}

// New writes what from has to a new file in dir, whose name matches the pattern of [os.CreateTemp], for the caller to rename.
// If that fails, there is no file. It takes no lock: the caller has one that stands for more files.
func New(dir, pattern string, from io.Reader, mode fs.FileMode) (name string, err error) {
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return "", err
	}
	if err := errors.Join(fill(f, from, mode), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// fill writes to f and flushes it: some disks notice only then that they are full, and a rename that survives a crash of
// the machine must not lead to an empty file.
func fill(f *os.File, from io.Reader, mode fs.FileMode) error {
	if _, err := io.Copy(f, from); err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	return f.Sync()
}

// Folder makes an empty folder in parent, "" for the one of temporary files, for what is complete later. The caller moves
// from there what is to stay, and calls remove.
func Folder(parent string) (dir string, remove func() error, err error) {
	if parent == "" {
		parent = os.TempDir()
	}
	Sweep(parent)
	f, err := locked(func() (*os.File, error) {
		dir, err := os.MkdirTemp(parent, Pattern)
		if err != nil {
			return nil, err
		}
		f, err := os.Open(dir)
		if errors.Is(err, fs.ErrNotExist) {
			err = errSwept
		}
		return f, err
	})
	if err != nil {
		return "", nil, err
	}
	if closesFirst {
		return f.Name(), func() error { return os.RemoveAll(f.Name()) }, f.Close()
	}
	return f.Name(), func() error { return errors.Join(os.RemoveAll(f.Name()), f.Close()) }, nil
}

// Tree makes the folder dir, which must not exist or be empty, with what fill puts into a folder that takes its name at the end.
// The parent of dir must exist. If fill fails, dir is as it was; an error about a file in the folder names it as it would be in dir.
func Tree(dir string, fill func(into string) error) error {
	if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
		return &fs.PathError{Op: "write", Path: dir, Err: syscall.ENOTDIR}
	}
	made, remove, err := Folder(filepath.Dir(dir))
	if err != nil {
		return about(dir, "", err)
	}
	into := filepath.Join(made, filepath.Base(dir))
	if err = os.Mkdir(into, 0o755); err == nil {
		err = fill(into)
	}
	if in, ok := errors.AsType[*fs.PathError](err); ok {
		if rel, below := strings.CutPrefix(in.Path, into); below {
			in.Path = dir + rel
		}
	}
	if err == nil {
		if err = os.Remove(dir); err == nil || errors.Is(err, fs.ErrNotExist) { // it is empty
			err = about(dir, into, os.Rename(into, dir))
		}
	}
	return errors.Join(err, remove())
}

// errSwept is the error of a folder that another process has removed.
var errSwept = errors.New("another process has removed the folder")

// locked makes something and locks it. Before it has the lock, another process may take it for left over and remove it.
func locked(create func() (*os.File, error)) (*os.File, error) {
	for {
		f, err := create()
		if err == errSwept {
			continue
		}
		if err != nil {
			return nil, err
		}
		lock(f)
		has, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if now, err := os.Lstat(f.Name()); err == nil && os.SameFile(now, has) {
			return f, nil
		}
		_ = f.Close()
	}
}

// old is the age at which nobody makes a file any more.
const old = 24 * time.Hour

// removeOld removes a file or folder that is so old that nobody makes it any more.
func removeOld(path string) {
	if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > old {
		_ = os.RemoveAll(path)
	}
}

// Sweep removes what processes that were killed have left in dir, if it can: it harms nobody. [Write] and [Folder] do so
// first.
func Sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if ours, _ := filepath.Match(Pattern, e.Name()); ours && (e.IsDir() || e.Type().IsRegular()) {
			removeLeft(filepath.Join(dir, e.Name()))
		}
	}
}
