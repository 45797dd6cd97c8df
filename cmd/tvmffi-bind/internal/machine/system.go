package machine

import (
	"bytes"
	"cmp"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// System returns the kernel and the libraries of the system that libtvm_ffi needs.
func System() []Fact {
	if runtime.GOOS != "linux" {
		return []Fact{{"system", output("uname", "-sr")}}
	}
	facts := []Fact{{"system", strings.TrimSpace("Linux " + firstLine("/proc/sys/kernel/osrelease") + ", " + distribution("/etc/os-release"))}}
	for _, l := range []struct{ name, file, versions string }{
		{"C library", "libc.so.6", "GLIBC_"},
		{"C++ runtime", "libstdc++.so.6", "GLIBCXX_"},
	} {
		value := "the loader finds no " + l.file
		if path := found(l.file); path != "" {
			value = cmp.Or(newest(path, l.versions), "no version of "+l.versions) + " in " + path
			if real, err := filepath.EvalSymlinks(path); err == nil && filepath.Base(real) != l.file {
				value += " (" + filepath.Base(real) + ")"
			}
		}
		facts = append(facts, Fact{l.name, value})
	}
	return facts
}

func output(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return "unknown: " + err.Error()
	}
	return strings.TrimSpace(string(out))
}

func firstLine(file string) string {
	data, _ := os.ReadFile(file)
	line, _, _ := bytes.Cut(data, []byte("\n"))
	return string(line)
}

// distribution returns the name in a file like /etc/os-release.
func distribution(file string) string {
	data, _ := os.ReadFile(file)
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return "no " + file
}

// found returns the path of a library where the loader looks for it: in LD_LIBRARY_PATH, and then in its cache.
func found(file string) string {
	for _, dir := range filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")) {
		if _, err := os.Stat(filepath.Join(dir, file)); err == nil && dir != "" {
			return filepath.Join(dir, file)
		}
	}
	for _, ldconfig := range []string{"ldconfig", "/sbin/ldconfig"} { // a PATH of users often lacks the second
		list, err := exec.Command(ldconfig, "-p").Output()
		if err == nil {
			return cached(string(list), file)
		}
	}
	return ""
}

// cached returns the path of a library in the list of ldconfig, whose lines are like
//
//	libc.so.6 (libc6,x86-64) => /lib/x86_64-linux-gnu/libc.so.6
func cached(list, file string) string {
	for line := range strings.Lines(list) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " (")
		kind, path, arrow := strings.Cut(rest, ") => ")
		if ours := strings.Contains(kind, "64") && !strings.Contains(kind, "x32"); name == file && arrow && ours {
			return path
		}
	}
	return ""
}

// newest returns the newest version with a prefix that a library defines, such as GLIBC_2.36.
func newest(path, prefix string) string {
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	all, err := f.DynamicVersions()
	if err != nil {
		return ""
	}
	best, bestNumber := "", []int(nil)
	for _, v := range all {
		if number := numbers(strings.TrimPrefix(v.Name, prefix)); strings.HasPrefix(v.Name, prefix) && slices.Compare(number, bestNumber) > 0 {
			best, bestNumber = v.Name, number
		}
	}
	return best
}

// numbers returns the parts of a version such as 3.4.30, nil if it has other parts.
func numbers(version string) (all []int) {
	for part := range strings.SplitSeq(version, ".") {
		n := 0
		for _, digit := range part {
			if digit < '0' || digit > '9' || n > 1e6 {
				return nil
			}
			n = 10*n + int(digit-'0')
		}
		all = append(all, n)
	}
	return all
}
