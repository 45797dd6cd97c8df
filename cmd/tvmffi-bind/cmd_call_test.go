package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/schema"
)

// TestMisfit: an integer that C++ would cut is found, however deep it is.
func TestMisfit(t *testing.T) {
	for text, want := range map[string]string{
		`int8 127`: "", `int8 128`: "128", `int8 1e9`: "", `int8 "128"`: "", `uint64 18446744073709551615`: "", `uint64 -1`: "-1", `int 128`: "",
		`Optional<int8> null`: "", `Optional<int8> 200`: "200", `ffi.Array<uint8> [1,-1]`: "-1", `ffi.Map<ffi.String,int8> {"a":1,"b":300}`: "300",
		`Tuple<int,int8> [300,300]`: "300", `Tuple<int,int8> [300]`: "",
		`Variant<ffi.String,int8> 300`: "300", `Variant<ffi.String,int8> "300"`: "", `Variant<ffi.String,int8> 5`: "", `Variant<int,int8> 300`: "", `Variant<int8,int> 300`: "300",
		`Variant<float,int8> 300`: "300", `Variant<float,int8> 300.5`: "", `Variant<Optional<int8>,ffi.String> 300`: "300", `Variant<Optional<int8>,ffi.String> null`: "",
		`Variant<ffi.String,ffi.Array<int8>> [300]`: "300", `Variant<ffi.Map<ffi.String,int>,ffi.Array<int8>> {"a":300}`: "", `Variant<Tuple<int,int8>,ffi.Array<int8>> [300,1]`: "",
		`ffi.Array<Variant<int8,ffi.String>> ["a",300]`: "300",
	} {
		name, value, _ := strings.Cut(text, " ")
		typ, err := schema.ParseType(name)
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(strings.NewReader(value))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		if _, got, fits := misfit(typ, v); fits != (want == "") || got.String() != want && !fits {
			t.Errorf("%s: %v %v, want %q", text, got, fits, want)
		}
	}
}
