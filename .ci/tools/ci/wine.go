package main

import (
	"embed"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// wine runs the tests of a build mode for Windows. They see the files of this machine under the drive Z:, and share its cache,
// into which tests of this platform have put the wheels: in a prefix there is no pip. Their compiler is that of mingw
// on this machine.
func wine(j *job) {
	windows := j.args
	j.args = nil
	j.sh("go", "test", "-count=1", "-run=^(TestOtherKindsOfFile|TestCheckOthers|TestPlatforms|TestVersionsForWindows)$", "./internal/symbols", "./internal/elfheader")
	cache := os.Getenv("TVMFFI_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		j.must(err)
		cache = filepath.Join(user, "tvmffi")
	}
	prefix := filepath.Join(j.scratch, "wine")
	prefixed := words{"WINEPREFIX=" + prefix, "WINEDEBUG=-all", "WINEDLLOVERRIDES=dbghelp=n;mscoree,mshtml="} // no dialog asks for Mono or Gecko
	j.args = prefixed
	j.must(os.Mkdir(prefix, 0o700))
	defer func() { // what follows is in no process group of the step
		end := exec.Command("wineserver", "--kill")
		end.Env = append(os.Environ(), j.env()...)
		_ = end.Run() // fails if it has ended
	}()
	// The server of the prefix stays, and what wineboot starts: a test that started them would wait for them at its end.
	j.sh("setsid", "--wait", "sh", "-c", "(wineserver --persistent && wineboot --init) </dev/null >/dev/null 2>&1")
	system := filepath.Join(prefix, "drive_c/windows/system32")
	for _, name := range []string{"bcryptprimitives", "dbghelp"} {
		text, err := parts.ReadFile("wine/" + name + ".c")
		j.must(err)
		source := filepath.Join(j.scratch, name+".c")
		j.must(os.WriteFile(source, text, 0o600))
		j.sh("x86_64-w64-mingw32-gcc-posix", "-shared", "-s", "-o", filepath.Join(system, name+".dll"), source, "-ladvapi32", filepath.Join(system, "vcruntime140_1.dll"))
	}
	compiler := filepath.Join(j.scratch, "g++.exe")
	j.sh("env", "GOOS=windows", "CGO_ENABLED=0", "go", "-C", ".ci/tools", "build", "-o", compiler, "./hostcommand")
	// The go command would take CXX for its own.
	j.args = slices.Concat(prefixed, windows, words{"TVMFFI_CACHE=Z:" + cache, "-overlay=" + removal(j),
		"TVMFFI_TEST_HOST=" + offer(j, prefix, "x86_64-w64-mingw32-g++-posix"), "-exec=env CXX=Z:" + compiler + " wine"})
	mode(j)
	// Tests of this machine, which start programs of Windows.
	j.args = append(slices.Clip(prefixed), "-count=1", "-tags=wine")
	j.testPackages(words{"./cmd/tvmffi-bind/scripts/windows"})
}

//go:embed wine
var parts embed.FS // of Windows, in place of those that wine lacks or has slowly

// removal returns an overlay in which os.RemoveAll removes files under wine 8. Go falls back to the older way of removing a
// file where Windows says that it does not know the newer one, but not where wine says that it has not implemented it.
func removal(j *job) string {
	root := strings.Join(j.text("go", "env", "GOROOT"), "")
	file := filepath.Join(root, "src/internal/syscall/windows/at_windows.go")
	text, err := os.ReadFile(file)
	j.must(err)
	const falls = "case STATUS_INVALID_INFO_CLASS,"
	changed := strings.Replace(string(text), falls, falls+" NTStatus(0xC0000002), // STATUS_NOT_IMPLEMENTED\n\t\t", 1)
	if changed == string(text) {
		j.must(errors.New(file + " has no line with " + falls))
	}
	copied, overlay := filepath.Join(j.scratch, "at_windows.go"), filepath.Join(j.scratch, "wine.json")
	j.must(os.WriteFile(copied, []byte(changed), 0o600))
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{file: copied}})
	j.must(err)
	j.must(os.WriteFile(overlay, list, 0o600))
	return overlay
}
