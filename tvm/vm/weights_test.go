package vm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// safefile returns a file of the format safetensors.
func safefile(head string, data []byte) []byte {
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...), data...)
}

// write writes files to a folder, and returns it.
func write(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func loaded(t *testing.T, path string) *Weights {
	t.Helper()
	values(t)
	w, err := LoadWeights(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Release)
	return w
}

func floats(t *testing.T, x *tvmffi.Tensor) []float32 {
	t.Helper()
	got, err := tvmffi.ToFloat32(x)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// small is a file with tensors of some types. The data of "a" lies at a multiple of 64 bytes, that of the others does not.
func small() []byte {
	const head = `{"__metadata__":{"format":"pt","shape":"a","Shape":"b"},"c":{"dtype":"BF16","shape":[1,2],"data_offsets":[16,20]},` +
		`"b":{"dtype":"F16","shape":[4],"data_offsets":[8,16]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},` +
		`"d":{"dtype":"F8_E5M2","shape":[],"data_offsets":[20,21]},"e":{"dtype":"F8_E4M3","shape":[2,0],"data_offsets":[21,21]},"f":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[21,24]}}`
	data := []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0, 0x3c, 0, 0xbc, 0, 0, 0, 0x40, 0x80, 0x3f, 0, 0xc0, 0x3c, 0x38, 0x40, 0xb8}
	return safefile(head+strings.Repeat(" ", 64-(8+len(head))%64), data)
}

// TestSafetensors reads the tensors of a file. One that lies as kernels need it is the memory of the file, and a write to
// it stays in the process.
func TestSafetensors(t *testing.T) {
	dir := write(t, map[string]string{"model.safetensors": string(small())})
	w := loaded(t, dir)
	if !slices.Equal(w.Names(), []string{"a", "b", "c", "d", "e", "f"}) || w.Tensor("g") != nil {
		t.Fatalf("the names are %q", w.Names())
	}
	for name, want := range map[string]struct {
		text   string
		values []float32
	}{
		"a": {"float32[2]@cpu:0", []float32{1, -2}}, "b": {"float16[4]@cpu:0", []float32{1, -1, 0, 2}}, "c": {"bfloat16[1, 2]@cpu:0", []float32{1, -2}},
		"d": {"float8_e5m2[]@cpu:0", []float32{1}}, "e": {"float8_e4m3fn[2, 0]@cpu:0", []float32{}}, "f": {"float8_e4m3fn[3]@cpu:0", []float32{1, 2, -1}},
	} {
		x := w.Tensor(name)
		if got := floats(t, x); x.String() != want.text || !slices.Equal(got, want.values) {
			t.Errorf("%s is %s %v, expected %s %v", name, x, got, want.text, want.values)
		}
		if at := x.DataPointer().Address; x.Len() > 0 && at%alignment != 0 {
			t.Errorf("%s lies at %#x", name, at)
		}
	}
	a := w.Tensor("a")
	if err := tvmffi.CopyFrom(a, []float32{5, 6}); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "model.safetensors")); err != nil || !slices.Equal(b, small()) {
		t.Errorf("the file changed: %v", err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if page := uintptr(os.Getpagesize()); a.DataPointer().Address%page != uintptr(len(small())-24)%page {
		t.Errorf("a is not the memory of the file")
	}
}

// TestSafetensors_hostile reads files with mistakes. Each error names what is wrong.
func TestSafetensors_hostile(t *testing.T) {
	values(t)
	one := func(dtype, shape, offsets string) string {
		return fmt.Sprintf(`{"a":{"dtype":%s,"shape":%s,"data_offsets":%s}}`, dtype, shape, offsets)
	}
	for name, test := range map[string]struct {
		file []byte
		want string
	}{
		"empty":              {nil, "it has 0 bytes"},
		"short":              {[]byte("1234567"), "it has 7 bytes"},
		"no header":          {safefile("", nil), "does not begin with {"},
		"header beyond":      {safefile("{}", nil)[:9], "its header has 2 bytes, and the file has 9"},
		"huge header":        {append(binary.LittleEndian.AppendUint64(nil, 1<<63), 1), "its header has 9223372036854775808 bytes"},
		"not JSON":           {safefile(`{"a"`, nil), "the header: "},
		"array":              {safefile(`[]`, nil), "does not begin with {"},
		"more text":          {safefile(`{} {}`, nil), "text after the object"},
		"a key twice":        {safefile(`{"a":{"dtype":"U8","shape":[],"shape":[1],"data_offsets":[0,1]}}`, []byte{1}), `the key "shape" occurs twice`},
		"a key in two cases": {safefile(`{"a":{"dtype":"U8","shape":[],"Shape":[1],"data_offsets":[0,1]}}`, []byte{1}), `tensor "a": line 1, column 26: the keys "shape" and "Shape" are one key`},
		"null":               {safefile(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[null,1]}}`, []byte{1}), `tensor "a": line 1, column 43: found null in data_offsets.0`},
		"twice":              {safefile(`{"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}`, []byte{1}), `"a" is there twice`},
		"metadata":           {safefile(`{"__metadata__":{"a":1}}`, nil), "__metadata__"},
		"half a name":        {safefile(`{"a\ud800":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}`, []byte{1}), "half of a surrogate pair"},
		"null in metadata":   {safefile(`{"__metadata__":{"a":null}}`, nil), "__metadata__: line 1, column 6: found null in a"},
		"metadata twice":     {safefile(`{"__metadata__":{"a":"b","a":"c"}}`, nil), `__metadata__: line 1, column 10: the key "a" occurs twice`},
		"type":               {safefile(one(`"F128"`, "[1]", "[0,16]"), make([]byte, 16)), `tensor "a": its data type "F128" is unknown`},
		"type of the type":   {safefile(one(`1`, "[1]", "[0,16]"), make([]byte, 16)), `tensor "a": `},
		"no shape":           {safefile(one(`"U8"`, "null", "[0,1]"), make([]byte, 1)), "it has no shape"},
		"negative":           {safefile(one(`"U8"`, "[-1]", "[0,1]"), make([]byte, 1)), `tensor "a": `},
		"fraction":           {safefile(one(`"U8"`, "[1.5]", "[0,1]"), make([]byte, 1)), `tensor "a": `},
		"overflow":           {safefile(one(`"U8"`, "[4294967296,4294967296]", "[0,0]"), nil), `tensor "a": `},
		"large":              {safefile(one(`"F64"`, "[1152921504606846975]", "[0,8]"), make([]byte, 8)), `tensor "a": `},
		"beyond int64":       {safefile(one(`"U8"`, "[9223372036854775808]", "[0,1]"), make([]byte, 1)), `tensor "a": `},
		"offsets backwards":  {safefile(one(`"U8"`, "[1]", "[1,0]"), make([]byte, 1)), "data_offsets are [1 0]"},
		"one offset":         {safefile(one(`"U8"`, "[1]", "[1]"), make([]byte, 1)), "data_offsets are [1]"},
		"wrong size":         {safefile(one(`"F32"`, "[2]", "[0,4]"), make([]byte, 4)), "it has 4 bytes, and float32 of shape [2] has 8"},
		"beyond the file":    {safefile(one(`"U8"`, "[9]", "[0,9]"), make([]byte, 8)), "it lies at byte 0 with 9 bytes, and the file has 8"},
		"gap":                {safefile(one(`"U8"`, "[1]", "[1,2]"), make([]byte, 2)), "it begins at byte 1 of the data, expected 0"},
		"rest":               {safefile(one(`"U8"`, "[1]", "[0,1]"), make([]byte, 2)), "its tensors have 1 bytes, and behind the header are 2"},
		"overlap":            {safefile(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, make([]byte, 3)), `tensor "b": it begins at byte 1 of the data, expected 2`},
	} {
		path := filepath.Join(write(t, map[string]string{"x": string(test.file)}), "x")
		w, err := LoadWeights(path)
		var typed *Error
		if w != nil || !errors.As(err, &typed) || typed.Name != path || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, expected %s", name, err, test.want)
		}
	}
	part := small()
	for n := range part {
		if _, err := safeHeader(part[:n]); err == nil {
			t.Errorf("the first %d bytes were accepted", n)
		}
	}
}

// FuzzSafeHeader: what is accepted fills the data without an overlap.
func FuzzSafeHeader(f *testing.F) {
	f.Add(small())
	f.Add(safefile(`{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}}`, make([]byte, 2)))
	f.Fuzz(func(t *testing.T, file []byte) {
		all, err := safeHeader(file)
		if err != nil {
			return
		}
		end := 8 + int64(binary.LittleEndian.Uint64(file))
		for _, e := range all {
			if size, err := e.dtype.BytesOf(e.shape); err != nil || size != e.size || e.begin != end {
				t.Errorf("%+v: %v, it has %d bytes, and the one before ends at %d", e, err, size, end)
			}
			end += e.size
		}
		if end != int64(len(file)) {
			t.Errorf("the tensors end at %d of %d", end, len(file))
		}
	})
}

// cache is the index of a tensor cache with one tensor of two numbers, where r is replaced.
func cache(replace ...string) map[string]string {
	const index = `{"metadata":{},"records":[{"dataPath":"s.bin","format":"raw-shard","nbytes":8,"records":[` +
		`{"name":"a","shape":[2],"dtype":"float32","format":"raw","nbytes":8,"byteOffset":0}]}]}`
	return map[string]string{"tensor-cache.json": strings.NewReplacer(replace...).Replace(index), "s.bin": "\x00\x00\x80\x3f\x00\x00\x00\xc0"}
}

// listed is a folder with an index of files of safetensors.
func listed(index string) map[string]string {
	return map[string]string{"i.safetensors.index.json": index, "m.safetensors": string(small()), "o.safetensors": string(safefile("{}", nil))}
}

// TestIndexes reads indexes that are as their writers make them.
func TestIndexes(t *testing.T) {
	for _, files := range []map[string]string{
		listed(`{"metadata":{"total_size":8},"weight_map":{"a":"m.safetensors"}}`),
		cache(`{}`, `{"ParamSize":1,"ParamBytes":8.0}`), cache(`{}`, `[]`), cache(`"metadata":{},`, ``),
		cache(`"byteOffset":0}`, `"byteOffset":0},{"name":"b","shape":[0],"dtype":"float32","format":"raw","nbytes":0,"byteOffset":0}`),
	} {
		if w := loaded(t, write(t, files)); w.Tensor("a") == nil {
			t.Errorf("%q has no a", files)
		}
	}
}

// TestTensorCache_hostile reads indexes with mistakes.
func TestTensorCache_hostile(t *testing.T) {
	w := loaded(t, write(t, cache()))
	if got := floats(t, w.Tensor("a")); !slices.Equal(got, []float32{1, -2}) {
		t.Errorf("a is %v", got)
	}
	for want, files := range map[string]map[string]string{
		"has none of tensor-cache.json, ndarray-cache.json and *.safetensors": {"x": ""},
		"tensor-cache.json: unexpected end of JSON":                           {"tensor-cache.json": ""},
		"it lists no shards":                                                        {"tensor-cache.json": "{}"},
		"its format is \"zip\", expected raw-shard":                                 cache("raw-shard", "zip"),
		"the path leads out of the folder":                                          cache("s.bin", "../s.bin"),
		"none.bin: no such file":                                                    cache("s.bin", "none.bin"),
		"it has 8 bytes, and the index says 9":                                      cache(`"nbytes":8,"records"`, `"nbytes":9,"records"`),
		`tensor "a": `:                                                              cache(`"float32"`, `"float33"`),
		"its format is \"zip\", expected raw or":                                    cache(`"raw"`, `"zip"`),
		"it has no shape":                                                           cache(`"shape":[2],`, ""),
		"it has 8 bytes, and float32 of shape [3] has 12":                           cache("[2]", "[3]"),
		"it has 8 bytes, and bfloat16 of shape [2] has 4":                           cache(`"raw"`, `"f32-to-bf16"`),
		"it lies at byte 4 with 8 bytes, and the file has 8":                        cache(`"byteOffset":0`, `"byteOffset":4`),
		"it lies at byte -1 with":                                                   cache(`"byteOffset":0`, `"byteOffset":-1`),
		"it lies at byte 9223372036854775807 with":                                  cache(`"byteOffset":0`, `"byteOffset":9223372036854775807`),
		`the keys "byteOffset" and "byteoffset" in records.0.records.0 are one key`: cache(`"byteOffset":0`, `"byteOffset":0,"byteoffset":0`),
		`found null in records.0.records.0.shape.0`:                                 cache("[2]", "[null]"),
		`the key "byteOffset" occurs twice`:                                         cache(`"byteOffset":0`, `"byteOffset":0,"byteOffset":0`),
		`"a": it is there twice`:                                                    cache(`"byteOffset":0}`, `"byteOffset":0},{"name":"a","shape":[2],"dtype":"float32","format":"raw","nbytes":8,"byteOffset":0}`),
		`shard "s.bin": record 0 has no name`:                                       cache(`"name":"a",`, ""),
		`shard "s.bin": record 0 has no name: expected`:                             cache(`"name":"a"`, `"name":null`),
		`tensor "a": it has no byteOffset: expected where`:                          cache(`,"byteOffset":0`, ""),
		`shard "s.bin": tensor "a": it has no byteOffset`:                           cache(`"byteOffset":0`, `"byteOffset":null`),
		`shard "s.bin": it lists no tensors`:                                        {"tensor-cache.json": `{"records":[{"dataPath":"s.bin","format":"raw-shard","nbytes":0,"records":null}]}`, "s.bin": ""},
		`shard "./s.bin": it is there twice`:                                        cache(`]}]}`, `]},{"dataPath":"./s.bin","format":"raw-shard","nbytes":8,"records":[]}]}`),
		`tensor "b": it begins at byte 4, and "a" ends at 8: expected bytes of its`: cache(`"byteOffset":0}`, `"byteOffset":0},{"name":"b","shape":[1],"dtype":"float32","format":"raw","nbytes":4,"byteOffset":4}`),
		`1 tensors, and ParamSize of its metadata is 2: copy`:                       cache(`{}`, `{"ParamSize":2}`),
		`1 tensors, and ParamSize of its metadata is null: copy`:                    cache(`{}`, `{"ParamSize":null}`),
		`i.safetensors.index.json: it lists no tensors`:                             listed(`{}`),
		`.json: tensor "z": its file is "n.safetensors", which the folder does not`: listed(`{"weight_map":{"a":"m.safetensors","z":"n.safetensors"}}`),
		`tensor "z": no file has it, expected it in "m.safetensors": copy`:          listed(`{"weight_map":{"a":"m.safetensors","z":"m.safetensors"}}`),
		`tensor "a": it is in "m.safetensors", expected it in "o.safetensors"`:      listed(`{"weight_map":{"a":"o.safetensors"}}`),
		`found null in weight_map.a`:                                                listed(`{"weight_map":{"a":null}}`),
	} {
		if runtime.GOOS == "windows" && strings.Contains(want, "no such file") {
			continue
		}
		_, err := LoadWeights(write(t, files))
		if typed := (*Error)(nil); !errors.As(err, &typed) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %s", err, want)
		}
	}
}

// TestTuple compares weights with the parameters of a model.
func TestTuple(t *testing.T) {
	w := loaded(t, write(t, map[string]string{"m.safetensors": string(small())}))
	all := []Param{{"b", "float16", []int64{-1}}, {"a", "float32", []int64{2}}, {"c", "bfloat16", []int64{1, 2}}, {"d", "float8_e5m2", nil}, {"e", "float8_e4m3fn", []int64{2, 0}}, {"f", "float8_e4m3fn", []int64{3}}}
	tuple, err := w.Tuple(all)
	if err != nil || tuple.Len() != 6 || tuple.At(0).Size(0) != 4 {
		t.Fatal(err)
	}
	tuple.Release()
	for want, params := range map[string][]Param{
		"there is no z":                          append(all[:6:6], Param{Name: "z", DataType: "float32"}),
		`the model has no parameter "b"`:         all[1:],
		"b is float16[4], expected float32[4]":   append([]Param{{"b", "float32", []int64{4}}}, all[1:]...),
		"b is float16[4], expected float16[4 1]": append([]Param{{"b", "float16", []int64{4, 1}}}, all[1:]...),
		"and 2 more":                             {{"z", "float32", nil}},
		`parameter b: `:                          append([]Param{{"b", "floot", nil}}, all[1:]...),
	} {
		_, err := w.Tuple(params)
		if typed := (*Error)(nil); !errors.As(err, &typed) || !strings.Contains(err.Error(), "not the weights of the model") || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, expected %s", err, want)
		}
	}
}

// TestVerify: a file that changed on its way has another sum than the index says.
func TestVerify(t *testing.T) {
	for want, sum := range map[string]string{"": "", " ": `"md5sum":"20961629D8CD81AD29AEBA95A91AEFB3",`, "  ": `"md5sum":"20961629d8cd81ad29aeba95a91aefb3",`,
		"shard s.bin: its MD5 sum is 20961629d8cd81ad29aeba95a91aefb3, and the index says 00": `"md5sum":"00",`} {
		w := loaded(t, write(t, cache(`"nbytes":8,"records"`, `"nbytes":8,`+sum+`"records"`)))
		err := w.Verify()
		if typed := (*Error)(nil); strings.TrimSpace(want) == "" && err != nil || strings.TrimSpace(want) != "" && (!errors.As(err, &typed) || !strings.Contains(err.Error(), want)) {
			t.Errorf("with %s got %v, expected %s", sum, err, want)
		}
	}
}
