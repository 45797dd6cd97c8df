package core

import (
	"math"
	"runtime"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// What package reflection stands on.

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
		return abi.Any{TypeIndex: abi.TypeInt, Bits: *capi.At[uint64](at)}, false, nil
	case formFloat64:
		return abi.Any{TypeIndex: abi.TypeFloat, Bits: *capi.At[uint64](at)}, false, nil
	case formFloat32:
		return abi.Any{TypeIndex: abi.TypeFloat, Bits: math.Float64bits(float64(*capi.At[float32](at)))}, false, nil
	case formBool:
		var bits uint64
		if *capi.At[uint8](at) != 0 {
			bits = 1
		}
		return abi.Any{TypeIndex: abi.TypeBool, Bits: bits}, false, nil
	case formDataType:
		return abi.Any{TypeIndex: abi.TypeDataType, Bits: uint64(*capi.At[uint32](at))}, false, nil
	case formDevice:
		return abi.Any{TypeIndex: abi.TypeDevice, Bits: *capi.At[uint64](at)}, false, nil
	case formString:
		if v := *capi.At[abi.Any](at); v.TypeIndex == abi.TypeStr || v.TypeIndex == abi.TypeSmallStr {
			return v, false, nil
		}
	case formObject:
		object := *capi.At[uintptr](at)
		if object == 0 {
			return abi.Any{}, false, nil
		}
		return abi.Any{TypeIndex: capi.At[abi.Object](object).TypeIndex, Bits: uint64(object)}, false, nil
	case formNarrowInt:
		if v, ok := s.narrow(at); ok {
			return abi.Any{TypeIndex: abi.TypeInt, Bits: uint64(v)}, false, nil
		}
	}
	v, err = failure.InvokeResult(s.getter, at)
	return v, err == nil, err
}

// narrow reads an int whose top bit is clear.
func (s *Slot) narrow(at uintptr) (v int64, ok bool) {
	switch s.size {
	case 1:
		v = int64(*capi.At[int8](at))
	case 2:
		v = int64(*capi.At[int16](at))
	case 4:
		v = int64(*capi.At[int32](at))
	}
	return v, v >= 0
}

// Default returns the default of a field, owned: its factory is called for it.
func Default(info *abi.FieldInfo) (abi.Any, error) {
	if info.Flags&abi.FieldDefaultFromFactory != 0 && info.Default.TypeIndex == abi.TypeFunction {
		return Apply(uintptr(info.Default.Bits), nil)
	}
	return objects.Share(info.Default), nil
}

// Create makes an empty object by the creator of its type, 0 if it has none.
func Create(info *abi.TypeInfo) (uintptr, error) {
	if info.Metadata == 0 || capi.At[abi.TypeMetadata](info.Metadata).Creator == 0 {
		return 0, nil
	}
	out := new(uintptr)
	// int creator(TVMFFIObjectHandle*): it does not look at the other registers.
	_, err := failure.InvokeResult(capi.At[abi.TypeMetadata](info.Metadata).Creator, capi.Address(out))
	runtime.KeepAlive(out)
	return *out, err
}

// RegisterAttribute gives a type an attribute, for ever.
func RegisterAttribute(index abi.TypeIndex, name string, v abi.Any) error {
	capi.Registry.Lock()
	defer capi.Registry.Unlock()
	key, value := capi.ByteArray(name), &v
	_, err := failure.Invoke(capi.API.TypeRegisterAttr, uintptr(index), capi.Address(key), capi.Address(value))
	capi.KeepAlive(key, name)
	capi.KeepValue(value)
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
