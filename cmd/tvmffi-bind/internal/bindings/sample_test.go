package bindings

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/gen"
)

// TestSamples: functions without parameters come first, then those with plain ones. What else a function takes or returns
// keeps it out, and so do names and docs that say it is not for users.
func TestSamples(t *testing.T) {
	files := map[string]string{
		"functions_gen.go": `package a

import "context"

func Odd(ctx context.Context, n int64) (int64, error)
func Nothing() error
func Names() (*tvmffi.Array[string], error)

// Area is garden.area:
//
//	(float, float) -> float
func Area(width, length float64) (float64, error)
func Alive() (int64, error)
func Sum(xs tvmffi.ArrayArg[float64]) (float64, error)
func Or(n *int64, yes bool) (string, error)
func Narrow(n int32) (uint8, error)
func Dig(by float64, options ...DigOption) (float64, error)
func Packed(args ...any) (tvmffi.Any, error)
func Any(v any) (int64, error)
func Water(p PlantRef) (float64, error)
func Make() (*Plant, error)
func Adder() (func(n int64) (int64, error), error)
func Maybe() (*string, error)
func NoError() int64

// Secret is for testing only.
func Secret() (int64, error)
func DebugState() (int64, error)
func ResetAll() (int64, error)
func Settings() (int64, error)
func hidden() (int64, error)
`,
		"bed/functions_gen.go": "package bed\n\nfunc Size() (int64, error)\n",
		"library_gen.go":       "package a\n\nfunc Load() (int64, error)\n",
	}
	names := map[string]string{"DebugState": "a._debug_state", "ResetAll": "a.ResetAll", "Settings": "a.Settings", "Secret": "a.secret"}
	b := &Result{ImportPath: "example.com/a", Files: map[string][]byte{}}
	for file, text := range files {
		b.Files[file] = []byte(text)
		for line := range strings.Lines(text) {
			rest, isFunc := strings.CutPrefix(line, "func ")
			name, _, _ := strings.Cut(rest, "(")
			if !isFunc {
				continue
			}
			folder, registered := ".", names[name]
			if strings.HasPrefix(file, "bed/") {
				folder = "bed"
			}
			if registered == "" {
				registered = "a." + name
			}
			b.Report.Entries = append(b.Report.Entries, gen.Entry{Kind: gen.KindFunction, Status: gen.Generated, Package: folder, GoName: name, Name: registered})
		}
	}
	samples, err := b.Samples()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range samples {
		got = append(got, fmt.Sprintf("%s%s(%s) %s", s.Call.Import, s.Call.Func, s.Call.Arguments(), s.Args))
	}
	want := []string{
		"Alive() []", "Settings() []", "example.com/a/bedSize() []", "Names() []", "Narrow(1) [1]", "Sum(tvmffi.Of[float64](1.5, 2.5)) [[1.5, 2.5]]",
		"Area(1.5, 2.5) [1.5, 2.5]", "Or(nil, true) [null, true]",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, s := range samples {
		if s.Call.Func == "Area" && s.Call.Comment != "Area is garden.area." {
			t.Errorf("the comment is %q", s.Call.Comment)
		}
	}
}
