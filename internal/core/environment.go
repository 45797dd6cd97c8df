package core

import (
	"runtime"

	"github.com/tvmffi-go/tvmffi/internal/abi"
)

// DataTypeToString asks the library for the name of a data type.
func DataTypeToString(t abi.DLDataType) (string, error) {
	p := &t
	v, err := invokeResult(API.DataTypeToString, address(p))
	runtime.KeepAlive(p)
	if err != nil {
		return "", err
	}
	text, _ := TextOf(v)
	if v.TypeIndex.IsObject() {
		DecRef(uintptr(v.Bits))
	}
	return text, nil
}
