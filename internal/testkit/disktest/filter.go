//go:build linux

package disktest

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A call is a system call that may change a folder.
type call struct {
	name  string
	space bool    // it fails on a full disk
	file  int     // the argument that is the open file, -1 if paths are given
	paths []where // any of them may be below the folder
}

// where is a path: the arguments that are an open folder, -1 for none, and the address of the text.
type where struct{ folder, path int }

var calls = map[int]call{
	unix.SYS_OPENAT:          {"create", true, -1, []where{{0, 1}}},
	unix.SYS_WRITE:           {"write", true, 0, nil},
	unix.SYS_PWRITE64:        {"write", true, 0, nil},
	unix.SYS_WRITEV:          {"write", true, 0, nil},
	unix.SYS_COPY_FILE_RANGE: {"copy", true, 2, nil},
	unix.SYS_SENDFILE:        {"copy", true, 0, nil},
	unix.SYS_FALLOCATE:       {"allocate", true, 0, nil},
	unix.SYS_FTRUNCATE:       {"truncate", false, 0, nil},
	unix.SYS_FSYNC:           {"flush", true, 0, nil},
	unix.SYS_FDATASYNC:       {"flush", true, 0, nil},
	unix.SYS_FCHMOD:          {"chmod", false, 0, nil},
	unix.SYS_MKDIRAT:         {"make", true, -1, []where{{0, 1}}},
	unix.SYS_LINKAT:          {"link", true, -1, []where{{2, 3}}},
	unix.SYS_SYMLINKAT:       {"link", true, -1, []where{{1, 2}}},
	unix.SYS_RENAMEAT:        {"rename", false, -1, []where{{2, 3}, {0, 1}}},
	unix.SYS_RENAMEAT2:       {"rename", false, -1, []where{{2, 3}, {0, 1}}},
	unix.SYS_UNLINKAT:        {"remove", false, -1, []where{{0, 1}}},
}

// create is the number of openat, of which only those that create or empty a file are changes.
const create = unix.SYS_OPENAT

func init() {
	if runtime.GOARCH == "amd64" { // system calls that arm64 does not have
		calls[82] = call{"rename", false, -1, []where{{-1, 1}, {-1, 0}}}
		calls[83] = call{"make", true, -1, []where{{-1, 0}}}
		calls[84] = call{"remove", false, -1, []where{{-1, 0}}}
		calls[87] = call{"remove", false, -1, []where{{-1, 0}}}
	}
	if order, ok := os.LookupEnv(variable); ok {
		fmt.Fprintln(os.Stderr, "disktest:", become(order))
		os.Exit(1)
	}
}

// become installs the filter, sends its descriptor and becomes the program.
func become(order string) error {
	var socket int
	if _, err := fmt.Sscan(order, &socket); err != nil {
		return err
	}
	_, program, _ := strings.Cut(order, " ")
	runtime.LockOSThread() // the filter is one of the thread, which becomes the program
	listener, err := install()
	if err != nil {
		_, _ = unix.Write(socket, fmt.Append(nil, int(err.(unix.Errno))))
		return err
	}
	if err := unix.Sendmsg(socket, []byte("0"), unix.UnixRights(listener), nil, 0); err != nil {
		return err
	}
	_ = unix.Close(listener)
	_ = unix.Close(socket)
	environment := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, variable+"=") })
	return syscall.Exec(program, os.Args, environment)
}

// receive gets the descriptor of the filter.
func receive(socket int) (int, error) {
	text, rights := make([]byte, 20), make([]byte, unix.CmsgSpace(4))
	n, oob, _, _, err := unix.Recvmsg(socket, text, rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return -1, err
	}
	var code int
	if _, err := fmt.Sscan(string(text[:n]), &code); err != nil {
		return -1, fmt.Errorf("the program did not start: %w", err)
	}
	if code != 0 {
		return -1, unix.Errno(code)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:oob])
	if err != nil || len(messages) != 1 {
		return -1, fmt.Errorf("%d messages of control, %w", len(messages), err)
	}
	files, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(files) != 1 {
		return -1, fmt.Errorf("%d files, %w", len(files), err)
	}
	return files[0], nil
}

// install gives the thread a filter that asks the holder of the descriptor about the calls.
func install() (int, error) {
	const numbers, low = 0, 32 // offsets in struct seccomp_data: the number, and the low half of the third argument on a little-endian machine
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	jump := func(how uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | how | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	verdict := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	code := []unix.SockFilter{load(numbers)}
	for number := range calls {
		if number != create {
			code = append(code, jump(unix.BPF_JEQ, uint32(number), 0, 1), verdict(unix.SECCOMP_RET_USER_NOTIF))
		}
	}
	code = append(code, jump(unix.BPF_JEQ, create, 0, 3), load(low), jump(unix.BPF_JSET, unix.O_CREAT|unix.O_TRUNC, 0, 1),
		verdict(unix.SECCOMP_RET_USER_NOTIF), verdict(unix.SECCOMP_RET_ALLOW))
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, err
	}
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	// The kernel copies the program during the call.
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(code)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// notice is struct seccomp_notif, answer is struct seccomp_notif_resp.
type (
	notice struct {
		ID         uint64
		PID, Flags uint32
		Nr         int32
		Arch       uint32
		Address    uint64
		Args       [6]uint64
	}
	answer struct {
		ID    uint64
		Value int64
		Error int32
		Flags uint32
	}
)

// The requests carry the sizes of the structs.
const (
	receiveNotice = 3<<30 | unsafe.Sizeof(notice{})<<16 | '!'<<8
	sendAnswer    = 3<<30 | unsafe.Sizeof(answer{})<<16 | '!'<<8 | 1
)

// control passes a struct to the kernel, which reads and writes it during the call only.
func control[T notice | answer](fd int, request uintptr, x *T) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(x))); errno != 0 {
		return errno
	}
	return nil
}
