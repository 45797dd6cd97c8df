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
	data      []byte
	offsets   []int
	addresses []uintptr
}

// params returns the array of addresses. It is 0 for a kernel without parameters.
func (p *packer) params() uintptr {
	if len(p.offsets) == 0 {
		return 0
	}
	if cap(p.addresses) < len(p.offsets) {
		p.addresses = make([]uintptr, len(p.offsets))
	}
	p.addresses = p.addresses[:len(p.offsets)]
	start := uintptr(unsafe.Pointer(unsafe.SliceData(p.data)))
	for i, at := range p.offsets {
		p.addresses[i] = start + uintptr(at)
	}
	return uintptr(unsafe.Pointer(unsafe.SliceData(p.addresses)))
}

// pinned is a *Host of any element.
type pinned interface {
	devicePointer() (uintptr, error)
}

func (h *Host[T]) devicePointer() (uintptr, error) {
	if h == nil || h.freed.Load() {
		return 0, valueError("the pinned host memory is nil or was freed")
	}
	return h.address, nil
}

var padding [8]byte

// pack writes the arguments of a launch.
func (p *packer) pack(k *Kernel, args []any) error {
	p.data, p.offsets = p.data[:0], p.offsets[:0]
	if k.known && len(args) != len(k.params) {
		return typeError("launch of %q: the kernel has %d parameters, the launch %d arguments", k.name, len(k.params), len(args))
	}
	for i, arg := range args {
		if odd := len(p.data) % 8; odd != 0 {
			p.data = append(p.data, padding[odd:]...)
		}
		start, want := len(p.data), -1
		p.offsets = append(p.offsets, start)
		if k.known {
			want = k.params[i]
		}
		if err := p.add(k.m.s, arg, want); err != nil {
			if e, ok := err.(*tvmffi.Error); ok {
				return tvmffi.NewError(e.Kind, fmt.Sprintf("launch of %q: argument %d: %s", k.name, i, e.Message))
			}
			return err
		}
		if got := len(p.data) - start; want >= 0 && got != want {
			return typeError("launch of %q: argument %d: the kernel wants %d bytes, %T has %d", k.name, i, want, arg, got)
		}
	}
	return nil
}

func (p *packer) u8(v uint8)        { p.data = append(p.data, v) }
func (p *packer) u16(v uint16)      { p.data = binary.NativeEndian.AppendUint16(p.data, v) }
func (p *packer) u32(v uint32)      { p.data = binary.NativeEndian.AppendUint32(p.data, v) }
func (p *packer) u64(v uint64)      { p.data = binary.NativeEndian.AppendUint64(p.data, v) }
func (p *packer) address(a uintptr) { p.u64(uint64(a)) }

// add writes one argument; want is the size of the parameter or -1.
func (p *packer) add(s *state, arg any, want int) error {
	switch v := arg.(type) {
	case *Memory:
		a, err := v.at(s)
		if err != nil {
			return err
		}
		p.address(a)
	case *tvmffi.Tensor:
		c, err := cell(v)
		if err != nil {
			return err
		}
		switch c.Device.Type {
		case abi.DLCUDA:
			if Device(c.Device.ID) != s.device {
				return valueError("the tensor is on cuda:%d, the kernel on %s: copy it there first", c.Device.ID, s.device)
			}
		case abi.DLCUDAManaged, abi.DLCUDAHost:
		default:
			return valueError("the tensor is on %s, not on %s: copy it there first", tvmffi.Device(c.Device), s.device)
		}
		p.address(c.Data + uintptr(c.ByteOffset))
	case pinned:
		a, err := v.devicePointer()
		if err != nil {
			return err
		}
		p.address(a)
	case tvmffi.Pointer:
		p.address(v.Address)
	case int32:
		p.u32(uint32(v))
	case uint32:
		p.u32(v)
	case int64:
		p.u64(uint64(v))
	case uint64:
		p.u64(v)
	case float32:
		p.u32(math.Float32bits(v))
	case float64:
		p.u64(math.Float64bits(v))
	case int:
		return p.whole(int64(v), want)
	case uint:
		if uint64(v) > math.MaxInt64 {
			if want == 8 {
				p.u64(uint64(v))
				return nil
			}
			return valueError("%d does not fit: pass a uint64", v)
		}
		return p.whole(int64(v), want)
	case nil:
		return typeError("it is nil: pass tvmffi.Pointer{} for a null pointer")
	default:
		return p.value(reflect.ValueOf(arg))
	}
	return nil
}

// whole writes an int in the size of the parameter. Both the signed and the
// unsigned range are accepted, since the driver does not tell which it is.
func (p *packer) whole(v int64, want int) error {
	if bits := 8 * want; want > 0 && want < 8 && (v >= 1<<bits || v < -1<<(bits-1)) {
		return valueError("%d does not fit in the %d bytes of the parameter", v, want)
	}
	switch want {
	case 1:
		p.u8(uint8(v))
	case 2:
		p.u16(uint16(v))
	case 4:
		p.u32(uint32(v))
	case 8:
		p.u64(uint64(v))
	case -1:
		return typeError("the driver does not tell the size of the parameter: pass an int32 or an int64 in place of an int")
	default:
		return typeError("the kernel wants %d bytes, an integer is given", want)
	}
	return nil
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
				return err
			}
		}
		p.pad(start + int(v.Type().Size()))
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
