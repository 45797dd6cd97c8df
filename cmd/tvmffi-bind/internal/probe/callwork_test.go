package probe

import (
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// TestCall_json: a value comes back as it was written, in the order of its keys.
func TestCall_json(t *testing.T) {
	if err := tvmffi.Load(tvmffi.WithLibrary(nativetest.Library(t))); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`{"b":1,"a":{"z":[1,{}],"y":null},"":true}`:                                        "",
		`[-0.0,1e-05,9007199254740993,-170141183460469231731687303715884105729,"\u0000é"]`: "",
		`-0`: `-0.0`, `1e2`: `100.0`, `2.50`: `2.5`, `[]`: "", `[[],{}]`: "",
		`1e400`: "1e400 is outside the range of float64", `[1e-400]`: "1e-400 is nearer to 0 than each other float64: value out of range",
	} {
		got := ""
		args, err := decodeArgs([]byte("[" + text + "]"))
		if err == nil {
			var a tvmffi.Any
			if a, err = tvmffi.AnyOf(args[0]); err == nil {
				var data []byte
				data, err = jsonValue(a)
				got = string(data)
			}
		}
		if err != nil {
			got = strings.TrimPrefix(err.Error(), "argument 0: ")
		}
		if want == "" {
			want = text
		}
		if got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
	list, err := tvmffi.NewList[any](1)
	if err != nil {
		t.Fatal(err)
	}
	defer list.Release()
	if err := list.Append(list); err != nil {
		t.Fatal(err)
	}
	defer list.Clear() // it would hold itself
	a, err := tvmffi.AnyOf(list)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := jsonValue(a); err == nil || !strings.Contains(err.Error(), "the result contains itself") {
		t.Error(err)
	}
}
