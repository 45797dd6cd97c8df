package bindings

import "testing"

func TestChooseCall(t *testing.T) {
	files := map[string][]byte{
		"a.go": []byte(`package a

import "context"

func Load() error { return nil }
func Odd(ctx context.Context, n int64) (int64, error) { return 0, nil }
func Nothing() error { return nil }

// Area is garden.area:
//
//	(float, float) -> float
func Area(width, length float64) (float64, error) { return 0, nil }
func hidden(n int64) (int64, error) { return 0, nil }
func (T) Method(n int64) (int64, error) { return 0, nil }
func NewArea(width, length float64) (float64, error) { return 0, nil }
func NoError(n int64) int64 { return 0 }

type T struct{}
`),
		"sub/b.go": []byte("package b\n"),
	}
	call, err := chooseCall(files)
	if err != nil {
		t.Fatal(err)
	}
	if call == nil || call.Func != "Area" || call.Arguments() != "1.5, 2.5" || !call.Result || call.Comment != "Area is garden.area." {
		t.Errorf("chose %+v", call)
	}
	for _, x := range []struct{ declared, arguments, makes string }{
		{"func Sum(xs tvmffi.ArrayArg[float64]) (float64, error) { return 0, nil }", "tvmffi.Of[float64](1.5, 2.5)", ""},
		{"func Size(m tvmffi.MapArg[string, int64]) (int64, error) { return 0, nil }", `tvmffi.MapOf(map[string]int64{"hello": 1})`, ""},
		{"func Or(n *int64, v any) (int64, error) { return 0, nil }", "nil, 2", ""},
		{"func Dig(by float64, options ...DigOption) (float64, error) { return 0, nil }\nfunc Water(xs tvmffi.ArrayArg[float64]) error { return nil }", "tvmffi.Of[float64](1.5, 2.5)", ""},
		{"func Packed(args ...any) (tvmffi.Any, error) { return nil, nil }", "", ""},
		{"func Water(p PlantRef, by float64) error { return nil }\nfunc NewPlant(h float64, o ...PlantOption) (*Plant, error) { return nil, nil }", "p1, 2.5", "NewPlant(1.5)"},
		{"func Water(p PlantRef, by float64) (float64, error) { return nil }\nfunc NewPlant() (*Plant, error) { return nil, nil }\nfunc MakePlant(h float64) (*Plant, error) { return nil, nil }", "p1, 2.5", "MakePlant(1.5)"},
		{"func Dig(by float64) error { return nil }\nfunc Water(p PlantRef) (int64, error) { return nil }\nfunc NewPlant() (*Plant, error) { return nil, nil }\nfunc MakePlant(args ...any) (tvmffi.Any, error) { return nil, nil }", "1.5", ""},
	} {
		call, err := chooseCall(map[string][]byte{"a.go": []byte("package a\n" + x.declared + "\n")})
		if err != nil || call == nil {
			t.Fatalf("%s: %v", x.declared, err)
		}
		if x.makes != "" && call.Func == "NewPlant" {
			t.Errorf("a constructor alone was preferred: %+v", call)
		}
		var makes string
		for _, m := range call.Makes {
			makes += m.Call.Func + "(" + m.Call.Arguments() + ")"
		}
		if call.Arguments() != x.arguments || makes != x.makes {
			t.Errorf("%s: got the arguments %q, made by %q", x.declared, call.Arguments(), makes)
		}
	}
	call, err = chooseCall(map[string][]byte{"a.go": []byte("package a\nfunc Adder(k int64) (func(n int64) (int64, error), error) { return nil, nil }\n")})
	if err != nil || call == nil || !call.Callable {
		t.Errorf("chose %+v, %v for a func that returns a func", call, err)
	}
	call, err = chooseCall(map[string][]byte{"a.go": []byte("package a\nfunc Load() error { return nil }\n")})
	if err != nil || call != nil {
		t.Errorf("chose %+v, %v from nothing", call, err)
	}
}
