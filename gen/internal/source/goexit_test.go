package source

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// A module with packages for which Read has to find what may call runtime.Goexit: the funcs and methods whose names
// begin with Ends.
const exiting = `
-- go.mod --
module example.com/m
go 1.24
-- quits/quits.go --
// Package quits is a package that others import.
package quits

import "runtime"

func Now() { runtime.Goexit() }

type Value int

func (Value) String() string { runtime.Goexit(); return "" }
-- above/above.go --
package above

import "example.com/m/quits"

func Call() { quits.Now() }
-- clean/clean.go --
// Package clean says Goexit only in a comment.
package clean

import "runtime"

func Version() string { return runtime.Version() }
func Show(x any) string { return "" }
func Loop(f func()) { f() }

type Reader struct{}

func NewReader(x any) *Reader { return nil }
func (*Reader) Read() int { return 0 }
-- own/own.go --
package own

import (
	"fmt"
	stdruntime "runtime"

	"example.com/m/clean"
)

func quit() { stdruntime.Goexit() }
func generic[T any](x T) T { quit(); return x }

//tvmffi:export
func EndsItself() { stdruntime.Goexit() }
//tvmffi:export
func EndsByOwn() { quit() }
//tvmffi:export
func EndsByGeneric() int64 { return generic[int64](3) }
//tvmffi:export
func EndsByValue() { clean.Loop(quit) }
//tvmffi:export
func EndsByLiteral() { defer func() { quit() }() }
//tvmffi:export
func EndsByMethod() { stepper(new(Box)).EndsStep() }
//tvmffi:export
func EndsByUnknown() { table["x"]() }
//tvmffi:export
func EndsByParam(f func()) { f() }
//tvmffi:export
func EndsByArgument() string { return clean.Show(&Box{}) }
//tvmffi:export
func EndsByStored() int64 { return int64(reader.Read()) }
//tvmffi:export
func EndsByVariable() { handler() }

var (
	table   = map[string]func(){"x": quit}
	handler = quit
	reader  = made()
)

func made() *clean.Reader { return clean.NewReader(&Box{}) }

type stepper interface{ EndsStep() }

type printer interface{ Print() }

//tvmffi:object opaque
type Box struct{ n int64 }

//tvmffi:constructor
func EndsNewBox() *Box { quit(); return nil }
//tvmffi:method
func (b *Box) EndsStep() { quit() }
//tvmffi:method
func (b *Box) Print() {}
//tvmffi:property
func (b *Box) EndsSize() int64 { b.EndsStep(); return 0 }
//tvmffi:property
func (b *Box) Size() int64 { return b.n }

//tvmffi:export
func Adds(a, b int64) int64 { return max(a, int64(float64(b))) }
//tvmffi:export
func Format(n int64) (string, error) { return fmt.Sprint(n), fmt.Errorf("%d: %s", n, clean.Version()) }
//tvmffi:export
func Prints(n int64) { printer(new(Box)).Print() }
//tvmffi:export
func Starts() { go quit(); go func() { quit() }() }
//tvmffi:export
func Recurses(n int64) int64 { if n > 0 { return Recurses(n - 1) }; return n }
-- tests/tests.go --
package tests

import "testing"

type fails interface{ FailNow() }
type prints interface{ Print() }

//tvmffi:export
func EndsByTest() { var t testing.T; t.Fatalf("it fails") }
//tvmffi:export
func EndsByInterface() { require(new(testing.T)) }
//tvmffi:export
func EndsByTB() { check(new(testing.B)) }
//tvmffi:export
func Logs() { var t testing.T; t.Log("it goes on"); print(nil, nil); fromGenerated() }

func require(f fails) { f.FailNow() }
func check(tb testing.TB) { tb.SkipNow() }
func print(p prints, err error) string { p.Print(); return err.Error() }
-- tests/tests_gen.go --
package tests // generated

import "testing"

func fromGenerated() { new(testing.T).FailNow() }
-- importer/importer.go --
package importer

import (
	"example.com/m/above"
	"example.com/m/clean"
	"example.com/m/quits"
)

//tvmffi:export
func EndsByImport() { above.Call() }
//tvmffi:export
func EndsByType() string { return clean.Show(quits.Value(1)) }
//tvmffi:export
func EndsByError(n int64) string { return text(nil) }
//tvmffi:export
func Adds(a, b int64) int64 { return a + b }

func text(err error) string { return err.Error() }
-- none/none.go --
package none

import (
	"runtime"

	"example.com/m/clean"
)

//tvmffi:export
func Calls(f func()) string { f(); runtime.GC(); return clean.Version() }
`

func TestExits(t *testing.T) {
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(exiting)).Files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"own", "tests", "importer", "none"} {
		p, err := Read(dir, "./"+name, func(text []byte) bool { return bytes.Contains(text, []byte("// generated")) })
		if err != nil {
			t.Fatal(err)
		}
		if p.Exits != (name != "none") {
			t.Errorf("%s: Exits is %v", name, p.Exits)
		}
		all := p.Functions
		for _, c := range p.Types {
			all = slices.Concat(all, c.members(), []*Function{c.Constructor})
		}
		var got, want []string
		for _, f := range all {
			if f.Exits {
				got = append(got, f.GoName)
			}
			if strings.HasPrefix(f.GoName, "Ends") {
				want = append(want, f.GoName)
			}
		}
		if len(all) < 1 || cmp.Diff(want, got) != "" {
			t.Errorf("%s: the funcs that may call runtime.Goexit:\n%s", name, cmp.Diff(want, got))
		}
	}
}
