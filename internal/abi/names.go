package abi

//lint:file-ignore ST1005 the error texts are exactly the library's

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// IsCustom reports whether t is a type of a library, whose name only libtvm_ffi
// knows: their codes begin at 129.
func (t DLDataType) IsCustom() bool { return t.Code >= 129 }

// codeNames are the names of the codes; the ones from float8_e3m4 on are written
// without the width.
var codeNames = [...]string{
	DLInt: "int", DLUInt: "uint", DLFloat: "float", DLOpaqueHandle: "handle", DLBfloat: "bfloat",
	DLComplex: "complex", DLBool: "bool",
	DLFloat8E3M4: "float8_e3m4", DLFloat8E4M3: "float8_e4m3", DLFloat8E4M3B11FNUZ: "float8_e4m3b11fnuz",
	DLFloat8E4M3FN: "float8_e4m3fn", DLFloat8E4M3FNUZ: "float8_e4m3fnuz", DLFloat8E5M2: "float8_e5m2",
	DLFloat8E5M2FNUZ: "float8_e5m2fnuz", DLFloat8E8M0FNU: "float8_e8m0fnu",
	DLFloat6E2M3FN: "float6_e2m3fn", DLFloat6E3M2FN: "float6_e3m2fn", DLFloat4E2M1FN: "float4_e2m1fn",
}

// codeBits are the widths that the names of codes say by themselves.
var codeBits = [len(codeNames)]uint8{
	DLOpaqueHandle: 64, DLBool: 8, DLFloat8E3M4: 8, DLFloat8E4M3: 8, DLFloat8E4M3B11FNUZ: 8, DLFloat8E4M3FN: 8, DLFloat8E4M3FNUZ: 8,
	DLFloat8E5M2: 8, DLFloat8E5M2FNUZ: 8, DLFloat8E8M0FNU: 8, DLFloat6E2M3FN: 6, DLFloat6E3M2FN: 6, DLFloat4E2M1FN: 4,
}

// String returns the name that the library gives the data type, such as
// "float32" or "int8x4". Complex numbers, and codes that this package does not
// know, are written in the same form. So are types whose name in the library is that of
// another type: no two types have one name.
func (t DLDataType) String() string {
	switch {
	case t == DLDataType{Code: DLOpaqueHandle}:
		return ""
	case t.Code == DLOpaqueHandle && t.Bits == codeBits[t.Code]:
		return "handle" + t.lanes()
	case t.IsCustom():
		return fmt.Sprintf("custom[%d]%d", t.Code, t.Bits) + t.lanes()
	case int(t.Code) >= len(codeNames):
		return fmt.Sprintf("code%d_%d", t.Code, t.Bits) + t.lanes()
	}
	name, usual := codeNames[t.Code], codeBits[t.Code]
	switch {
	case usual == 0, t.Code < DLFloat8E3M4 && t.Bits != usual:
		name += strconv.Itoa(int(t.Bits))
	case t.Bits != usual:
		name += fmt.Sprintf("(%d bits)", t.Bits)
	}
	return name + t.lanes()
}

func (t DLDataType) lanes() string {
	switch n := int16(t.Lanes); {
	case n > 1 || n == 0:
		return "x" + strconv.Itoa(int(n))
	case n < 0:
		return "xvscalex" + strconv.Itoa(-int(n))
	}
	return ""
}

// normalName writes the short forms out.
func normalName(name string) string {
	digitAt := func(i int) bool { return i < len(name) && name[i] >= '0' && name[i] <= '9' }
	for _, short := range []struct{ prefix, full string }{
		{"fp8_", "float8_"}, {"fp6_", "float6_"}, {"fp4_", "float4_"},
	} {
		if rest, ok := strings.CutPrefix(name, short.prefix); ok {
			return short.full + rest
		}
	}
	for _, short := range []struct{ prefix, full string }{{"i", "int"}, {"u", "uint"}, {"bf", "bfloat"}, {"f", "float"}} {
		if strings.HasPrefix(name, short.prefix) && digitAt(len(short.prefix)) {
			return short.full + name[len(short.prefix):]
		}
	}
	return name
}

// families are the floats whose name gives the layout, each longer name before
// its own beginning.
var families = []struct {
	prefix, what string
	bits         uint8
	codes        []uint8
}{
	{"float8_", "float8", 8, []uint8{DLFloat8E4M3B11FNUZ, DLFloat8E4M3FNUZ, DLFloat8E4M3FN, DLFloat8E5M2FNUZ,
		DLFloat8E8M0FNU, DLFloat8E3M4, DLFloat8E4M3, DLFloat8E5M2}},
	{"float6_", "float6", 6, []uint8{DLFloat6E2M3FN, DLFloat6E3M2FN}},
	{"float4_", "float4", 4, []uint8{DLFloat4E2M1FN}},
}

// plain are the types whose name is followed by a width.
var plain = []struct {
	name       string
	code, bits uint8
}{
	{"int", DLInt, 32}, {"uint", DLUInt, 32}, {"bool", DLBool, 8}, {"float", DLFloat, 32},
	{"handle", DLOpaqueHandle, 64}, {"bfloat", DLBfloat, 16},
}

// ParseDLDataType reads the name of a data type like the library, except for the
// names of a library's own types, and for names of which the library makes another type. Its errors are of kind ValueError.
func ParseDLDataType(name string) (DLDataType, error) {
	t, err := parseDLDataType(name)
	if err == nil {
		err = Misread(name)
	}
	if err != nil {
		return DLDataType{}, err
	}
	return t, nil
}

// Misread returns an error for a name that the library takes for that of another type: int18446744073709551624, whose number
// wraps, and int8xvscale for int8. A width of 0 is the default one in all languages. The name in custom[name]8 is the library's own.
func Misread(name string) error {
	name, full := name[strings.LastIndexByte(name, ']')+1:], name
	noDigit := func(c rune) bool { return c < '0' || c > '9' }
	for _, number := range strings.FieldsFunc(name, noDigit) {
		if _, err := strconv.ParseUint(number, 10, 32); err != nil {
			return fmt.Errorf("the library takes the data type `%s` for another one: %s is not a number of bits or lanes", full, number)
		}
	}
	if _, lanes, scalable := strings.Cut(name, "xvscale"); scalable && !strings.HasPrefix(lanes, "x") {
		return fmt.Errorf("the library takes the data type `%s` for another one: it has no number of lanes", full)
	}
	return nil
}

func parseDLDataType(name string) (DLDataType, error) {
	if name == "" || name == "void" {
		return DLDataType{Code: DLOpaqueHandle}, nil
	}
	name = normalName(name)
	for _, family := range families {
		if !strings.HasPrefix(name, family.prefix) {
			continue
		}
		for _, code := range family.codes {
			rest, ok := strings.CutPrefix(name, codeNames[code])
			if underscore := family.bits == 4; !ok || rest != "" && rest[0] != 'x' && (!underscore || rest[0] != '_') {
				continue
			} else if underscore {
				rest = strings.TrimPrefix(rest, "_")
			}
			return DLDataType{Code: code, Bits: family.bits}.withLanes(name, rest, false)
		}
		return DLDataType{}, fmt.Errorf("unknown %s type `%s`", family.what, name)
	}
	for _, p := range plain {
		rest, ok := strings.CutPrefix(name, p.name)
		if !ok {
			continue
		}
		t := DLDataType{Code: p.code, Bits: p.bits}
		bits, rest, err := leadingNumber(rest)
		if err != nil {
			return DLDataType{}, err
		}
		if bits > math.MaxUint8 {
			return DLDataType{}, fmt.Errorf("Bits value %d is out of range for uint8_t in dtype '%s'", bits, name)
		}
		if bits != 0 {
			t.Bits = uint8(bits)
		}
		return t.withLanes(name, rest, true)
	}
	return DLDataType{}, unknownDataType(name)
}

func unknownDataType(name string) error {
	return fmt.Errorf("unknown dtype `%s`", name)
}

// withLanes returns t with the lanes given by rest, which follows the scalar type in
// name. Like the library, it skips the word xvscale without a number.
func (t DLDataType) withLanes(name, rest string, scalable bool) (DLDataType, error) {
	sign := 1
	if after, ok := strings.CutPrefix(rest, "xvscale"); ok && scalable {
		sign, rest = -1, after
	}
	t.Lanes = 1
	if digits, ok := strings.CutPrefix(rest, "x"); ok {
		n, after, err := leadingNumber(digits)
		switch {
		case err != nil:
			return DLDataType{}, err
		case n == 0:
			return DLDataType{}, fmt.Errorf("Invalid lanes specification in dtype '%s'. Lanes must be a positive integer.", name)
		case n > math.MaxUint16:
			return DLDataType{}, fmt.Errorf("Lanes value %d is out of range for uint16_t in dtype '%s'", n, name)
		}
		t.Lanes, rest = uint16(sign*int(n)), after
	}
	if rest != "" {
		return DLDataType{}, unknownDataType(name)
	}
	return t, nil
}

// leadingNumber reads the digits at the beginning of s; without any the number is 0.
// Like in the library, it wraps at 64 bits.
func leadingNumber(s string) (n uint64, rest string, err error) {
	i := 0
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		n = n*10 + uint64(s[i]-'0')
	}
	if n > math.MaxUint32 {
		return 0, "", fmt.Errorf("Integer value in dtype string '%s' is out of range for uint32_t", s[:i])
	}
	return n, s[i:], nil
}

// deviceNames are the names of the device types of DLPack.
var deviceNames = [...]string{
	DLCPU: "cpu", DLCUDA: "cuda", DLCUDAHost: "cuda_host", DLOpenCL: "opencl", DLVulkan: "vulkan",
	DLMetal: "metal", DLVPI: "vpi", DLROCM: "rocm", DLROCMHost: "rocm_host", DLExtDev: "ext_dev",
	DLCUDAManaged: "cuda_managed", DLOneAPI: "oneapi", DLWebGPU: "webgpu", DLHexagon: "hexagon",
	DLMAIA: "maia", DLTrn: "trn",
}

// deviceAliases are other names that the library accepts.
var deviceAliases = map[string]int32{"mps": DLMetal, "wgpu": DLWebGPU}

// DeviceTypeName returns the name of a device type, such as "cuda". A device of session i is
// "remote[i]-cuda".
func DeviceTypeName(t int32) string {
	// TVM adds this to the type of a device for each session of RPC: session 0 has the types from
	// 128 to 255. DLPack has no types above 127.
	const remoteStep = 128
	if t >= remoteStep {
		return "remote[" + strconv.Itoa(int(t/remoteStep)-1) + "]-" + DeviceTypeName(t%remoteStep)
	}
	if t >= 0 && int(t) < len(deviceNames) && deviceNames[t] != "" {
		return deviceNames[t]
	}
	return "device" + strconv.Itoa(int(t))
}

// ParseDeviceType returns the device type of a name that the library reads.
func ParseDeviceType(name string) (int32, bool) {
	for t, known := range deviceNames {
		if known == name && known != "" {
			return int32(t), true
		}
	}
	t, ok := deviceAliases[name]
	return t, ok
}
