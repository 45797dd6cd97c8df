package probe

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
)

// calling is how a child announces the call of a function.
const calling = "calling "

// death is the error of a child that ended without an answer.
type death struct {
	doing string
	err   error  // how the process ended
	fault string // the signal, if Go's runtime in the child caught it
	said  string // the last lines before
}

func newDeath(doing string, err error, words *lastWords) *death {
	said, fault := words.split()
	return &death{doing: doing, err: err, said: said, fault: fault}
}

// Error says what the process was doing, how it ended, and what to do about it.
func (d *death) Error() string {
	msg := fmt.Sprintf("the process that loads libraries died while %s: %v", d.doing, d.err)
	if d.fault != "" {
		msg += " (" + d.fault + ")"
	}
	if d.said != "" {
		msg += "; its last words:\n" + d.said
	}
	if strings.HasPrefix(d.doing, calling) {
		return msg + "\nthe function ended the process: check its arguments (null is None, which few functions check)"
	}
	return fmt.Sprintf("%s\nthe library ended the process: check that it fits this version of libtvm_ffi (\"%s doctor\" shows it), and load its dependencies first with --dep", msg, console.Command())
}

// Unwrap returns the error of waiting for the process.
func (d *death) Unwrap() error { return d.err }

// lastWords keeps the end of what a process prints.
type lastWords struct{ data []byte }

const lastWordsBytes = 64 << 10

// Write takes everything and never fails; only the last lastWordsBytes are kept.
func (l *lastWords) Write(p []byte) (int, error) {
	l.data = append(l.data, p...)
	if extra := len(l.data) - lastWordsBytes; extra > 0 {
		l.data = append(l.data[:0], l.data[extra:]...)
	}
	return len(p), nil
}

// faultLine is how the report of Go's runtime about a signal starts.
var faultLine = regexp.MustCompile(`(?m)^(SIG[A-Z]+: .*|fatal error: .*)$`)

// split separates what the process printed from the report of Go's runtime, which lists
// registers and helps nobody here.
func (l *lastWords) split() (said, fault string) {
	text := string(l.data)
	if at := faultLine.FindStringIndex(text); at != nil {
		return console.LastLines(text[:at[0]]), text[at[0]:at[1]]
	}
	return console.LastLines(text), ""
}
