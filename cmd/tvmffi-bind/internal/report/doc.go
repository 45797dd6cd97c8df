// Package report shows a user, or a program, what libraries offer and what was made of them: the listings of ls as text,
// JSON and HTML, and the report of gen.
//
// It reads no library and makes no bindings.
package report
