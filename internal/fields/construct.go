package fields

import (
	"runtime"
	"strings"
	"unsafe"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
	"github.com/tvmffi-go/tvmffi/internal/registry"
)

// This file makes objects of a type that is known at run time: by defaults, creators and the
// parameters of automatic constructors.

// Default returns the default of a field, owned: its factory is called for it.
func Default(info *abi.FieldInfo) (abi.Any, error) {
	if info.Flags&abi.FieldDefaultFromFactory != 0 && info.Default.TypeIndex == abi.TypeFunction {
		return failure.Apply(uintptr(info.Default.Bits), nil)
	}
	return objects.Share(info.Default), nil
}

// Create makes an empty object by the creator of its type, 0 if it has none.
func Create(info *abi.TypeInfo) (uintptr, error) {
	if info.Metadata == 0 || capi.PointerTo[abi.TypeMetadata](info.Metadata).Creator == 0 {
		return 0, nil
	}
	out := new(uintptr)
	// int creator(TVMFFIObjectHandle*): it does not look at the other registers.
	_, err := failure.InvokeResult(capi.PointerTo[abi.TypeMetadata](info.Metadata).Creator, capi.Address(out))
	runtime.KeepAlive(out)
	return *out, err
}

// InitName is the attribute, or the method, that makes objects of a type.
const InitName = "__ffi_init__"

// parameter is a field of a type as a parameter of its automatic constructor.
type parameter struct {
	owner, name, metadata string
	info                  abi.FieldInfo
}

// required reports whether the parameter is required and goes by its place.
func (p *parameter) required() bool {
	const elsewhere = abi.FieldInitOff | abi.FieldKwOnly | abi.FieldHasDefault | abi.FieldDefaultFromFactory
	return p.info.Flags&elsewhere == 0
}

// parametersOf returns the fields of the whole chain, root first; a field that is declared
// again stands where it was first.
func parametersOf(info *abi.TypeInfo) []parameter {
	var all []parameter
	at := map[string]int{}
	collect := func(info *abi.TypeInfo) {
		for i := range uintptr(info.NumFields) {
			f := capi.PointerTo[abi.FieldInfo](info.Fields + i*unsafe.Sizeof(abi.FieldInfo{}))
			p := parameter{capi.GoString(info.Key), capi.GoString(f.Name), capi.GoString(f.Metadata), *f}
			if i, again := at[p.name]; again {
				all[i] = p
				continue
			}
			at[p.name] = len(all)
			all = append(all, p)
		}
	}
	capi.Registry.Lock()
	defer capi.Registry.Unlock()
	for depth := range info.Depth {
		collect(capi.Ancestor(info, depth))
	}
	collect(info)
	return all
}

// Positional is the text of the positional parameters of the automatic constructor of a
// type, such as "(x: int, name: ffi.String)". Keywords and options are left out: they go by
// name, and the library itself refuses one that it does not know.
func Positional(info *abi.TypeInfo) (string, error) {
	var list []string
	for _, p := range parametersOf(info) {
		if !p.required() {
			continue
		}
		sig, err := registry.Signature(p.metadata)
		if err != nil {
			return "", err
		}
		if sig == "" {
			sig = "Any" // as the generator reads a field without a type
		}
		list = append(list, p.name+": "+sig)
	}
	return "(" + strings.Join(list, ", ") + ")", nil
}

// NarrowFields are the fields of an automatic constructor that may change a number.
type NarrowFields struct {
	Positional []*Field // by the number of the argument; nil for other fields
	Named      map[string]*Field
}

// NarrowFieldsOf returns the fields of a type and of its ancestors that may change a number,
// nil if there are none.
func NarrowFieldsOf(info *abi.TypeInfo) *NarrowFields {
	n := &NarrowFields{Named: map[string]*Field{}}
	for _, p := range parametersOf(info) {
		sig, _ := registry.Signature(p.metadata) // with a flaw the constructor is not called
		f := &Field{Owner: &Type{Key: p.owner}, Name: p.name, Sig: sig}
		r := NewReader(&p.info, sig)
		f.reader.Store(&r)
		if !r.Narrow() {
			f = nil
		} else {
			n.Named[p.name] = f
		}
		if p.required() {
			n.Positional = append(n.Positional, f)
		}
	}
	if len(n.Named) == 0 {
		return nil
	}
	return n
}
