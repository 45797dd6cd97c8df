package main

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
	call, err = chooseCall(map[string][]byte{"a.go": []byte("package a\nfunc Load() error { return nil }\n")})
	if err != nil || call != nil {
		t.Errorf("chose %+v, %v from nothing", call, err)
	}
}
