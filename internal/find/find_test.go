package find

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// Without /proc a program on Linux does not know its folder, and the error says so.
func TestNoExecutable(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux needs /proc")
	}
	defer func(f func() (string, error)) { executable = f }(executable)
	executable = func() (string, error) { return "", errors.New("readlink /proc/self/exe: no such file or directory") }
	s := Search{File: Core(), Options: &Options{CoreVersion: "0.1.12"}}
	text := s.Message()
	for _, want := range []string{"folder of the executable: unknown: readlink /proc/self/exe", "\nmount /proc", "set TVMFFI_LIBRARY to the file", "setup --version 0.1.12\"", "apache-tvm-ffi==0.1.12,"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nlacks %q", text, want)
		}
	}
	if strings.Contains(text, "nowhere to look") {
		t.Error(text)
	}
}
