//go:build !((linux || darwin) && (amd64 || arm64)) || tvmffi_portable

package ccall

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"

	"github.com/ebitengine/purego"
)

// The functions of object types made in Go, as callbacks of purego: they enter Go. purego
// has about two thousand callbacks, so there are fewer entries than in assembly, and each
// is made when it is needed.

var (
	stubs             StubFunctions
	setters, creators int
)

// Fewer than on the other path: callbacks of purego are scarce.
const (
	mostSetters  = 512
	mostCreators = 256
)

// InitStubs sets the functions that the stubs call.
func InitStubs(f StubFunctions, _, _ uintptr) { stubs = f }

// failed is the return code of a C function that has raised an error.
const failed = ^uintptr(0)

var getters = sync.OnceValue(func() (g [FieldKinds]uintptr) {
	number := func(index abi.TypeIndex, bits func(at unsafe.Pointer) uint64) uintptr {
		return purego.NewCallback(func(field, result uintptr) uintptr {
			*(*abi.Any)(pointer(result)) = abi.Any{TypeIndex: index, Bits: bits(pointer(field))}
			return 0
		})
	}
	g[Int64] = number(abi.TypeInt, func(at unsafe.Pointer) uint64 { return *(*uint64)(at) })
	g[Int32] = number(abi.TypeInt, func(at unsafe.Pointer) uint64 { return uint64(*(*int32)(at)) })
	g[Int16] = number(abi.TypeInt, func(at unsafe.Pointer) uint64 { return uint64(*(*int16)(at)) })
	g[Int8] = number(abi.TypeInt, func(at unsafe.Pointer) uint64 { return uint64(*(*int8)(at)) })
	g[Uint64] = purego.NewCallback(func(field, result uintptr) uintptr {
		n := *(*uint64)(pointer(field))
		if n <= math.MaxInt64 || stubs.BigInt == 0 {
			*(*abi.Any)(pointer(result)) = abi.Any{TypeIndex: abi.TypeInt, Bits: n}
			return 0
		}
		// One object of the heap, which does not move: a stack may.
		content := &struct {
			abi.ByteArray
			words [2]uint64
		}{words: [2]uint64{n}}
		content.ByteArray = abi.ByteArray{Data: uintptr(unsafe.Pointer(&content.words)), Size: unsafe.Sizeof(content.words)}
		rc, _, _ := purego.SyscallN(stubs.BigInt, uintptr(unsafe.Pointer(content)), result)
		runtime.KeepAlive(content)
		return rc
	})
	g[Uint32] = number(abi.TypeInt, func(at unsafe.Pointer) uint64 { return uint64(*(*uint32)(at)) })
	g[Uint16] = number(abi.TypeInt, func(at unsafe.Pointer) uint64 { return uint64(*(*uint16)(at)) })
	g[Uint8] = number(abi.TypeInt, func(at unsafe.Pointer) uint64 { return uint64(*(*uint8)(at)) })
	g[Float64] = number(abi.TypeFloat, func(at unsafe.Pointer) uint64 { return *(*uint64)(at) })
	g[Float32] = number(abi.TypeFloat, func(at unsafe.Pointer) uint64 { return math.Float64bits(float64(*(*float32)(at))) })
	g[Bool] = number(abi.TypeBool, func(at unsafe.Pointer) uint64 { return uint64(*(*uint8)(at)) })
	g[DataType] = number(abi.TypeDataType, func(at unsafe.Pointer) uint64 { return uint64(*(*uint32)(at)) })
	g[Device] = number(abi.TypeDevice, func(at unsafe.Pointer) uint64 { return *(*uint64)(at) })
	g[OpaquePointer] = purego.NewCallback(func(field, result uintptr) uintptr {
		v := abi.Any{TypeIndex: abi.TypeOpaquePtr, Bits: *(*uint64)(pointer(field))}
		if v.Bits == 0 {
			v.TypeIndex = abi.TypeNone
		}
		*(*abi.Any)(pointer(result)) = v
		return 0
	})
	g[AnyValue] = purego.NewCallback(func(field, result uintptr) uintptr {
		v := *(*abi.Any)(pointer(field))
		if v.TypeIndex.IsObject() {
			incRef(uintptr(v.Bits))
		}
		*(*abi.Any)(pointer(result)) = v
		return 0
	})
	g[ObjectPointer] = purego.NewCallback(func(field, result uintptr) uintptr {
		var v abi.Any
		if object := *(*uintptr)(pointer(field)); object != 0 {
			incRef(object)
			v = abi.Any{TypeIndex: typeOf(object), Bits: uint64(object)}
		}
		*(*abi.Any)(pointer(result)) = v
		return 0
	})
	return g
})

func incRef(object uintptr) { atomic.AddUint64((*uint64)(pointer(object)), 1) }

func typeOf(object uintptr) abi.TypeIndex { return (*abi.Object)(pointer(object)).TypeIndex }

func dropRef(object uintptr) {
	if object != 0 {
		purego.SyscallN(decRef, object)
	}
}

// Getter is the address of int getter(void* field, Any* result).
func Getter(kind FieldKind) uintptr { return getters()[kind] }

// SetterOf returns the address of int setter(void* field, const Any* value) for
// what s, in C memory, describes; 0 if all entries are taken. It must not run at
// the same time as itself.
func SetterOf(s uintptr) uintptr {
	if setters == mostSetters {
		return 0
	}
	setters++
	d := (*Setter)(pointer(s))
	return purego.NewCallback(func(field, value uintptr) uintptr {
		v := (*abi.Any)(pointer(value))
		switch d.Kind {
		case AnyValue:
			return d.setAny(field, v)
		case ObjectPointer:
			return d.setObject((*uintptr)(pointer(field)), v)
		case DataType, Device, OpaquePointer:
			if v.TypeIndex.IsObject() || v.TypeIndex < 0 || d.Kinds&(1<<v.TypeIndex) == 0 {
				return raiseCast(v, d.Expected)
			}
			storeBits(field, v.Bits, d.Size)
			return 0
		}
		return d.setNumber(field, v)
	})
}

func storeBits(field uintptr, bits uint64, size uint32) {
	copy(unsafe.Slice((*byte)(pointer(field)), size), unsafe.Slice((*byte)(unsafe.Pointer(&bits)), size))
}

func (d *Setter) setNumber(field uintptr, v *abi.Any) uintptr {
	whole := v.TypeIndex == abi.TypeInt || v.TypeIndex == abi.TypeBool
	switch d.Kind {
	case Float64, Float32:
		x := math.Float64frombits(v.Bits)
		if whole {
			x = float64(int64(v.Bits))
		} else if v.TypeIndex != abi.TypeFloat {
			return raiseCast(v, d.Expected)
		}
		if d.Kind == Float64 {
			storeBits(field, math.Float64bits(x), 8)
		} else if narrow := float32(x); math.IsInf(float64(narrow), 0) && !math.IsInf(x, 0) {
			return raise(stubs.TypeError, d.Range)
		} else {
			storeBits(field, uint64(math.Float32bits(narrow)), 4)
		}
		return 0
	}
	switch {
	case d.Kind == Uint64 && v.TypeIndex == abi.TypeBigInt:
		content := ByteArray(stubs.BigIntContent, uintptr(unsafe.Pointer(v)))
		words := (*[2]uint64)(pointer(content.Data))
		if content.Size != unsafe.Sizeof(*words) || words[1] != 0 {
			return raise(stubs.TypeError, d.Range)
		}
		storeBits(field, words[0], d.Size)
	case !whole:
		return raiseCast(v, d.Expected)
	case d.Kind == Bool:
		bits := uint64(0)
		if v.Bits != 0 {
			bits = 1
		}
		storeBits(field, bits, 1)
	case int64(v.Bits) < d.Min || int64(v.Bits) > d.Max:
		return raise(stubs.TypeError, d.Range)
	default:
		storeBits(field, v.Bits, d.Size)
	}
	return 0
}

// accepts reports whether an object is of the type that is expected.
func (d *Setter) accepts(index abi.TypeIndex) bool {
	switch {
	case d.Index == int32(abi.TypeObject) || d.Index == int32(index):
		return true
	case d.Index == 0:
		return false
	}
	info := (*abi.TypeInfo)(pointer(typeInfo(index)))
	return info.Depth > d.Depth && *(*uintptr)(pointer(info.Ancestors + uintptr(d.Depth)*unsafe.Sizeof(d.Info))) == d.Info
}

func typeInfo(index abi.TypeIndex) uintptr {
	info, _, _ := purego.SyscallN(stubs.TypeInfo, uintptr(index))
	return info
}

func (d *Setter) setAny(field uintptr, v *abi.Any) uintptr {
	owned := new(abi.Any)
	if rc, _, _ := purego.SyscallN(stubs.ToOwned, uintptr(unsafe.Pointer(v)), uintptr(unsafe.Pointer(owned))); int32(rc) != 0 {
		return rc
	}
	takes := func(index abi.TypeIndex) bool { return d.Kinds&(1<<index) != 0 }
	switch index := owned.TypeIndex; {
	case index.IsObject():
		if !d.accepts(index) {
			dropRef(uintptr(owned.Bits))
			return raiseCast(v, d.Expected)
		}
	case takes(index):
	case (index == abi.TypeInt || index == abi.TypeBool) && takes(abi.TypeInt):
		owned.TypeIndex = abi.TypeInt
	case (index == abi.TypeInt || index == abi.TypeBool) && takes(abi.TypeFloat):
		owned.TypeIndex, owned.Bits = abi.TypeFloat, math.Float64bits(float64(int64(owned.Bits)))
	case index == abi.TypeInt && takes(abi.TypeBool):
		owned.TypeIndex = abi.TypeBool
		if owned.Bits != 0 {
			owned.Bits = 1
		}
	default:
		return raiseCast(v, d.Expected)
	}
	old := *(*abi.Any)(pointer(field))
	*(*abi.Any)(pointer(field)) = *owned
	if old.TypeIndex.IsObject() {
		dropRef(uintptr(old.Bits))
	}
	return 0
}

func (d *Setter) setObject(field *uintptr, v *abi.Any) uintptr {
	object := uintptr(v.Bits)
	if v.TypeIndex == abi.TypeObjectRValueRef {
		object = *(*uintptr)(pointer(object)) // it may be moved, but is not
	}
	switch {
	case v.TypeIndex.IsObject() || v.TypeIndex == abi.TypeObjectRValueRef && object != 0:
		if !d.accepts(typeOf(object)) {
			return raiseCast(v, d.Expected)
		}
		incRef(object)
	case (v.TypeIndex == abi.TypeNone || v.TypeIndex == abi.TypeObjectRValueRef) && d.Kinds&1 != 0:
		object = 0
	default:
		return raiseCast(v, d.Expected)
	}
	old := *field
	*field = object
	dropRef(old)
	return 0
}

// raise puts an error of the C texts into the slot of this thread: a callback runs
// on the thread of its caller.
func raise(kind uintptr, parts ...uintptr) uintptr {
	purego.SyscallN(stubs.SetParts, kind, uintptr(unsafe.Pointer(unsafe.SliceData(parts))), uintptr(len(parts)))
	runtime.KeepAlive(parts)
	return failed
}

func raiseCast(v *abi.Any, expected uintptr) uintptr {
	key := (*abi.TypeInfo)(pointer(typeInfo(v.TypeIndex))).Key.Data
	return raise(stubs.TypeError, stubs.From, key, stubs.To, expected, stubs.End)
}

// Free is how many entries are left for setters and for creators.
func Free() (forSetters, forCreators int) { return mostSetters - setters, mostCreators - creators }

// CreatorOf returns the address of int creator(void** result) for a Layout in C
// memory; 0 if all entries are taken. It must not run at the same time as itself.
func CreatorOf(layout uintptr) uintptr {
	if creators == mostCreators {
		return 0
	}
	creators++
	l := (*Layout)(pointer(layout))
	return purego.NewCallback(func(result uintptr) uintptr {
		object := l.allocate()
		*(*uintptr)(pointer(result)) = object
		if object == 0 {
			return failed
		}
		return 0
	})
}

func (l *Layout) allocate() uintptr {
	base, _, _ := purego.SyscallN(stubs.Malloc, l.Size+ArrayOffset)
	if base == 0 {
		raise(stubs.MemoryError, stubs.NoMem)
		return 0
	}
	clear(unsafe.Slice((*byte)(pointer(base)), l.Size+ArrayOffset))
	*(*abi.Object)(pointer(base + ArrayOffset)) = abi.Object{RefCounts: 1<<32 | 1, TypeIndex: abi.TypeIndex(l.Index), Deleter: DeleteObject()}
	return base + ArrayOffset
}

// references calls f with the address of each reference of an object.
func (l *Layout) references(object uintptr, f func(at *uintptr)) {
	for i := range l.N {
		ref := *(*uintptr)(pointer(l.Refs + 8*i))
		at := object + ref>>1
		if ref&1 != 0 {
			if !(*abi.Any)(pointer(at)).TypeIndex.IsObject() {
				continue
			}
			at += 8
		}
		if p := (*uintptr)(pointer(at)); *p != 0 {
			f(p)
		}
	}
}

// NewObject is the address of a safe call without arguments that makes an object;
// its handle is a Layout.
var NewObject = sync.OnceValue(func() uintptr {
	return purego.NewCallback(func(layout, _, _, result uintptr) uintptr {
		l := (*Layout)(pointer(layout))
		object := l.allocate()
		if object == 0 {
			return failed
		}
		*(*abi.Any)(pointer(result)) = abi.Any{TypeIndex: abi.TypeIndex(l.Index), Bits: uint64(object)}
		return 0
	})
})

// CopyObject is the address of a safe call that copies its argument; its handle is
// a Layout.
var CopyObject = sync.OnceValue(func() uintptr {
	return purego.NewCallback(func(layout, args, n, result uintptr) uintptr {
		l, v := (*Layout)(pointer(layout)), new(abi.Any)
		if n != 0 {
			v = (*abi.Any)(pointer(args))
		}
		if int32(n) != 1 || int32(v.TypeIndex) != l.Index {
			return raiseCast(v, (*abi.TypeInfo)(pointer(typeInfo(abi.TypeIndex(l.Index)))).Key.Data)
		}
		object := l.allocate()
		if object == 0 {
			return failed
		}
		const header = abi.ObjectSize
		copy(unsafe.Slice((*byte)(pointer(object+header)), l.Size-header), unsafe.Slice((*byte)(pointer(uintptr(v.Bits)+header)), l.Size-header))
		if l.State != 0 {
			*(*uintptr)(pointer(object + uintptr(l.State))) = 0
		}
		l.references(object, func(at *uintptr) { incRef(*at) })
		*(*abi.Any)(pointer(result)) = abi.Any{TypeIndex: abi.TypeIndex(l.Index), Bits: uint64(object)}
		return 0
	})
})

// DeleteObject is the address of the deleter of the objects. An object whose last reference another
// object holds is deleted after that object, not inside its deleter, unless a C++ object lies between.
var DeleteObject = sync.OnceValue(func() uintptr {
	return purego.NewCallback(func(object, flags uintptr) uintptr {
		ended, own := []uintptr{object}, (*abi.Object)(pointer(object)).Deleter
		for i := 0; i < len(ended); i++ {
			if i > 0 || flags&abi.DeleterStrong != 0 {
				index := uintptr(typeOf(ended[i]))
				l := (*Layout)(pointer(*(*uintptr)(pointer(stubs.Layouts + index*unsafe.Sizeof(index)))))
				l.references(ended[i], func(at *uintptr) {
					if o := (*abi.Object)(pointer(*at)); o.Deleter == own && atomic.CompareAndSwapUint64(&o.RefCounts, 1<<32|1, 1<<32) {
						ended = append(ended, *at)
					} else {
						dropRef(*at)
					}
				})
			}
			if i > 0 || flags&abi.DeleterWeak != 0 {
				purego.SyscallN(stubs.Free, ended[i]-ArrayOffset)
			}
		}
		return 0
	})
})
