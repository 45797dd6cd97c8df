// Package guides does what the README, the tutorial and the recipes say, to the letter, in new modules.
package guides

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/consumer"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
)

// guide is a text in Markdown whose steps a test does to the letter, in one shell:
//
//   - Lines that are indented by four spaces are commands. They succeed, or the last one fails if the
//     paragraph before them has the word "fails".
//   - A fence without a language after commands is the output of the last one. "..." in it stands for
//     anything. A command that succeeds shows its standard output.
//   - A line that is the name of a file, in backquotes, comes before a fence with its content.
//   - A line that ends in "replace the line with `this` of `file` by" comes before a fence with one line.
//
// Other fences are only read.
type guide struct {
	dir  string   // the working folder
	text string   // a part of a document
	vars []string // of the environment, in addition
	// replace changes the commands: pairs of what the document has and what the test runs.
	replace []string
	before  []string // commands that precede the commands in the text
}

// step is one part of a guide that is done.
type step struct {
	file, content string // a file to write
	line          string // the part of a line of the file to replace by the content, "" to replace all
	commands      []string
	fails         bool
	output        string // what the last command prints
	shown         bool   // the guide has the output
}

var (
	fileLine    = regexp.MustCompile("^`([\\w./-]+)`$")
	replaceLine = regexp.MustCompile("replace the line with `([^`]+)` of `([\\w./-]+)` by$")
)

// steps parses the guide.
func (g *guide) steps(t *testing.T) []step {
	t.Helper()
	var steps []step
	var paragraph []string // the lines of the last one, if nothing else has followed it
	var ended bool
	lines := strings.Split(g.text, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case strings.HasPrefix(line, "```"):
			end := i + 1
			for end < len(lines) && lines[end] != "```" {
				end++
			}
			content := strings.Join(lines[i+1:end], "\n") + "\n"
			if m := fileLine.FindStringSubmatch(last(paragraph)); m != nil {
				steps = append(steps, step{file: m[1], content: content})
			} else if m := replaceLine.FindStringSubmatch(strings.Join(paragraph, " ")); m != nil {
				steps = append(steps, step{file: m[2], line: m[1], content: content})
			} else if n := len(steps) - 1; line == "```" && n >= 0 && steps[n].commands != nil && paragraph == nil {
				steps[n].output, steps[n].shown = content, true
			}
			i, paragraph = end, nil
		case strings.HasPrefix(line, "    "):
			s := step{fails: strings.Contains(strings.Join(paragraph, " "), "fails")}
			for ; i < len(lines) && strings.HasPrefix(lines[i], "    "); i++ {
				s.commands = append(s.commands, strings.TrimPrefix(lines[i], "    "))
			}
			i--
			steps, paragraph = append(steps, s), nil
		case line == "":
			ended = true
		default:
			if ended {
				paragraph, ended = nil, false
			}
			paragraph = append(paragraph, line)
		}
	}
	return steps
}

func last(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1]
}

// follow does the steps and compares what they print. It returns how many commands it ran,
// and the outputs of how many it compared.
func (g *guide) follow(t *testing.T) (commands, outputs int) {
	t.Helper()
	scratch := t.TempDir()
	script := append([]string{"set -euo pipefail"}, g.before...)
	steps := g.steps(t)
	file := func(i int) string { return filepath.Join(scratch, fmt.Sprint(i)) }
	for i, s := range steps {
		switch {
		case s.commands == nil:
			if err := os.WriteFile(file(i), []byte(s.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if s.line == "" {
				script = append(script, fmt.Sprintf("mkdir -p $(dirname %s) && cat %s >%[1]s", s.file, file(i)))
			} else {
				script = append(script, fmt.Sprintf("grep -qF '%s' %s && sed -i -e '/%[1]s/{r %[3]s' -e 'd}' %[2]s", s.line, s.file, file(i)))
			}
		default:
			commands += len(s.commands)
			script = append(script, s.commands[:len(s.commands)-1]...)
			if last := last(s.commands); s.fails {
				script = append(script, fmt.Sprintf("if %s >%s 2>&1; then echo 'this must fail:' %q; exit 1; fi", last, file(i), last))
			} else {
				script = append(script, fmt.Sprintf("%s >%s", last, file(i)))
			}
		}
	}
	text := strings.NewReplacer(g.replace...).Replace(strings.Join(script, "\n"))
	cmd := exec.CommandContext(t.Context(), "bash", "-c", text)
	cmd.Dir = g.dir
	cmd.Env = append(os.Environ(), consumer.Offline(t)...)
	cmd.Env = append(cmd.Env, "TVMFFI_LIBRARY=", "TVMFFI_LIBRARY_PATH=", "GOFLAGS=-buildvcs=false", "GOGC=400", "CGO_ENABLED=", "PWD="+g.dir)
	cmd.Env = append(cmd.Env, g.vars...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, text, out)
	}
	for i, s := range steps {
		if !s.shown {
			continue
		}
		outputs++
		got, err := os.ReadFile(file(i))
		if err != nil {
			t.Fatal(err)
		}
		pattern := strings.ReplaceAll(regexp.QuoteMeta(s.output), `\.\.\.`, `(?s:.*)`)
		if !regexp.MustCompile(`^` + pattern + `$`).Match(got) {
			t.Errorf("%s\nprints\n%s\nand the guide shows\n%s", last(s.commands), got, s.output)
		}
	}
	return commands, outputs
}

// document returns the text of a file of the repository.
func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// section returns the part of a document below a heading of the second level.
func section(t *testing.T, text, heading string) string {
	t.Helper()
	_, part, ok := strings.Cut(text, "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("there is no heading %q", heading)
	}
	part, _, _ = strings.Cut(part, "\n## ")
	return part
}

// root returns the root of the repository, and makes sure that a guide finds libtvm_ffi and a compiler
// without a download.
func root(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skipf("the guides are for Linux, not %s", runtime.GOOS)
	}
	root := consumer.Watch(t)
	nativetest.Compiler(t)
	nativetest.Library(t)
	return root
}
