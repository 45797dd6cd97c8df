package find

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrShared is the error for a file or folder that another user can change.
var ErrShared = errors.New("is not safe to load code from")

// Private returns an error if another user can change a file or folder of the cache: code is
// loaded from there. It checks the root of the cache, path, and each folder between them.
//
// Each must belong to the user of the process or to root, and must not be writable by others
// or by a group. Two groups are accepted: root's, and the one with the number of the user,
// because systems that give each user such a group let it write by default (umask 002). The
// root of the cache may be a folder in which everybody can write if the sticky bit keeps them
// from replacing what is in it, such as /tmp. Links are followed. Folders above the root of the
// cache are not checked, because what somebody puts in the place of the root belongs to them.
// A path that does not exist is safe. On Windows, where modes do not say who may write, Private checks
// nothing.
func Private(path string) error {
	root, err := CacheDir()
	if err != nil {
		return err
	}
	below, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(below) {
		return OwnOnly(path)
	}
	err = ownOnly(root, true)
	if below != "." {
		for _, name := range strings.Split(below, string(filepath.Separator)) {
			if err != nil {
				break
			}
			root = filepath.Join(root, name)
			err = ownOnly(root, false)
		}
	}
	if errors.Is(err, ErrShared) {
		return fmt.Errorf("%w and empty the cache, whose files others may have changed, or set TVMFFI_CACHE to a folder of your own", err)
	}
	return err
}

// OwnOnly returns an error if another user can change the file or folder at path, by the
// rules of Private.
func OwnOnly(path string) error { return ownOnly(path, false) }

func ownOnly(path string, sticky bool) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	why, remedy := othersMayWrite(info, sticky)
	if why == "" {
		return nil
	}
	return fmt.Errorf("%s %w: it %s; %s", path, ErrShared, why, fmt.Sprintf(remedy, path))
}
