package pynames

import (
	"fmt"

	"github.com/tvmffi-go/tvmffi/internal/bindtool/console"
)

// maxListed is how many notes of one kind Print lists.
const maxListed = 12

// Print writes a summary to standard error. File is the names file, - for standard output.
func (r *Report) Print(con *console.Console, file string) {
	to := ""
	if file != "-" {
		to = console.Shown(file) + ": "
	}
	con.Notef("%snames of parameters from %s\n", to, console.Count(r.Sources, "Python source"))
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
	con.Notef("  %d of %s; %s of parameters and %d of results; docs of %s\n", r.Params.Named, console.Count(r.Params.All, "parameter"),
		console.Count(r.Types, "type"), r.Results, console.Count(r.Docs, "item"))
	if !r.Checked {
		con.Notef("  nothing was compared with a library: name it by --lib, so that what does not fit is left out\n")
	}
	list(con, "left out", r.LeftOut)
	list(con, "not read", r.Unread)
}

// list lists notes, the first of many.
func list(con *console.Console, title string, notes []Note) {
	if len(notes) == 0 {
		return
	}
	con.Notef("%s:\n", title)
	for i, n := range notes {
		if i == maxListed {
			con.Notef("  and %d more: --json shows them all\n", len(notes)-i)
			return
		}
		con.Notef("  %s: %s\n", n.Where, n.Text)
	}
}
