package abi_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/testkit/nativetest"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
)

// wheels are the versions whose headers the package must agree with. The last one must have everything.
var wheels = []string{"0.1.9", "0.1.12", "0.1.14.post1", wheel.DefaultVersion}

// layout says which C struct a Go struct mirrors, and which members its fields are.
type layout struct {
	goType reflect.Type
	c      string
	fields map[string]string // Go field: C member
}

// value says which C expression a Go constant equals.
type value struct{ name, c string }

var layouts = []layout{
	{reflect.TypeFor[abi.Any](), "TVMFFIAny", map[string]string{
		"TypeIndex": "type_index", "Small": "small_str_len", "Bits": "v_uint64"}},
	{reflect.TypeFor[abi.Object](), "TVMFFIObject", map[string]string{
		"RefCounts": "combined_ref_count", "TypeIndex": "type_index", "Deleter": "deleter"}},
	{reflect.TypeFor[abi.ByteArray](), "TVMFFIByteArray", map[string]string{"Data": "data", "Size": "size"}},
	{reflect.TypeFor[abi.ShapeCell](), "TVMFFIShapeCell", map[string]string{"Data": "data", "Size": "size"}},
	{reflect.TypeFor[abi.SeqCell](), "TVMFFISeqCell", map[string]string{
		"Data": "data", "Size": "size", "Capacity": "capacity", "DataDeleter": "data_deleter"}},
	{reflect.TypeFor[abi.ErrorCell](), "TVMFFIErrorCell", map[string]string{
		"Kind": "kind", "Message": "message", "Backtrace": "backtrace", "UpdateBacktrace": "update_backtrace",
		"CauseChain": "cause_chain", "ExtraContext": "extra_context"}},
	{reflect.TypeFor[abi.FunctionCell](), "TVMFFIFunctionCell", map[string]string{
		"SafeCall": "safe_call", "CppCall": "cpp_call"}},
	{reflect.TypeFor[abi.FieldInfo](), "TVMFFIFieldInfo", map[string]string{
		"Name": "name", "Doc": "doc", "Metadata": "metadata", "Flags": "flags", "Size": "size", "Alignment": "alignment",
		"Offset": "offset", "Getter": "getter", "Setter": "setter", "Default": "default_value_or_factory",
		"StaticTypeIndex": "field_static_type_index"}},
	{reflect.TypeFor[abi.MethodInfo](), "TVMFFIMethodInfo", map[string]string{
		"Name": "name", "Doc": "doc", "Metadata": "metadata", "Flags": "flags", "Method": "method"}},
	{reflect.TypeFor[abi.TypeMetadata](), "TVMFFITypeMetadata", map[string]string{
		"Doc": "doc", "Creator": "creator", "TotalSize": "total_size", "StructuralEqHashKind": "structural_eq_hash_kind"}},
	{reflect.TypeFor[abi.TypeAttrColumn](), "TVMFFITypeAttrColumn", map[string]string{
		"Data": "data", "Size": "size", "BeginIndex": "begin_index"}},
	{reflect.TypeFor[abi.TypeInfo](), "TVMFFITypeInfo", map[string]string{
		"TypeIndex": "type_index", "Depth": "type_depth", "Key": "type_key", "Ancestors": "type_ancestors",
		"KeyHash": "type_key_hash", "NumFields": "num_fields", "NumMethods": "num_methods", "Fields": "fields",
		"Methods": "methods", "Metadata": "metadata"}},
	{reflect.TypeFor[abi.Version](), "TVMFFIVersion", map[string]string{
		"Major": "major", "Minor": "minor", "Patch": "patch"}},
	// The tables of maps, which are private: the probe is compiled without access control.
	{reflect.TypeFor[abi.MapObject](), "DenseMap", map[string]string{
		"Header": "header_", "Data": "data_", "Size": "size_", "Slots": "slots_", "DataDeleter": "data_deleter_", "FibShift": "fib_shift_",
		"Head": "iter_list_head_", "Tail": "iter_list_tail_"}},
	{reflect.TypeFor[abi.MapEntry](), "DenseMap::KVType", map[string]string{"Key": "first", "Value": "second"}},
	{reflect.TypeFor[abi.MapItem](), "DenseMap::ItemType", map[string]string{"Entry": "data", "Prev": "prev", "Next": "next"}},
	{reflect.TypeFor[abi.DLDataType](), "DLDataType", map[string]string{"Code": "code", "Bits": "bits", "Lanes": "lanes"}},
	{reflect.TypeFor[abi.DLDevice](), "DLDevice", map[string]string{"Type": "device_type", "ID": "device_id"}},
	{reflect.TypeFor[abi.DLTensor](), "DLTensor", map[string]string{
		"Data": "data", "Device": "device", "NDim": "ndim", "DType": "dtype", "Shape": "shape", "Strides": "strides",
		"ByteOffset": "byte_offset"}},
	{reflect.TypeFor[abi.DLPackVersion](), "DLPackVersion", map[string]string{"Major": "major", "Minor": "minor"}},
	{reflect.TypeFor[abi.DLManagedTensor](), "DLManagedTensor", map[string]string{
		"Tensor": "dl_tensor", "Context": "manager_ctx", "Deleter": "deleter"}},
	{reflect.TypeFor[abi.DLManagedTensorVersioned](), "DLManagedTensorVersioned", map[string]string{
		"Version": "version", "Context": "manager_ctx", "Deleter": "deleter", "Flags": "flags", "Tensor": "dl_tensor"}},
}

var values = []value{
	{"TypeAny", "kTVMFFIAny"},
	{"TypeNone", "kTVMFFINone"},
	{"TypeInt", "kTVMFFIInt"},
	{"TypeBool", "kTVMFFIBool"},
	{"TypeFloat", "kTVMFFIFloat"},
	{"TypeOpaquePtr", "kTVMFFIOpaquePtr"},
	{"TypeDataType", "kTVMFFIDataType"},
	{"TypeDevice", "kTVMFFIDevice"},
	{"TypeDLTensorPtr", "kTVMFFIDLTensorPtr"},
	{"TypeRawStr", "kTVMFFIRawStr"},
	{"TypeByteArrayPtr", "kTVMFFIByteArrayPtr"},
	{"TypeObjectRValueRef", "kTVMFFIObjectRValueRef"},
	{"TypeSmallStr", "kTVMFFISmallStr"},
	{"TypeSmallBytes", "kTVMFFISmallBytes"},
	{"TypeUnchanged", "kTVMFFIUnchanged"},
	{"TypeStaticObjectBegin", "kTVMFFIStaticObjectBegin"},
	{"TypeObject", "kTVMFFIObject"},
	{"TypeStr", "kTVMFFIStr"},
	{"TypeBytes", "kTVMFFIBytes"},
	{"TypeError", "kTVMFFIError"},
	{"TypeFunction", "kTVMFFIFunction"},
	{"TypeShape", "kTVMFFIShape"},
	{"TypeTensor", "kTVMFFITensor"},
	{"TypeArray", "kTVMFFIArray"},
	{"TypeMap", "kTVMFFIMap"},
	{"TypeModule", "kTVMFFIModule"},
	{"TypeOpaquePyObject", "kTVMFFIOpaquePyObject"},
	{"TypeList", "kTVMFFIList"},
	{"TypeDict", "kTVMFFIDict"},
	{"TypeVisitInterrupt", "kTVMFFIVisitInterrupt"},
	{"TypeBigInt", "kTVMFFIBigInt"},
	{"TypeDynObjectBegin", "kTVMFFIDynObjectBegin"},
	{"MaxSmall", "sizeof(((TVMFFIAny*)0)->v_bytes) - 1"},
	{"ObjectSize", "sizeof(TVMFFIObject)"},
	{"DeleterStrong", "kTVMFFIObjectDeleterFlagBitMaskStrong"},
	{"DeleterWeak", "kTVMFFIObjectDeleterFlagBitMaskWeak"},
	{"BacktraceReplace", "kTVMFFIBacktraceUpdateModeReplace"},
	{"BacktraceAppend", "kTVMFFIBacktraceUpdateModeAppend"},
	{"FieldWritable", "kTVMFFIFieldFlagBitMaskWritable"},
	{"FieldHasDefault", "kTVMFFIFieldFlagBitMaskHasDefault"},
	{"FieldIsStaticMethod", "kTVMFFIFieldFlagBitMaskIsStaticMethod"},
	{"FieldSEqHashIgnore", "kTVMFFIFieldFlagBitMaskSEqHashIgnore"},
	{"FieldDefaultFromFactory", "kTVMFFIFieldFlagBitMaskDefaultFromFactory"},
	{"FieldInitOff", "kTVMFFIFieldFlagBitMaskInitOff"},
	{"FieldKwOnly", "kTVMFFIFieldFlagBitMaskKwOnly"},
	{"FieldSetterIsFunction", "kTVMFFIFieldFlagBitSetterIsFunctionObj"},
	{"MapSmallBit", "__builtin_ctzll(DenseMap::kSmallTagMask)"},
	{"MapBlockSlots", "DenseMap::kBlockCap"},
	{"MapBlockSize", "sizeof(DenseMap::Block)"},
	{"DLInt", "kDLInt"},
	{"DLUInt", "kDLUInt"},
	{"DLFloat", "kDLFloat"},
	{"DLOpaqueHandle", "kDLOpaqueHandle"},
	{"DLBfloat", "kDLBfloat"},
	{"DLComplex", "kDLComplex"},
	{"DLBool", "kDLBool"},
	{"DLFloat8E3M4", "kDLFloat8_e3m4"},
	{"DLFloat8E4M3", "kDLFloat8_e4m3"},
	{"DLFloat8E4M3B11FNUZ", "kDLFloat8_e4m3b11fnuz"},
	{"DLFloat8E4M3FN", "kDLFloat8_e4m3fn"},
	{"DLFloat8E4M3FNUZ", "kDLFloat8_e4m3fnuz"},
	{"DLFloat8E5M2", "kDLFloat8_e5m2"},
	{"DLFloat8E5M2FNUZ", "kDLFloat8_e5m2fnuz"},
	{"DLFloat8E8M0FNU", "kDLFloat8_e8m0fnu"},
	{"DLFloat6E2M3FN", "kDLFloat6_e2m3fn"},
	{"DLFloat6E3M2FN", "kDLFloat6_e3m2fn"},
	{"DLFloat4E2M1FN", "kDLFloat4_e2m1fn"},
	{"DLCPU", "kDLCPU"},
	{"DLCUDA", "kDLCUDA"},
	{"DLCUDAHost", "kDLCUDAHost"},
	{"DLOpenCL", "kDLOpenCL"},
	{"DLVulkan", "kDLVulkan"},
	{"DLMetal", "kDLMetal"},
	{"DLVPI", "kDLVPI"},
	{"DLROCM", "kDLROCM"},
	{"DLROCMHost", "kDLROCMHost"},
	{"DLExtDev", "kDLExtDev"},
	{"DLCUDAManaged", "kDLCUDAManaged"},
	{"DLOneAPI", "kDLOneAPI"},
	{"DLWebGPU", "kDLWebGPU"},
	{"DLHexagon", "kDLHexagon"},
	{"DLMAIA", "kDLMAIA"},
	{"DLTrn", "kDLTrn"},
	{"DLFlagReadOnly", "DLPACK_FLAG_BITMASK_READ_ONLY"},
	{"DLFlagIsCopied", "DLPACK_FLAG_BITMASK_IS_COPIED"},
	{"DLFlagSubBytePadded", "DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED"},
	{"DLPackMajor", "DLPACK_MAJOR_VERSION"},
	{"DLPackMinor", "DLPACK_MINOR_VERSION"},
}

// unmirrored names the structs and constants of the package that mirror nothing in the headers, and why.
var unmirrored = map[string]string{}

// table is all that one comparison looks at.
type table struct {
	layouts []layout
	values  []value
}

// report is what a comparison found.
type report struct {
	compared int
	skipped  []string
	problems []string
}

func (r *report) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// TestProbe compares the package with the headers of every supported wheel.
func TestProbe(t *testing.T) {
	consts := goConstants(t)
	for _, v := range wheels {
		t.Run(v, func(t *testing.T) {
			if _, err := wheel.TVMFFI(v, runtime.GOOS, runtime.GOARCH); err != nil && v != wheel.DefaultVersion {
				t.Skip("only the default wheel is pinned for this platform: ", err)
			}
			r := compare(t, table{layouts, values}, consts, v)
			for _, p := range r.problems {
				t.Error(p)
			}
			for _, s := range r.skipped {
				t.Log("skipped:", s)
			}
			if v == wheel.DefaultVersion && len(r.skipped) > 0 {
				t.Errorf("%d items are missing from the headers of the default wheel", len(r.skipped))
			}
			t.Logf("%d items compared, %d skipped, %d declarations without a counterpart", r.compared, len(r.skipped), len(unmirrored))
		})
	}
}

// TestProbeIsComplete fails if the package declares a struct or a constant that nothing compares.
func TestProbeIsComplete(t *testing.T) {
	for _, p := range incomplete(t, table{layouts, values}) {
		t.Error(p)
	}
}

// TestProbeSeesDefects plants wrong entries and demands that each one is reported.
func TestProbeSeesDefects(t *testing.T) {
	planted := table{
		layouts: []layout{
			{reflect.TypeFor[abi.ByteArray](), "TVMFFIObject", map[string]string{"Data": "combined_ref_count", "Size": "type_index"}},
			{reflect.TypeFor[abi.SeqCell](), "TVMFFISeqCell", map[string]string{
				"Data": "data", "Size": "capacity", "Capacity": "size", "DataDeleter": "data_deleter"}},
			{reflect.TypeFor[abi.DLDataType](), "DLDataType", map[string]string{"Code": "code", "Bits": "bits", "Lane": "lanes"}},
			{reflect.TypeFor[abi.DLDevice](), "DLPackVersion", map[string]string{"Type": "major", "ID": "minor"}},
		},
		values: []value{{"TypeInt", "kTVMFFIBool"}, {"TypeBigInt", "kTVMFFINoSuchIndex"}, {"NoSuchConstant", "kTVMFFIInt"}},
	}
	r := compare(t, planted, goConstants(t), wheel.DefaultVersion)
	for _, want := range []string{
		"ByteArray: size 16, TVMFFIObject has 24",
		"ByteArray.Size: size 8, TVMFFIObject.type_index has 4",
		"SeqCell.Size: offset 8, TVMFFISeqCell.capacity has 16",
		"SeqCell.Capacity: offset 16, TVMFFISeqCell.size has 8",
		"DLDataType.Lanes: not in the table",
		"DLDataType.Lane: in the table, not in Go",
		"DLDevice.Type: is a signed integer, DLPackVersion.major is an unsigned integer",
		"TypeInt: 1, kTVMFFIBool is 2",
		"NoSuchConstant: in the table, not in Go",
	} {
		if !slices.ContainsFunc(r.problems, func(p string) bool { return strings.Contains(p, want) }) {
			t.Errorf("the planted defect %q was not reported; reported:\n%s", want, strings.Join(r.problems, "\n"))
		}
	}
	if len(r.skipped) != 1 || !strings.Contains(r.skipped[0], "kTVMFFINoSuchIndex") {
		t.Errorf("skipped %q, want the constant that no header has", r.skipped)
	}
	missing := strings.Join(incomplete(t, table{layouts[1:], values[1:]}), "\n")
	for _, want := range []string{"Any", "TypeAny"} {
		if !strings.Contains(missing, "declaration "+want+" ") {
			t.Errorf("a table without %s passed for complete: %q", want, missing)
		}
	}
}

// identifiers of the headers in a C expression.
var identifier = regexp.MustCompile(`\b(?:kTVMFFI|kDL|TVMFFI|DLPACK_|DL)\w+`)

// comment of C.
var comment = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*`)

func compare(t *testing.T, tab table, consts map[string]constant.Value, version string) report {
	t.Helper()
	var r report
	declared := headerWords(t, version)
	absent := func(what, c string) bool {
		for _, id := range identifier.FindAllString(c, -1) {
			if !declared[id] {
				r.skipped = append(r.skipped, fmt.Sprintf("%s: the headers of %s have no %s", what, version, id))
				return true
			}
		}
		return false
	}

	// The checks are collected first, then one program prints what C says to each key.
	type check struct {
		key string
		run func(c string)
	}
	var checks []check
	var lines []string
	ask := func(key, line string, run func(c string)) {
		checks = append(checks, check{key, run})
		lines = append(lines, line)
	}
	number := func(key, expression string, run func(c string)) {
		ask(key, fmt.Sprintf("number(%q, %s);", key, expression), run)
	}
	for _, l := range tab.layouts {
		name := l.goType.Name()
		if absent(name, l.c) {
			continue
		}
		number("size "+name, "sizeof("+l.c+")", func(c string) {
			if g := strconv.Itoa(int(l.goType.Size())); g != c {
				r.problem("%s: size %s, %s has %s", name, g, l.c, c)
			}
		})
		number("align "+name, "alignof("+l.c+")", func(c string) {
			if g := strconv.Itoa(l.goType.Align()); g != c {
				r.problem("%s: alignment %s, %s has %s", name, g, l.c, c)
			}
		})
		for _, field := range slices.Sorted(maps.Keys(l.fields)) {
			member := l.fields[field]
			what, counterpart := name+"."+field, l.c+"."+member
			f, ok := l.goType.FieldByName(field)
			if !ok {
				r.problem("%s: in the table, not in Go", what)
				continue
			}
			number("offset "+what, fmt.Sprintf("offsetof(%s, %s)", l.c, member), func(c string) {
				if g := strconv.Itoa(int(f.Offset)); g != c {
					r.problem("%s: offset %s, %s has %s", what, g, counterpart, c)
				}
			})
			number("size "+what, fmt.Sprintf("sizeof(((%s*)0)->%s)", l.c, member), func(c string) {
				if g := strconv.Itoa(int(f.Type.Size())); g != c {
					r.problem("%s: size %s, %s has %s", what, g, counterpart, c)
				}
			})
			key := "kind " + what
			ask(key, fmt.Sprintf("kind<decltype(%s::%s)>(%q);", l.c, member, key), func(c string) {
				if g := kind(f.Type); !fits(g, c) {
					r.problem("%s: is %s, %s is %s", what, g, counterpart, c)
				}
			})
		}
		for f := range l.goType.Fields() {
			if _, ok := l.fields[f.Name]; !ok && f.Name != "_" {
				r.problem("%s.%s: not in the table", name, f.Name)
			}
		}
	}
	for _, v := range tab.values {
		g, ok := consts[v.name]
		if !ok {
			r.problem("%s: in the table, not in Go", v.name)
			continue
		}
		if absent(v.name, v.c) {
			continue
		}
		number("value "+v.name, v.c, func(c string) {
			if g.ExactString() != c {
				r.problem("%s: %s, %s is %s", v.name, g.ExactString(), v.c, c)
			}
		})
	}

	answers := probe(t, lines, version)
	for _, c := range checks {
		a, ok := answers[c.key]
		if !ok {
			r.problem("%s: the probe did not answer", c.key)
			continue
		}
		r.compared++
		c.run(a)
	}
	return r
}

const probeHead = `
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/container/map.h>
#include <dlpack/dlpack.h>
#include <cstddef>
#include <cstdio>
#include <type_traits>
using DenseMap = tvm::ffi::DenseMapBaseObj;
template <typename T> void number(const char* key, T value) { std::printf("%s\t%lld\n", key, static_cast<long long>(value)); }
template <typename T> void kind(const char* key) {
  const char* k = std::is_enum<T>::value ? "an enum" : std::is_pointer<T>::value ? "a pointer"
      : std::is_floating_point<T>::value ? "a float" : std::is_class<T>::value ? "a struct"
      : !std::is_integral<T>::value ? "something else" : std::is_signed<T>::value ? "a signed integer" : "an unsigned integer";
  std::printf("%s\t%s\n", key, k);
}
int main() {
`

// probe compiles and runs a program of the given statements and returns what it prints, by key.
func probe(t *testing.T, lines []string, version string) map[string]string {
	t.Helper()
	program := nativetest.BuildText(t, "abi-probe", probeHead+strings.Join(lines, "\n")+"\n}\n",
		nativetest.Executable(), nativetest.AgainstVersion(version), nativetest.Flags("-Wno-invalid-offsetof", "-fno-access-control"))
	out, err := nativetest.Command(t.Context(), program).CombinedOutput()
	if err != nil {
		t.Fatalf("the probe failed: %v\n%s", err, out)
	}
	answers := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if key, answer, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "\t"); ok {
			answers[key] = answer
		}
	}
	return answers
}

// headerWords returns every word of the headers that stands outside comments.
func headerWords(t *testing.T, version string) map[string]bool {
	t.Helper()
	words := map[string]bool{}
	word := regexp.MustCompile(`\w+`)
	for _, dir := range nativetest.Wheel(t, version).Include() {
		for _, name := range []string{"tvm/ffi/c_api.h", "tvm/ffi/extra/c_env_api.h", "dlpack/dlpack.h"} {
			b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
			if os.IsNotExist(err) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range word.FindAllString(comment.ReplaceAllString(string(b), " "), -1) {
				words[w] = true
			}
		}
	}
	if !words["TVMFFIAny"] || !words["DLTensor"] {
		t.Fatalf("the headers of %s were not found", version)
	}
	return words
}

// kind names the kind of a Go type as the probe does for C.
func kind(g reflect.Type) string {
	switch g.Kind() {
	case reflect.Uintptr, reflect.Pointer, reflect.UnsafePointer:
		return "a pointer"
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a signed integer"
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "an unsigned integer"
	case reflect.Float32, reflect.Float64:
		return "a float"
	case reflect.Struct:
		return "a struct"
	default:
		return "something else"
	}
}

func fits(g, c string) bool {
	switch {
	case g == "a pointer":
		return c == "a pointer" || c == "an unsigned integer" // uintptr also stands for size_t
	case g == "a signed integer":
		return c == g || c == "an enum"
	default:
		return g == c
	}
}

// checked is the type-checked package, so that constants are found by name and not by hand.
var checked = sync.OnceValues(func() (*types.Package, error) {
	info, err := build.ImportDir(".", 0)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range info.GoFiles {
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	conf := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	return conf.Check("abi", fset, files, nil)
})

func packageScope(t *testing.T) *types.Scope {
	t.Helper()
	pkg, err := checked()
	if err != nil {
		t.Fatal(err)
	}
	return pkg.Scope()
}

func goConstants(t *testing.T) map[string]constant.Value {
	t.Helper()
	scope := packageScope(t)
	out := map[string]constant.Value{}
	for _, name := range scope.Names() {
		if c, ok := scope.Lookup(name).(*types.Const); ok {
			out[name] = c.Val()
		}
	}
	if len(out) == 0 {
		t.Fatal("the package has no constants")
	}
	return out
}

// incomplete lists the structs and constants of the package that neither the table nor unmirrored names,
// and the names in unmirrored that are of no use.
func incomplete(t *testing.T, tab table) []string {
	t.Helper()
	known := map[string]bool{}
	for _, l := range tab.layouts {
		known[l.goType.Name()] = true
	}
	for _, v := range tab.values {
		known[v.name] = true
	}
	var out []string
	scope := packageScope(t)
	for _, name := range scope.Names() {
		object := scope.Lookup(name)
		switch o := object.(type) {
		case *types.Const:
		case *types.TypeName:
			if _, ok := o.Type().Underlying().(*types.Struct); !ok {
				continue
			}
		default:
			continue
		}
		if !known[name] && unmirrored[name] == "" {
			out = append(out, fmt.Sprintf("declaration %s is compared with nothing: add it to the table or to unmirrored with a reason", name))
		}
	}
	for name, reason := range unmirrored {
		if scope.Lookup(name) == nil || known[name] || reason == "" {
			out = append(out, fmt.Sprintf("unmirrored names %s (%s) in vain", name, cmp.Or(reason, "no reason")))
		}
	}
	return out
}
