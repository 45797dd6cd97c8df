package probe

import (
	"regexp"
	"strconv"
	"strings"
)

// satisfies reports whether a version fits all specifiers of a requirement.
func satisfies(version, specifiers string) bool {
	for s := range strings.SplitSeq(specifiers, ",") {
		end := strings.IndexFunc(s, func(r rune) bool { return !strings.ContainsRune("<>=!~", r) })
		if end <= 0 {
			return false
		}
		operator, bound := s[:end], s[end:]
		prefix, wild := strings.CutSuffix(bound, ".*")
		is := compareVersions(version, bound)
		below := is == 0 || strings.HasPrefix(version+".", prefix+".")
		ok := false
		switch operator {
		case "==", "===":
			ok = is == 0 || wild && below
		case "!=":
			ok = is != 0 && !(wild && below)
		case ">=":
			ok = is >= 0
		case "<=":
			ok = is <= 0
		case ">":
			ok = is > 0
		case "<":
			ok = is < 0
		case "~=": // at least this, and the same but for the last part
			ok = is >= 0 && strings.HasPrefix(version+".", bound[:strings.LastIndexByte("."+bound, '.')])
		}
		if !ok {
			return false
		}
	}
	return true
}

var versionPart = regexp.MustCompile(`[0-9]+|[a-z]+[0-9]*`)

// compareVersions orders versions of Python packages: 0.1a1, 0.1, 0.1.post1, 0.1.1.
func compareVersions(a, b string) int {
	x, y := versionPart.FindAllString(strings.ToLower(a), -1), versionPart.FindAllString(strings.ToLower(b), -1)
	for i := range max(len(x), len(y)) {
		if c := comparePart(x, i) - comparePart(y, i); c != 0 {
			return c
		}
	}
	return 0
}

// comparePart returns the rank of a part of a version, of 0 if there is none.
func comparePart(parts []string, i int) int {
	const kind = 1 << 40
	if i >= len(parts) {
		return 0
	}
	digits := strings.TrimLeft(parts[i], "abcdefghijklmnopqrstuvwxyz")
	n, _ := strconv.Atoi(digits) // none is 0
	n = min(n, kind-1)
	switch word := strings.TrimSuffix(parts[i], digits); word {
	case "":
		return 2*kind*min(n, 1) + n
	case "post", "rev", "r":
		return kind + n
	default: // dev, a, b, rc
		return -kind + n
	}
}
