package core

import (
	"runtime"

	"github.com/tvmffi-go/tvmffi/internal/abi"
	"github.com/tvmffi-go/tvmffi/internal/capi"
	"github.com/tvmffi-go/tvmffi/internal/failure"
	"github.com/tvmffi-go/tvmffi/internal/objects"
)

// What makes objects of a type that is known at run time: defaults, creators and the
// object that separates keyword arguments.

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
