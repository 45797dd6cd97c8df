package console

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
)

// ModulePath is the module that the tool belongs to.
const ModulePath = "github.com/tvmffi-go/tvmffi"

// Version returns the version of the module that the tool was built from.
func Version() string { return selfModule().version }

// Release returns the version if the tool was built from a version that was
// downloaded, so that a go.mod may require it and generated files may name it. It
// returns "" for a tool built in its own repository, whose version changes with every
// commit.
func Release() string {
	if m := selfModule(); m.downloaded {
		return m.version
	}
	return ""
}

// module is what the binary records about ModulePath.
type module struct {
	version    string
	downloaded bool
}

// selfModule reads the binary: the tool may be the main module, or a dependency of
// the module that runs it with go tool.
func selfModule() module {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return module{version: "(devel)"}
	}
	m := &info.Main
	for _, d := range info.Deps {
		if m.Path != ModulePath && d.Path == ModulePath {
			m = d
		}
	}
	v := m.Version
	if v == "" || m.Path != ModulePath {
		v = "(devel)"
	}
	return module{version: v, downloaded: m.Replace == nil && m.Sum != ""}
}

// Commit returns the commit that the tool was built from, with "modified" if files have changed since, "" if nothing says
// it. A binary has it if go build made it in a clone. The pseudo-version of a downloaded module names it. For
// a binary of go tool or go run, the clone is where the module around the working folder has this module.
func Commit(ctx context.Context) string {
	info, ok := debug.ReadBuildInfo()
	if ok && info.Main.Path == ModulePath {
		var revision, modified string
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				revision = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				modified = " (modified)"
			}
		}
		if revision != "" {
			return revision + modified
		}
	}
	if Release() != "" || Command() == "tvmffi-bind" {
		return ""
	}
	ask := func(dir, name string, args ...string) string {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	clone := ask("", "go", "list", "-m", "-f", "{{.Dir}}", ModulePath)
	if clone == "" {
		return ""
	}
	revision := ask(clone, "git", "rev-parse", "HEAD")
	if revision != "" && ask(clone, "git", "status", "--porcelain", "--untracked-files=no") != "" {
		revision += " (modified)"
	}
	return revision
}

// Command returns how the user most likely runs the tool: a binary in the build
// cache was started by go tool or go run.
func Command() string {
	exe, err := os.Executable()
	if err != nil {
		return "tvmffi-bind"
	}
	if builtForOneRun(filepath.ToSlash(exe)) {
		return "go tool tvmffi-bind"
	}
	return "tvmffi-bind"
}

// cached matches a binary in a build cache, which GOCACHE may put into a folder of any name:
// the folder of the binary is called after its hash.
var cached = regexp.MustCompile(`/[0-9a-f]{64}-d/[^/]+$`)

// builtForOneRun tells whether go tool or go run has built a binary: it is in a build cache or
// in a temporary folder of the go command.
func builtForOneRun(exe string) bool {
	return cached.MatchString(exe) || strings.Contains(exe, "/go-build")
}

// WritingCommand returns the command line with these arguments, without the flags
// that keep the tool from writing.
func WritingCommand(args []string) string {
	line := []string{Command()}
	for i := 0; i < len(args); i++ {
		switch name, _, hasValue := strings.Cut(args[i], "="); name {
		case "--check", "--timing":
		case "--report":
			if !hasValue {
				i++
			}
		default:
			line = append(line, args[i])
		}
	}
	return strings.Join(line, " ")
}
