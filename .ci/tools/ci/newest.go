package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// follower says what depends on the release of a Python package: a folder of bindings, and tests by their tags.
type follower struct {
	pkg, bindings, tags string
	tests               words
}

// followers lists the packages whose releases change what the tool and the bindings meet. Each test runs by itself, in a
// copy of the repository in which the newest release has taken the place of the pinned one.
var followers = []follower{
	{"xgrammar", "generated/xgrammar", "", words{"./xgrammar", "./generated"}},
	{"apache-tvm-ffi", "generated/ffi", "", words{"./runtime/...", "./internal/...", "./reflection"}},
	{"apache-tvm", "generated/tvm", "tvm", words{"./tvm/..."}},
	{"apache-tvm-ffi-orcjit", "examples/orcjit", "orcjit", words{"./examples/orcjit"}},
	{"jax-tvm-ffi", "", "e2e", words{"./cmd/tvmffi-bind/scripts/known"}},
	{"tilelang", "", "known", words{"./cmd/tvmffi-bind/scripts/tvm"}},
	{"apache-tvm-tirx", "", "known", words{"./cmd/tvmffi-bind/scripts/tvm"}},
	{"flashinfer-python", "", "flashinfer", words{"./examples/flashinfer"}},
}

const (
	specsFile        = "internal/wheel/specs.go"
	requirementsFile = "internal/testkit/nativetest/testdata/flashinfer_requirements.txt"
)

// newestReleases tries the newest release of each package that the repository pins. It fails if tests fail with one, after
// it has tried them all.
func newestReleases(j *job) {
	var failures []error
	for _, f := range followers {
		if err := j.newest(f); err != nil {
			if j.ctx.Err() != nil {
				j.must(err)
			}
			failures = append(failures, fmt.Errorf("%s: %w", f.pkg, err))
			fmt.Fprintf(j.out, "%s: %v\n", f.pkg, err)
		}
	}
	j.must(errors.Join(failures...))
}

// newest tries one package.
func (j *job) newest(f follower) (err error) {
	defer func() {
		if failure, ok := recover().(failed); ok {
			err = failure.error
		}
		j.dir, j.args = "", nil
	}()
	specs, err := os.ReadFile(specsFile)
	j.must(err)
	requirements, err := os.ReadFile(requirementsFile)
	j.must(err)
	old, hash := pinnedRelease(f.pkg, string(specs), string(requirements))
	if old == "" {
		return errors.New("no version is pinned: remove its line in .ci/tools/ci/newest.go")
	}
	pip := words{"python3", "-m", "pip", "--disable-pip-version-check"}
	index := append(slices.Clone(pip), "index", "versions", f.pkg)
	if preRelease.MatchString(old) {
		index = append(index, "--pre")
	}
	lines := j.text(index...)
	if len(lines) == 0 {
		return errors.New("pip lists no version")
	}
	now := firstVersion(lines[0])
	if now == "" || now == old {
		fmt.Fprintf(j.out, "%s: %s is pinned, and is the newest release (%s)\n", f.pkg, old, now)
		return nil
	}
	fmt.Fprintf(j.out, "%s: %s is pinned, %s is out\n", f.pkg, old, now)

	dir, err := os.MkdirTemp(j.scratch, "newest")
	j.must(err)
	j.sh(append(pip, "download", "-q", "--no-deps", "--only-binary=:all:", "--python-version=3.12", "--platform=manylinux_2_28_x86_64", "--platform=manylinux_2_17_x86_64",
		"--platform=any", "-d", dir, f.pkg+"=="+now)...)
	files, err := filepath.Glob(dir + "/*.whl")
	j.must(err)
	if len(files) != 1 {
		return fmt.Errorf("pip downloaded %q, not one wheel", files)
	}
	data, err := os.ReadFile(files[0])
	j.must(err)
	sum := sha256.Sum256(data)

	repo := filepath.Join(dir, "repository")
	j.sh("git", "clone", "-q", "--shared", ".", repo)
	j.dir = repo
	for _, name := range append(j.text("git", "grep", "-lF", old, "--", "*.yaml", "*.txtar"), specsFile, requirementsFile) {
		text, err := os.ReadFile(filepath.Join(repo, name))
		j.must(err)
		j.must(os.WriteFile(filepath.Join(repo, name), []byte(moved(string(text), f.pkg, old, now, hash, hex.EncodeToString(sum[:]))), 0o600))
	}
	if f.bindings != "" {
		j.sh("go", "build", "-o", filepath.Join(dir, "tvmffi-bind"), "./cmd/tvmffi-bind")
		j.dir = filepath.Join(repo, f.bindings)
		j.sh(filepath.Join(dir, "tvmffi-bind"), "gen") // says what differs
		j.dir = repo
		j.sh("git", "diff", "--stat", "--", f.bindings)
	}
	if f.tags != "" {
		j.args = words{"-tags=" + f.tags}
	}
	for _, pattern := range f.tests {
		if rest, inner := strings.CutPrefix(pattern, "./examples/"); inner {
			j.dir, pattern = filepath.Join(repo, "examples"), "./"+rest
		}
		j.goTest(pattern)
	}
	return nil
}

// preRelease matches a version like 0.1.0a4.
var preRelease = regexp.MustCompile(`\d(a|b|rc|\.dev)\d`)

// firstVersion returns the version in the first line of pip index versions, such as "xgrammar (0.2.9)".
func firstVersion(line string) string {
	_, rest, _ := strings.Cut(line, "(")
	version, _, _ := strings.Cut(rest, ")")
	return version
}

// pinnedRelease returns the newest version of a package that the repository pins for linux/amd64, with its hash: the last in
// the list of the tool, or the one that tests install.
func pinnedRelease(pkg, specs, requirements string) (version, hash string) {
	row := regexp.MustCompile(`\{"` + regexp.QuoteMeta(pkg) + `", "([^"]+)", "linux", "amd64", .*"([0-9a-f]{64})"\}`)
	if rows := row.FindAllStringSubmatch(specs, -1); len(rows) > 0 {
		last := rows[len(rows)-1]
		return last[1], last[2]
	}
	line := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(pkg) + `==(\S+) --hash=sha256:([0-9a-f]{64})`)
	if m := line.FindStringSubmatch(requirements); m != nil {
		return m[1], m[2]
	}
	return "", ""
}

// moved returns a text in which another release has taken the place of the pinned one: in the list of the tool, in
// requirements, and in configurations, also those inside scripts.
func moved(text, pkg, old, now, oldHash, hash string) string {
	text = strings.ReplaceAll(text, oldHash, hash)
	p, v := regexp.QuoteMeta(pkg), regexp.QuoteMeta(old)
	for _, place := range []string{
		`(\{"` + p + `", ")` + v + `(", "linux", "amd64")`, `((?m)^` + p + `==)` + v + `( )`, `(package: ` + p + `\n\s+version: "?)` + v + `("?\n)`,
	} {
		text = regexp.MustCompile(place).ReplaceAllString(text, "${1}"+now+"${2}")
	}
	if pkg == "apache-tvm-ffi" {
		text = strings.Replace(text, `DefaultVersion = "`+old+`"`, `DefaultVersion = "`+now+`"`, 1)
	}
	return text
}
