package console

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// mostProblems is how many problems a table has.
const mostProblems = 20

// problems are several errors, with their table.
type problems struct {
	all  []error
	text string
}

// Error returns the table.
func (p *problems) Error() string { return p.text }

// Unwrap returns the problems.
func (p *problems) Unwrap() []error { return p.all }

// Problems returns err. If it joins several errors, its text becomes a table: a row has the place
// and the item of an error and what was found, and below it stands the next step. The errors have
// the form "place: item: found; next step", without a place if there is no file.
func Problems(err error) error {
	all := leaves(err)
	if len(all) < 2 {
		return err
	}
	var rows []problem
	width := [2]int{}
	for _, e := range all[:min(len(all), mostProblems)] {
		p := parseProblem(e.Error())
		width[0] = max(width[0], utf8.RuneCountInString(p.place))
		width[1] = max(width[1], utf8.RuneCountInString(p.item))
		rows = append(rows, p)
	}
	var b strings.Builder
	b.WriteString(Count(len(all), "problem") + ":")
	for _, p := range rows {
		margin := "\n  "
		if width[0] > 0 {
			margin += fmt.Sprintf("%-*s ", width[0], p.place)
		}
		fmt.Fprintf(&b, "%s%-*s  %s", margin, width[1], p.item, p.found)
		if p.next != "" {
			indent := strings.Repeat(" ", utf8.RuneCountInString(margin)-1+width[1]+2)
			fmt.Fprintf(&b, "\n%s-> %s", indent, p.next)
		}
	}
	if n := len(all) - mostProblems; n > 0 {
		fmt.Fprintf(&b, "\nand %s", Count(n, "more problem"))
	}
	return &problems{all, b.String()}
}

// leaves lists the errors that err joins. Text that it adds to all of them is left out.
func leaves(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, leaves(e)...)
		}
		return all
	}
	if inner := errors.Unwrap(err); inner != nil {
		if all := leaves(inner); len(all) > 1 {
			return all
		}
	}
	return []error{err}
}

// problem is an error in parts.
type problem struct{ place, item, found, next string }

var (
	placeOf = regexp.MustCompile(`^(\S+:\d+(?::\d+)?:) `)
	itemOf  = regexp.MustCompile(`^((?:[\w ]+: )?"[^"]*"|[^"]*?): `)
)

func parseProblem(text string) problem {
	var p problem
	if m := placeOf.FindStringSubmatch(text); m != nil {
		p.place, text = m[1], text[len(m[0]):]
	}
	if m := itemOf.FindStringSubmatch(text); m != nil {
		p.item, text = m[1], text[len(m[0]):]
	}
	p.found, p.next, _ = strings.Cut(text, "; ")
	return p
}
