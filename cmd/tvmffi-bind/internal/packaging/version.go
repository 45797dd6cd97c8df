package packaging

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// versionText is the grammar of PEP 440, with the spellings that it allows beside the normal one.
var versionText = regexp.MustCompile(`^v?(?:(\d+)!)?(\d+(?:\.\d+)*)` +
	`(?:[-_.]?(a|alpha|b|beta|c|rc|pre|preview)[-_.]?(\d*))?` +
	`(?:-(\d+)|[-_.]?(post|rev|r)[-_.]?(\d*))?` +
	`(?:[-_.]?(dev)[-_.]?(\d*))?` +
	`(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?$`)

// Version returns the normal form of a version of PEP 440.
func Version(text string) (string, error) {
	m := versionText.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if m == nil {
		return "", fmt.Errorf("%q is not a version of a Python package (PEP 440): write one such as 1.2.3, 1.2.3rc1 or 1.2.3.dev4", text)
	}
	var b strings.Builder
	if e := number(m[1]); e != "0" {
		b.WriteString(e + "!")
	}
	for i, part := range strings.Split(m[2], ".") {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(number(part))
	}
	if m[3] != "" {
		b.WriteString(map[string]string{"a": "a", "alpha": "a", "b": "b", "beta": "b"}[m[3]])
		if strings.ContainsAny(m[3][:1], "crp") {
			b.WriteString("rc")
		}
		b.WriteString(number(m[4]))
	}
	if m[5] != "" || m[6] != "" {
		b.WriteString(".post" + number(m[5]+m[7]))
	}
	if m[8] != "" {
		b.WriteString(".dev" + number(m[9]))
	}
	if m[10] != "" {
		var local []string
		for _, part := range separators.Split(m[10], -1) {
			if strings.Trim(part, "0123456789") == "" {
				part = number(part)
			}
			local = append(local, part)
		}
		b.WriteString("+" + strings.Join(local, "."))
	}
	return b.String(), nil
}

// number is a number without leading zeros; no digits are a zero.
func number(digits string) string {
	if digits = strings.TrimLeft(digits, "0"); digits == "" {
		return "0"
	}
	return digits
}

// unversioned is the version of a module without a tag in git.
const unversioned = "0.0.0.dev0"

// described is what git describe --long --dirty prints for the tag of a module.
var described = regexp.MustCompile(`^(v\d+\.\d+\.\d+.*)-(\d+)-g[0-9a-f]+(-dirty)?$`)

// VersionOf returns the version of the module in a folder. A commit with a tag such as v1.2.3 has the version 1.2.3.
// Later commits, and a tree with changes, are development releases of the next version: 1.2.4.dev5. A module in a
// subfolder of its repository has tags such as sub/v1.2.3. Without a tag or git, the version is 0.0.0.dev0.
func VersionOf(ctx context.Context, module string) string {
	git := func(args ...string) (string, bool) {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", module}, args...)...).Output()
		return strings.TrimSpace(string(out)), err == nil
	}
	prefix, ok := git("rev-parse", "--show-prefix")
	if !ok {
		return unversioned
	}
	text, ok := git("describe", "--tags", "--long", "--dirty", "--match", prefix+"v[0-9]*")
	if !ok {
		return unversioned
	}
	return fromTag(strings.TrimPrefix(text, filepath.ToSlash(prefix)))
}

// fromTag returns the version for what git describe prints.
func fromTag(text string) string {
	m := described.FindStringSubmatch(text)
	if m == nil {
		return unversioned
	}
	core, pre, hasPre := strings.Cut(strings.TrimSuffix(m[1], "+incompatible"), "-")
	exact := core
	if hasPre {
		exact += pre
	}
	version, err := Version(exact)
	if err != nil { // a pre-release of Go need not be one of Python: v1.2.3-fast
		version, hasPre = "", true
	}
	if m[2] == "0" && m[3] == "" && version != "" {
		return version
	}
	if hasPre { // the next release is core itself
		version, err = Version(core + ".dev" + m[2])
	} else {
		parts := strings.Split(strings.TrimPrefix(core, "v"), ".")
		patch, _ := strconv.Atoi(parts[2])
		version, err = Version(fmt.Sprintf("%s.%s.%d.dev%s", parts[0], parts[1], patch+1, m[2]))
	}
	if err != nil {
		return unversioned
	}
	return version
}
