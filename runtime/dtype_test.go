package tvmffi_test

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/testkit/runtimetest"
	"github.com/tvmffi-go/tvmffi/internal/values"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// dataTypeNames is a table of names, right and wrong.
func dataTypeNames() []string {
	scalars := []string{"", "void", "handle", "bool", "bool1", "int", "uint", "float", "bfloat", "i", "u", "f", "bf", "b", "x",
		"complex", "complex64", "custom", "custom[", "custom[x]", "custom[x]32", "Float32", " float32", "float32 ", "flo", "handlex"}
	for _, prefix := range []string{"int", "uint", "float", "bfloat", "bool", "handle", "i", "u", "f", "bf"} {
		for _, bits := range []string{"0", "1", "2", "4", "8", "16", "32", "64", "128", "255", "256", "008", "4294967295", "4294967296",
			"18446744073709551616", "18446744073709551648", "-8", "+8", "8_"} {
			scalars = append(scalars, prefix+bits)
		}
	}
	for _, prefix := range []string{"float8_", "fp8_", "f8_", "float6_", "fp6_", "f6_", "float4_", "fp4_", "f4_"} {
		for _, kind := range []string{"", "e", "e3m4", "e4m3", "e4m3b11fnuz", "e4m3b11", "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fn",
			"e5m2fnuz", "e8m0fnu", "e8m0", "e2m3fn", "e3m2fn", "e2m1fn", "e2m1", "E4M3", "e4m3fn8"} {
			scalars = append(scalars, prefix+kind)
		}
	}
	var names []string
	for _, s := range scalars {
		for _, lanes := range []string{"", "x", "x0", "x1", "x2", "x16", "x4x4", "x-1", "x4 ", "_", "_x2", "_2", "_x", "x32767", "x32768",
			"x65535", "x65536", "x4294967296", "xvscale", "xvscalex", "xvscalex1", "xvscalex4", "xvscalex0", "xvscalex65535", "xvscale4", "X2"} {
			names = append(names, s+lanes)
		}
	}
	return names
}

// misread are names of which the library makes another type: without lanes, and with a number beyond 64 bits.
var misread = regexp.MustCompile(`^[a-z]+\d*xvscale($|[^x])|\d{20}`)

// compareName reads a name in Go and in the library and compares the results.
func compareName(t testing.TB, name string) {
	t.Helper()
	got, err := tvmffi.ParseDataType(name)
	want, wantErr := values.DataTypeFromString(name)
	if err != nil && wantErr == nil {
		if text, _ := values.DataTypeToString(want); text == name {
			t.Errorf("%q: error %v, and the library reads it as it is", name, err)
		}
		if !misread.MatchString(name) {
			t.Errorf("%q: error %v, the library says %v", name, err, want)
		}
		return
	}
	if (err == nil) != (wantErr == nil) {
		t.Errorf("%q: error %v, the library says %v", name, err, wantErr)
		return
	}
	if err != nil {
		var e, w *tvmffi.Error
		if !errors.As(err, &e) || !errors.As(wantErr, &w) || e.Kind != w.Kind || e.Message != w.Message {
			t.Errorf("%q: error %q, the library says %q", name, err, wantErr)
		}
		return
	}
	if abi.DLDataType(got) != want {
		t.Errorf("%q: %+v, the library says %+v", name, got, want)
		return
	}
	compareText(t, got)
}

// compareText prints a data type in Go and in the library.
func compareText(t testing.TB, dtype tvmffi.DataType) {
	t.Helper()
	want, err := values.DataTypeToString(abi.DLDataType(dtype))
	if err != nil {
		if dtype.String() == "" {
			t.Errorf("%+v has no text", dtype)
		}
		return
	}
	scalar, _, scalable := strings.Cut(want, "xvscalex") // which the library reads for few types
	read, err := values.DataTypeFromString(scalar)
	if scalable {
		read.Lanes = dtype.Lanes
	}
	if err == nil && read != abi.DLDataType(dtype) {
		return // it is the name of another type: Go has one of its own
	}
	if got := dtype.String(); got != want {
		t.Errorf("%+v is %q, the library says %q", dtype, got, want)
	}
}

// newestTables skips a test that compares with tables that grew.
func newestTables(t testing.TB) {
	t.Helper()
	if v := nativetest.Version(); v != wheel.DefaultVersion {
		t.Skipf("the short names of data types came after version %s", v)
	}
}

func TestParseDataType_asTheLibrary(t *testing.T) {
	runtimetest.Load(t)
	newestTables(t)
	names := dataTypeNames()
	for _, name := range names {
		if !strings.HasPrefix(name, "complex") || name == "complex" { // which the library does not read
			compareName(t, name)
		}
	}
	t.Logf("%d names", len(names))
}

// The library takes these names, but for the last one, for those of other types, such as int8x4.
func TestParseDataType_misread(t *testing.T) {
	for name, want := range map[string]string{
		"int8xvscale": "no number of lanes", "u8xvscale": "no number of lanes",
		"int18446744073709551624": "551624 is not", "int8x18446744073709551620": "551620 is not", "complex18446744073709551680": "unknown",
	} {
		if got, err := tvmffi.ParseDataType(name); err == nil || !errors.Is(err, tvmffi.ErrValue) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %v, %v", name, got, err)
		}
	}
}

// The library does not read these names. Without a number of bits there is no complex type.
func TestParseDataType_complex(t *testing.T) {
	for name, want := range map[string]tvmffi.DataType{"complex64": tvmffi.Complex64, "complex128x2": tvmffi.Complex128.WithLanes(2)} {
		if got, err := tvmffi.ParseDataType(name); got != want || err != nil {
			t.Errorf("%s is %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"complex", "complex0", "complexx2", "complex0x2", "complex_2"} {
		if got, err := tvmffi.ParseDataType(name); err == nil {
			t.Errorf("%s is %v", name, got)
		}
	}
}

func TestDataType_String_asTheLibrary(t *testing.T) {
	runtimetest.Load(t)
	for code := range 256 {
		for _, bits := range []uint8{0, 1, 4, 6, 8, 16, 32, 64, 128, 255} {
			for _, lanes := range []uint16{0, 1, 2, 16, 32767, 32768, 65532, 65535} {
				if !testing.Short() || code < 20 || code%32 == 0 { // later ones are alike
					compareText(t, tvmffi.DataType{Code: uint8(code), Bits: bits, Lanes: lanes})
				}
			}
		}
	}
	for want, dtype := range map[string]tvmffi.DataType{
		"": tvmffi.Void, "handle": tvmffi.OpaqueHandle, "bool": tvmffi.Bool, "float4_e2m1fnx2": tvmffi.Float4E2M1FN.WithLanes(2),
		"complex64": tvmffi.Complex64, "complex128x2": tvmffi.Complex128.WithLanes(2), "custom[200]8": {Code: 200, Bits: 8, Lanes: 1},
		"code99_8": {Code: 99, Bits: 8, Lanes: 1}, "int8xvscalex4": {Code: abi.DLInt, Bits: 8, Lanes: 65532},
		"int32xvscalex1": {Code: abi.DLInt, Bits: 32, Lanes: 65535}, "handle8x2": {Code: abi.DLOpaqueHandle, Bits: 8, Lanes: 2},
		"float8_e3m4(16 bits)": {Code: abi.DLFloat8E3M4, Bits: 16, Lanes: 1},
	} {
		if got := dtype.String(); got != want {
			t.Errorf("%+v: %q, want %q", dtype, got, want)
		}
	}
}

// No two data types have one name, and the names of those that a library can have are read again.
func TestDataType_String_differs(t *testing.T) {
	seen := map[string]tvmffi.DataType{}
	for code := range 20 {
		for _, bits := range []uint8{0, 1, 4, 6, 7, 8, 16, 32, 64, 128, 255} {
			for _, lanes := range []uint16{0, 1, 2, 16, 32766, 32767, 32768, 32769, 65532, 65534, 65535} {
				d := tvmffi.DataType{Code: uint8(code), Bits: bits, Lanes: lanes}
				if other, ok := seen[d.String()]; ok {
					t.Errorf("%+v and %+v are both %q", d, other, d)
				}
				seen[d.String()] = d
				if read, err := tvmffi.ParseDataType(d.String()); code <= abi.DLBool && bits != 0 && lanes != 0 && (err != nil || read != d) {
					t.Errorf("%q is read as %+v, %v, want %+v", d, read, err, d)
				}
			}
		}
	}
}

func FuzzParseDataType(f *testing.F) {
	runtimetest.Load(f)
	newestTables(f)
	for _, name := range []string{"float32", "bf16x4", "float8_e4m3fn", "fp4_e2m1fn_x2", "int8xvscalex4", "handle64x3", "bool1", "", "u\x00"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if len(name) >= 6 && name[:6] == "custom" {
			return // the library itself reads these
		}
		if strings.HasPrefix(name, "complex") {
			return
		}
		compareName(t, name)
	})
}

func TestDataType_properties(t *testing.T) {
	type properties struct{ float, integer, unsigned, boolean, complex, handle, scalable bool }
	for name, want := range map[string]properties{
		"float16": {float: true}, "bfloat16": {float: true}, "float8_e5m2": {float: true}, "float4_e2m1fn": {float: true},
		"int8": {integer: true}, "uint1": {integer: true, unsigned: true}, "bool": {boolean: true}, "handle": {handle: true},
		"void": {}, "int8xvscalex2": {integer: true, scalable: true},
	} {
		d := runtimetest.Must[tvmffi.DataType](t)(tvmffi.ParseDataType(name))
		got := properties{d.IsFloat(), d.IsInteger(), d.IsUnsigned(), d.IsBool(), d.IsComplex(), d.IsHandle(), d.IsScalable()}
		if got != want {
			t.Errorf("%q: %+v, want %+v", name, got, want)
		}
	}
	for _, want := range []tvmffi.DataType{tvmffi.Complex64, tvmffi.Complex128} {
		if got, err := tvmffi.ParseDataType(want.String()); got != want || err != nil || !got.IsComplex() {
			t.Errorf("%s is %+v (%v), want %+v", want, got, err, want)
		}
	}
}

func TestDataType_sizes(t *testing.T) {
	for _, c := range []struct {
		name  string
		item  int
		n     int64
		bytes int64
	}{
		{"float32", 4, 3, 12}, {"uint1", 1, 9, 2}, {"float4_e2m1fn", 1, 3, 2}, {"float4_e2m1fnx2", 1, 3, 3},
		{"float6_e2m3fn", 1, 4, 3}, {"int8x3", 3, 5, 15}, {"void", 0, 7, 0}, {"bool", 1, 0, 0},
	} {
		d := runtimetest.Must[tvmffi.DataType](t)(tvmffi.ParseDataType(c.name))
		if d.ItemSize() != c.item || d.Size(c.n) != c.bytes {
			t.Errorf("%s: item %d, %d elements %d bytes; want %d and %d", c.name, d.ItemSize(), c.n, d.Size(c.n), c.item, c.bytes)
		}
	}
	if d := tvmffi.Float32.WithLanes(4); d.ItemSize() != 16 || d.Scalar() != tvmffi.Float32 {
		t.Errorf("%v: item %d, scalar %v", d, d.ItemSize(), d.Scalar())
	}
	runtimetest.WantPanic(t, tvmffi.ErrValue, "scalable", func() { runtimetest.Must[tvmffi.DataType](t)(tvmffi.ParseDataType("int8xvscalex2")).ItemSize() })
	runtimetest.WantPanic(t, tvmffi.ErrValue, "the number of elements is -1, expected 0 or more", func() { tvmffi.Int8.Size(-1) })
	runtimetest.WantPanic(t, tvmffi.ErrValue, "does not fit", func() { tvmffi.Int16.Size(math.MaxInt64 / 8) })
	runtimetest.WantPanic(t, tvmffi.ErrValue, "lanes", func() { tvmffi.Int8.WithLanes(0) })
	runtimetest.WantPanic(t, tvmffi.ErrValue, "lanes", func() { tvmffi.Int8.WithLanes(1 << 16) })
}

func TestParseDevice(t *testing.T) {
	for name, want := range map[string]tvmffi.Device{
		"cpu": tvmffi.CPU, "cpu:0": tvmffi.CPU, "cuda:1": tvmffi.CUDA(1), "cuda:7 (a note)": tvmffi.CUDA(7),
		"mps": {Type: tvmffi.DeviceMetal}, "wgpu:3": {Type: tvmffi.DeviceWebGPU, ID: 3}, "ext_dev:2147483647": {Type: tvmffi.DeviceExtDev, ID: math.MaxInt32},
	} {
		if got, err := tvmffi.ParseDevice(name); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", name, got, err, want)
		}
	}
	for name, want := range map[string]string{
		"": "Unknown device: ", "llvm": "Unknown device: llvm", "c": "Unknown device: c", "test:1": "Unknown device: test",
		"nvptx": "Unknown device: nvptx", "cl": "Unknown device: cl", "CPU": "Unknown device: CPU",
		"cpu:0:0": "Invalid device: cpu:0:0", "cpu:?": "Invalid device index: ?", "cpu:": "Invalid device index: ",
		"cpu:-1": "Invalid device index: -1", "cpu:+1": "Invalid device index: +1", "cpu:2147483648": "Invalid device index: 2147483648",
	} {
		_, err := tvmffi.ParseDevice(name)
		runtimetest.WantError(t, err, tvmffi.ErrValue, want)
	}
	for kind := int32(-1); kind < 30; kind++ {
		d := tvmffi.Device{Type: kind, ID: 2}
		if back, err := tvmffi.ParseDevice(d.String()); err == nil && back != d {
			t.Errorf("%v reads as %v", d, back)
		} else if known := kind >= 1 && kind <= 4 || kind >= 7 && kind <= 18; (err == nil) != known {
			t.Errorf("device type %d prints as %q, which reads as %v, %v", kind, d, back, err)
		}
	}
}

func FuzzParseDevice(f *testing.F) {
	for _, name := range []string{"cpu", "cuda:1", "cuda:1 x", "cpu:0:0", ":", "mps:٣"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		d, err := tvmffi.ParseDevice(name)
		if err != nil {
			return
		}
		if back, err := tvmffi.ParseDevice(d.String()); err != nil || back != d || d.ID < 0 {
			t.Errorf("%q reads as %v, which reads as %v, %v", name, d, back, err)
		}
	})
}

// Values that cross a call keep their data type and device.
func TestDataTypeAndDevice_throughCalls(t *testing.T) {
	for _, d := range []tvmffi.DataType{tvmffi.Bool, tvmffi.Float8E4M3FN, tvmffi.Int8.WithLanes(300), tvmffi.Void} {
		if got := runtimetest.Get[tvmffi.DataType](t, "calls.echo_dtype", d); got != d {
			t.Errorf("%v came back as %v", d, got)
		}
	}
	for _, d := range []tvmffi.Device{tvmffi.CPU, tvmffi.CUDA(3), {Type: tvmffi.DeviceTrn, ID: -1}} {
		if got := runtimetest.Get[tvmffi.Device](t, "calls.echo_device", d); got != d {
			t.Errorf("%v came back as %v", d, got)
		}
	}
	if got := fmt.Sprint(tvmffi.CUDA(1<<32), tvmffi.CUDA(-1<<32)); got != "cuda:2147483647 cuda:-2147483648" {
		t.Errorf("devices beyond int32 are %s", got)
	}
	if got := fmt.Sprint(tvmffi.CUDA(1)); got != "cuda:1" {
		t.Errorf("CUDA(1) prints %s, want cuda:1", got)
	}
}
