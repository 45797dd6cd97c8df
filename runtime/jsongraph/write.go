package jsongraph

import (
	"encoding/base64"
	"math"
	"strconv"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/codec"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/fields"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// graphWriter writes a JSON graph as the library does: the same nodes in the same order. The
// library makes objects of all nodes first, which takes many times as long. Types with their own
// way of writing are left to the library.
type graphWriter struct {
	b       []byte
	nodes   int64
	scalars map[abi.Any]int64
	strings map[stringNode]int64
	objects map[uintptr]int64
	plain   map[abi.TypeIndex]bool // whether the library would write the fields
	keys    map[abi.TypeIndex]string
	spare   [][]int64
}

// stringNode is a string, or bytes.
type stringNode struct {
	text    string
	isBytes bool
}

// writeGraph returns the graph of a value that is bounded; ok is false if it holds
// something that is for the library to write, or to refuse.
func writeGraph(v abi.Any) (text []byte, ok bool, err error) {
	defer codec.Catch(&err)
	w := &graphWriter{b: []byte(`{"nodes":[`)}
	w.scalars, w.strings, w.objects, w.plain = map[abi.Any]int64{}, map[stringNode]int64{}, map[uintptr]int64{}, map[abi.TypeIndex]bool{}
	w.keys = map[abi.TypeIndex]string{}
	root, ok := w.node(v)
	if !ok {
		return nil, false, nil
	}
	w.b = append(w.b, `],"root_index":`...)
	w.b = strconv.AppendInt(w.b, root, 10)
	return w.b, true, nil
}

func (w *graphWriter) keyOf(index abi.TypeIndex) string {
	key, ok := w.keys[index]
	if !ok {
		key = capi.KeyOf(index)
		w.keys[index] = key
	}
	return key
}

// begin begins a node of a type; its data follows.
func (w *graphWriter) begin(key string) {
	if w.nodes > 0 {
		w.b = append(w.b, ',')
	}
	w.b = append(w.b, `{"type":`...)
	w.b = appendGraphString(w.b, key)
	w.b = append(w.b, `,"data":`...)
}

// end ends the node and returns its index.
func (w *graphWriter) end() int64 {
	w.b = append(w.b, '}')
	w.nodes++
	return w.nodes - 1
}

// node writes v, if it was not written before, after all that it refers to.
func (w *graphWriter) node(v abi.Any) (int64, bool) {
	switch v.TypeIndex {
	case abi.TypeSmallStr, abi.TypeStr, abi.TypeRawStr, abi.TypeSmallBytes, abi.TypeBytes, abi.TypeByteArrayPtr:
		return w.str(v), true
	case abi.TypeNone, abi.TypeBool, abi.TypeInt, abi.TypeFloat, abi.TypeDataType, abi.TypeDevice:
		return w.scalar(v), true
	}
	if !v.TypeIndex.IsObject() || v.Bits == 0 {
		return 0, false
	}
	handle := uintptr(v.Bits)
	if i, seen := w.objects[handle]; seen {
		return i, true
	}
	i, ok := w.object(v, handle)
	if ok && objects.Strong(handle) > 1 {
		w.objects[handle] = i // nobody else can refer to one with a single reference
	}
	return i, ok
}

func (w *graphWriter) str(v abi.Any) int64 {
	text, _ := capi.StringOf(v)
	n := stringNode{text, v.TypeIndex != abi.TypeSmallStr && v.TypeIndex != abi.TypeStr && v.TypeIndex != abi.TypeRawStr}
	if i, seen := w.strings[n]; seen {
		return i
	}
	if n.isBytes {
		w.begin("ffi.Bytes")
		w.b = appendGraphString(w.b, base64.StdEncoding.EncodeToString([]byte(text)))
	} else {
		w.begin("ffi.String")
		w.b = appendGraphString(w.b, text)
	}
	i := w.end()
	w.strings[n] = i
	return i
}

func (w *graphWriter) scalar(v abi.Any) int64 {
	key := abi.Any{TypeIndex: v.TypeIndex, Bits: v.Bits}
	if v.TypeIndex == abi.TypeFloat && math.IsNaN(math.Float64frombits(v.Bits)) {
		key.Bits = math.Float64bits(math.NaN())
	}
	if i, seen := w.scalars[key]; seen {
		return i
	}
	if w.nodes > 0 {
		w.b = append(w.b, ',')
	}
	switch v.TypeIndex {
	case abi.TypeNone:
		w.b = append(w.b, `{"type":"None"`...)
	case abi.TypeDevice:
		d := *(*tvmffi.Device)(unsafe.Pointer(&v.Bits))
		w.b = append(w.b, `{"type":"Device","data":[`...)
		w.b = strconv.AppendInt(w.b, int64(d.Type), 10)
		w.b = append(w.b, ',')
		w.b = strconv.AppendInt(w.b, int64(d.ID), 10)
		w.b = append(w.b, ']')
	default:
		w.b = append(w.b, `{"type":"`...)
		w.b = append(w.b, w.keyOf(v.TypeIndex)...)
		w.b = append(w.b, `","data":`...)
		w.inline(v)
	}
	i := w.end()
	w.scalars[key] = i
	return i
}

// inline writes a value that stands in the field itself.
func (w *graphWriter) inline(v abi.Any) bool {
	switch v.TypeIndex {
	case abi.TypeNone:
		w.b = append(w.b, "null"...)
	case abi.TypeBool:
		w.b = strconv.AppendBool(w.b, v.Bits != 0)
	case abi.TypeInt:
		w.b = strconv.AppendInt(w.b, int64(v.Bits), 10)
	case abi.TypeFloat:
		w.b = appendGraphFloat(w.b, math.Float64frombits(v.Bits))
	case abi.TypeDataType:
		w.b = appendGraphString(w.b, graphNameOf(*(*tvmffi.DataType)(unsafe.Pointer(&v.Bits))))
	default:
		return false
	}
	return true
}

// graphNameOf returns the name of a data type. It panics with an error if a reader would not make the same type of it: no
// version of the library reads complex64, and int0 is int32 to it.
func graphNameOf(t tvmffi.DataType) string {
	name := t.String()
	back, err := tvmffi.ParseDataType(name)
	if err != nil || back != t || t.Code == abi.DLComplex {
		panic(failure.Errorf(failure.KindValue, "the data type %s has no name that every reader of JSON graphs takes", name))
	}
	return name
}

// list takes a slice for the references of a node.
func (w *graphWriter) list() []int64 {
	if n := len(w.spare); n > 0 {
		l := w.spare[n-1]
		w.spare = w.spare[:n-1]
		return l[:0]
	}
	return nil
}

// references writes the data of a node that are references, and gives them back.
func (w *graphWriter) references(refs []int64) {
	w.b = append(w.b, '[')
	for i, r := range refs {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = strconv.AppendInt(w.b, r, 10)
	}
	w.b = append(w.b, ']')
	w.spare = append(w.spare, refs)
}

func (w *graphWriter) object(v abi.Any, handle uintptr) (int64, bool) {
	switch class := crossing.ClassOf(v.TypeIndex); {
	case v.TypeIndex == abi.TypeShape:
		w.begin("ffi.Shape")
		w.references(append(w.list(), codec.Wrap[*tvmffi.Shape](objects.Static(handle)).Slice()...))
		return w.end(), true
	case class.Container():
		return w.container(v)
	}
	if !w.writesFields(v.TypeIndex) {
		return 0, false
	}
	return w.fields(v)
}

// container writes an object by references to what it holds.
func (w *graphWriter) container(v abi.Any) (int64, bool) {
	ok := true
	refs := w.list()
	add := func(x abi.Any) bool {
		var i int64
		if i, ok = w.node(x); ok {
			refs = append(refs, i)
		}
		return ok
	}
	if all, isSequence := codec.Elements(v); isSequence {
		for _, x := range all {
			if !add(x) {
				return 0, false
			}
		}
	} else {
		var nans nanKeys
		codec.Parts(v, func(p codec.Part) bool {
			if p.Kind == codec.PartEntry {
				if nans.add(p.Key); !add(p.Key) {
					return false
				}
			}
			return add(p.Value)
		})
	}
	if !ok {
		return 0, false
	}
	w.begin(w.keyOf(v.TypeIndex))
	w.references(refs)
	return w.end(), true
}

// fields writes an object by its fields: numbers stand in the fields, all others in
// nodes.
func (w *graphWriter) fields(v abi.Any) (int64, bool) {
	fields := codec.FieldsOf(v.TypeIndex)
	ok := true
	refs := w.list()
	inlined := make([]abi.Any, len(fields))
	codec.Parts(v, func(p codec.Part) bool {
		index := int64(-1)
		if isInline(p.Field) {
			inlined[p.Index] = p.Value
		} else {
			index, ok = w.node(p.Value)
		}
		// A node of an object that only the getter holds has no address to remember.
		if p.Kind == codec.PartMade && p.Value.TypeIndex.IsObject() && objects.Strong(uintptr(p.Value.Bits)) == 1 {
			ok = ok && !codec.MayNest(p.Value)
		}
		refs = append(refs, index)
		return ok
	})
	if !ok {
		return 0, false
	}
	w.begin(w.keyOf(v.TypeIndex))
	w.b = append(w.b, '{')
	for i := range fields {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = appendGraphString(w.b, fields[i].Name)
		w.b = append(w.b, ':')
		if refs[i] >= 0 {
			w.b = strconv.AppendInt(w.b, refs[i], 10)
		} else if !w.inline(inlined[i]) {
			return 0, false
		}
	}
	w.b = append(w.b, '}')
	w.spare = append(w.spare, refs)
	return w.end(), true
}

// writesFields reports whether the library writes objects of a type by their fields.
func (w *graphWriter) writesFields(index abi.TypeIndex) bool {
	plain, known := w.plain[index]
	if !known {
		plain = plainFields(index)
		w.plain[index] = plain
	}
	return plain
}

func plainFields(index abi.TypeIndex) bool {
	if index < abi.TypeDynObjectBegin {
		return false
	}
	info := capi.InfoOf(index)
	if info == nil {
		return false
	}
	for depth := range info.Depth {
		if capi.GoString(capi.Ancestor(info, depth).Key) == "ffi.Enum" {
			return false
		}
	}
	for _, name := range []string{"__data_to_json__", "__any_hash__", "__any_equal__"} {
		if _, ok := capi.TypeAttribute(index, name); ok {
			return false
		}
	}
	names := map[string]bool{}
	readers := codec.FieldsOf(index)
	for i := range readers {
		if names[readers[i].Name] {
			return false
		}
		names[readers[i].Name] = true
	}
	if info.Metadata != 0 && capi.PointerTo[abi.TypeMetadata](info.Metadata).Creator != 0 {
		return true
	}
	_, ok := capi.TypeAttribute(index, "__ffi_new__")
	return ok
}

// isInline reports whether the value stands in the field, and not in a node.
func isInline(p *fields.Reader) bool {
	switch p.Info.StaticTypeIndex {
	case abi.TypeNone, abi.TypeBool, abi.TypeInt, abi.TypeFloat, abi.TypeDataType:
		return true
	}
	return false
}

func appendGraphFloat(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, "NaN"...)
	case math.IsInf(f, 1):
		return append(b, "Infinity"...)
	case math.IsInf(f, -1):
		return append(b, "-Infinity"...)
	case math.Abs(f) < 1<<53 && f == math.Trunc(f):
		return strconv.AppendFloat(b, f, 'f', 1, 64)
	}
	if math.Abs(f) > 0x1p-1022 {
		return strconv.AppendFloat(b, f, 'e', -1, 64)
	}
	return append(b, codec.ExactNumbers(strconv.AppendFloat(nil, f, 'e', -1, 64))...) // a denormal float
}

// appendGraphString appends a string in quotes; bytes that are not UTF-8 stay as they
// are.
func appendGraphString(b []byte, text string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, text[start:i]...)
		start = i + 1
		if c < ' ' {
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		} else {
			b = append(b, '\\', c)
		}
	}
	b = append(b, text[start:]...)
	return append(b, '"')
}
