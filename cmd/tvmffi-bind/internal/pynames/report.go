package pynames

import (
	"fmt"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
)

// Print writes a summary to standard error. File is the names file, - for standard output.
func (r *Report) Print(con *console.Console, file string) {
	to := ""
	if file != "-" {
		to = console.Shown(file) + ": "
	}
	con.Notef("%snames of parameters from %s\n", to, r.Read())
	for _, row := range []struct {
		noun  string
		count Count
	}{{"function", r.Functions}, {"method", r.Methods}, {"constructor", r.Constructors}} {
		if row.count.All == 0 {
			continue
		}
		partly := ""
		if row.count.Partly > 0 {
			partly = fmt.Sprintf(", %d in part", row.count.Partly)
		}
		con.Notef("  %d of %s%s\n", row.count.Named, console.Count(row.count.All, row.noun)+" with parameters", partly)
	}
	con.Notef("  %d of %s; %s of parameters and %d of results; %s; docs of %s\n", r.Params.Named, console.Count(r.Params.All, "parameter"),
		console.Count(r.Types, "type"), r.Results, console.Count(r.Defaults, "default"), console.Count(r.Docs, "item"))
	if !r.Checked {
		con.Notef("  nothing was compared with a library: name it by --lib, so that what does not fit is left out\n")
	}
	con.List("left out", "--json", lines(r.LeftOut))
	con.List("not read", "--json", lines(r.Unread))
}

// Read names the sources that were read.
func (r *Report) Read() string {
	python, native := console.Count(r.Sources, "Python source"), console.Count(r.Natives, "C++ source")
	switch {
	case r.Natives == 0 && r.Sources == 0:
		return "the checks of the kernels"
	case r.Natives == 0:
		return python
	case r.Sources == 0:
		return native
	}
	return python + " and " + native
}

// lines returns a line for each note.
func lines(notes []Note) []string {
	all := make([]string, len(notes))
	for i, n := range notes {
		all[i] = n.Where + ": " + n.Text
	}
	return all
}
