package nativetest

import (
	"fmt"
	"runtime"
	"syscall"
	"time"
)

// Patience returns how long a test waits for what takes d at most on an idle machine: d for each process that wants a
// core, so that a busy machine fails no test. Systems other than Linux do not say how busy they are.
func Patience(d time.Duration) time.Duration {
	// Not by package os: go test would run the test again whenever the load has changed.
	fd, err := syscall.Open("/proc/loadavg", syscall.O_RDONLY, 0)
	if err != nil {
		return d
	}
	defer syscall.Close(fd)
	text := make([]byte, 100)
	n, err := syscall.Read(fd, text)
	if err != nil {
		return d
	}
	return patience(d, string(text[:max(n, 0)]), runtime.NumCPU())
}

// patience reads a line of /proc/loadavg: averages of 1, 5 and 15 minutes, and how many threads run now.
func patience(d time.Duration, load string, cores int) time.Duration {
	var minute, five, fifteen, now float64
	if _, err := fmt.Sscanf(load, "%f %f %f %f/", &minute, &five, &fifteen, &now); err != nil {
		return d
	}
	return time.Duration(float64(d) * max(1, minute/float64(cores), now/float64(cores)))
}
