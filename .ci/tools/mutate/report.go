package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// count is what is known about a package.
type count struct {
	dir                        string
	caught, broken, equivalent int
	survivors                  []result
}

func (c *count) judged() int { return c.caught + len(c.survivors) }

func (c *count) add(r result) {
	switch r.Outcome {
	case caught:
		c.caught++
	case broken:
		c.broken++
	default:
		c.survivors = append(c.survivors, r)
	}
}

// report writes the counts and the survivors. It fails if too few are caught.
func report(w io.Writer, counts []count, least float64) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\npackage\tjudged\tcaught\t%\tdoes not compile\tmakes no difference")
	total := count{dir: "all"}
	line := func(c count) {
		share := "-"
		if c.judged() > 0 {
			share = fmt.Sprintf("%.0f", 100*float64(c.caught)/float64(c.judged()))
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%d\t%d\n", c.dir, c.judged(), c.caught, share, c.broken, c.equivalent)
	}
	for _, c := range counts {
		line(c)
		total.caught += c.caught
		total.broken += c.broken
		total.equivalent += c.equivalent
		total.survivors = append(total.survivors, c.survivors...)
	}
	line(total)
	if err := t.Flush(); err != nil {
		return err
	}
	for _, s := range total.survivors {
		fmt.Fprintf(w, "\n%s\n%s\n", s.Place, s.ID)
	}
	if n := total.judged(); n > 0 && 100*float64(total.caught) < least*float64(n) {
		return fmt.Errorf("%d of %d changes are caught, which is less than %g%%", total.caught, n, least)
	}
	return nil
}
