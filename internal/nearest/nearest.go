// Package nearest finds the names that are similar to one that does not exist, for
// the end of an error message. Callers choose the names to compare.
package nearest

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// most is how many names are offered, longest how long a name may be to be compared.
const (
	most    = 3
	longest = 256
)

// Names returns at most three names, the most similar first, that differ from want in
// a few letters, or in the namespaces before it, and not much more than the first name.
func Names(want string, names []string) []string {
	type match struct {
		name     string
		distance int
	}
	var found []match
	limit := len(want) / 3
	for _, name := range names {
		if d := distance(want, name, limit); d <= limit && name != want {
			found = append(found, match{name, d})
		}
	}
	slices.SortFunc(found, func(a, b match) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	var nearest []string
	for _, m := range slices.Compact(found) {
		if m.distance <= found[0].distance+1 && len(nearest) < most {
			nearest = append(nearest, m.name)
		}
	}
	return nearest
}

// Question asks for the nearest names, as in "; did you mean garden.water?", for the
// end of a message; it is empty if no name is near.
func Question(want string, names []string) string { return ask(Names(want, names)) }

// WordQuestion is Question for names that consist of words with hyphens between them. A name
// with the word want is near too: jax-tvm-ffi is near jax.
func WordQuestion(want string, names []string) string {
	near := Names(want, names)
	for _, name := range names {
		words := strings.Split(strings.ToLower(name), "-")
		if len(near) < most && slices.Contains(words, strings.ToLower(want)) && !slices.Contains(near, name) {
			near = append(near, name)
		}
	}
	return ask(near)
}

// ask asks whether one of the names is meant.
func ask(near []string) string {
	if len(near) == 0 {
		return ""
	}
	last := len(near) - 1
	if last == 0 {
		return "; did you mean " + near[0] + "?"
	}
	return "; did you mean " + strings.Join(near[:last], ", ") + " or " + near[last] + "?"
}

// File asks for the nearest files in the folder of path, in the form of Question.
func File(path string) string {
	entries, _ := os.ReadDir(filepath.Dir(path))
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return Question(filepath.Base(path), names)
}

// distance is how many letters must be added, removed, replaced or swapped with the
// next one to turn a into b, ignoring case; any number above limit if it is more.
// A name in another namespace is one off.
func distance(a, b string, limit int) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if strings.HasSuffix(a, "."+b) || strings.HasSuffix(b, "."+a) {
		return min(1, limit)
	}
	if max(len(a), len(b)) > longest || max(len(a), len(b))-min(len(a), len(b)) > limit {
		return limit + 1
	}
	x, y := []rune(a), []rune(b)
	// rows are three rows of the table of distances of prefixes: the one before the last,
	// the last, and the next.
	rows := [3][]int{make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := range x {
		rows[2][0] = i + 1
		for j := range y {
			change := 1
			if x[i] == y[j] {
				change = 0
			}
			d := min(rows[1][j]+change, rows[1][j+1]+1, rows[2][j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				d = min(d, rows[0][j-1]+1)
			}
			rows[2][j+1] = d
		}
		rows[0], rows[1], rows[2] = rows[1], rows[2], rows[0]
	}
	return rows[1][len(y)]
}
