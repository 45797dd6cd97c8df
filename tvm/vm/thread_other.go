//go:build !linux

package vm

import (
	"bytes"
	"runtime"
	"strconv"
)

// threadID returns the number of this goroutine, which does for the thread: no other goroutine runs on the
// thread of a machine. The number stands at the beginning of the text of each stack.
func threadID() int {
	var text [64]byte
	_, after, _ := bytes.Cut(text[:runtime.Stack(text[:], false)], []byte("goroutine "))
	digits, _, _ := bytes.Cut(after, []byte(" "))
	n, err := strconv.Atoi(string(digits))
	if err != nil {
		panic("vm: the text of a stack begins with " + strconv.Quote(string(text[:])))
	}
	return n
}

// isMain reports whether a thread is known to be the first one of the process.
func isMain(int) bool { return false }
