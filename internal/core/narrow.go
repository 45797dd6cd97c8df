package core

import (
	"math"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/registry"
)

// A setter of C++ casts a number to the type of its field: an int8_t gets 44 for 300. So a
// number is checked before a setter, or a constructor made of the fields, gets it. Only the
// getter knows whether a narrow int has a sign, so the field is read back afterwards.

// cuts says which numbers the setter of a field may change.
type cuts uint8

const (
	cutsInts cuts = 1 << iota
	cutsFloats
	cutsUnknown // the size of the number is not known
)

// cutsOf returns what a field with the canonical type sig, of so many bytes, may change,
// and the bytes of the number in it. An Optional has the size of two of its numbers, or that
// of an Any, which says nothing.
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
func (r *FieldReader) mayCut(v abi.Any) bool {
	switch v.TypeIndex {
	case abi.TypeInt:
		return r.cuts&cutsInts != 0 && v.Bits > math.MaxInt8
	case abi.TypeFloat:
		x := math.Abs(math.Float64frombits(v.Bits))
		return r.cuts&cutsFloats != 0 && x > math.MaxFloat32 && !math.IsInf(x, 0)
	}
	return false
}

// cutsSilently is mayCut for a number that Fits cannot judge.
func (r *FieldReader) cutsSilently(v abi.Any) bool {
	return r.mayCut(v) && (v.TypeIndex == abi.TypeInt || r.cuts&cutsUnknown != 0)
}

// Narrow reports whether the field may change a number.
func (r *FieldReader) Narrow() bool { return r.cuts != 0 }

// Fits returns an error if v is a number that the field can never hold. Holds finds the
// others.
func (f *Field) Fits(v abi.Any) error {
	r, err := f.find()
	if err != nil || !r.mayCut(v) || r.cuts&cutsUnknown != 0 {
		return err
	}
	x, bits := int64(v.Bits), uint(8*r.number)
	if v.TypeIndex == abi.TypeFloat || x < -1<<(bits-1) || x >= 1<<bits {
		return f.cut(r, v)
	}
	return nil
}

// Holds returns an error if the live object at handle, whose field was set to v, has
// another number there.
func (f *Field) Holds(handle uintptr, v abi.Any) error {
	r, err := f.find()
	if err != nil || !r.cutsSilently(v) {
		return err
	}
	got, err := failure.InvokeResult(r.getter, handle+r.offset)
	if err != nil {
		return err
	}
	defer objects.ReleaseValue(got)
	if got.TypeIndex != v.TypeIndex || got.Bits == v.Bits { // another type: the field converts
		return nil
	}
	if r.cuts&cutsUnknown == 0 {
		return f.cut(r, v)
	}
	return failure.Errorf(failure.KindValue, "field %s: %s does not fit: the library stores %s", f, number(v), number(got))
}

// Check returns an error if v is a number that the field cannot hold. There is no object yet
// to be read back, so the getter reads a field of ones to tell whether an int has a sign.
func (r *FieldReader) Check(v abi.Any) error {
	if !r.mayCut(v) || r.cuts&cutsUnknown != 0 {
		return nil
	}
	x, high := int64(v.Bits), int64(1)<<(8*r.number)
	low := -high / 2
	if r.encoding == encodingNarrowInt {
		ones := ^uint64(0)
		got, err := failure.InvokeResult(r.getter, capi.Address(&ones))
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

// cut is the error of a number that does not fit.
func (f *Field) cut(r *FieldReader, v abi.Any) error { return r.cut(f.String(), v) }

func (r *FieldReader) cut(field string, v abi.Any) error {
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

// narrowFields are the fields of an automatic constructor that may change a number.
type narrowFields struct {
	positional []*Field // by the number of the argument; nil for other fields
	named      map[string]*Field
}

// narrowFieldsOf returns the fields of a type and of its ancestors that may change a number,
// nil if there are none.
func narrowFieldsOf(info *abi.TypeInfo) *narrowFields {
	n := &narrowFields{named: map[string]*Field{}}
	for _, p := range parametersOf(info) {
		sig, _ := registry.Signature(p.metadata) // with a flaw the constructor is not called
		f := &Field{Owner: &Type{Key: p.owner}, Name: p.name, Sig: sig}
		r := NewFieldReader(&p.info, sig)
		f.reader.Store(&r)
		if !r.Narrow() {
			f = nil
		} else {
			n.named[p.name] = f
		}
		if p.positional() {
			n.positional = append(n.positional, f)
		}
	}
	if len(n.named) == 0 {
		return nil
	}
	return n
}
