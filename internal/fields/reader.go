package fields

import (
	"math"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/ccall"
	"github.com/tvmffi-go/tvmffi/internal/crossing"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// Reader reads a field of objects: from memory where the registry makes the
// encoding certain, otherwise through the getter.
type Reader struct {
	// Name is the name of the field.
	Name string
	// Info is a copy of the registry entry of the field.
	Info *abi.FieldInfo

	offset, getter uintptr
	encoding       fieldEncoding
	size           int32
	flat           bool
	variant        bool // the field is a Variant, whose bytes are an Any
	cuts           cuts
	number         int8 // the bytes of a number that the setter may change
	// getting and setting are how calls of the getter and the setter cross.
	getting, setting ccall.Way
}

// fieldEncoding says what the bytes of a field are.
type fieldEncoding uint32

const (
	encodingUnknown fieldEncoding = iota
	encodingGetter                // only the getter knows
	encodingInt64
	encodingUint64
	encodingFloat64
	encodingFloat32
	encodingBool
	encodingString
	encodingObject
	encodingDataType
	encodingDevice
	encodingNarrowInt // 1, 2 or 4 bytes; signed and unsigned look alike
	encodingAny
)

func encodingOf(sig string, info *abi.FieldInfo) fieldEncoding {
	switch size := info.Size; {
	case info.Offset < abi.ObjectSize || info.Offset > math.MaxInt32:
		return encodingGetter
	case sig == "int" && size == 8 && unsigned(info):
		return encodingUint64
	case sig == "int" && size == 8:
		return encodingInt64
	case sig == "int" && (size == 1 || size == 2 || size == 4):
		return encodingNarrowInt
	case sig == "float" && size == 8:
		return encodingFloat64
	case sig == "float" && size == 4:
		return encodingFloat32
	case sig == "bool" && size == 1:
		return encodingBool
	case sig == "ffi.String" && size == 16:
		return encodingString
	case sig == "Any" && size == int64(unsafe.Sizeof(abi.Any{})):
		return encodingAny
	case sig == "DataType" && size == 4:
		return encodingDataType
	case sig == "Device" && size == 8:
		return encodingDevice
	case size == 8 && info.StaticTypeIndex.IsObject():
		return encodingObject
	}
	return encodingGetter
}

// unsigned reports whether a field of 8 bytes has no sign: its getter makes a BigInt of ones, or says that they are too large,
// as those of C++ do.
func unsigned(info *abi.FieldInfo) bool {
	if info.Getter == 0 {
		return false
	}
	ones := ^uint64(0)
	v, err := failure.InvokeResult(info.Getter, capi.Address(&ones))
	runtime.KeepAlive(&ones)
	if err != nil {
		f := failure.FailureOf(err)
		return f != nil && f.Kind == "OverflowError"
	}
	objects.ReleaseValue(v)
	return v.TypeIndex == abi.TypeBigInt
}

// NewReader makes the reader of a field. sig is the canonical text of its type,
// "" if the library does not say.
func NewReader(info *abi.FieldInfo, sig string) Reader {
	what, number := cutsOf(sig, info)
	encoding := encodingOf(sig, info)
	if encoding == encodingUint64 {
		what = cutsSign
	}
	return Reader{
		Name: capi.GoString(info.Name), Info: info, offset: uintptr(info.Offset), getter: info.Getter,
		encoding: encoding, size: int32(info.Size), flat: isFlat(sig, info.StaticTypeIndex),
		variant: strings.HasPrefix(sig, "Variant<"),
		cuts:    what, number: int8(number),
	}
}

// isFlat reports whether a field of a type never holds an object that holds others.
func isFlat(sig string, static abi.TypeIndex) bool {
	switch sig {
	case "Optional<int>", "Optional<float>", "Optional<bool>", "Optional<ffi.String>", "Optional<DataType>", "Optional<Device>":
		return true
	}
	return static >= 0 && crossing.ClassOf(static) < crossing.Sequence
}

// HasParts reports whether the field may hold an object other than a string or bytes.
func (r *Reader) HasParts() bool {
	switch r.encoding {
	case encodingGetter, encodingObject, encodingAny:
		return true
	}
	return false
}

// MayNest reports whether the field may hold an object that holds others.
func (r *Reader) MayNest() bool { return !r.flat }

// Peek reads the field of the live object at handle. The value is borrowed from the
// object, unless owned is true: then the getter made it and the caller releases it.
func (r *Reader) Peek(handle uintptr) (v abi.Any, owned bool, err error) {
	at := handle + r.offset
	switch r.encoding {
	case encodingInt64:
		return abi.Any{TypeIndex: abi.TypeInt, Bits: *capi.PointerTo[uint64](at)}, false, nil
	case encodingUint64:
		if bits := *capi.PointerTo[uint64](at); bits <= math.MaxInt64 {
			return abi.Any{TypeIndex: abi.TypeInt, Bits: bits}, false, nil
		}
	case encodingFloat64:
		return abi.Any{TypeIndex: abi.TypeFloat, Bits: *capi.PointerTo[uint64](at)}, false, nil
	case encodingFloat32:
		return abi.Any{TypeIndex: abi.TypeFloat, Bits: math.Float64bits(float64(*capi.PointerTo[float32](at)))}, false, nil
	case encodingBool:
		var bits uint64
		if *capi.PointerTo[uint8](at) != 0 {
			bits = 1
		}
		return abi.Any{TypeIndex: abi.TypeBool, Bits: bits}, false, nil
	case encodingDataType:
		return abi.Any{TypeIndex: abi.TypeDataType, Bits: uint64(*capi.PointerTo[uint32](at))}, false, nil
	case encodingDevice:
		return abi.Any{TypeIndex: abi.TypeDevice, Bits: *capi.PointerTo[uint64](at)}, false, nil
	case encodingString:
		if v := *capi.PointerTo[abi.Any](at); v.TypeIndex == abi.TypeStr || v.TypeIndex == abi.TypeSmallStr {
			return v, false, nil
		}
	case encodingObject, encodingAny:
		return r.InPlace(handle), false, nil
	case encodingNarrowInt:
		if v, ok := r.narrow(at); ok {
			return abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(v)}, false, nil
		}
	}
	v, err = r.get(at)
	return v, err == nil, err
}

// get calls the getter with the address of a field of a live object.
func (r *Reader) get(at uintptr) (abi.Any, error) {
	return failure.InvokeResultBy(&r.getting, r.getter, at)
}

// InPlace is Peek for a field that holds a pointer to an object or an Any. The compiler
// inlines it.
func (r *Reader) InPlace(handle uintptr) abi.Any {
	at := handle + r.offset
	if r.encoding == encodingAny {
		return *capi.PointerTo[abi.Any](at)
	}
	object := *capi.PointerTo[uintptr](at)
	if object == 0 {
		return abi.Any{}
	}
	return abi.Any{TypeIndex: capi.PointerTo[abi.Object](object).TypeIndex, Bits: uint64(object)}
}

// narrow reads an int whose top bit is clear.
func (r *Reader) narrow(at uintptr) (v int64, ok bool) {
	switch r.size {
	case 1:
		v = int64(*capi.PointerTo[int8](at))
	case 2:
		v = int64(*capi.PointerTo[int16](at))
	case 4:
		v = int64(*capi.PointerTo[int32](at))
	}
	return v, v >= 0
}

// ReaderAt makes the reader of a field that holds an object, or any value, at an offset.
func ReaderAt(name string, offset int64, anyValue bool) Reader {
	r := Reader{Name: name, offset: uintptr(offset), encoding: encodingObject}
	if anyValue {
		r.encoding = encodingAny
	}
	return r
}

// A setter of C++ casts a number to the type of its field: an int8_t gets 44 for 300. So a
// number is checked before a setter, or a constructor made of the fields, gets it. Only the
// getter knows whether a narrow int has a sign, so the field is read back afterwards.

// cuts says which numbers the setter of a field may change.
type cuts uint8

const (
	cutsInts cuts = 1 << iota
	cutsFloats
	cutsUnknown // the size of the number is not known
	cutsSign    // a number below 0 becomes one beyond int64
)

// cutsOf returns how a field of type sig and the given size may truncate a value, and the bytes
// of the number in it. An Optional has the size of two of its numbers, or the size of an Any,
// which says nothing.
func cutsOf(sig string, info *abi.FieldInfo) (what cuts, bytes int64) {
	size := info.Size
	if inner, ok := strings.CutPrefix(sig, "Optional<"); ok {
		sig, size = strings.TrimSuffix(inner, ">"), size/2
		if info.Size >= int64(unsafe.Sizeof(abi.Any{})) {
			size = 0
		}
	}
	switch {
	case sig == "" && info.StaticTypeIndex == abi.TypeInt, sig == "int":
		what = cutsInts
	case sig == "" && info.StaticTypeIndex == abi.TypeFloat, sig == "float":
		what = cutsFloats
	case strings.HasPrefix(sig, "Variant<"):
		what, size = cutsInts|cutsFloats, 0
	}
	switch {
	case what == 0 || size >= 8:
		return 0, 0
	case size != 1 && size != 2 && size != 4:
		return what | cutsUnknown, 0
	}
	return what, size
}

// mayCut reports whether the field may change the number v: one that not every type holds.
func (r *Reader) mayCut(v abi.Any) bool {
	switch v.TypeIndex {
	case abi.TypeInt:
		return r.cuts&cutsInts != 0 && v.Bits > math.MaxInt8 || r.cuts&cutsSign != 0 && int64(v.Bits) < 0
	case abi.TypeFloat:
		x := math.Abs(math.Float64frombits(v.Bits))
		return r.cuts&cutsFloats != 0 && x > math.MaxFloat32 && !math.IsInf(x, 0)
	}
	return false
}

// cutsSilently is mayCut for a number that Fits cannot judge.
func (r *Reader) cutsSilently(v abi.Any) bool {
	return r.mayCut(v) && (v.TypeIndex == abi.TypeInt || r.cuts&cutsUnknown != 0)
}

// Narrow reports whether the field may change a number.
func (r *Reader) Narrow() bool { return r.cuts != 0 }

// Check returns an error if v is a number that the field cannot hold. There is no object yet
// to be read back, so the getter reads a field of ones to tell whether an int has a sign.
func (r *Reader) Check(v abi.Any) error {
	switch {
	case !r.mayCut(v):
		return nil
	case r.cuts&cutsSign != 0:
		return r.cut(r.Name, v)
	case r.cuts&cutsUnknown != 0:
		return r.checkAny(v)
	}
	x, high := int64(v.Bits), int64(1)<<(8*r.number)
	low := -high / 2
	if r.cuts&cutsInts != 0 {
		ones := [2]uint64{^uint64(0), 0}
		if r.encoding != encodingNarrowInt { // an Optional: behind the number stands that there is one
			ones[0] = 1<<(8*r.number+1) - 1
		}
		got, err := failure.InvokeResult(r.getter, capi.Address(&ones[0]))
		runtime.KeepAlive(&ones)
		if err != nil {
			return err
		}
		if int64(got.Bits) < 0 {
			high /= 2
		} else {
			low = 0
		}
	}
	if v.TypeIndex == abi.TypeFloat || x < low || x >= high {
		return r.cut(r.Name, v)
	}
	return nil
}

// checkAny is Check for a small Optional or a Variant, which has the size of an Any. What the setter puts into empty memory shows
// what the field makes of v.
func (r *Reader) checkAny(v abi.Any) error {
	var held abi.Any
	if r.size != int32(unsafe.Sizeof(held)) || r.Info.Setter == 0 || r.Info.Flags&abi.FieldSetterIsFunction != 0 {
		return nil
	}
	defer runtime.KeepAlive(&held)
	if r.setAt(capi.Address(&held), v) != nil {
		return nil // the library says so
	}
	if r.variant { // which may hold an object now; an Optional number is not an Any
		defer objects.ReleaseValue(held)
	}
	got, err := failure.InvokeResult(r.getter, capi.Address(&held))
	if err != nil {
		return failure.Annotate("field "+r.Name, err)
	}
	defer objects.ReleaseValue(got)
	if got.TypeIndex != v.TypeIndex || got.Bits == v.Bits {
		return nil
	}
	return stores(r.Name, v, got)
}

// stores is the error of a number in whose place the library stores another one.
func stores(field string, v, got abi.Any) error {
	return failure.Errorf(failure.KindValue, "field %s: %s does not fit: the library stores %s", field, number(v), number(got))
}

func (r *Reader) cut(field string, v abi.Any) error {
	if r.cuts&cutsSign != 0 {
		return failure.Errorf(failure.KindValue, "field %s: %s does not fit an unsigned int of 8 bytes", field, number(v))
	}
	kind, plural := "an int", "s"
	if v.TypeIndex == abi.TypeFloat {
		kind = "a float"
	}
	if r.number == 1 {
		plural = ""
	}
	return failure.Errorf(failure.KindValue, "field %s: %s does not fit %s of %d byte%s", field, number(v), kind, r.number, plural)
}

// number is the text of an int or a float.
func number(v abi.Any) string {
	if v.TypeIndex == abi.TypeFloat {
		return strconv.FormatFloat(math.Float64frombits(v.Bits), 'g', -1, 64)
	}
	return strconv.FormatInt(int64(v.Bits), 10)
}
