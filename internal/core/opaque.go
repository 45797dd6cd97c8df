package core

import "github.com/tvmffi-go/tvmffi/internal/abi"

// ValueType returns the type of the objects that NewValue makes.
func ValueType() (abi.TypeIndex, error) { return valueType() }
