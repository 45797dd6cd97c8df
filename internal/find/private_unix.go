//go:build unix

package find

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// othersMayWrite returns why a file or folder is not the user's alone, and a remedy with a
// place for its path. With sticky, the sticky bit is enough.
func othersMayWrite(info fs.FileInfo, sticky bool) (why, remedy string) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", ""
	}
	user, mode := uint32(os.Geteuid()), info.Mode()
	guarded := sticky && mode&fs.ModeSticky != 0
	switch {
	case st.Uid != user && st.Uid != 0:
		return fmt.Sprintf("belongs to the user with number %d, this process to %d", st.Uid, user),
			"give %s to this user with chown"
	case guarded:
	case mode.Perm()&0o002 != 0:
		return fmt.Sprintf("can be written by every user (mode %o)", mode.Perm()), "run chmod go-w %s"
	case mode.Perm()&0o020 != 0 && st.Gid != 0 && st.Gid != user:
		return fmt.Sprintf("can be written by the group with number %d (mode %o)", st.Gid, mode.Perm()), "run chmod g-w %s"
	}
	return "", ""
}
