package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// mode runs the tests of a build mode.
func mode(j *job) { j.testPackages(j.on) }

// testPackages tests packages. The module in examples has a go test of its own.
func (j *job) testPackages(patterns []string) {
	var root, inner []string
	for _, p := range patterns {
		if rest, ok := strings.CutPrefix(p, "./examples/"); ok {
			inner = append(inner, "./"+rest)
		} else {
			root = append(root, p)
		}
	}
	if len(root) > 0 {
		j.goTest(root...)
	}
	if len(inner) > 0 { // not from the cache, which does not see changes of the module around this one
		j.dir = "examples"
		j.goTest(append(inner, "-count=1")...)
		j.dir = ""
	}
}

// stranger returns a command with an empty HOME, and without the caches and settings of the user; network settings
// stay. The caches of the go command belong to the run: they are empty at first, and the two commands share them.
func (j *job) stranger(words ...string) *exec.Cmd {
	home, err := os.MkdirTemp(j.scratch, "home")
	j.must(err)
	c := j.command(words...)
	mine := regexp.MustCompile(`^(TVMFFI_.*|XDG_(CACHE|CONFIG)_HOME|GOPATH|GOBIN|GOENV|GOFLAGS|CGO_ENABLED|CARGO_HOME|(PIP|UV)_CACHE_DIR)=`)
	c.Env = slices.DeleteFunc(os.Environ(), mine.MatchString)
	c.Env = append(c.Env, "HOME="+home, "GOMODCACHE="+j.scratch+"/mod", "GOCACHE="+j.scratch+"/build")
	return c
}

// demo leaves nothing behind.
func demo(j *job) {
	c := j.stranger("go", "run", "./cmd/tvmffi-bind", "demo")
	tmp, err := os.MkdirTemp(j.scratch, "tmp")
	j.must(err)
	c.Env = append(c.Env, "TMPDIR="+tmp)
	j.must(j.finish(c))
	if left, _ := filepath.Glob(filepath.Join(tmp, "tvmffi-demo*")); left != nil {
		j.must(fmt.Errorf("the demo has left %s behind", left))
	}
}

// test has a HOME of its own: no test needs what the demo has left behind.
func test(j *job) { j.readTest(j.stranger("go", "test", "-json", "./...")) }

func format(j *job) {
	asm := append(words{"go", "tool", "-modfile=.ci/tools/go.mod", "asmfmt", "-l"}, j.files("*.s")...)
	for _, list := range []words{{"gofmt", "-l", "."}, asm} {
		if bad := j.text(list...); len(bad) > 0 {
			j.must(fmt.Errorf("not formatted: %s\nrun %s -w", strings.Join(bad, " "), strings.Join(list[:slices.Index(list, "-l")], " ")))
		}
	}
}

// files lists the files of the repository that match a pattern, also those that are not committed yet.
func (j *job) files(pattern string) []string {
	return j.text("git", "ls-files", "--cached", "--others", "--exclude-standard", pattern)
}

// folders returns the folders of files, such as ./runtime.
func folders(files []string) []string {
	var list []string
	for _, file := range files {
		if dir := "./" + path.Dir(file); !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return list
}

// bindings lists the folders that have bindings, those that are too large to commit apart.
func (j *job) bindings() (committed, large []string) {
	for _, dir := range folders(j.text("git", "grep", "--untracked", "-lE", "^//go:generate .*tvmffi-bind gen", "--", "generated/*.go", "examples/*.go", "bench/*.go", "cuda/*.go")) {
		if len(j.files(dir+"/*_gen.go")) > 0 {
			committed = append(committed, dir)
		} else {
			large = append(large, dir)
		}
	}
	return committed, large
}

var generateLine = regexp.MustCompile(`(?m)^//go:generate .*tvmffi-bind ((?:gen|build)\b.*)$`)

func generated(j *job) {
	program := filepath.Join(j.scratch, "tvmffi-bind")
	j.sh("go", "build", "-o", program, "./cmd/tvmffi-bind")
	committed, _ := j.bindings()
	for _, dir := range committed {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		j.must(err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			j.must(err)
			for _, m := range generateLine.FindAllStringSubmatch(string(text), -1) {
				c := append(words{program}, strings.Fields(m[1])...)
				if c[1] == "gen" { // not a line that builds the library
					c = append(c, "--check")
				}
				fmt.Fprintln(j.out, dir)
				j.dir = dir
				j.sh(c...)
				j.dir = ""
			}
		}
	}
}

// vet looks with the tags of build modes only at packages that have files for them.
func vet(j *job) {
	tagged := folders(j.text("git", "grep", "--untracked", "-lE", "^//go:build.*tvmffi_(debug|nobind|liveness)", "--", "*.go"))
	commands("go vet -tags="+allTags+" ./...",
		"go vet "+quickly+"-tags=tvmffi_debug,tvmffi_nobind,tvmffi_liveness "+strings.Join(tagged, " "),
		"go vet -tags=tvmffi_portable ./internal/ccall ./internal/dynlib ./tvm/disco", "go vet -C .ci/tools ./...")(j)
}

// cross vets the packages that have other files on Windows or on macOS, or that use those; the other platforms differ in assembly.
func cross(j *job) {
	for _, platform := range []struct{ name, packages string }{
		{"GOOS=windows GOARCH=amd64", "./cmd/... ./cuda/... ./internal/... ./native ./reflection ./runtime/... ./tvm/..."},
		{"GOOS=darwin GOARCH=arm64", "./cmd/tvmffi-bind/... ./cuda ./internal/... ./native ./reflection ./runtime ./tvm/..."},
		{"GOOS=windows GOARCH=arm64", "./internal/ccall ./internal/dynlib"},
		{"GOOS=darwin GOARCH=amd64", "./internal/ccall ./internal/dynlib"},
		{"GOOS=linux GOARCH=arm64", "./internal/ccall ./internal/dynlib"},
	} {
		j.args = append(strings.Fields(platform.name), "CGO_ENABLED=0", "GOGC=400")
		commands("go vet "+quickly+platform.packages, "go build ./internal/ccall ./internal/dynlib")(j)
	}
	j.args = words{"GOOS=windows", "CGO_ENABLED=0", "GOGC=400"}
	commands("go -C examples vet " + quickly + "./...")(j)
}

// endToEnd runs the tests in files with the tag e2e, which the step test leaves out. The step examples runs the ones in its module.
func endToEnd(j *job) {
	files := j.text("git", "grep", "--untracked", "-lw", "^//go:build.*e2e", "--", "*_test.go", ":!examples")
	var names []string
	for _, line := range j.text(append(words{"grep", "-hoE", `^func (Test|Example|Fuzz)\w+`}, files...)...) {
		names = append(names, strings.TrimPrefix(line, "func "))
	}
	j.goTest(append(folders(files), "-run=^("+strings.Join(names, "|")+")$")...)
}

// examples generates the bindings that are too large to commit, and checks the module like the root.
func examples(j *job) {
	_, large := j.bindings()
	for _, dir := range large {
		j.sh("go", "-C", dir, "generate", ".")
	}
	commands("go -C examples mod tidy -diff", // it reads the imports of the bindings
		"GOGC=400 go -C examples vet -tags=bindings,"+allTags+" ./...",
		"GOGC=400 go -C examples tool -modfile=../.ci/tools/go.mod staticcheck -tags=bindings,"+allTags+" ./...")(j)
	j.testPackages(words{"./examples/..."})
}

// fuzz gives each target a number of inputs and not a time: at the end of a time go test sometimes fails with
// "context deadline exceeded" and no input. A failing input is left in testdata/fuzz of its package.
func fuzz(j *job) {
	for _, target := range j.text("git", "grep", "--untracked", "-oE", "^func Fuzz[A-Za-z0-9_]*", "--", "*_test.go") {
		file, name, _ := strings.Cut(target, ":func ")
		dir := path.Dir(file)
		if j.changed.reach(words{"./" + dir}) {
			fmt.Fprintln(j.out, dir, name)
			j.quietly("go", "-C", dir, "test", "-vet=off", "-ldflags=-w", spend, "-run=^$", "-fuzz=^"+name+"$", "-fuzztime=3000x", "-fuzzminimizetime=5x", ".")
		}
	}
}

var testFunc = regexp.MustCompile(`(?m)^func (Test|Benchmark|Example|Fuzz)\w*\((t |b |f |\))`) // not TestMain(m *testing.M)

// liveness compiles no other tests of the packages in apart: those of runtime alone take 12 s of CPU time. A helper of a
// TestLiveness there has to be in a file without tests, or in one with the tag.
func liveness(j *job) {
	without := map[string]string{}
	for _, file := range j.files("*_test.go") {
		if !slices.Contains(apart, "./"+path.Dir(file)) {
			continue
		}
		text, err := os.ReadFile(file)
		j.must(err)
		if testFunc.Match(text) && !strings.Contains(string(text), "tvmffi_liveness") {
			name, err := filepath.Abs(file)
			j.must(err)
			without[name] = "" // no file
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": without})
	j.must(err)
	overlay := filepath.Join(j.scratch, "liveness.json")
	j.must(os.WriteFile(overlay, text, 0o600))
	j.goTest(append(slices.Clone(j.on), "-overlay="+overlay)...)
}

// profile takes a profile and a trace that nobody reads.
func profile(j *job) {
	j.goTest(append(slices.Clone(j.on), "-args", "-test.cpuprofile=/dev/null", "-test.trace=/dev/null")...)
}

// withTVM tests the packages above TVM, what functions of TVM say, and that the benchmark of the engines starts.
func withTVM(j *job) {
	j.testPackages(engines)
	j.args = append(j.args, "-run=TestTVM")
	j.testPackages(words{"./runtime", "./generated", "./bench"})
}

func wheels(j *job) {
	dir := filepath.Join(j.scratch, "arm64")
	j.sh(".ci/python-arm64", dir)
	j.args = append(j.args, "PATH="+dir+"/bin:"+os.Getenv("PATH"))
	mode(j)
}

// judgeSkips fails if a test was skipped that .ci/skips does not allow to skip.
func judgeSkips(j *job) {
	text, err := os.ReadFile(".ci/skips")
	j.must(err)
	rules, err := parse(string(text))
	j.must(err)
	j.must(judge(j.out, rules, j.run.skips))
}
