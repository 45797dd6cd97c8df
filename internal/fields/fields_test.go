package fields

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
)

// TestEncodingOf: a field is read in place only where its type, size and place are certain.
func TestEncodingOf(t *testing.T) {
	const object = abi.TypeIndex(100)
	for _, c := range []struct {
		sig    string
		size   int64
		static abi.TypeIndex
		want   fieldEncoding
		parts  bool
		nests  bool
	}{
		{"int", 8, abi.TypeInt, encodingInt64, false, false},
		{"int", 4, abi.TypeInt, encodingNarrowInt, false, false},
		{"int", 2, abi.TypeInt, encodingNarrowInt, false, false},
		{"int", 1, abi.TypeInt, encodingNarrowInt, false, false},
		{"int", 3, abi.TypeInt, encodingGetter, true, false},
		{"int", 16, abi.TypeInt, encodingGetter, true, false},
		{"float", 8, abi.TypeFloat, encodingFloat64, false, false},
		{"float", 4, abi.TypeFloat, encodingFloat32, false, false},
		{"float", 2, abi.TypeFloat, encodingGetter, true, false},
		{"bool", 1, abi.TypeBool, encodingBool, false, false},
		{"bool", 4, abi.TypeBool, encodingGetter, true, false},
		{"ffi.String", 16, abi.TypeStr, encodingString, false, false},
		{"ffi.String", 8, abi.TypeStr, encodingObject, true, false},
		{"DataType", 4, abi.TypeDataType, encodingDataType, false, false},
		{"DataType", 8, abi.TypeDataType, encodingGetter, true, false},
		{"Device", 8, abi.TypeDevice, encodingDevice, false, false},
		{"Device", 4, abi.TypeDevice, encodingGetter, true, false},
		{"Any", 16, -1, encodingAny, true, true},
		{"Any", 8, -1, encodingGetter, true, true},
		{"ffi.Tensor", 8, abi.TypeTensor, encodingObject, true, false},
		{"a.T", 8, object, encodingObject, true, true},
		{"a.T", 16, object, encodingGetter, true, true},
		{"Optional<int>", 16, -1, encodingGetter, true, false},
		{"Optional<ffi.String>", 16, -1, encodingGetter, true, false},
		{"Optional<a.T>", 8, -1, encodingGetter, true, true},
		{"", 8, abi.TypeInt, encodingGetter, true, false},
	} {
		for offset, certain := range map[int64]bool{24: true, 1 << 20: true, math.MaxInt32: true, 23: false, 0: false, -8: false, math.MaxInt32 + 1: false} {
			info := &abi.FieldInfo{Size: c.size, Offset: offset, StaticTypeIndex: c.static}
			r := NewReader(info, c.sig)
			want, parts := c.want, c.parts
			if !certain {
				want, parts = encodingGetter, true
			}
			what := fmt.Sprintf("%s of %d bytes at %d", c.sig, c.size, offset)
			if r.encoding != want {
				t.Errorf("%s: encoding %d, want %d", what, r.encoding, want)
			}
			if r.HasParts() != parts || r.MayNest() != c.nests {
				t.Errorf("%s: may hold an object: %t, one that holds others: %t, want %t, %t", what, r.HasParts(), r.MayNest(), parts, c.nests)
			}
		}
	}
}

// TestPositional: of the fields, those that the constructor takes by their place are in its
// signature, wherever they stand.
func TestPositional(t *testing.T) {
	var kept []any
	bytesOf := func(s string) abi.ByteArray {
		array := capi.ByteArray(s)
		kept = append(kept, array, s)
		return *array
	}
	var fields []abi.FieldInfo
	for _, f := range []struct {
		name, sig string
		flags     int64
	}{
		{"keyword", "int", abi.FieldKwOnly},
		{"first", "int", 0},
		{"hidden", "int", abi.FieldInitOff},
		{"second", "", abi.FieldWritable},
		{"optional", "int", abi.FieldHasDefault},
		{"made", "int", abi.FieldDefaultFromFactory},
		{"last", "ffi.String", 0},
	} {
		info := abi.FieldInfo{Name: bytesOf(f.name), Flags: f.flags}
		if f.sig != "" {
			info.Metadata = bytesOf(`{"type_schema":"{\"type\":\"` + f.sig + `\"}"}`)
		}
		fields = append(fields, info)
	}
	info := &abi.TypeInfo{Key: bytesOf("a.T"), NumFields: int32(len(fields)), Fields: capi.Address(&fields[0])}
	if got, err := Positional(info); err != nil || got != "(first: int, second: Any, last: ffi.String)" {
		t.Errorf("got %s, %v", got, err)
	}
	fields[1].Metadata = bytesOf("{")
	if got, err := Positional(info); err == nil {
		t.Errorf("a field with a flaw gives %s", got)
	}
	runtime.KeepAlive(kept)
	runtime.KeepAlive(fields)
}
