package core

import (
	"math"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// What package reflection stands on.

// StateAt returns the state behind a pointer to a struct that begins with one:
// every object type of package tvmffi.
func StateAt[T any](p *T) *Object { return (*Object)(unsafe.Pointer(p)) }

// ReleaseValue drops the reference of an owned value, if it is an object.
func ReleaseValue(v abi.Any) {
	if v.TypeIndex.IsObject() && v.Bits != 0 {
		DecRef(uintptr(v.Bits))
	}
}

// Strong returns the number of strong references to an object.
func Strong(handle uintptr) uint32 {
	return uint32(atomic.LoadUint64(&At[abi.Object](handle).RefCounts))
}

// Elements views the elements of an Array or List that the caller keeps alive and
// unchanged while it looks.
func Elements(handle uintptr) []abi.Any {
	cell := At[abi.SeqCell](handle + abi.ObjectSize)
	if cell.Size <= 0 {
		return nil
	}
	return unsafe.Slice(At[abi.Any](cell.Data), cell.Size)
}

// FieldsOf copies the entries of the fields of a type, without those of its
// ancestors. The library moves the entries when it registers another one.
func FieldsOf(info *abi.TypeInfo) []abi.FieldInfo {
	Registry.Lock()
	defer Registry.Unlock()
	if info.NumFields <= 0 {
		return nil
	}
	return append([]abi.FieldInfo(nil), unsafe.Slice(At[abi.FieldInfo](info.Fields), info.NumFields)...)
}

// MethodsOf is FieldsOf for methods.
func MethodsOf(info *abi.TypeInfo) []abi.MethodInfo {
	Registry.Lock()
	defer Registry.Unlock()
	if info.NumMethods <= 0 {
		return nil
	}
	return append([]abi.MethodInfo(nil), unsafe.Slice(At[abi.MethodInfo](info.Methods), info.NumMethods)...)
}

// Slot reads a field of objects without a wrapper.
type Slot struct {
	offset, getter uintptr
	form           form
	size           int64
}

// NewSlot describes a field whose type has the canonical text sig.
func NewSlot(info *abi.FieldInfo, sig string) Slot {
	return Slot{uintptr(info.Offset), info.Getter, formOf(sig, info), info.Size}
}

// Plain reports whether the field never holds an object other than a text.
func (s *Slot) Plain() bool { return s.form != formGetter && s.form != formObject }

// Peek reads the field of a live object. The value is borrowed from the object,
// unless owned is true: then the getter made it.
func (s *Slot) Peek(handle uintptr) (v abi.Any, owned bool, err error) {
	at := handle + s.offset
	switch s.form {
	case formInt64:
		return abi.Any{TypeIndex: abi.TypeInt, Bits: *At[uint64](at)}, false, nil
	case formFloat64:
		return abi.Any{TypeIndex: abi.TypeFloat, Bits: *At[uint64](at)}, false, nil
	case formFloat32:
		return abi.Any{TypeIndex: abi.TypeFloat, Bits: math.Float64bits(float64(*At[float32](at)))}, false, nil
	case formBool:
		var bits uint64
		if *At[uint8](at) != 0 {
			bits = 1
		}
		return abi.Any{TypeIndex: abi.TypeBool, Bits: bits}, false, nil
	case formDataType:
		return abi.Any{TypeIndex: abi.TypeDataType, Bits: uint64(*At[uint32](at))}, false, nil
	case formDevice:
		return abi.Any{TypeIndex: abi.TypeDevice, Bits: *At[uint64](at)}, false, nil
	case formString:
		if v := *At[abi.Any](at); v.TypeIndex == abi.TypeStr || v.TypeIndex == abi.TypeSmallStr {
			return v, false, nil
		}
	case formObject:
		object := *At[uintptr](at)
		if object == 0 {
			return abi.Any{}, false, nil
		}
		return abi.Any{TypeIndex: At[abi.Object](object).TypeIndex, Bits: uint64(object)}, false, nil
	case formNarrowInt:
		if v, ok := s.narrow(at); ok {
			return abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(v)}, false, nil
		}
	}
	v, err = invokeResult(s.getter, at)
	return v, err == nil, err
}

// narrow reads an int whose top bit is clear.
func (s *Slot) narrow(at uintptr) (v int64, ok bool) {
	switch s.size {
	case 1:
		v = int64(*At[int8](at))
	case 2:
		v = int64(*At[int16](at))
	case 4:
		v = int64(*At[int32](at))
	}
	return v, v >= 0
}

// Default returns the default of a field, owned: its factory is called for it.
func Default(info *abi.FieldInfo) (abi.Any, error) {
	if info.Flags&abi.FieldDefaultFromFactory != 0 && info.Default.TypeIndex == abi.TypeFunction {
		return Apply(uintptr(info.Default.Bits), nil)
	}
	return Share(info.Default), nil
}

// Share returns an owned value for a borrowed one that the registry holds.
func Share(v abi.Any) abi.Any {
	if v.TypeIndex.IsObject() && v.Bits != 0 {
		IncRef(uintptr(v.Bits))
	}
	return v
}

// Create makes an empty object by the creator of its type, 0 if it has none.
func Create(info *abi.TypeInfo) (uintptr, error) {
	if info.Metadata == 0 || At[abi.TypeMetadata](info.Metadata).Creator == 0 {
		return 0, nil
	}
	out := new(uintptr)
	// int creator(TVMFFIObjectHandle*): it does not look at the other registers.
	_, err := invokeResult(At[abi.TypeMetadata](info.Metadata).Creator, address(out))
	runtime.KeepAlive(out)
	return *out, err
}

// Attribute reads an attribute of a type as an owned value.
func Attribute(index abi.TypeIndex, name string) (abi.Any, bool) {
	Registry.Lock()
	defer Registry.Unlock()
	v, ok := TypeAttribute(index, name)
	return Share(v), ok
}

// RegisterAttribute gives a type an attribute, for ever.
func RegisterAttribute(index abi.TypeIndex, name string, v abi.Any) error {
	Registry.Lock()
	defer Registry.Unlock()
	key, value := byteArray(name), &v
	_, err := invoke(API.TypeRegisterAttr, uintptr(index), address(key), address(value))
	keepAlive(key, name)
	keepValue(value)
	return err
}

// Kwargs returns the object that separates positional from keyword arguments,
// owned. Libraries before 0.1.11 have none.
func Kwargs() (abi.Any, error) {
	var c Call1
	c.Begin(&kwargs, 0)
	if err := c.Do(); err != nil {
		return abi.Any{}, err
	}
	return c.Take(), nil
}
