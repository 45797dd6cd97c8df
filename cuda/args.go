package cuda

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	tvmffi "github.com/tvmffi-go/tvmffi/runtime"
)

// packer holds the arguments of a launch: their bytes, and the addresses of these
// for the driver.
type packer struct {
	words     []uint64 // the bytes of each argument that has up to 8, on machines that are all little-endian
	data      []byte   // those of structs and arrays
	large     []int    // which arguments these are; their words are where they begin
	addresses []uintptr
}

// params returns the array of addresses. It is 0 for a kernel without parameters.
func (p *packer) params() uintptr {
	if len(p.addresses) == 0 {
		return 0
	}
	return uintptr(unsafe.Pointer(unsafe.SliceData(p.addresses)))
}

// pinned is a *Host of any element.
type pinned interface {
	devicePointer() (uintptr, error)
}

// pack writes the arguments of a launch.
func (p *packer) pack(k *Kernel, args []any) error {
	n := len(args)
	if k.known && n != len(k.params) {
		return typeError("launch of %q: the kernel has %d parameters, found %d arguments: pass one for each", k.name, len(k.params), n)
	}
	if n > cap(p.words) {
		p.words, p.addresses = make([]uint64, n), make([]uintptr, n)
	}
	p.words, p.addresses, p.data, p.large = p.words[:n], p.addresses[:n], p.data[:0], p.large[:0]
	for i, arg := range args {
		want := -1
		if k.known {
			want = k.wants[i]
		}
		bits, size, err := word(k.m.s, arg, want)
		if size == 0 && err == nil {
			bits, size, err = p.append(reflect.ValueOf(arg))
			p.large = append(p.large, i)
			if size == 0 && err == nil {
				err = typeError("a %T has no bytes, and no parameter of C is that small: pass a uint8 for an empty struct of C++, or leave it out", arg)
			}
		}
		if err == nil && size != want && want >= 0 && (size != pointer || want != 8) {
			return mismatch(k, i, arg, want, size)
		}
		if err == nil && k.kinds != nil {
			err = k.kinds[i].check(arg, k.params[i])
		}
		if err != nil {
			if e, ok := err.(*tvmffi.Error); ok {
				return tvmffi.NewError(e.Kind, fmt.Sprintf("launch of %q: argument %d: %s", k.name, i, e.Message))
			}
			return err
		}
		p.words[i], p.addresses[i] = bits, uintptr(unsafe.Pointer(&p.words[i]))
	}
	for _, i := range p.large { // the data stays where it is from here on
		p.addresses[i] = uintptr(unsafe.Pointer(unsafe.SliceData(p.data))) + uintptr(p.words[i])
	}
	return nil
}

// check refuses an argument whose bits would be another number in a parameter of so many bytes.
func (kind paramKind) check(arg any, bytes int) error {
	const other = "the parameter is %s and %T is not, so its bits would be another number: pass %s"
	switch kind {
	case paramFloat:
		switch arg.(type) {
		case float32, float64, uint32, uint64: // uint32 and uint64 are the bits of a float, as the doc of Launch says
			return nil
		}
		switch of := reflect.TypeOf(arg).Kind(); {
		case of == reflect.Float32, of == reflect.Float64, of == reflect.Uint16 && bytes == 2:
			return nil
		case bytes == 2:
			return typeError(other, "a float", arg, "its bits as a uint16")
		}
		return typeError(other, "a float", arg, fmt.Sprintf("a float%d", 8*bytes))
	case paramInt:
		switch arg.(type) {
		case int, uint, int32, uint32, int64, uint64, *Memory, *tvmffi.Tensor:
			return nil
		}
		if hasFloat(reflect.TypeOf(arg)) {
			return typeError(other, "an integer", arg, fmt.Sprintf("an int%d or a uint%[1]d", 8*bytes))
		}
	}
	return nil
}

// hasFloat reports whether a type is a float or a complex number, or holds one.
func hasFloat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return true
	case reflect.Array:
		return hasFloat(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasFloat(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}

// mismatch is the error of an argument whose size is not that of the parameter.
func mismatch(k *Kernel, i int, arg any, want, size int) error {
	if want == pointer {
		return typeError("launch of %q: argument %d: the parameter is a pointer and %T is not: pass device memory, or the address as a tvmffi.Pointer", k.name, i, arg)
	}
	if size == pointer {
		size = 8
	}
	return typeError("launch of %q: argument %d: the parameter has %d bytes and %T has %d: pass a type of that size", k.name, i, want, arg, size)
}

// word returns the bytes of an argument and their number, which is 0 for the kinds that
// append writes, and pointer for addresses. want is the size of the parameter, pointer, or -1.
func word(s *state, arg any, want int) (bits uint64, size int, err error) {
	switch v := arg.(type) {
	case *Memory:
		a, err := v.at(s)
		return uint64(a), pointer, err
	case *tvmffi.Tensor:
		c, err := cell(v)
		if err != nil {
			return 0, 0, err
		}
		switch c.Device.Type {
		case abi.DLCUDA:
			if d := Device(c.Device.ID); d != s.device && !s.reaches(d) {
				return 0, 0, valueError("the tensor is on %s, the kernel on %s: copy it there first, or let %s use it by Device.EnablePeerAccess or Pool.AllowAccess", d, s.device, s.device)
			}
		case abi.DLCUDAManaged, abi.DLCUDAHost:
		default:
			return 0, 0, valueError("the tensor is on %s, not on %s: copy it there first", tvmffi.Device(c.Device), s.device)
		}
		return uint64(c.Data + uintptr(c.ByteOffset)), pointer, nil
	case tvmffi.Pointer:
		return uint64(v.Address), pointer, nil
	case int32:
		return uint64(uint32(v)), 4, nil
	case uint32:
		return uint64(v), 4, nil
	case int64:
		return uint64(v), 8, nil
	case uint64:
		return v, 8, nil
	case float32:
		return uint64(math.Float32bits(v)), 4, nil
	case float64:
		return math.Float64bits(v), 8, nil
	case int:
		return whole(int64(v), want)
	case uint:
		if uint64(v) > math.MaxInt64 {
			if want == 8 || want == pointer {
				return uint64(v), 8, nil
			}
			return 0, 0, valueError("%d does not fit: pass a uint64", v)
		}
		return whole(int64(v), want)
	case pinned:
		a, err := v.devicePointer()
		return uint64(a), pointer, err
	case nil:
		return 0, 0, typeError("it is nil: pass tvmffi.Pointer{} for a null pointer")
	}
	return 0, 0, nil
}

// whole returns an int in the size of the parameter. Both the signed and the
// unsigned range are accepted, since the driver does not report which one it is.
func whole(v int64, want int) (bits uint64, size int, err error) {
	if bits := 8 * want; want > 0 && want < 8 && (v >= 1<<bits || v < -1<<(bits-1)) {
		return 0, 0, valueError("%d does not fit in the %d bytes of the parameter", v, want)
	}
	switch want {
	case 1, 2, 4, 8:
		return uint64(v), want, nil
	case pointer: // which the caller refuses
		return uint64(v), 8, nil
	case -1:
		return 0, 0, typeError("the driver does not report the size of the parameter: pass an int32 or an int64 in place of an int")
	}
	return 0, 0, typeError("the parameter has %d bytes and cannot be an integer: pass a struct or an array of that size", want)
}

// append writes an argument of another kind behind the others, and returns where it
// begins and its size.
func (p *packer) append(v reflect.Value) (start uint64, size int, err error) {
	p.pad((len(p.data) + 7) &^ 7)
	at := len(p.data)
	err = p.value(v)
	return uint64(at), len(p.data) - at, err
}

func (p *packer) u8(v uint8)   { p.data = append(p.data, v) }
func (p *packer) u16(v uint16) { p.data = binary.NativeEndian.AppendUint16(p.data, v) }
func (p *packer) u32(v uint32) { p.data = binary.NativeEndian.AppendUint32(p.data, v) }
func (p *packer) u64(v uint64) { p.data = binary.NativeEndian.AppendUint64(p.data, v) }

// badField is the error about a field, which is the given one if the field is a struct itself.
func badField(t reflect.Type, i int, err error) error {
	f := t.Field(i)
	if f.Type.Kind() == reflect.Struct {
		return err
	}
	return typeError("a %s cannot be the parameter of a kernel: its field %s is of type %s; fields must be bools, sized numbers such as int32, or arrays and structs of these", t, f.Name, f.Type)
}

// value writes the other kinds, with the padding of structs.
func (p *packer) value(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			p.u8(1)
		} else {
			p.u8(0)
		}
	case reflect.Int8:
		p.u8(uint8(v.Int()))
	case reflect.Int16:
		p.u16(uint16(v.Int()))
	case reflect.Int32:
		p.u32(uint32(v.Int()))
	case reflect.Int64:
		p.u64(uint64(v.Int()))
	case reflect.Uint8:
		p.u8(uint8(v.Uint()))
	case reflect.Uint16:
		p.u16(uint16(v.Uint()))
	case reflect.Uint32:
		p.u32(uint32(v.Uint()))
	case reflect.Uint64, reflect.Uintptr:
		p.u64(v.Uint())
	case reflect.Float32:
		p.u32(math.Float32bits(float32(v.Float())))
	case reflect.Float64:
		p.u64(math.Float64bits(v.Float()))
	case reflect.Complex64:
		c := v.Complex()
		p.u32(math.Float32bits(float32(real(c))))
		p.u32(math.Float32bits(float32(imag(c))))
	case reflect.Complex128:
		p.u64(math.Float64bits(real(v.Complex())))
		p.u64(math.Float64bits(imag(v.Complex())))
	case reflect.Array:
		for i := range v.Len() {
			if err := p.value(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		start := len(p.data)
		for i := range v.NumField() {
			p.pad(start + int(v.Type().Field(i).Offset))
			if err := p.value(v.Field(i)); err != nil {
				return badField(v.Type(), i, err)
			}
		}
		p.pad(start + int(v.Type().Size()))
	case reflect.Pointer:
		if k := v.Type().Elem().Kind(); k == reflect.Struct || k == reflect.Array {
			return typeError("a %s cannot be the parameter of a kernel: pass device memory, or the value that it points to", v.Type())
		}
		fallthrough
	default:
		return typeError("a %s cannot be the parameter of a kernel: pass device memory or sized numbers", v.Type())
	}
	return nil
}

func (p *packer) pad(to int) {
	for len(p.data) < to {
		p.u8(0)
	}
}
